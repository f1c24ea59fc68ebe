// Restoration on CUDA: the choice of the schedule, and the frequency domain in three kernels.
#include <cstddef>
#include <memory>
#include <new>

#include "core/failure.h"
#include "kernels/core/cuda_operator.h"
#include "kernels/restoration/kernels.h"
#include "kernels/restoration/recursion.h"
#include "restoration/backend.h"
#include "restoration/transfer.h"

namespace ocellus::cuda {
namespace {

using detail::Complex32;

class CudaRestoration final : public CudaOperator {
 public:
  explicit CudaRestoration(const detail::RestorationPlan& plan) noexcept
      : CudaOperator(detail::info_of(plan)),
        plan_(plan),
        transforms_(detail::RestorationTransforms::plan(plan.size, plan.padding)) {}

 private:
  std::size_t frequencies() const noexcept {
    return static_cast<std::size_t>(transforms_.rows.length) *
           static_cast<std::size_t>(transforms_.columns.length);
  }
  std::size_t row_bytes() const noexcept {
    return static_cast<std::size_t>(shared_elements(transforms_.rows.length)) * sizeof(Complex32);
  }
  std::size_t column_bytes() const noexcept {
    return static_cast<std::size_t>(columns_) *
           static_cast<std::size_t>(shared_elements(transforms_.columns.length) + 1) *
           sizeof(Complex32);
  }

  void layout(LayoutBuilder& device) noexcept override {
    row_roots_ = device.take<Complex32>(static_cast<std::size_t>(transforms_.rows.length));
    column_roots_ = device.take<Complex32>(static_cast<std::size_t>(transforms_.columns.length));
    transfer_ = device.take<Complex32>(frequencies());
    spectrum_ = device.take<Complex32>(frequencies());
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    if (Expected<void> done = load_check_kernel(cuda); !done) return done;
    // As many columns as there is room for, up to half of the shared memory, so that two blocks
    // run at a time.
    const auto most = static_cast<std::size_t>(device_traits().shared_bytes_per_block);
    columns_ = kMaxColumns;
    while (columns_ > 1 && column_bytes() > most / 2) columns_ /= 2;
    if (row_bytes() > most || column_bytes() > most) {
      return tl::unexpected(make_error(
          Status::kUnsupported,
          "restoration of %dx%d with a padding of %d pixels needs %zu bytes of shared memory; the "
          "device has %zu for each block",
          plan_.size.width, plan_.size.height, plan_.padding,
          row_bytes() > column_bytes() ? row_bytes() : column_bytes(), most));
    }
    if (Expected<void> done = load_kernel(cuda, forward_rows_kernel(plan_.format), row_bytes());
        !done)
      return done;
    if (Expected<void> done = load_kernel(cuda, columns_kernel(columns_), column_bytes()); !done)
      return done;
    if (Expected<void> done = load_kernel(cuda, inverse_rows_kernel(plan_.format), row_bytes());
        !done)
      return done;
    return upload_tables(cuda);
  }

  Expected<void> upload_tables(Scope& cuda) noexcept {
    const std::unique_ptr<Complex32[]> values(new (std::nothrow) Complex32[frequencies()]);
    if (!values) return detail::no_memory_for_operator();
    for (const bool row : {true, false}) {
      const int length = row ? transforms_.rows.length : transforms_.columns.length;
      detail::make_fft_roots(length, values.get());
      if (Expected<void> done = upload(cuda, row ? row_roots_ : column_roots_, values.get(),
                                       static_cast<std::size_t>(length) * sizeof(Complex32));
          !done)
        return done;
    }
    detail::make_transfer_function(plan_.filter, transforms_, values.get());
    return upload(cuda, transfer_, values.get(), frequencies() * sizeof(Complex32));
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    if (Expected<void> done = launch_check(cuda, slot, stream); !done) return done;
    const RestorationArguments arguments{
        params(slot),     state(),      outcome(slot),    plan_.size,          plan_.padding,
        transforms_.half, plan_.border, transforms_.rows, transforms_.columns, row_roots_,
        column_roots_,    transfer_,    spectrum_};
    if (Expected<void> done = launch(cuda, stream, forward_rows_kernel(plan_.format),
                                     dim3(block_count(transforms_.columns.length, 1)),
                                     dim3(kRowThreads), row_bytes(), arguments);
        !done)
      return done;
    if (Expected<void> done = launch(cuda, stream, columns_kernel(columns_),
                                     dim3(block_count(transforms_.rows.length, columns_)),
                                     dim3(kColumnThreads), column_bytes(), arguments);
        !done)
      return done;
    return launch(cuda, stream, inverse_rows_kernel(plan_.format),
                  dim3(block_count(transforms_.half, 1)), dim3(kRowThreads), row_bytes(),
                  arguments);
  }

  detail::RestorationPlan plan_;
  detail::RestorationTransforms transforms_;
  int columns_ = 1;  ///< columns of a block
  Complex32* row_roots_ = nullptr;
  Complex32* column_roots_ = nullptr;
  Complex32* transfer_ = nullptr;
  Complex32* spectrum_ = nullptr;
};

}  // namespace
}  // namespace ocellus::cuda

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_restoration_cuda(const RestorationPlan& plan) noexcept {
  if (plan.schedule == RestorationSchedule::kRecursion) return cuda::make_recursion(plan);
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) cuda::CudaRestoration(plan));
}

}  // namespace ocellus::detail
