#include "kernels/optical_flow/window_launch.h"

#include <algorithm>
#include <new>

#include "kernels/core/cuda_operator.h"
#include "optical_flow/backend.h"

namespace ocellus::cuda {

WindowLaunch window_launch(const detail::OpticalFlowPlan& plan, WindowSource source) noexcept {
  const int height = is_large(plan.flow) ? kHighWindow : kLowWindow;
  WindowLaunch launch;
  launch.kernel = window_kernel(height, plan.radius, source);
  launch.grid =
      dim3(block_count(plan.flow.width, kWindowWidth), block_count(plan.flow.height, height));
  launch.block = dim3(static_cast<unsigned>(window_threads(plan.radius)));
  launch.shared_bytes = window_shared_bytes(height, plan.radius);
  WindowArguments& a = launch.arguments;
  a.frames = plan.frames;
  a.support = {plan.support.width, plan.support.height};
  a.region = moved_into(plan.flow, plan.support);
  a.radius = plan.radius;
  std::copy(plan.weight.begin(), plan.weight.end(), a.weight);
  a.threshold = plan.confidence_threshold;
  a.invalid = detail::invalid_value(plan);
  return launch;
}

namespace {

/// WindowFlow: the window kernel of KernelFlow, on derivatives that the frame holds.
class WindowFlowCuda final : public CudaOperator {
 public:
  explicit WindowFlowCuda(const detail::OpticalFlowPlan& plan) noexcept
      : CudaOperator(detail::window_info_of(plan)),
        window_(window_launch(plan, WindowSource::kFrame)) {}

 private:
  void layout(LayoutBuilder&) noexcept override {}  // the kernel reads the frame itself
  Expected<void> prepare(Scope& cuda) noexcept override {
    return load_kernel(cuda, window_.kernel, window_.shared_bytes);
  }
  /// No frame is bad as a whole, so no kernel checks it: a window without finite derivatives is
  /// invalid by itself.
  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    WindowArguments a = window_.arguments;
    static_cast<FrameArguments&>(a) = {params(slot), state(), outcome(slot), a.frames};
    return launch(cuda, stream, window_.kernel, window_.grid, window_.block, window_.shared_bytes,
                  a);
  }

  WindowLaunch window_;
};

}  // namespace
}  // namespace ocellus::cuda

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_window_flow_cuda(const OpticalFlowPlan& plan) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::WindowFlowCuda(plan));
}

}  // namespace ocellus::detail
