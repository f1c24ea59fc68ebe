// Neocognitron on the CPU: workers take halves of fields when ink is found, fields when characters
// are found, and candidates when they are recognized.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "core/cpu_operator.h"
#include "image/gray_rows.h"
#include "neocognitron/backend.h"
#include "neocognitron/character_reader.h"
#include "neocognitron/cpu/network.h"

namespace ocellus::detail {
namespace {

class CpuNeocognitron final : public CpuOperator {
 public:
  CpuNeocognitron(const NeocognitronPlan& plan, int workers) noexcept
      : CpuOperator(info_of(plan), workers),
        plan_(plan),
        bands_(Bands::cut(plan.size.height, workers, 4, 16)) {}

 private:
  enum Step : int {
    kConvert,
    kMeasure,
    kSetLevels,
    kExtract,
    kFind,
    kCollect,
    kRecognize,
    kFinish,
    kSteps
  };

  void layout(LayoutBuilder& builder) noexcept override {
    network_.layout(plan_.model, plan_.max_active, builder);
    reader_.layout(plan_, workers_, builder);
    for (int w = 0; w < workers_; ++w) {
      const auto i = static_cast<std::size_t>(w);
      network_.layout(scratch_[i], builder);
      u0_[i] = builder.take<float>(static_cast<std::size_t>(kNeocognitronSide) * kNeocognitronSide);
    }
    if (converts()) {
      gray_ = builder.take<std::uint8_t>(static_cast<std::size_t>(plan_.size.width) *
                                         static_cast<std::size_t>(plan_.size.height));
    }
    scores_ = builder.take<float>(NeocognitronPlan::kMostCandidates *
                                  static_cast<std::size_t>(plan_.model.table.classes));
  }

  Expected<void> prepare() noexcept override { return network_.prepare(); }

  int step_count() const noexcept override { return kSteps; }

  void build_steps(JobStep* steps, StepContext* contexts) noexcept override {
    steps[kConvert] = {&CpuNeocognitron::convert, &contexts[kConvert],
                       converts() ? bands_.count() : 0};
    steps[kMeasure] = {&CpuNeocognitron::measure, &contexts[kMeasure], reader_.halves()};
    steps[kSetLevels] = {&CpuNeocognitron::set_levels, &contexts[kSetLevels], reader_.fields()};
    steps[kExtract] = {&CpuNeocognitron::extract, &contexts[kExtract], reader_.halves()};
    steps[kFind] = {&CpuNeocognitron::find, &contexts[kFind], reader_.fields()};
    steps[kCollect] = {&CpuNeocognitron::collect, &contexts[kCollect], 1};
    steps[kRecognize] = {&CpuNeocognitron::recognize, &contexts[kRecognize], 0};
    steps[kFinish] = {&CpuNeocognitron::finish, &contexts[kFinish], 1};
    contexts[kCollect].step = &steps[kCollect];
  }

  void write_bad(const FrameJob& frame) noexcept override {
    reader_.clear_rows(frame.out.planes[0]);
  }

  bool converts() const noexcept { return plan_.format != PixelFormat::kGray8; }

  static FrameJob& frame_of(void* context) noexcept {
    return *static_cast<StepContext*>(context)->frame;
  }
  static CpuNeocognitron& self_of(void* context) noexcept {
    return *static_cast<CpuNeocognitron*>(frame_of(context).owner);
  }

  GrayPlane plane_of(const FrameJob& frame) const noexcept {
    if (converts()) return {gray_, plan_.size.width, plan_.size};
    return {static_cast<const std::uint8_t*>(frame.in.data), frame.in.stride, plan_.size};
  }

  static void convert(void* context, int part, int) noexcept {
    FrameJob& frame = frame_of(context);
    const CpuNeocognitron& self = self_of(context);
    for (int y = self.bands_.begin(part); y < self.bands_.end(part); ++y) {
      std::uint8_t* const to = self.gray_ + static_cast<std::ptrdiff_t>(y) * self.plan_.size.width;
      if (!write_gray_row(frame.in, y, to)) mark_bad(frame);
    }
  }

  static void measure(void* context, int part, int) noexcept {
    CpuNeocognitron& self = self_of(context);
    self.reader_.measure(part, self.plane_of(frame_of(context)));
  }
  static void set_levels(void* context, int part, int) noexcept {
    self_of(context).reader_.set_levels(part);
  }
  static void extract(void* context, int part, int) noexcept {
    CpuNeocognitron& self = self_of(context);
    self.reader_.extract(part, self.plane_of(frame_of(context)));
  }
  static void find(void* context, int part, int) noexcept { self_of(context).reader_.find(part); }

  static void collect(void* context, int, int) noexcept {
    CpuNeocognitron& self = self_of(context);
    // Steps of a frame follow each other in their array.
    JobStep& next = static_cast<StepContext*>(context)->step[kRecognize - kCollect];
    next.parts = frame_of(context).bad.load(std::memory_order_relaxed) ? 0 : self.reader_.collect();
  }

  static void recognize(void* context, int part, int worker) noexcept {
    CpuNeocognitron& self = self_of(context);
    const auto w = static_cast<std::size_t>(worker);
    const NeocognitronTable& table = self.plan_.model.table;
    float* const scores = self.scores_ + part * table.classes;
    const InkImage image = self.reader_.draw(part, self.plane_of(frame_of(context)), worker);
    PatchTransform transform;
    if (!find_transform(image, table.normalization, transform)) {
      std::fill_n(scores, table.classes, 0.0f);
      self.complete_[static_cast<std::size_t>(part)] = 1;
      return;
    }
    resample(image, transform, self.u0_[w]);
    self.complete_[static_cast<std::size_t>(part)] =
        self.network_.recognize(self.u0_[w], self.scratch_[w], scores) ? 1 : 0;
  }

  static void finish(void* context, int, int) noexcept {
    FrameJob& frame = frame_of(context);
    CpuNeocognitron& self = self_of(context);
    if (frame.bad.load(std::memory_order_relaxed)) return;
    self.reader_.finish(self.scores_, self.complete_.data(),
                        *static_cast<NeocognitronRecord*>(frame.record), frame.out.planes[0]);
  }

  NeocognitronPlan plan_;
  Bands bands_;
  CharacterReader reader_;
  CpuNetwork network_;
  std::array<CpuNetwork::Scratch, kMaxWorkers> scratch_{};
  std::array<float*, kMaxWorkers> u0_{};
  std::uint8_t* gray_ = nullptr;
  float* scores_ = nullptr;
  std::array<std::uint8_t, NeocognitronPlan::kMostCandidates> complete_{};
};

}  // namespace

std::unique_ptr<OperatorInstance> make_neocognitron_cpu(const NeocognitronPlan& plan,
                                                        int workers) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) CpuNeocognitron(plan, workers));
}

}  // namespace ocellus::detail
