// Cortex on CUDA: a kernel for the pixels of all patches, one for their LGN cells, one for each
// level, and one for the answers. With `learn`, one more for each level.
#include <cstdint>
#include <memory>
#include <new>

#include "core/failure.h"
#include "cortex/plan.h"
#include "kernels/cortex/kernels.h"
#include "kernels/cortical_network/patch_learner.h"

namespace ocellus::cuda {
namespace {

using detail::CortexPlan;
using detail::CortexShape;
using detail::LevelPlan;

class CudaCortex final : public PatchLearner<CortexPlan> {
 public:
  explicit CudaCortex(const CortexPlan& plan) noexcept : PatchLearner(plan) {}

  Expected<void> save_learned(const char* path) noexcept override {
    return save_cortex(path, plan_, *this);
  }

 private:
  const CortexShape& shape() const noexcept { return plan_.table.shape; }
  std::size_t hypercolumns() const noexcept {
    return static_cast<std::size_t>(shape().hierarchy.hypercolumns);
  }
  detail::PatchStretch size() const noexcept {
    return stretch_to(shape().parameters.width, shape().parameters.height);
  }
  Kernel<StretchArguments> stretch() const noexcept {
    return stretch_kernel(plan_.format, is_wide(size()));
  }

  void layout(LayoutBuilder& device) noexcept override {
    const std::size_t pixels = patches() * static_cast<std::size_t>(shape().pixels());
    model_ = device.take<std::uint8_t>(model_bytes());
    shares_ = device.take<std::int32_t>(shape().shares.size());
    begins_ = device.take<std::uint32_t>(hypercolumns());
    gray_ = device.take<std::uint8_t>(pixels);
    cells_ = device.take<std::uint8_t>(pixels);
    winners_ = device.take<std::int32_t>(patches() * hypercolumns());
    activity_ = device.take<detail::CortexActivity>(patches() * hypercolumns());
    if (!plan_.learn) return;
    tables_ = device.take<detail::ProbabilityTables>(1);
    has_ink_ = device.take<std::uint32_t>(patches());
    enabled_ = device.take<std::uint32_t>(1);
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    OCELLUS_TRY(load_check_kernel(cuda));
    OCELLUS_TRY(load_kernel(cuda, stretch(), 0));
    OCELLUS_TRY(load_kernel(cuda, kCellKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kCompeteKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kCortexReadOutKernel, 0));
    if (plan_.learn) {
      OCELLUS_TRY(load_kernel(cuda, kLearnKernel, 0));
      OCELLUS_TRY(load_tables(cuda));
    }
    return load_model(cuda);
  }

  Expected<void> load_tables(Scope& cuda) noexcept {
    const std::unique_ptr<detail::ProbabilityTables> tables(new (std::nothrow)
                                                                detail::ProbabilityTables);
    if (tables == nullptr) return detail::no_memory_for_operator();
    fill(*tables);
    return upload(cuda, tables_, tables.get(), sizeof(*tables));
  }

  Expected<void> load_model(Scope& cuda) noexcept {
    const std::size_t bytes = model_bytes();
    const SystemMemory model = system_memory(bytes);
    const std::unique_ptr<std::uint32_t[]> begins(new (std::nothrow) std::uint32_t[hypercolumns()]);
    if (model == nullptr || begins == nullptr) return detail::no_memory_for_operator();
    OCELLUS_TRY(read_cortex_arrays(plan_, model.get()));
    OCELLUS_TRY(upload(cuda, model_, model.get(), bytes));
    OCELLUS_TRY(upload(cuda, shares_, shape().shares.data(), sizeof(shape().shares)));
    for (int level = 0; level < shape().hierarchy.level_count; ++level) {
      const LevelPlan& l = shape().hierarchy.level(level);
      for (int h = 0; h < l.hypercolumns; ++h)
        begins[static_cast<std::size_t>(l.first + h)] =
            static_cast<std::uint32_t>(shape().hierarchy.minicolumns_of(level, h));
    }
    return upload(cuda, begins_, begins.get(), hypercolumns() * sizeof(std::uint32_t));
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    OCELLUS_TRY(launch_check(cuda, slot, stream));
    OCELLUS_TRY(launch_patches(cuda, slot, stream));
    for (int level = 0; level < shape().hierarchy.level_count; ++level)
      OCELLUS_TRY(launch_level(cuda, level, stream));
    for (int level = 0; plan_.learn && level < shape().hierarchy.level_count; ++level)
      OCELLUS_TRY(launch_learning(cuda, level, stream));
    const detail::CortexArrays arrays = arrays_at(shape(), model_);
    const ReadOutArguments result{.answers = {.frame = params(slot),
                                              .state = state(),
                                              .outcome = outcome(slot),
                                              .record = static_cast<CortexRecord*>(record_of(slot)),
                                              .class_bias = arrays.class_bias,
                                              .classes = shape().classes,
                                              .sharpness = plan_.table.sharpness,
                                              .patches = plan_.patches,
                                              .truncated = plan_.truncated,
                                              .none_if_equal = false},
                                  .activity = activity_,
                                  .begins = begins_,
                                  .read_out = arrays.read_out,
                                  .hypercolumns = shape().hierarchy.hypercolumns,
                                  .competitors = shape().parameters.competitors};
    return launch(cuda, stream, kCortexReadOutKernel, dim3(kMaxCortexPatches),
                  dim3(kReadOutThreads), 0, result, true);
  }

