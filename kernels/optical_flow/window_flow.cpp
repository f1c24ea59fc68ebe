#include "kernels/optical_flow/window_flow.h"

#include <new>

#include "kernels/optical_flow/window_launch.h"
#include "optical_flow/backend.h"

namespace ocellus::cuda {

WindowFlowCuda::WindowFlowCuda(const detail::OpticalFlowPlan& plan) noexcept
    : CudaOperator(detail::window_info_of(plan)), plan_(plan) {}

Expected<void> WindowFlowCuda::prepare(Scope& cuda) noexcept {
  const WindowLaunch window = window_launch(plan_, WindowSource::kFrame);
  return load_kernel(cuda, window.kernel, window.shared_bytes);
}

Expected<void> WindowFlowCuda::record(Scope& cuda, int slot, cudaStream_t stream) noexcept {
  WindowArguments a = window_arguments(plan_);
  a.frame = params(slot);
  a.state = state();
  a.outcome = outcome(slot);
  const WindowLaunch window = window_launch(plan_, WindowSource::kFrame);
  return launch(cuda, stream, window.kernel, window.grid, window.block, window.shared_bytes, a);
}

}  // namespace ocellus::cuda

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_window_flow_cuda(const OpticalFlowPlan& plan) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::WindowFlowCuda(plan));
}

}  // namespace ocellus::detail
