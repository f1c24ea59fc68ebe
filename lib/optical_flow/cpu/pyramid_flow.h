// PyramidFlow: coarse-to-fine flow on the CPU, from one stored frame to the next.
//
// Each frame is prepared once, on arrival: pyramid, local normalization, light smoothing. The flow
// of the reference frame is then computed from the coarsest level to the finest. On each level, the
// next frame is warped back by the present flow, the remaining motion is solved for, and the flow
// is smoothed.
#pragma once

#include <array>

#include "optical_flow/cpu/flow_operator.h"
#include "optical_flow/cpu/variational_solver.h"
#include "optical_flow/cpu/window_solver.h"
#include "optical_flow/pyramid_plan.h"

namespace ocellus::detail {

class PyramidFlow final : public FlowOperator {
 public:
  PyramidFlow(const OpticalFlowPlan& plan, int workers, const KernelConfig* kernels) noexcept;

 private:
  using Plane = FloatPlane;
  using Step = PyramidStep;
  using StepKind = PyramidStepKind;

  // Ages of the two frames. As long as only one has come, it is both.
  static constexpr int kNext = 0;
  static constexpr int kReference = 1;

  struct Scratch {
    SweepScratch sweep;
    RowRing warped;              // Lucas-Kanade: the next frame
    RowRing mean;                // of the reference and the warped frame
    RowRing row;                 // for any use
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
  void solve(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void variational(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void finish(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  /// A part of `finish`.
  void deviation(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;

  /// Writes `value` to a row of a result where the confidence is below the threshold.
  void mark_invalid(const float* confidence, float value, float* row) const noexcept;
  const Plane& stored(int age, int level) const noexcept;
  /// The plane with the region's first pixel as its own.
  Plane part(Plane plane, int level) const noexcept;

  PyramidPlan pyramid_;

  SymmetricTaps contrast_box_;
  SymmetricTaps presmoothing_;
  SymmetricTaps smoothing_;

  /// The newest frame on a level before it is normalized or smoothed.
  const Plane& raw(int level) const noexcept;

  std::array<Plane, kPyramidFrames> frame_{};   // level 0
  std::array<Plane, kMaxPyramidLevels> raw_{};  // the other levels
  std::array<Plane, kMaxPyramidLevels> highpass_{};
  std::array<Plane, kMaxPyramidLevels> normalized_{};
  std::array<std::array<Plane, kMaxPyramidLevels>, kPyramidFrames> window_{};
  DeviationModel deviation_{};  // if the plan has it
  std::array<std::array<FlowPlanes, 2>, kMaxPyramidLevels> flow_{};
  // Shared by all levels, which run one after the other.
  Plane confidence_;
  Plane flow_residual_;  // kVariational
  std::array<Scratch, kMaxWorkers> scratch_;
};

}  // namespace ocellus::detail
