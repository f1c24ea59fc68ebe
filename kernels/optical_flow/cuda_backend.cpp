// Optical flow's entry in the table of the backend cuda.
#include "kernels/optical_flow/cuda_operator.h"

namespace ocellus::cuda {
namespace {

CudaOperator* self(void* instance) noexcept {
  return static_cast<CudaOperator*>(instance);
}

Expected<CudaOperator*> make_operator(const OpticalFlowPlan& plan) noexcept {
  CudaOperator* made = CudaOperator::make(plan);
  if (made == nullptr)
    return tl::unexpected(
        make_error(Status::kOutOfMemory, "the system gave no memory for the operator"));
  return made;
}

Expected<Footprint> flow_footprint(const EngineInfo&, const OpticalFlowPlan& plan) noexcept {
  const Expected<CudaOperator*> instance = make_operator(plan);
  if (!instance) return tl::unexpected(instance.error());
  const Footprint footprint = (*instance)->footprint();
  delete *instance;
  return footprint;
}

Expected<void*> flow_create(EngineState& engine, const OpticalFlowPlan& plan,
                            const KernelConfig& kernels) noexcept {
  const Expected<CudaOperator*> instance = make_operator(plan);
  if (!instance) return tl::unexpected(instance.error());
  if (Expected<void> made = (*instance)->create(engine, kernels); !made) {
    delete *instance;
    return tl::unexpected(made.error());
  }
  return static_cast<void*>(*instance);
}

}  // namespace
}  // namespace ocellus::cuda

namespace ocellus::detail {

extern const OpticalFlowBackend kOpticalFlowCuda;

const OpticalFlowBackend kOpticalFlowCuda = {
    "cuda",
    true,
    cuda::flow_footprint,
    cuda::flow_create,
    [](void* instance) noexcept { delete cuda::self(instance); },
    [](void* instance, int slot, const Frame& in, const FlowOutput& out) noexcept {
      return cuda::self(instance)->submit(slot, in, out);
    },
    [](void* instance, int slot, Deadline deadline, FrameResult& result) noexcept {
      return cuda::self(instance)->wait(slot, deadline, result);
    },
    [](void* instance, int slot) noexcept { cuda::self(instance)->cancel(slot); },
    [](void* instance) noexcept { cuda::self(instance)->reset(); },
};

}  // namespace ocellus::detail
