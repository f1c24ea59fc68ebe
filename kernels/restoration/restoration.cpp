// Restoration on CUDA: the choice of the schedule, and the frequency domain in three kernels.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "core/failure.h"
#include "kernels/core/cuda_operator.h"
#include "kernels/restoration/kernels.h"
#include "kernels/restoration/recursion.h"
#include "restoration/transfer.h"

namespace ocellus::cuda {
namespace {

using detail::Complex32;

class CudaRestoration final : public CudaOperator {
 public:
  explicit CudaRestoration(const detail::RestorationPlan& plan) noexcept
      : CudaOperator(detail::info_of(plan)),
        plan_(plan),
        half_((plan.size.height + 1) / 2),
        rows_(make_device_fft(plan.size.width + 2 * plan.padding)),
        columns_(make_device_fft(half_ + 2 * plan.padding)),
        pitch_((rows_.length + kMaxColumns - 1) / kMaxColumns * kMaxColumns) {}

 private:
  std::size_t spectrum_values() const noexcept {
    return static_cast<std::size_t>(pitch_) * static_cast<std::size_t>(half_ + 2 * plan_.padding);
  }
  std::size_t transfer_values() const noexcept {
    return static_cast<std::size_t>(pitch_) * static_cast<std::size_t>(columns_.length);
  }
  std::size_t row_bytes() const noexcept {
    return static_cast<std::size_t>(rows_.shared_elements()) * sizeof(Complex32);
  }
  std::size_t column_bytes() const noexcept {
    return static_cast<std::size_t>(block_columns_) *
           static_cast<std::size_t>(columns_.shared_elements()) * sizeof(Complex32);
  }

  void layout(LayoutBuilder& device) noexcept override {
    source_columns_ = device.take<int>(static_cast<std::size_t>(rows_.length));
    row_roots_ = device.take<Complex32>(static_cast<std::size_t>(root_count(rows_)));
    column_roots_ = device.take<Complex32>(static_cast<std::size_t>(root_count(columns_)));
    transfer_ = device.take<Complex32>(transfer_values());
    spectrum_ = device.take<Complex32>(spectrum_values());
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    // As many columns as there is room for, but two blocks run at a time.
    const auto most = static_cast<std::size_t>(device_traits().shared_bytes_per_block);
    block_columns_ = kMaxColumns;
    while (block_columns_ > 1 && column_bytes() > most / 2) block_columns_ /= 2;
    if (row_bytes() > most || column_bytes() > most) {
      return tl::unexpected(make_error(
          Status::kUnsupported,
          "restoration of %dx%d with a padding of %d pixels needs %zu bytes of shared memory; the "
          "device has %zu for each block; use schedule recursion or a smaller frame",
          plan_.size.width, plan_.size.height, plan_.padding,
          row_bytes() > column_bytes() ? row_bytes() : column_bytes(), most));
    }
    OCELLUS_TRY(load_kernel(cuda, forward_rows_kernel(plan_.format), row_bytes()));
    OCELLUS_TRY(load_kernel(cuda, columns_kernel(block_columns_), column_bytes()));
    OCELLUS_TRY(load_kernel(cuda, inverse_rows_kernel(plan_.format), row_bytes()));
    return upload_tables(cuda);
  }

  Expected<void> upload_tables(Scope& cuda) noexcept {
    const std::unique_ptr<Complex32[]> values(new (std::nothrow) Complex32[transfer_values()]);
    if (!values) return detail::no_memory_for_operator();
    for (const bool row : {true, false}) {
      const DeviceFft& fft = row ? rows_ : columns_;
      make_roots(fft, values.get());
      OCELLUS_TRY(upload(cuda, row ? row_roots_ : column_roots_, values.get(),
                         static_cast<std::size_t>(root_count(fft)) * sizeof(Complex32)));
    }
    const std::unique_ptr<int[]> columns(
        new (std::nothrow) int[static_cast<std::size_t>(rows_.length)]);
    if (!columns) return detail::no_memory_for_operator();
    for (int i = 0; i < rows_.length; ++i) {
      const int x = i - plan_.padding;
      columns[static_cast<std::size_t>(i)] =
          x < plan_.size.width + plan_.padding
              ? detail::border_position(x, plan_.size.width, plan_.border)
              : -1;
    }
    OCELLUS_TRY(upload(cuda, source_columns_, columns.get(),
                       static_cast<std::size_t>(rows_.length) * sizeof(int)));
    // Columns that no row has: a block may transform them.
    std::fill_n(values.get(), spectrum_values(), Complex32{0.0f, 0.0f});
    OCELLUS_TRY(upload(cuda, spectrum_, values.get(), spectrum_values() * sizeof(Complex32)));
    const std::unique_ptr<Complex32[]> row(new (std::nothrow)
                                               Complex32[static_cast<std::size_t>(rows_.length)]);
    if (!row) return detail::no_memory_for_operator();
    fill_transfer(values.get(), row.get());
    return upload(cuda, transfer_, values.get(), transfer_values() * sizeof(Complex32));
  }

