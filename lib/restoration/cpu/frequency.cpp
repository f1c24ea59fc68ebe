// Restoration on the CPU in the frequency domain. restoration/transfer.h tells how an image is one
// complex image of half the height.
//
// Three steps: transforms of 16 rows at a time; of 16 columns at a time, with the product between
// forward and inverse; inverse transforms of 16 rows. The spectrum is stored in blocks of 16
// columns, as the transforms of columns take them, so that these read and write memory in order.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>

#include "core/failure.h"
#include "image/fft_block.h"
#include "restoration/cpu/restoration.h"
#include "restoration/cpu/rows.h"
#include "restoration/transfer.h"

namespace ocellus::detail {
namespace {

constexpr int kRows = kFftSequences;

class CpuFrequency final : public CpuRestoration {
 public:
  CpuFrequency(const RestorationPlan& plan, int workers) noexcept
      : CpuRestoration(plan, plan.padding, workers),
        transforms_(RestorationTransforms::plan(plan.size, plan.padding)),
        width_(whole_vectors(transforms_.rows.length)),
        height_(whole_vectors(transforms_.columns.length) + kRows),
        forward_(Bands::cut(whole_vectors(transforms_.columns.length) / kRows, workers, 4, 1)),
        columns_(Bands::cut(width_ / kFftSequences, workers, 4, 1)),
        inverse_(Bands::cut(whole_vectors(transforms_.half) / kRows, workers, 4, 1)) {}

 private:
  /// Arrays of a worker.
  struct Scratch {
    float* lines = nullptr;  ///< 16 rows of gray levels
    float* block = nullptr;  ///< the real rows and the imaginary rows, as an FFT block
  };

  /// Floats from a line to the next one. It is no power of two, so that the lines share no cache
  /// set.
  std::ptrdiff_t line_stride() const noexcept { return std::ptrdiff_t{width_} + 16; }
  std::size_t spectrum_floats() const noexcept {
    return std::size_t{2} * static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_);
  }
  /// Where 16 columns from 16 `block` have their elements from row `row` on, in the spectrum and in
  /// the transfer function.
  std::ptrdiff_t at(int block, int row) const noexcept {
    return (std::ptrdiff_t{block} * height_ + row) * kFftElement;
  }

  void layout(LayoutBuilder& builder) noexcept override {
    row_roots_ = builder.take<Complex32>(static_cast<std::size_t>(transforms_.rows.length));
    column_roots_ = builder.take<Complex32>(static_cast<std::size_t>(transforms_.columns.length));
    transfer_ = builder.take<float>(spectrum_floats());
    spectrum_ = builder.take<float>(spectrum_floats());
    for (int w = 0; w < workers_; ++w) {
      Scratch& scratch = scratch_[static_cast<std::size_t>(w)];
      scratch.lines = builder.take<float>(static_cast<std::size_t>(line_stride() * kRows));
      scratch.block = builder.take<float>(static_cast<std::size_t>(width_) * kFftElement);
    }
  }

  Expected<void> prepare() noexcept override {
    make_fft_roots(transforms_.rows.length, row_roots_);
    make_fft_roots(transforms_.columns.length, column_roots_);
    // What the transforms do not write stays 0: columns and rows behind their lengths.
    std::fill_n(spectrum_, spectrum_floats(), 0.0f);
    std::fill_n(transfer_, spectrum_floats(), 0.0f);
    for (int w = 0; w < workers_; ++w) {
      const Scratch& scratch = scratch_[static_cast<std::size_t>(w)];
      std::fill_n(scratch.lines, line_stride() * kRows, 0.0f);
      std::fill_n(scratch.block, std::ptrdiff_t{width_} * kFftElement, 0.0f);
    }
    const auto width = static_cast<std::size_t>(transforms_.rows.length);
    const std::unique_ptr<Complex32[]> row(new (std::nothrow) Complex32[width]);
    if (!row) return no_memory_for_operator();
    for (int i = 0; i < transforms_.columns.length; ++i) {
      make_transfer_row(plan_.filter, frequency_at(transforms_.columns, i),
                        transforms_.columns.length, transforms_.rows.length, row.get());
      for (int j = 0; j < transforms_.rows.length; ++j) {
        const Complex32 value = row[static_cast<std::size_t>(frequency_at(transforms_.rows, j))];
        float* const to = transfer_ + at(j / kFftSequences, i) + j % kFftSequences;
        to[0] = value.re;
        to[kFftSequences] = value.im;
      }
    }
    return {};
  }

  int step_count() const noexcept override { return 3; }

  template <void (CpuFrequency::*kMethod)(FrameJob&, int, int) const noexcept>
  static constexpr auto kStep = &CpuRestoration::run<CpuFrequency, kMethod>;

