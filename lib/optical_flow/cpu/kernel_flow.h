// KernelFlow: the paper's method on the CPU. It computes derivatives with spatio-temporal kernels,
// then one Lucas-Kanade solution. SpatioTemporalFilter uses it as well, without the solution.
#pragma once

#include <atomic>

#include "optical_flow/cpu/flow_operator.h"
#include "optical_flow/cpu/ring_filter.h"
#include "optical_flow/cpu/window_solver.h"
#include "optical_flow/uniform_kernels.h"

namespace ocellus::detail {

class KernelFlow final : public FlowOperator {
 public:
  KernelFlow(const OpticalFlowPlan& plan, int workers, const KernelConfig* kernels) noexcept;

 private:
  /// Private buffers of one worker.
  struct Scratch {
    float* temporal = nullptr;    // temporal sums of one row, with margins
    float* horizontal = nullptr;  // ny rows of each horizontal result
    float* rows = nullptr;        // one row for each convolution
    SweepScratch sweep;
    DeviationScratch deviation;  // if the plan has it
  };

  void layout_method(LayoutBuilder& builder) noexcept override;
  Expected<void> load(const KernelConfig& kernels) noexcept override;
  int method_steps() const noexcept override { return plan_.deviation ? 3 : 2; }
  void build_method(JobStep* steps, StepContext* contexts) noexcept override;

  Expected<void> load_per_pixel(const KernelConfig& kernels, KernelNoise& noise) noexcept;

  static void run(void* context, int part, int worker) noexcept;
  void convolve(FrameJob& frame, int band, const Scratch& scratch) noexcept;
  void solve(FrameJob& frame, int band, const Scratch& scratch) noexcept;
  void finish(FrameJob& frame, int begin, int end, const Scratch& scratch) noexcept;
  void wait_for_rows(int begin, int end) const noexcept;
  void order_parts() noexcept;
  void ingest(FrameJob& frame, int begin, int end) noexcept;
  void convolve_per_pixel(FrameJob& frame, int begin, int end, const Scratch& scratch) noexcept;
  void convolve_full(FrameJob& frame, int begin, int end, const Scratch& scratch) noexcept;
  void convolve_uniform(FrameJob& frame, int begin, int end, const Scratch& scratch) noexcept;

  bool per_pixel() const noexcept { return plan_.form != KernelForm::kUniform; }
  bool full() const noexcept { return plan_.form == KernelForm::kFull; }
  /// Of convolution and term.
  int pairs() const noexcept { return plan_.convolutions * plan_.terms; }
  std::size_t taps_per_block() const noexcept {
    return static_cast<std::size_t>(plan_.term_taps * pairs() * kRingBlock);
  }
  /// Destination of row y of each convolution: the derivative planes, or scratch memory that
  /// `give_rows` copies to the output planes.
  void result_rows(const Scratch& scratch, int y, float** rows) const noexcept;
  void give_rows(const FrameJob& frame, int y, float* const* rows) const noexcept;

  int left_;   // taps to the left of the pixel, in image coordinates
  int right_;  // taps to the right of the pixel
  int above_;
  int below_;
  int blocks_ = 0;  // blocks of kRingBlock pixels in a row of the support

  // Per-pixel kernels: the newest frame as floats with margins, the bank and the ring. Full
  // kernels: the last nt frames below each other, and the bank.
  FloatPlane image_;
  char* bank_ = nullptr;
  char* ring_ = nullptr;
  std::size_t bank_row_bytes_ = 0;
  std::size_t ring_row_bytes_ = 0;

  // Uniform kernels: the last nt frames in their own format.
  UniformKernels uniform_;
  DeviationModel deviation_{};
  char* frames_kept_ = nullptr;
  std::size_t kept_stride_ = 0;  // bytes
  char* kept_row(int frame, int y) const noexcept {
    return frames_kept_ + static_cast<std::size_t>(frame * plan_.size.height + y) * kept_stride_;
  }

  // Over the support; optical flow only.
  std::array<FloatPlane, 3> derivatives_;
  std::size_t derivative_stride_ = 0;

  // With deviation: planes of u, v and confidence over plan_.flow. u and v are NaN where they are
  // invalid.
  std::array<ImageView, 3> solved_;
  const float* solved_row(int plane, int y) const noexcept {
    return solved_[static_cast<std::size_t>(plane)].row<const float>(y);
  }

  std::array<Scratch, kMaxWorkers> scratch_;

  // Convolving is bound by memory and solving by arithmetic, so both share one step. A band is
  // solved as soon as its rows are available, while other workers continue to stream the bank.
  struct Part {
    bool solve;
    int band;
  };
  Bands ingest_bands_;
  Bands convolve_bands_;
  Bands solve_bands_;
  Bands finish_bands_;
  Part* parts_ = nullptr;
  /// Number of the frame for which each band was last convolved.
  std::atomic<std::uint32_t>* convolved_ = nullptr;
};

}  // namespace ocellus::detail
