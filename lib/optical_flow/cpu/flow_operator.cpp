#include "optical_flow/cpu/flow_operator.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "optical_flow/backend.h"
#include "optical_flow/cpu/kernel_flow.h"
#include "optical_flow/cpu/pyramid_flow.h"

namespace ocellus::detail {

FlowOperator::FlowOperator(const OpticalFlowPlan& plan, int workers,
                           const KernelConfig* kernels) noexcept
    : CpuOperator(shape_of(plan), workers), plan_(plan), kernels_(kernels) {}

std::unique_ptr<FlowOperator> FlowOperator::make(const OpticalFlowPlan& plan, int workers,
                                                 const KernelConfig* kernels) noexcept {
  std::unique_ptr<FlowOperator> made;
  if (plan.method == FlowMethod::kPyramid) {
    made.reset(new (std::nothrow) PyramidFlow(plan, workers, kernels));
  } else {
    made.reset(new (std::nothrow) KernelFlow(plan, workers, kernels));
  }
  return made;
}

Expected<void> FlowOperator::prepare() noexcept {
  return load(*std::exchange(kernels_, nullptr));
}

float FlowOperator::invalid_value() const noexcept {
  return plan_.invalid == InvalidFlow::kNan ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
}

void FlowOperator::write_bad(const FrameJob& frame) noexcept {
  for (int p = 0; p < shape_.planes; ++p) {
    if (frame.out.plane<float>(p) == nullptr) continue;
    const float value = plan_.filter_only ? std::numeric_limits<float>::quiet_NaN()
                        : p == 2          ? 0.0f
                                          : invalid_value();
    for (int y = 0; y < plan_.roi.height; ++y) {
      float* const row = frame.out.row<float>(p, y);
      std::fill(row, row + plan_.roi.width, value);
    }
  }
}

const OpticalFlowBackend kOpticalFlowCpu = {
    .calls = &CpuOperator::kCalls,
    .footprint =
        [](const EngineInfo& engine, const OpticalFlowPlan& plan) noexcept {
          return CpuOperator::footprint(FlowOperator::make(plan, engine.workers, nullptr));
        },
    .create =
        [](EngineState& engine, const OpticalFlowPlan& plan, const KernelConfig& kernels) noexcept {
          return CpuOperator::create(engine,
                                     FlowOperator::make(plan, engine.info().workers, &kernels));
        },
};

}  // namespace ocellus::detail
