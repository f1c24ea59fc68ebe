// Cortex on the CPU: workers take patches.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "core/cpu_operator.h"
#include "cortex/backend.h"
#include "cortex/patch.h"
#include "image/gray_rows.h"

namespace ocellus::detail {
namespace {

class CpuCortex final : public CpuOperator {
 public:
  CpuCortex(const CortexPlan& plan, int workers) noexcept
      : CpuOperator(info_of(plan), workers),
        plan_(plan),
        bands_(Bands::cut(plan.size.height, workers, 4, 16)) {}

 private:
  enum Step : int { kConvert, kClassify, kFinish, kSteps };

  struct Worker {
    CortexScratch scratch;
    std::uint8_t* patch = nullptr;
    std::int64_t* evidence = nullptr;
  };

  void layout(LayoutBuilder& builder) noexcept override {
    const CortexShape& shape = plan_.table.shape;
    model_ = builder.take<std::uint8_t>(places_of(shape).bytes);
    for (int w = 0; w < workers_; ++w) {
      Worker& worker = worker_[static_cast<std::size_t>(w)];
      worker.scratch.layout(shape, builder);
      worker.patch = builder.take<std::uint8_t>(static_cast<std::size_t>(shape.pixels()));
      worker.evidence = builder.take<std::int64_t>(static_cast<std::size_t>(shape.classes));
    }
    if (converts()) {
      gray_ = builder.take<std::uint8_t>(static_cast<std::size_t>(plan_.size.width) *
                                         static_cast<std::size_t>(plan_.size.height));
    }
  }

  Expected<void> prepare() noexcept override {
    if (Expected<void> read = read_cortex_arrays(plan_, model_); !read) return read;
    arrays_ = arrays_at(plan_.table.shape, model_);
    return {};
  }

  int step_count() const noexcept override { return kSteps; }

  void build_steps(JobStep* steps, StepContext* contexts) noexcept override {
    steps[kConvert] = {&CpuCortex::convert, &contexts[kConvert], converts() ? bands_.count() : 0};
    steps[kClassify] = {&CpuCortex::classify, &contexts[kClassify], plan_.patches};
    steps[kFinish] = {&CpuCortex::finish, &contexts[kFinish], 1};
  }

  void write_bad(const FrameJob& frame) noexcept override {
    *static_cast<CortexRecord*>(frame.record) = {};
    clear_rows(frame, 0);
  }

  bool converts() const noexcept { return plan_.format != PixelFormat::kGray8; }

  static FrameJob& frame_of(void* context) noexcept {
    return *static_cast<StepContext*>(context)->frame;
  }
  static CpuCortex& self_of(void* context) noexcept {
    return *static_cast<CpuCortex*>(frame_of(context).owner);
  }

  void clear_rows(const FrameJob& frame, int begin) const noexcept {
    if (!frame.out.planes[0].data) return;
    for (int y = begin; y < kMaxCortexPatches; ++y)
      std::fill_n(frame.out_row<float>(0, y), plan_.table.shape.classes, 0.0f);
  }

  static void convert(void* context, int part, int) noexcept {
    FrameJob& frame = frame_of(context);
    const CpuCortex& self = self_of(context);
    for (int y = self.bands_.begin(part); y < self.bands_.end(part); ++y) {
      std::uint8_t* const to = self.gray_ + static_cast<std::ptrdiff_t>(y) * self.plan_.size.width;
      if (!write_gray_row(frame.in, y, to)) mark_bad(frame);
    }
  }

  static void classify(void* context, int part, int worker_number) noexcept {
    FrameJob& frame = frame_of(context);
    if (frame.bad.load(std::memory_order_relaxed)) return;
    CpuCortex& self = self_of(context);
    const CortexPlan& plan = self.plan_;
    const CortexShape& shape = plan.table.shape;
    const Worker& worker = self.worker_[static_cast<std::size_t>(worker_number)];
    PatchView patch;
    patch.data = self.converts() ? self.gray_ : static_cast<const std::uint8_t*>(frame.in.data);
    patch.stride = self.converts() ? plan.size.width : frame.in.stride;
    patch.data +=
        static_cast<std::ptrdiff_t>(part / plan.columns * plan.tile.height) * patch.stride +
        static_cast<std::ptrdiff_t>(part % plan.columns) * plan.tile.width;
    patch.width = plan.tile.width;
    patch.height = plan.tile.height;
    draw_patch(patch, plan.ink, shape.parameters.width, shape.parameters.height, worker.patch);
    classify_patch(shape, self.arrays_, worker.patch, shape.parameters.width, worker.scratch,
                   worker.evidence);
    const CortexDecision decision = decide(worker.evidence, shape.classes, plan.table.sharpness);
    auto& record = *static_cast<CortexRecord*>(frame.record);
    record.label[static_cast<std::size_t>(part)] = decision.label;
    record.confidence[static_cast<std::size_t>(part)] = decision.confidence;
    if (!frame.out.planes[0].data) return;
    constexpr double kUnit = 1.0 / (kCortexReadOutScale * kCortexActivityOne);
    float* const row = frame.out_row<float>(0, part);
    for (int c = 0; c < shape.classes; ++c)
      row[c] = static_cast<float>(static_cast<double>(worker.evidence[c]) * kUnit);
  }

  static void finish(void* context, int, int) noexcept {
    FrameJob& frame = frame_of(context);
    if (frame.bad.load(std::memory_order_relaxed)) return;
    const CpuCortex& self = self_of(context);
    auto& record = *static_cast<CortexRecord*>(frame.record);
    const auto patches = static_cast<std::size_t>(self.plan_.patches);
    record.count = self.plan_.patches;
    record.truncated = self.plan_.truncated;
    std::fill(record.label.begin() + static_cast<std::ptrdiff_t>(patches), record.label.end(), 0);
    std::fill(record.confidence.begin() + static_cast<std::ptrdiff_t>(patches),
              record.confidence.end(), 0.0f);
    self.clear_rows(frame, self.plan_.patches);
  }

  CortexPlan plan_;
  Bands bands_;
  std::array<Worker, kMaxWorkers> worker_{};
  std::uint8_t* model_ = nullptr;
  CortexArrays arrays_;
  std::uint8_t* gray_ = nullptr;
};

}  // namespace

std::unique_ptr<OperatorInstance> make_cortex_cpu(const CortexPlan& plan, int workers) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) CpuCortex(plan, workers));
}

}  // namespace ocellus::detail
