// CpuCellularNetwork: the cellular network on the CPU.
#pragma once

#include <array>
#include <memory>

#include "core/cpu_operator.h"
#include "halftone/cpu/cell_rows.h"
#include "halftone/plan.h"

namespace ocellus::detail {

/// Number of rows and columns of a stage's templates.
inline int side_of(const CellStagePlan& stage) noexcept {
  return 2 * stage.radius + 1;
}

/// The cellular network on the CPU. Workers update bands of rows in parallel, one class of rows at
/// a time. A change near the end of a band affects the next band. That band applies it from a list
/// after the class is done. Integer sums do not depend on their order, so the result does not
/// depend on the number of bands.
class CpuCellularNetwork final : public CpuOperator {
 public:
  CpuCellularNetwork(const CellularNetworkPlan& plan, int workers,
                     const CellSources* sources) noexcept;

 private:
  /// Data of a stage, computed at creation.
  struct StageData {
    CellTaps control;
    CellTaps feedback;
    int row_classes = 0;
    std::int16_t* weights = nullptr;  // for events
    std::int16_t* weights_beside = nullptr;
    std::int16_t* weights_below = nullptr;
    std::int64_t* above = nullptr;      // for more than two levels
    std::int32_t* threshold = nullptr;  // plane without padding
    std::uint8_t* start = nullptr;      // plane of outputs, for kPlane and kNoise
    /// For each output of the previous stage, u and the initial output. [1] is for the first stage
    /// of a group, from the second pass on.
    std::int16_t* inputs[2] = {};
    std::uint8_t* first[2] = {};
  };
  struct Band {
    CellBand cells;
    CellEvent* events = nullptr;
  };

  void layout(LayoutBuilder& builder) noexcept override;
  Expected<void> prepare() noexcept override;
  int step_count() const noexcept override;
  void build_steps(JobStep* steps, StepContext* contexts) noexcept override;
  void write_bad(const FrameJob& frame) noexcept override;
  void complete(const FrameJob& frame) noexcept override;
  void forget() noexcept override;

  // The steps of a frame; build_steps puts them in order.
  void load_input(const StepContext& at, int part, int worker) noexcept;
  void start_cells(const StepContext& at, int part, int worker) noexcept;
  void diffuse(const StepContext& at, int part, int worker) noexcept;
  void give_outputs(const StepContext& at, int part, int worker) noexcept;
  void make_states(const StepContext& at, int part, int worker) noexcept;
  void visit_colors(const StepContext& at, int part, int worker) noexcept;
  void exchange(const StepContext& at, int part, int worker) noexcept;
  void visit_raster(const StepContext& at, int part, int worker) noexcept;
  void want(const StepContext& at, int part, int worker) noexcept;
  void spread(const StepContext& at, int part, int worker) noexcept;
  void commit(const StepContext& at, int part, int worker) noexcept;
  void control(const StepContext& at, int part, int worker) noexcept;
  void compare(const StepContext& at, int part, int worker) noexcept;
  void repeat(const StepContext& at, int part, int worker) noexcept;
  void keep(const StepContext& at, int part, int worker) noexcept;
  void write(const StepContext& at, int part, int worker) noexcept;
  template <void (CpuCellularNetwork::*kMethod)(const StepContext&, int, int) noexcept>
  static void run(void* context, int part, int worker) noexcept {
    const StepContext& at = *static_cast<StepContext*>(context);
    // Skip all steps, so that a bad frame does not change the kept state.
    if (at.frame->bad.load(std::memory_order_relaxed)) return;
    (static_cast<CpuCellularNetwork*>(at.frame->owner)->*kMethod)(at, part, worker);
  }
  /// For the steps of a sweep: does nothing once the frame has made all of its sweeps.
  template <void (CpuCellularNetwork::*kMethod)(const StepContext&, int, int) noexcept>
  static void sweep(void* context, int part, int worker) noexcept {
    const StepContext& at = *static_cast<StepContext*>(context);
    if (static_cast<CpuCellularNetwork*>(at.frame->owner)->may_sweep())
      run<kMethod>(context, part, worker);
  }
  /// For steps that end a loop or go back. They go on if the frame is bad.
  template <void (CpuCellularNetwork::*kMethod)(const StepContext&, int, int) noexcept>
  static void decide(void* context, int part, int worker) noexcept {
    // An earlier frame that ended early may have left the way back in the step.
    static_cast<StepContext*>(context)->step->next = 1;
    run<kMethod>(context, part, worker);
  }

