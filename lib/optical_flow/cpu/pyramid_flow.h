// PyramidFlow: coarse-to-fine flow on the CPU, over a window of stored frames.
//
// Each frame is prepared once, on arrival: pyramid, local normalization, light smoothing. The flow
// of the reference frame is then computed from the coarsest level to the finest. On each level, the
// next frame is warped back by the present flow, the remaining motion is solved for, and the flow
// is smoothed.
#pragma once

#include <array>

#include "image/separable_sweep.h"
#include "image/warp.h"
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

  /// A frame of the window other than the reference frame.
  struct Partner {
    int age;
    float offset;  // frames after the reference frame
  };
  struct Partners {
    int reference_age = 0;
    int count = 0;
    std::array<Partner, kMaxPyramidPartners> list{};
  };
  struct Scratch {
    WindowScratch window;
    SweepScratch sweep;
    float* mean = nullptr;  // 5 rows with margins
    float* s2 = nullptr;
    float* st = nullptr;
    float* row = nullptr;  // with margins
    std::size_t mean_stride = 0;
    DeviationScratch deviation;  // if the plan has it
    VariationalSolver variational;
  };

  void layout_method(LayoutBuilder& builder) noexcept override;
  Expected<void> load(const KernelConfig& kernels) noexcept override;
  int method_steps() const noexcept override { return pyramid_.step_count; }
  void build_method(JobStep* steps, StepContext* contexts) noexcept override;

  Plane take_plane(LayoutBuilder& builder, int width, int height, bool with_borders) noexcept;

  static void run(void* context, int part, int worker) noexcept;
  Partners partners(bool all_frames) const noexcept;
  const Bands& bands_of(StepKind kind, int level) const noexcept;
  static bool is_of_all_levels(StepKind kind) noexcept;

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
  void fit(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void solve(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void confidence_smooth(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void median(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void candidates(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void refine(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void guided_median(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  void finish(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;
  /// Parts of steps.
  void texture(int begin, int end) noexcept;
  void deviation(FrameJob&, const Step&, int begin, int end, const Scratch&) noexcept;

  VariationalLevel variational_level(int level) const noexcept;
  /// Row y of a region in a stored frame.
  const float* stored_row(int age, int level, int y) const noexcept;
  const Plane& stored(int age, int level) const noexcept;

  PyramidPlan pyramid_;
  int levels_;
  std::array<Bands, kMaxPyramidLevels> full_bands_{};
  std::array<Bands, kMaxPyramidLevels> region_bands_{};
  /// Of the variational solver: one for each worker, because a band computes what it needs of its
  /// neighbors.
  std::array<Bands, kMaxPyramidLevels> refine_bands_{};
  Bands finish_bands_;

  SymmetricTaps contrast_box_;
  SymmetricTaps presmoothing_;
  SymmetricTaps fit_box_;
  SymmetricTaps smoothing_;

  std::array<Plane, kMaxPyramidLevels> raw_{};
  std::array<Plane, kMaxPyramidLevels> highpass_{};
  std::array<Plane, kMaxPyramidLevels> normalized_{};
  std::array<std::array<Plane, kMaxPyramidLevels>, kMaxPyramidFrames> window_{};
  // If the plan has the deviation.
  DeviationModel deviation_{};
  std::array<Plane, kMaxPyramidFrames> texture_{};
  std::array<std::array<FlowPlanes, 2>, kMaxPyramidLevels> flow_{};
  // Shared by all levels, which run one after the other.
  std::array<Plane, kMaxPyramidPartners> warped_{};
  std::array<Plane, kMaxPyramidPartners> fit_{};
  Plane confidence_;
  // kLucasKanade
  Plane weight_;
  FlowPlanes weighted_;
  // kVariational
  std::array<Plane, kMaxPyramidFrames> guide_{};  // the frames before they are smoothed
  Plane flow_residual_;
  std::array<Scratch, kMaxWorkers> scratch_;
};

}  // namespace ocellus::detail
