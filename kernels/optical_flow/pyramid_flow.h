// PyramidFlow on CUDA: Lucas-Kanade coarse to fine, over a window of stored frames. The steps are
// those of PyramidPlan; a kernel does what belongs together of them.
#pragma once

#include "kernels/optical_flow/flow_operator.h"
#include "kernels/optical_flow/pyramid_kernels.h"
#include "optical_flow/pyramid_plan.h"

namespace ocellus::cuda {

class PyramidFlow final : public FlowOperator {
 public:
  PyramidFlow(const OpticalFlowPlan& plan, const KernelConfig* kernels) noexcept;

 private:
  /// The flow of a level lies in one of two planes; a kernel reads one and writes the other.
  struct LevelFlow {
    float2* planes[2] = {};
    int stride = 0;  // float2
  };
  /// Where the kernels of a frame are, while it is recorded.
  struct Recording {
    Scope& cuda;
    int slot;
    cudaStream_t stream;
    bool loading = false;  // kernels are loaded and not launched
    bool first = true;     // nothing of this frame is launched yet
    FlowSource source{};   // the flow so far
    int plane = 0;         // of the present level, that is written next
  };

  void layout(LayoutBuilder& device) noexcept override;
  Expected<void> load(Scope& cuda, const KernelConfig& kernels) noexcept override;
  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override;

  template <typename Argument>
  Expected<void> add(Recording& frame, Kernel<Argument> kernel, dim3 grid, std::size_t shared_bytes,
                     const Argument& argument, int threads = kPyramidThreads) noexcept;
  /// All kernels of a frame, in order.
  Expected<void> walk(Recording& frame) noexcept;
  Expected<void> record_frame(Recording& frame) noexcept;
  Expected<void> record_warp(Recording& frame, int level) noexcept;
  Expected<void> record_fit(Recording& frame, int level) noexcept;
  Expected<void> record_solve(Recording& frame, const detail::PyramidStep& step,
                              bool finish) noexcept;
  Expected<void> record_refine(Recording& frame, int level, FlowSmoothing smoothing, int median,
                               bool finish) noexcept;

  /// The flow of the level above, or none.
  FlowSource expanded(int level, const FlowSource& above) const noexcept;
  /// Where the next kernel of a level writes; the source is then what it wrote.
  FlowTarget next_target(Recording& frame, int level, bool finish) noexcept;
  FlowLevel flow_level(int level, bool all_frames) const noexcept;
  Window window() const noexcept { return {window_, frame_floats_, plan_.frames}; }

  detail::PyramidPlan pyramid_;
  std::array<StoredLevel, detail::kMaxPyramidLevels> stored_{};
  std::int64_t frame_floats_ = 0;
  float* window_ = nullptr;
  std::array<float*, detail::kMaxPyramidLevels> raw_{};  // but for level 0
  std::array<int, detail::kMaxPyramidLevels> raw_stride_{};
  std::array<LevelFlow, detail::kMaxPyramidLevels> flow_{};
  float* confidence_ = nullptr;  // shared by the levels; strides as their flow
  float2* zeros_ = nullptr;      // a row of the coarsest level: what its flow begins with
  // Of level 0, for more than two frames: a plane for each further one.
  float* warped_ = nullptr;
  float* fit_ = nullptr;
  std::int64_t partner_plane_ = 0;  // floats
};

}  // namespace ocellus::cuda