  Expected<void> launch_patches(Scope& cuda, int slot, cudaStream_t stream) noexcept {
    const CortexParameters& p = shape().parameters;
    const auto count = static_cast<unsigned>(plan_.patches);
    const StretchArguments pixels{
        .frame = params(slot), .stretch = size(), .columns = plan_.columns, .gray = gray_};
    const int per_block = is_wide(size()) ? kStretchThreads / 32 : kStretchThreads;
    OCELLUS_TRY(launch(cuda, stream, stretch(),
                       dim3(block_count(shape().pixels(), per_block), count), dim3(kStretchThreads),
                       0, pixels));
    const CellArguments cells{.gray = gray_,
                              .width = p.width,
                              .height = p.height,
                              .ink = plan_.ink,
                              .deslant = p.deslant,
                              .threshold = p.lgn_threshold,
                              .cells = cells_,
                              .has_ink = has_ink_};
    return launch(cuda, stream, kCellKernel, dim3(count), dim3(kCellThreads), 0, cells, true);
  }

  Expected<void> launch_level(Scope& cuda, int level, cudaStream_t stream) noexcept {
    const detail::Hierarchy& hierarchy = shape().hierarchy;
    const LevelPlan& l = hierarchy.level(level);
    const detail::CortexArrays arrays = arrays_at(shape(), model_);
    const bool free_fields = level == 0 && shape().parameters.fields > 0;
    const CompeteArguments arguments{.cells = level == 0 ? cells_ : nullptr,
                                     .fields = free_fields ? arrays.fields : nullptr,
                                     .pixels = shape().pixels(),
                                     .weights = arrays.weights + hierarchy.weights_of(level, 0),
                                     .bias = arrays.bias + hierarchy.minicolumns_of(level, 0),
                                     .shares = shares_,
                                     .winners = winners_,
                                     .activity = activity_,
                                     .hypercolumns = hierarchy.hypercolumns,
                                     .level = hierarchy.level(level),
                                     .competitors = shape().parameters.competitors};
    const dim3 grid(static_cast<unsigned>(l.hypercolumns), static_cast<unsigned>(plan_.patches));
    return launch(cuda, stream, kCompeteKernel, grid, dim3(kCompeteThreads), 0, arguments, true);
  }

  Expected<void> launch_learning(Scope& cuda, int level, cudaStream_t stream) noexcept {
    const detail::Hierarchy& hierarchy = shape().hierarchy;
    detail::LearningArrays arrays = learning_arrays_at(shape(), model_);
    arrays.weights += hierarchy.weights_of(level, 0);
    arrays.bias += hierarchy.minicolumns_of(level, 0);
    arrays.probabilities += hierarchy.weights_of(level, 0);
    const LearnArguments arguments{.state = state(),
                                   .enabled = enabled_,
                                   .cells = level == 0 ? cells_ : nullptr,
                                   .pixels = shape().pixels(),
                                   .winners = winners_,
                                   .has_ink = has_ink_,
                                   .patches = plan_.patches,
                                   .hypercolumns = hierarchy.hypercolumns,
                                   .level = hierarchy.level(level),
                                   .rate = plan_.rate,
                                   .tables = tables_,
                                   .arrays = arrays};
    const dim3 grid(static_cast<unsigned>(hierarchy.level(level).hypercolumns));
    return launch(cuda, stream, kLearnKernel, grid, dim3(kLearnThreads), 0, arguments, true);
  }

  std::size_t model_bytes() const noexcept { return places_of(shape(), plan_.learn).bytes; }

  std::int32_t* shares_ = nullptr;
  std::uint32_t* begins_ = nullptr;
  std::uint8_t* gray_ = nullptr;
  std::uint8_t* cells_ = nullptr;
  std::int32_t* winners_ = nullptr;
  detail::CortexActivity* activity_ = nullptr;
  // With `learn`.
  detail::ProbabilityTables* tables_ = nullptr;
  std::uint32_t* has_ink_ = nullptr;
};

}  // namespace
}  // namespace ocellus::cuda

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_on_cuda(const CortexPlan& plan) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::CudaCortex(plan));
}

}  // namespace ocellus::detail