  const CellStagePlan& plan_of(int stage) const noexcept {
    return plan_.stages[static_cast<std::size_t>(stage)];
  }
  StageData& data_of(int stage) noexcept { return data_[static_cast<std::size_t>(stage)]; }
  /// The last stage that continues from the first one; see CellularNetworkConfig::warm_start.
  int last_of_first_run() const noexcept {
    int last = 0;
    while (last + 1 < plan_.stage_count && plan_of(last + 1).keeps_state) ++last;
    return last;
  }
  bool starts_warm(int stage) const noexcept {
    return stage == 0 && plan_.warm_start && !history_.warming_up();
  }
  std::int16_t* padded_row(std::int16_t* plane, int y) const noexcept {
    return plane + (y + kMaxTemplateRadius) * pitch_ + kCellPadBefore;
  }
  std::uint8_t* k_row(int y) const noexcept { return k_ + y * k_pitch_; }
  /// X of cell (0, 0), in the element type of the stage.
  template <typename T>
  T* x_origin() const noexcept {
    return static_cast<T*>(x_) + kCellPadBefore;
  }
  bool may_sweep() const noexcept { return sweeps_ < plan_.max_sweeps; }
  /// The changes of all bands since the last call.
  std::uint32_t take_changes() noexcept;
  /// 1 for the first stage of a group from the second pass on, else 0.
  std::size_t again(int stage) const noexcept {
    return group_passes_ != 0 && plan_.group_of(stage)->first == stage ? 1 : 0;
  }
  CellInput input_of_stage(int stage) const noexcept {
    return again(stage) != 0 ? plan_.group_of(stage)->input : plan_of(stage).input;
  }
  CellStart start_of_stage(int stage) const noexcept {
    return again(stage) != 0 ? plan_.group_of(stage)->start : plan_of(stage).start;
  }
  Bands diffusion_rows() const noexcept { return {plan_.size.height, kDiffusionTileHeight}; }
  /// Fills the elements beyond the ends of the row, and the rows outside the image that repeat it.
  void extend(std::int16_t* plane, int y, const CellStagePlan& stage,
              std::int16_t fixed) const noexcept;
  /// Number of levels of the previous stage, for each index of StageData::inputs; 0 if there is no
  /// previous stage.
  int levels_before(int stage, int again) const noexcept;
  void make_taps(int stage) noexcept;
  void make_weights(int stage) noexcept;
  void make_planes(int stage) noexcept;
  /// Corrects X of cells of a row that are near fixed cells with values other than 0.
  void mend_border(int stage, int y) noexcept;
  std::int32_t border_state(int stage, int x, int y) noexcept;
  bool takes_next_row(int band, const StepContext& at) const noexcept;
  CellBand& band_for(int band, int stage) noexcept;

  CellularNetworkPlan plan_;
  const CellSources* sources_;  // null after creation
  Bands rows_;                  // bands for steps that read each row once
  Bands bands_;
  std::array<StageData, kMaxCellStages> data_{};
  std::ptrdiff_t pitch_ = 0;  // pitch of padded planes, in elements
  std::ptrdiff_t k_pitch_ = 0;
  int tiles_ = 0;
  int most_levels_ = 2;
  bool mirrored_any_ = false;
  bool synchronous_any_ = false;

  std::int16_t* table_ = nullptr;       // u for each gray value
  std::uint16_t* gray_ = nullptr;       // a row for each worker, for float frames
  void* levels_out_ = nullptr;          // gray value for each output of the last stage
  std::int16_t* u_ = nullptr;           // padded plane of u
  std::int16_t* y_ = nullptr;           // padded plane of Y
  std::int16_t* difference_ = nullptr;  // padded plane of u - 2^13 Y
  std::uint8_t* k_ = nullptr;
  std::uint8_t* k_next_ = nullptr;  // for synchronous updates
  std::uint8_t* k_kept_ = nullptr;  // for warm starts
  std::uint8_t* k_pass_ = nullptr;  // outputs of the previous pass of a group
  void* x_ = nullptr;
  std::uint8_t* marks_ = nullptr;
  std::int32_t* scratch_ = nullptr;  // one part for each worker
  std::size_t scratch_size_ = 0;
  Band* band_ = nullptr;

  int sweeps_ = 0;        // sweeps of this frame
  int stage_sweeps_ = 0;  // sweeps of this stage
  int passes_ = 0;        // passes of this frame
  int group_passes_ = 0;  // finished passes of this group
  std::uint32_t changed_ = 0;
  bool finished_ = true;  // false: the limit of this frame's sweeps has ended a stage or a group
};

}  // namespace ocellus::detail
