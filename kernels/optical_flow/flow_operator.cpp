#include "kernels/optical_flow/flow_operator.h"

#include <new>
#include <utility>

#include "kernels/optical_flow/kernel_flow.h"
#include "kernels/optical_flow/kernels.h"
#include "kernels/optical_flow/pyramid_flow.h"
#include "optical_flow/backend.h"

namespace ocellus::cuda {

FlowOperator::FlowOperator(const OpticalFlowPlan& plan, const KernelConfig* kernels) noexcept
    : CudaOperator(info_of(plan)), plan_(plan), kernels_(kernels), objects_(plan) {}

void FlowOperator::layout(LayoutBuilder& device) noexcept {
  layout_method(device);
  if (detail::objects_need_deviation(plan_))
    cell_deviation_ = device.take<float>(objects_.grid().cells());
}

void FlowOperator::layout_pinned(LayoutBuilder& pinned) noexcept {
  if (plan_.objects > 0) objects_.layout(pinned);
}

Expected<void> FlowOperator::prepare(Scope& cuda) noexcept {
  if (plan_.objects > 0) {
    OCELLUS_TRY(prepare_host_calls(cuda));
    OCELLUS_TRY(load_kernel(cuda, object_cells_kernel(), 0));
  }
  return load(cuda, *std::exchange(kernels_, nullptr));
}

Expected<void> FlowOperator::record(Scope& cuda, int slot, cudaStream_t stream) noexcept {
  OCELLUS_TRY(record_method(cuda, slot, stream));
  if (plan_.objects == 0) return {};
  const detail::CellGrid& grid = objects_.grid();
  const ObjectCellArguments cells{params(slot), grid, objects_.samples(), cell_deviation_};
  OCELLUS_TRY(launch(cuda, stream, object_cells_kernel(),
                     dim3(block_count(static_cast<int>(grid.cells()), kObjectCellThreads)),
                     dim3(kObjectCellThreads), 0, cells));
  Context& context = contexts_[static_cast<std::size_t>(slot)];
  context = {this, slot};
  return launch_host(cuda, slot, stream, &FlowOperator::find_objects, &context);
}

FlowTarget FlowOperator::final_target(const Rect& region) const noexcept {
  FlowTarget target{};
  target.part = moved_into(plan_.roi, region);
  target.threshold = plan_.confidence_threshold;
  target.invalid = invalid_value(plan_);
  return target;
}

void FlowOperator::find_objects(void* context) noexcept {
  const auto [self, slot] = *static_cast<const Context*>(context);
  self->objects_.find(*static_cast<MovingObjectsRecord*>(self->record_of(slot)));
}

}  // namespace ocellus::cuda

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_flow_cuda(const OpticalFlowPlan& plan,
                                                 const KernelConfig* kernels) noexcept {
  if (plan.method == FlowMethod::kPyramid)
    return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::PyramidFlow(plan, kernels));
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::KernelFlow(plan, kernels));
}

}  // namespace ocellus::detail
