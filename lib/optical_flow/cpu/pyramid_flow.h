// PyramidFlow: coarse-to-fine flow on the CPU, from one stored frame to the next.
//
// Each frame is prepared once, on arrival: pyramid, local normalization, light smoothing. The flow
// of the reference frame is then computed from the coarsest level to the finest. On each level, the
// next frame is warped back by the present flow, the remaining motion is solved for, and the flow
// is smoothed.
#pragma once

#include <array>

#include "optical_flow/cpu/deviation_sweep.h"
#include "optical_flow/cpu/flow_operator.h"
#include "optical_flow/cpu/variational_solver.h"
#include "optical_flow/cpu/window_solver.h"
#include "optical_flow/pyramid_plan.h"

namespace ocellus::detail {

class PyramidFlow final : public FlowOperator {
 public:
  PyramidFlow(const OpticalFlowPlan& plan, int workers, const KernelConfig* kernels) noexcept;

 private:
  static constexpr int kMargin = FloatPlane::kMargin;

  using Plane = FloatPlane;
  using Step = PyramidStep;
  using StepKind = PyramidStepKind;

  // Ages of the two frames. As long as only one has come, it is both.
  static constexpr int kNext = 0;
  static constexpr int kReference = 1;

  struct Scratch {
    SweepScratch sweep;
    RowRing mean;                // of the reference and the warped frame
    RowRing rows;                // two rows for any use
    DeviationScratch deviation;  // if the plan has it
    VariationalScratch variational;
  };

  void layout_method(LayoutBuilder& builder) noexcept override;
  int method_steps() const noexcept override { return pyramid_.step_count; }
  void build_method(JobStep* steps, StepContext* contexts) noexcept override;

  Plane take_plane(LayoutBuilder& builder, int width, int height, bool with_borders) noexcept;

  static void run(void* context, int part, int worker) noexcept;
  Bands bands_of(StepKind kind, int level) const noexcept;

  /// A step on rows `begin` to `end` - 1.
  using StepFunction = void (PyramidFlow::*)(FrameJob& frame, const Step& step, int begin, int end,
                                             const Scratch& scratch) noexcept;
  void ingest(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void reduce(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void highpass(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void normalize(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void presmooth(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void expand(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void smooth(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void warp(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void solve(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void variational(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void finish(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  /// Parts of steps.
  void texture(int begin, int end) noexcept;
  void deviation(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;

  /// Writes `value` to a row of a result where the confidence is below the threshold.
  void mark_invalid(const float* confidence, float value, float* row) const noexcept;
  /// Row y of a region in a stored frame.
  const float* stored_row(int age, int level, int y) const noexcept;
  const Plane& stored(int age, int level) const noexcept;
  /// Computes rows `next` to `end` - 1 of the mean of the reference and the warped frame, with
  /// their ends repeated.
  void add_means(int level, int& next, int end, const RowRing& mean) const noexcept;

  PyramidPlan pyramid_;

  SymmetricTaps contrast_box_;
  SymmetricTaps presmoothing_;
  SymmetricTaps smoothing_;

  std::array<Plane, kMaxPyramidLevels> raw_{};
  std::array<Plane, kMaxPyramidLevels> highpass_{};
  std::array<Plane, kMaxPyramidLevels> normalized_{};
  std::array<std::array<Plane, kMaxPyramidLevels>, kPyramidFrames> window_{};
  // If the plan has the deviation.
  DeviationModel deviation_{};
  std::array<Plane, kPyramidFrames> texture_{};
  std::array<std::array<FlowPlanes, 2>, kMaxPyramidLevels> flow_{};
  // Shared by all levels, which run one after the other.
  Plane warped_;
  Plane confidence_;
  // kVariational
  std::array<Plane, kPyramidFrames> guide_{};  // the frames before they are smoothed
  Plane flow_residual_;
  std::array<Scratch, kMaxWorkers> scratch_;
};

}  // namespace ocellus::detail
