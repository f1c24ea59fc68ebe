// NewOperator on CUDA: one kernel.
#include <memory>
#include <new>

#include "kernels/core/cuda_operator.h"
#include "kernels/new_operator/kernels.h"
#include "new_operator/backend.h"

namespace ocellus::cuda {
namespace {

class CudaNewOperator final : public CudaOperator {
 public:
  explicit CudaNewOperator(const detail::NewOperatorPlan& plan) noexcept
      : CudaOperator(detail::info_of(plan)), plan_(plan) {}

 private:
  Kernel<NewOperatorArguments> kernel() const noexcept { return new_operator_kernel(plan_.format); }

  /// The base class has the frame and the result; there is nothing else.
  void layout(LayoutBuilder&) noexcept override {}

  Expected<void> prepare(Scope& cuda) noexcept override {
    OCELLUS_TRY(load_check_kernel(cuda));
    return load_kernel(cuda, kernel(), 0);
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    OCELLUS_TRY(launch_check(cuda, slot, stream));
    const dim3 grid(block_count(plan_.size.width, kNewOperatorBlockX),
                    block_count(plan_.size.height, kNewOperatorBlockY));
    const dim3 block(kNewOperatorBlockX, kNewOperatorBlockY);
    const NewOperatorArguments arguments{params(slot), state(), outcome(slot), plan_};
    return launch(cuda, stream, kernel(), grid, block, 0, arguments);
  }

  detail::NewOperatorPlan plan_;
};

}  // namespace
}  // namespace ocellus::cuda

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_new_operator_cuda(const NewOperatorPlan& plan) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::CudaNewOperator(plan));
}

}  // namespace ocellus::detail