  /// Writes the transfer function in the order of RestorationArguments::transfer. `row` has room
  /// for a row of it.
  void fill_transfer(Complex32* values, Complex32* row) const noexcept {
    std::fill_n(values, transfer_values(), Complex32{0.0f, 0.0f});
    for (int place = 0; place < columns_.length; ++place) {
      detail::make_transfer_row(plan_.filter, stored_frequency(columns_, place), columns_.length,
                                rows_.length, row);
      for (int x = 0; x < rows_.length; ++x) {
        const auto block = static_cast<std::size_t>(x / block_columns_);
        const auto at =
            (block * static_cast<std::size_t>(columns_.length) + static_cast<std::size_t>(place)) *
                static_cast<std::size_t>(block_columns_) +
            static_cast<std::size_t>(x % block_columns_);
        values[at] = row[stored_frequency(rows_, x)];
      }
    }
  }

  /// The number of threads of a block: all blocks that a multiprocessor gets run at once, if that
  /// leaves each one enough threads.
  int threads_for(const DeviceFft& fft, int arrays, unsigned blocks) const noexcept {
    constexpr int kWarp = 32;
    constexpr int kLeast = 3 * kWarp;
    const auto multiprocessors = static_cast<unsigned>(device_traits().multiprocessors);
    const auto share = static_cast<int>((blocks + multiprocessors - 1) / multiprocessors);
    int most_butterflies = 0;
    for (int p = 0; p < fft.passes; ++p)
      most_butterflies =
          std::max(most_butterflies, fft.pass[static_cast<std::size_t>(p)].butterflies * arrays);
    const int useful = (most_butterflies + kWarp - 1) / kWarp * kWarp;
    const int fair = std::max(kResidentThreads / share / kWarp * kWarp, kLeast);
    return std::min({useful, fair, kMaxFilterThreads});
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    const RestorationArguments arguments{
        .frame = params(slot),
        .state = state(),
        .outcome = outcome(slot),
        .size = plan_.size,
        .padding = plan_.padding,
        .half = half_,
        .border = plan_.border,
        .rows = rows_,
        .columns = columns_,
        .pitch = pitch_,
        .source_columns = source_columns_,
        .row_roots = row_roots_,
        .column_roots = column_roots_,
        .transfer = transfer_,
        .spectrum = spectrum_,
    };
    const unsigned rows = block_count(half_ + 2 * plan_.padding, 1);
    const unsigned columns = block_count(rows_.length, block_columns_);
    const dim3 row_threads(static_cast<unsigned>(threads_for(rows_, 1, rows)));
    const dim3 column_threads(
        static_cast<unsigned>(threads_for(columns_, block_columns_, columns)));
    OCELLUS_TRY(launch(cuda, stream, forward_rows_kernel(plan_.format), dim3(rows), row_threads,
                       row_bytes(), arguments));
    OCELLUS_TRY(launch(cuda, stream, columns_kernel(block_columns_), dim3(columns), column_threads,
                       column_bytes(), arguments, true));
    return launch(cuda, stream, inverse_rows_kernel(plan_.format), dim3(block_count(half_, 1)),
                  row_threads, row_bytes(), arguments, true);
  }

  detail::RestorationPlan plan_;
  int half_;  ///< rows of the image in the real part
  DeviceFft rows_;
  DeviceFft columns_;
  int pitch_;              ///< values from row to row of the spectrum
  int block_columns_ = 1;  ///< columns of a block
  int* source_columns_ = nullptr;
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
