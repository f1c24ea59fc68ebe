// FlowOperator: the base class of the CPU methods of optical flow.
#pragma once

#include "core/cpu_operator.h"
#include "ocellus/kernel_bank.h"
#include "optical_flow/cpu/deviation_sweep.h"
#include "optical_flow/moving_objects.h"

namespace ocellus::detail {

class FlowOperator : public CpuOperator {
 protected:
  FlowOperator(const OpticalFlowPlan& plan, int workers, const KernelConfig* kernels) noexcept;

  /// The arrays and steps of the method. The search for moving objects, if the plan has it, is one
  /// more step.
  virtual void layout_method(LayoutBuilder& builder) noexcept = 0;
  virtual int method_steps() const noexcept = 0;
  virtual void build_method(JobStep* steps, StepContext* contexts) noexcept = 0;
  /// Called after `layout` with memory: reads the kernels, if the method has any.
  virtual Expected<void> load(const KernelConfig& /*kernels*/) noexcept { return {}; }
  /// Writes the invalid value to all planes.
  void write_bad(const FrameJob& frame) noexcept final;

  /// The method must call it for each row of u and v that is complete.
  void keep_motion(const FrameJob& frame, int y) const noexcept {
    if (plan_.objects > 0)
      objects_.take_motion(y, frame.out_row<const float>(0, y), frame.out_row<const float>(1, y));
  }
  /// Computes the deviation of rows [begin, end) of the result, whose motion was kept, or without
  /// the plane that of moving cells. `region` is that of the source. `write(y, deviation)` must
  /// write row y of the plane.
  template <typename Source, typename Write>
  void compute_deviation(const FrameJob& frame, const DeviationModel& model, const Rect& region,
                         int begin, int end, const SweepScratch& sweep,
                         const DeviationScratch& scratch, const Source& source,
                         Write&& write) const noexcept {
    const ImageSize size = {region.width, region.height};
    const Rect roi = {plan_.roi.x - region.x, plan_.roi.y - region.y, plan_.roi.width,
                      plan_.roi.height};
    const bool cells = objects_need_deviation(plan_);
    if (!frame.wants(3)) {
      if (cells) sweep_moving_cells(model, size, roi, begin, end, sweep, scratch, source, objects_);
      return;
    }
    sweep_deviation(model, size, {roi.x, roi.y + begin, roi.width, end - begin}, sweep, scratch,
                    source, [&](int y, const float* deviation) {
                      write(y - roi.y, deviation);
                      if (cells) objects_.take_deviation(y - roi.y, 0, roi.width, deviation);
                    });
  }

  OpticalFlowPlan plan_;

 private:
  void layout(LayoutBuilder& builder) noexcept final;
  Expected<void> prepare() noexcept final;
  int step_count() const noexcept final { return method_steps() + (plan_.objects > 0 ? 1 : 0); }
  void build_steps(JobStep* steps, StepContext* contexts) noexcept final;
  static void find_objects(void* context, int part, int worker) noexcept;

  const KernelConfig* kernels_;
  MovingObjects objects_;
};

}  // namespace ocellus::detail
