// Cortex on the CPU: workers take patches. They learn by hypercolumns, because those share nothing.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "core/failure.h"
#include "cortex/patch.h"
#include "cortex/plan.h"
#include "cortical_network/patch_operator.h"

namespace ocellus::detail {
namespace {

class CpuCortex final : public PatchOperator<CortexPlan> {
 public:
  CpuCortex(const CortexPlan& plan, int workers) noexcept
      : PatchOperator(plan, workers),
        groups_(Bands::cut(plan.table.shape.hierarchy.hypercolumns, workers, 4, 4)) {}

  Expected<void> save_learned(const char* path) noexcept override {
    return save_cortex(path, plan_, *this);
  }

 private:
  enum Step : int { kConvert, kClassify, kFinish, kLearn, kSteps };

  struct Worker {
    CortexScratch scratch;
    std::uint8_t* patch = nullptr;
    std::int64_t* evidence = nullptr;
  };

  void layout(LayoutBuilder& builder) noexcept override {
    const CortexShape& shape = plan_.table.shape;
    model_ = builder.take<std::uint8_t>(places_of(shape, plan_.learn).bytes);
    for (int w = 0; w < workers_; ++w) {
      Worker& worker = worker_[static_cast<std::size_t>(w)];
      worker.scratch.layout(shape, builder);
      worker.patch = builder.take<std::uint8_t>(static_cast<std::size_t>(shape.pixels()));
      worker.evidence = builder.take<std::int64_t>(static_cast<std::size_t>(shape.classes));
    }
    layout_gray(builder);
    if (!plan_.learn) return;
    const auto patches = static_cast<std::size_t>(plan_.patches);
    tables_ = builder.take<ProbabilityTables>(1);
    cells_ = builder.take<std::uint8_t>(patches * pixels());
    winners_ = builder.take<std::int32_t>(patches * hypercolumns());
    has_ink_ = builder.take<std::uint8_t>(patches);
  }

  Expected<void> prepare() noexcept override {
    OCELLUS_TRY(read_cortex_arrays(plan_, model_));
    arrays_ = arrays_at(plan_.table.shape, model_);
    if (plan_.learn) fill(*tables_);
    return {};
  }

  int step_count() const noexcept override { return kSteps; }

  void build_steps(JobStep* steps, StepContext* contexts) noexcept override {
    steps[kConvert] = {&CpuCortex::convert, &contexts[kConvert], convert_parts()};
    steps[kClassify] = {&CpuCortex::classify, &contexts[kClassify], plan_.patches};
    steps[kFinish] = {&CpuCortex::finish, &contexts[kFinish], 1};
    steps[kLearn] = {&CpuCortex::learn, &contexts[kLearn], plan_.learn ? groups_.count() : 0};
  }

  void write_bad(const FrameJob& frame) noexcept override { clear_rows(frame, 0); }

  std::size_t pixels() const noexcept {
    return static_cast<std::size_t>(plan_.table.shape.pixels());
  }
  std::size_t hypercolumns() const noexcept {
    return static_cast<std::size_t>(plan_.table.shape.hierarchy.hypercolumns);
  }

  static CpuCortex& self_of(void* context) noexcept {
    return *static_cast<CpuCortex*>(frame_of(context).owner);
  }

  void clear_rows(const FrameJob& frame, int begin) const noexcept {
    if (!frame.out.planes[0].data) return;
    for (int y = begin; y < kMaxCortexPatches; ++y)
      std::fill_n(frame.out_row<float>(0, y), plan_.table.shape.classes, 0.0f);
  }

  static void classify(void* context, int part, int worker_number) noexcept {
    FrameJob& frame = frame_of(context);
    if (is_bad(context)) return;
    CpuCortex& self = self_of(context);
    const CortexPlan& plan = self.plan_;
    const CortexShape& shape = plan.table.shape;
    const Worker& worker = self.worker_[static_cast<std::size_t>(worker_number)];
    draw_patch(self.patch_of(frame, part), plan.ink, shape.parameters.width,
               shape.parameters.height, worker.patch);
    CortexScratch scratch = worker.scratch;
    const auto at = static_cast<std::size_t>(part);
    if (plan.learn) {
      scratch.cells = self.cells_ + at * self.pixels();
      scratch.winners = self.winners_ + at * self.hypercolumns();
    }
    classify_patch(shape, self.arrays_, worker.patch, shape.parameters.width, scratch,
                   worker.evidence);
    if (plan.learn) {
      self.has_ink_[part] = std::memchr(scratch.cells, 1, self.pixels()) == nullptr
                                ? std::uint8_t{0}
                                : std::uint8_t{1};
    }
    const PatchAnswer decision = decide(worker.evidence, shape.classes, plan.table.sharpness);
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
    if (is_bad(context)) return;
    const CpuCortex& self = self_of(context);
    auto& record = *static_cast<CortexRecord*>(frame.record);
    record.count = self.plan_.patches;
    record.truncated = self.plan_.truncated;
    self.clear_rows(frame, self.plan_.patches);
  }

  static void learn(void* context, int part, int worker_number) noexcept {
    if (is_bad(context)) return;
    const CpuCortex& self = self_of(context);
    const CortexShape& shape = self.plan_.table.shape;
    const SeenPatches patches{self.cells_, self.winners_, self.has_ink_, self.plan_.patches};
    const LearningArrays arrays = learning_arrays_at(shape, self.model_);
    std::uint16_t* const active =
        self.worker_[static_cast<std::size_t>(worker_number)].scratch.active;
    int level = 0;
    for (int h = self.groups_.begin(part); h < self.groups_.end(part); ++h) {
      while (h >= shape.hierarchy.level(level).first + shape.hierarchy.level(level).hypercolumns)
        ++level;
      learn_patches(shape, *self.tables_, self.plan_.rate, level,
                    h - shape.hierarchy.level(level).first, patches, active, arrays);
    }
  }

  Bands groups_;  // of hypercolumns
  std::array<Worker, kMaxWorkers> worker_{};
  CortexArrays arrays_;
  // With `learn`: of all patches of a frame.
  ProbabilityTables* tables_ = nullptr;
  std::uint8_t* cells_ = nullptr;
  std::int32_t* winners_ = nullptr;
  std::uint8_t* has_ink_ = nullptr;
};

}  // namespace

std::unique_ptr<OperatorInstance> make_on_cpu(const CortexPlan& plan, int workers) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) CpuCortex(plan, workers));
}

}  // namespace ocellus::detail
