// PyramidFlow on CUDA: coarse-to-fine flow from one stored frame to the next. The steps are
// those of PyramidPlan. A kernel may execute several steps.
#pragma once

#include "kernels/optical_flow/flow_operator.h"
#include "kernels/optical_flow/pyramid_kernels.h"
#include "kernels/optical_flow/variational_kernels.h"
#include "optical_flow/pyramid_plan.h"

namespace ocellus::cuda {

class PyramidFlow final : public FlowOperator {
 public:
  PyramidFlow(const OpticalFlowPlan& plan, const KernelConfig* kernels) noexcept;

 private:
  /// The state of recording or loading the kernels of a frame.
  struct Recording {
    Scope& cuda;
    int slot;
    cudaStream_t stream;
    bool loading = false;  // true: load the kernels, do not launch them
    bool first = true;     // true: no kernel of this frame has been launched yet
    FlowSource source{};   // the present flow
    int plane = 0;         // index of the plane of the present level that is written next
  };

  void layout_method(LayoutBuilder& device) noexcept override;
  Expected<void> load(Scope& cuda, const KernelConfig& kernels) noexcept override;
  Expected<void> record_method(Scope& cuda, int slot, cudaStream_t stream) noexcept override;

  template <typename Argument>
  Expected<void> add(Recording& frame, Kernel<Argument> kernel, dim3 grid, std::size_t shared_bytes,
                     const Argument& argument, int threads = kPyramidThreads) noexcept;
  /// Records or loads all kernels of a frame in order.
  Expected<void> walk(Recording& frame) noexcept;
  Expected<void> record_frame(Recording& frame) noexcept;
  Expected<void> record_solve(Recording& frame, int level, bool finish) noexcept;
  Expected<void> record_warp_and_sweeps(Recording& frame, const detail::PyramidStep& step) noexcept;
  Expected<void> record_guided_median(Recording& frame, int level, bool finish) noexcept;

  /// The source that expands the flow of the next coarser level, or zeros on the coarsest level.
  FlowSource expanded(int level, const FlowSource& above) const noexcept;
  /// The target of the next kernel of a level. Its output becomes the source of the kernel after
  /// it.
  FlowTarget next_target(Recording& frame, int level, bool finish) noexcept;
  /// All arguments but the target.
  template <typename Arguments>
  Arguments flow_arguments(const Recording& frame, int level, bool finish = false) noexcept;
  FlowWindow window() const noexcept { return {window_, frame_floats_}; }

  detail::PyramidPlan pyramid_;
  // That of the finest one has no guide unless the solver or the deviation reads it.
  std::array<FlowLevel, detail::kMaxPyramidLevels> level_{};
  std::int64_t frame_floats_ = 0;
  float* window_ = nullptr;
  std::array<float*, detail::kMaxPyramidLevels> raw_{};  // except level 0
  std::array<int, detail::kMaxPyramidLevels> raw_stride_{};
  /// The two flow planes of a level. A kernel reads one and writes the other.
  std::array<std::array<float2*, 2>, detail::kMaxPyramidLevels> flow_{};
  float* confidence_ = nullptr;  // shared by all levels; its stride is that of their flow
  float2* zeros_ = nullptr;      // one row, the initial flow of the coarsest level
  float2* warped_ = nullptr;     // kLucasKanade: mean and difference of the frames of a warp
  // kVariational: shared by all levels, with the stride of level 0.
  SystemPlanes system_{};
  float2* swept_[2] = {};  // between the launches of a warp
  float* residual_ = nullptr;
};

}  // namespace ocellus::cuda
