// Restoration on the CPU by recursion: a worker takes a quadrant of the padded image, and the four
// results are added.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "restoration/cpu/restoration.h"
#include "restoration/cpu/rows.h"

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace ocellus::detail {
namespace {

/// While such an object exists, arithmetic of its thread takes denormal numbers as 0 and gives 0 in
/// place of them. A recursion decays into such numbers behind the last bright pixel, where each
/// operation would take many times as long. The destructor restores the thread's mode. No effect
/// on processors other than x86 with SSE and 64-bit ARM.
class FlushDenormals {
 public:
#if defined(__SSE__)
  FlushDenormals() noexcept : mode_(_mm_getcsr()) {
    _mm_setcsr(mode_ | kFlush);
  }
  ~FlushDenormals() {
    _mm_setcsr(mode_);
  }
#elif defined(__aarch64__)
  FlushDenormals() noexcept {
    asm volatile("mrs %0, fpcr" : "=r"(mode_) : : "memory");
    set(mode_ | kFlush);
  }
  ~FlushDenormals() {
    set(mode_);
  }
#else
  FlushDenormals() noexcept {}
  ~FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

#if defined(__SSE__)
 private:
  static constexpr unsigned kFlush = 0x8040;  // results (FTZ) and operands (DAZ)
  unsigned mode_;
#elif defined(__aarch64__)
 private:
  static constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;  // FZ: results and operands
  static void set(std::uint64_t mode) noexcept {
    asm volatile("msr fpcr, %0" : : "r"(mode) : "memory");
  }
  std::uint64_t mode_;
#endif
};

class CpuRecursion final : public CpuRestoration {
 public:
  CpuRecursion(const RestorationPlan& plan, int workers) noexcept
      // The recursion begins at rest, so zeros beyond the image change nothing.
      : CpuRestoration(plan, plan.border == RestorationBorder::kZero ? 0 : plan.padding, workers),
        padded_bands_(Bands::cut(padded_.height, workers, 4, 8)),
        bands_(Bands::cut(plan.size.height, workers, 4, 8)) {}

 private:
  /// Arrays of one quadrant.
  struct Quadrant {
    RowFeedback* feedback = nullptr;
    float* ring = nullptr;    ///< the last m rows of the output
    float* result = nullptr;  ///< size of the image
  };

  std::size_t stride() const noexcept {
    return static_cast<std::size_t>(
        whole_vectors(kRecursionGuard + padded_.width + kRecursionSlack));
  }
  std::size_t result_stride() const noexcept {
    return static_cast<std::size_t>(whole_vectors(plan_.size.width));
  }
  std::size_t support() const noexcept { return static_cast<std::size_t>(plan_.filter.support); }
  bool mirrored_x(int quadrant) const noexcept { return (quadrant & 1) != 0; }
  bool mirrored_y(int quadrant) const noexcept { return (quadrant & 2) != 0; }
  /// Row `y` of the padded image, or of its mirror image along x.
  float* padded_row(bool mirrored, int y) const noexcept {
    return padded_rows_[mirrored ? 1 : 0] + static_cast<std::size_t>(y) * stride() +
           kRecursionGuard;
  }

  void layout(LayoutBuilder& builder) noexcept override {
    zeros_ = builder.take<float>(stride());
    for (float*& rows : padded_rows_)
      rows = builder.take<float>(stride() * static_cast<std::size_t>(padded_.height));
    for (Quadrant& quadrant : quadrants_) {
      quadrant.feedback = builder.take<RowFeedback>(1);
      quadrant.ring = builder.take<float>(stride() * support());
      quadrant.result =
          builder.take<float>(result_stride() * static_cast<std::size_t>(plan_.size.height));
    }
  }

  Expected<void> prepare() noexcept override {
    const std::size_t row_bytes = stride() * sizeof(float);
    std::memset(zeros_, 0, row_bytes);
    // The guards stay 0: they are before the image, where the recursion begins at rest.
    for (float* const rows : padded_rows_)
      std::memset(rows, 0, row_bytes * static_cast<std::size_t>(padded_.height));
    for (std::size_t q = 0; q < quadrants_.size(); ++q) {
      std::memset(quadrants_[q].ring, 0, row_bytes * support());
      make_row_feedback(plan_.filter.feedback[q].data(), plan_.filter.support,
                        *quadrants_[q].feedback);
    }
    return {};
  }

  int step_count() const noexcept override { return 3; }

  template <void (CpuRecursion::*kMethod)(FrameJob&, int, int) const noexcept>
  static constexpr auto kStep = &CpuRestoration::run<CpuRecursion, kMethod>;

  void build_steps(JobStep* steps, StepContext* contexts) noexcept override {
    steps[0] = {kStep<&CpuRecursion::pad>, &contexts[0], padded_bands_.count()};
    steps[1] = {kStep<&CpuRecursion::filter>, &contexts[1], kFilterQuadrants};
    steps[2] = {kStep<&CpuRecursion::add>, &contexts[2], bands_.count()};
  }

  /// Writes rows of the padded image and of its mirror image.
  void pad(FrameJob& frame, int part, int /*worker*/) const noexcept {
    for (int y = padded_bands_.begin(part); y < padded_bands_.end(part); ++y)
      if (!pad_both(frame.in, y)) mark_bad(frame);
  }

  bool pad_both(const Frame& in, int y) const noexcept {
    float* const row = padded_row(false, y);
    const bool finite = pad_row(in, y, row);
    std::reverse_copy(row, row + padded_.width, padded_row(true, y));
    return finite;
  }

  void filter(FrameJob& frame, int part, int /*worker*/) const noexcept {
    if (!frame.bad.load(std::memory_order_relaxed)) filter_quadrant(part);
  }

  /// Runs the recursion of a quadrant up to the far side of the image; what is behind it cannot
  /// reach the image.
  void filter_quadrant(int index) const noexcept {
    const FlushDenormals flush;
    const auto q = static_cast<std::size_t>(index);
    const Quadrant& quadrant = quadrants_[q];
    const int m = plan_.filter.support;
    std::array<const float*, kMaxFilterSupport> x{};
    std::array<const float*, kMaxFilterSupport> y{};
    RecursionRow row{x.data(),
                     y.data(),
                     plan_.filter.feedforward[q].data(),
                     plan_.filter.feedback[q].data(),
                     quadrant.feedback,
                     m,
                     padding_ + plan_.size.width,
                     nullptr};
    const float* const zeros = zeros_ + kRecursionGuard;
    for (int i = 0; i < padding_ + plan_.size.height; ++i) {
      for (int r = 0; r < m; ++r) {
        const auto k = static_cast<std::size_t>(r);
        x[k] = y[k] = zeros;
        if (r > i) continue;
        x[k] =
            padded_row(mirrored_x(index), mirrored_y(index) ? padded_.height - 1 - (i - r) : i - r);
        y[k] = ring_row(quadrant, i - r);
      }
      row.out = ring_row(quadrant, i);
      run_recursion_row(row);
      if (i >= padding_) keep_row(index, i - padding_, row.out + padding_);
    }
  }

  float* ring_row(const Quadrant& quadrant, int i) const noexcept {
    return quadrant.ring + static_cast<std::size_t>(i % plan_.filter.support) * stride() +
           kRecursionGuard;
  }

  /// Copies a row of a quadrant's result, which may be mirrored, to its place in the image.
  void keep_row(int index, int i, const float* row) const noexcept {
    const int y = mirrored_y(index) ? plan_.size.height - 1 - i : i;
    float* const to = result_row(index, y);
    if (mirrored_x(index))
      std::reverse_copy(row, row + plan_.size.width, to);
    else
      std::copy(row, row + plan_.size.width, to);
  }
  float* result_row(int index, int y) const noexcept {
    return quadrants_[static_cast<std::size_t>(index)].result +
           static_cast<std::size_t>(y) * result_stride();
  }

  void add(FrameJob& frame, int part, int /*worker*/) const noexcept {
    if (frame.bad.load(std::memory_order_relaxed)) return;
    for (int y = bands_.begin(part); y < bands_.end(part); ++y) {
      write_pixel_sums({result_row(0, y), result_row(1, y), result_row(2, y), result_row(3, y)},
                       plan_.format, frame.out_row<unsigned char>(0, y), plan_.size.width);
    }
  }

  Bands padded_bands_;
  Bands bands_;
  float* zeros_ = nullptr;
  std::array<float*, 2> padded_rows_{};  ///< the padded image and its mirror image along x
  std::array<Quadrant, kFilterQuadrants> quadrants_{};
};

}  // namespace

std::unique_ptr<OperatorInstance> make_recursion_cpu(const RestorationPlan& plan,
                                                     int workers) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) CpuRecursion(plan, workers));
}

}  // namespace ocellus::detail