  void build_steps(JobStep* steps, StepContext* contexts) noexcept override {
    steps[0] = {kStep<&CpuFrequency::transform_rows>, &contexts[0], forward_.count()};
    steps[1] = {kStep<&CpuFrequency::filter_columns>, &contexts[1], columns_.count()};
    steps[2] = {kStep<&CpuFrequency::invert_rows>, &contexts[2], inverse_.count()};
  }

  void transform_rows(FrameJob& frame, int part, int worker) const noexcept {
    const Scratch& scratch = scratch_[static_cast<std::size_t>(worker)];
    for (int group = forward_.begin(part); group < forward_.end(part); ++group)
      if (!transform_group(frame.in, group * kRows, scratch)) mark_bad(frame);
  }

  /// Transforms 16 rows of the complex image from `first` on.
  bool transform_group(const Frame& in, int first, const Scratch& scratch) const noexcept {
    bool finite = true;
    for (const int imaginary : {0, 1}) {
      for (int r = 0; r < kRows; ++r) {
        const int row = first + r;
        float* const line = scratch.lines + r * line_stride();
        if (row < transforms_.half + 2 * padding_)
          finite &= pad_row(in, row + imaginary * transforms_.half, line);
        else
          std::fill_n(line, padded_.width, 0.0f);
      }
      for (int x = 0; x < width_; x += kFftSequences)
        transpose_tile(scratch.lines + x, line_stride(),
                       scratch.block + std::ptrdiff_t{x} * kFftElement + imaginary * kRows,
                       kFftElement);
    }
    transform_block(transforms_.rows, row_roots_, scratch.block);
    for (int block = 0; block < width_ / kFftSequences; ++block)
      transpose_element_block(scratch.block + std::ptrdiff_t{block} * kFftSequences * kFftElement,
                              spectrum_ + at(block, first));
    return finite;
  }

  /// Transposes 16 elements of 16 complex sequences.
  static void transpose_element_block(const float* from, float* to) noexcept {
    transpose_tile(from, kFftElement, to, kFftElement);
    transpose_tile(from + kFftSequences, kFftElement, to + kFftSequences, kFftElement);
  }

  void filter_columns(FrameJob& frame, int part, int /*worker*/) const noexcept {
    if (frame.bad.load(std::memory_order_relaxed)) return;
    for (int block = columns_.begin(part); block < columns_.end(part); ++block)
      filter_block(transforms_.columns, column_roots_, transfer_ + at(block, 0),
                   spectrum_ + at(block, 0));
  }

  void invert_rows(FrameJob& frame, int part, int worker) const noexcept {
    if (frame.bad.load(std::memory_order_relaxed)) return;
    const Scratch& scratch = scratch_[static_cast<std::size_t>(worker)];
    for (int group = inverse_.begin(part); group < inverse_.end(part); ++group)
      invert_group(frame, group * kRows, scratch);
  }

  /// Writes 16 rows of the result from `first` on, and 16 rows of the lower half.
  void invert_group(const FrameJob& frame, int first, const Scratch& scratch) const noexcept {
    for (int block = 0; block < width_ / kFftSequences; ++block)
      transpose_element_block(spectrum_ + at(block, padding_ + first),
                              scratch.block + std::ptrdiff_t{block} * kFftSequences * kFftElement);
    invert_block(transforms_.rows, row_roots_, scratch.block);
    const int begin = padding_ / kFftSequences * kFftSequences;
    const int end = padding_ + plan_.size.width;
    for (const int imaginary : {0, 1}) {
      for (int x = begin; x < end; x += kFftSequences)
        transpose_tile(scratch.block + std::ptrdiff_t{x} * kFftElement + imaginary * kRows,
                       kFftElement, scratch.lines + x, line_stride());
      const int rows = std::min(
          kRows,
          (imaginary == 0 ? transforms_.half : plan_.size.height - transforms_.half) - first);
      for (int r = 0; r < rows; ++r)
        write_pixels(scratch.lines + r * line_stride() + padding_, plan_.format,
                     frame.out_row<unsigned char>(0, first + r + imaginary * transforms_.half),
                     plan_.size.width);
    }
  }

  RestorationTransforms transforms_;
  int width_;      ///< columns of the spectrum
  int height_;     ///< rows of the spectrum; the last group of the inverse may begin anywhere
  Bands forward_;  // of groups of 16 rows
  Bands columns_;  // of blocks of 16 columns
  Bands inverse_;  // of groups of 16 rows
  Complex32* row_roots_ = nullptr;
  Complex32* column_roots_ = nullptr;
  float* transfer_ = nullptr;
  float* spectrum_ = nullptr;
  std::array<Scratch, kMaxWorkers> scratch_{};
};

}  // namespace

std::unique_ptr<OperatorInstance> make_frequency_cpu(const RestorationPlan& plan,
                                                     int workers) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) CpuFrequency(plan, workers));
}

}  // namespace ocellus::detail
