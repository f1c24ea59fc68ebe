// Network on CUDA: a kernel for the pixels of all patches, then for each patch one for each level
// and one that counts the step, and one for the answers.
#include <cstdint>
#include <memory>
#include <new>

#include "core/failure.h"
#include "cortical_network/operator_plan.h"
#include "kernels/cortical_network/network_operator.h"
#include "kernels/cortical_network/network_parts.h"
#include "kernels/cortical_network/patch_learner.h"

namespace ocellus::cuda {
namespace {

using detail::Hierarchy;
using detail::NetworkOperatorPlan;

class CudaNetwork final : public PatchLearner<NetworkOperatorPlan> {
 public:
  explicit CudaNetwork(const NetworkOperatorPlan& plan) noexcept : PatchLearner(plan) {}

  Expected<void> save_learned(const char* path) noexcept override {
    return save_network(path, plan_, *this);
  }

 private:
  const Hierarchy& hierarchy() const noexcept { return plan_.plan.hierarchy; }
  std::size_t hypercolumns() const noexcept {
    return static_cast<std::size_t>(hierarchy().hypercolumns);
  }
  std::size_t pixels() const noexcept {
    return static_cast<std::size_t>(plan_.network.width) *
           static_cast<std::size_t>(plan_.network.height);
  }
  detail::PatchStretch size() const noexcept {
    return stretch_to(plan_.network.width, plan_.network.height);
  }
  Kernel<StretchArguments> stretch() const noexcept {
    return stretch_kernel(plan_.format, is_wide(size()));
  }

  void layout(LayoutBuilder& device) noexcept override {
    model_ = device.take<std::uint8_t>(model_arrays_at(plan_, nullptr).bytes);
    begins_ = device.take<std::uint32_t>(hypercolumns());
    gray_ = device.take<std::uint8_t>(patches() * pixels());
    winners_ = device.take<std::int32_t>(patches() * hypercolumns());
    responses_ = device.take<std::int64_t>(hypercolumns());
    hypotheses_ = device.take<std::int32_t>(hypercolumns());
    enabled_ = device.take<std::uint32_t>(1);
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    OCELLUS_TRY(load_check_kernel(cuda));
    OCELLUS_TRY(load_kernel(cuda, stretch(), 0));
    OCELLUS_TRY(load_kernel(cuda, kPatchStepKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kNetworkLevelKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kFeedbackKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kWinnerKernel, 0));
    const std::size_t bytes = model_arrays_at(plan_, nullptr).bytes;
    const SystemMemory model = system_memory(bytes);
    const std::unique_ptr<std::uint32_t[]> begins(new (std::nothrow) std::uint32_t[hypercolumns()]);
    if (model == nullptr || begins == nullptr) return detail::no_memory_for_operator();
    OCELLUS_TRY(read_network(plan_, model.get()));
    OCELLUS_TRY(upload(cuda, model_, model.get(), bytes));
    std::uint32_t row = 0;
    for (int level = 0; level < hierarchy().level_count; ++level) {
      const detail::LevelPlan& l = hierarchy().level(level);
      for (int h = 0; h < l.hypercolumns; ++h, row += static_cast<unsigned>(l.minicolumns + 1))
        begins[static_cast<std::size_t>(l.first + h)] = row;
    }
    return upload(cuda, begins_, begins.get(), hypercolumns() * sizeof(std::uint32_t));
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    OCELLUS_TRY(launch_check(cuda, slot, stream));
    const StretchArguments pixels_of_patches{
        .frame = params(slot), .stretch = size(), .columns = plan_.columns, .gray = gray_};
    const int per_block = is_wide(size()) ? kStretchThreads / 32 : kStretchThreads;
    OCELLUS_TRY(launch(cuda, stream, stretch(),
                       dim3(block_count(static_cast<int>(pixels()), per_block),
                            static_cast<unsigned>(plan_.patches)),
                       dim3(kStretchThreads), 0, pixels_of_patches));
    const detail::NetworkModelArrays model = model_arrays_at(plan_, model_);
    NetworkArguments network{};
    network.describe(plan_.plan);
    network.step = reinterpret_cast<NetworkStep*>(model.steps);
    network.weights = model.weights;
    network.strong = model.strong;
    network.minicolumns = model.minicolumns;
    network.wins = model.wins;
    network.winner_responses = responses_;
    PatchStepArguments step{network.step, state(), plan_.learn ? enabled_ : nullptr, true};
    OCELLUS_TRY(launch(cuda, stream, kPatchStepKernel, dim3(1), dim3(32), 0, step, true));
    step.first = false;
    for (std::size_t patch = 0; patch < patches(); ++patch) {
      network.image = gray_ + patch * pixels();
      network.winners = winners_ + patch * hypercolumns();
      for (int level = 0; level < hierarchy().level_count; ++level) {
        const int count = hierarchy().level(level).hypercolumns;
        OCELLUS_TRY(launch(cuda, stream, kNetworkLevelKernel,
                           dim3(blocks_of(count, kBlockHypercolumns)), dim3(kNetworkThreads), 0,
                           LevelRange{network, level, 0, count}, true));
      }
      OCELLUS_TRY(launch_feedback(cuda, network, stream));
      if (plan_.learn)
        OCELLUS_TRY(launch(cuda, stream, kPatchStepKernel, dim3(1), dim3(32), 0, step, true));
    }
    const WinnerArguments result{.answers = {.frame = params(slot),
                                             .state = state(),
                                             .outcome = outcome(slot),
                                             .record = static_cast<NetworkRecord*>(record_of(slot)),
                                             .class_bias = model.class_bias,
                                             .classes = plan_.read_out.classes,
                                             .sharpness = plan_.read_out.sharpness,
                                             .patches = plan_.patches,
                                             .truncated = plan_.truncated,
                                             .none_if_equal = true},
                                 .winners = winners_,
                                 .begins = begins_,
                                 .read_out = model.read_out,
                                 .hypercolumns = hierarchy().hypercolumns};
    return launch(cuda, stream, kWinnerKernel, dim3(static_cast<unsigned>(plan_.patches)),
                  dim3(kReadOutThreads), 0, result, true);
  }

  /// Rounds of feedback: down, then up.
  Expected<void> launch_feedback(Scope& cuda, const NetworkArguments& network,
                                 cudaStream_t stream) noexcept {
    const int levels = hierarchy().level_count;
    for (int step = 0; step < 2 * levels * plan_.plan.feedback_rounds; ++step) {
      const int at = step % (2 * levels);
      const bool chooses = at < levels;
      const int level = chooses ? levels - 1 - at : at - levels;
      OCELLUS_TRY(launch(
          cuda, stream, kFeedbackKernel,
          dim3(blocks_of(hierarchy().level(level).hypercolumns, kBlockHypercolumns)),
          dim3(kNetworkThreads), 0,
          FeedbackArguments{network, hypotheses_, level, plan_.plan.feedback_tolerance, chooses},
          true));
    }
    return {};
  }

  std::uint32_t* begins_ = nullptr;
  std::uint8_t* gray_ = nullptr;
  std::int32_t* winners_ = nullptr;
  std::int64_t* responses_ = nullptr;
  std::int32_t* hypotheses_ = nullptr;
};

}  // namespace
}  // namespace ocellus::cuda

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_on_cuda(const NetworkOperatorPlan& plan) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::CudaNetwork(plan));
}

}  // namespace ocellus::detail
