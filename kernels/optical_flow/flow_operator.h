// FlowOperator: the base class of the CUDA methods of optical flow.
#pragma once

#include "kernels/core/cuda_operator.h"
#include "kernels/optical_flow/pyramid_kernels.h"
#include "ocellus/kernel_bank.h"
#include "optical_flow/moving_objects.h"

namespace ocellus::cuda {

using detail::OpticalFlowPlan;

class FlowOperator : public CudaOperator {
 protected:
  FlowOperator(const OpticalFlowPlan& plan, const KernelConfig* kernels) noexcept;

  /// The arrays of the method.
  virtual void layout_method(LayoutBuilder& device) noexcept = 0;
  /// Called after `layout` with the memory. Loads the kernels and the taps, and sets the limits of
  /// shared memory.
  virtual Expected<void> load(Scope& cuda, const KernelConfig& kernels) noexcept = 0;

  /// Launches the kernels of the method, which write the planes and end the frame.
  virtual Expected<void> record_method(Scope& cuda, int slot, cudaStream_t stream) noexcept = 0;

  /// The arguments of a kernel with those of a frame. `ends`: whether the kernel ends the frame.
  template <typename Arguments>
  Arguments with_frame(Arguments a, int slot, bool ends) const noexcept {
    static_cast<FrameArguments&>(a) = {params(slot), state(), ends ? outcome(slot) : nullptr,
                                       plan_.frames};
    return a;
  }
  /// The target of the kernel that ends the frame. `region`: of the flow.
  FlowTarget final_target(const Rect& region) const noexcept;
  /// Of the kernel that computes the deviation.
  DeviationCells deviation_cells() const noexcept {
    return {objects_.grid(), plan_.motion, cell_deviation_};
  }

  OpticalFlowPlan plan_;

 private:
  /// What the function of the host gets.
  struct Context {
    FlowOperator* self = nullptr;
    int slot = 0;
  };

  void layout(LayoutBuilder& device) noexcept final;
  void layout_pinned(LayoutBuilder& pinned) noexcept final;
  Expected<void> prepare(Scope& cuda) noexcept final;
  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept final;
  static void find_objects(void* context) noexcept;

  const KernelConfig* kernels_;
  float* cell_deviation_ = nullptr;  // if the search needs it
  detail::MovingObjects objects_;    // frames follow each other in a stream, so that one is enough
  std::array<Context, kMaxDepth> contexts_{};
};

}  // namespace ocellus::cuda
