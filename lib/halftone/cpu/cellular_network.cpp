// CpuCellularNetwork: the cellular network on the CPU.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "core/cpu_operator.h"
#include "halftone/backend.h"
#include "halftone/cpu/cell_rows.h"
#include "halftone/plan.h"

namespace ocellus::detail {
namespace {

constexpr int kLeastBand = 32;

void add_tap(CellTaps& taps, std::ptrdiff_t offset, std::int32_t weight) noexcept {
  if (weight != 0) taps.taps[taps.count++] = {offset, weight};
}

/// Adds a tap of weight 0 if the number of taps is odd.
void even_out(CellTaps& taps) noexcept {
  if (taps.count % 2 != 0) taps.taps[taps.count++] = {0, 0};
}

/// Number of rows and columns of a stage's templates.
int side_of(const CellStagePlan& stage) noexcept {
  return 2 * stage.radius + 1;
}

/// The cellular network on the CPU. Workers update bands of rows in parallel, one class of rows at
/// a time. A change near the end of a band affects the next band. That band applies it from a list
/// after the class is done. Integer sums do not depend on their order, so the result does not
/// depend on the number of bands.
class CpuCellularNetwork final : public CpuOperator {
 public:
  CpuCellularNetwork(const CellularNetworkPlan& plan, int workers,
                     const CellSources* sources) noexcept
      : CpuOperator(info_of(plan), workers), plan_(plan), sources_(sources) {
    const auto width = static_cast<std::size_t>(plan.size.width);
    pitch_ = static_cast<std::ptrdiff_t>(align_up(width + kCellPadBefore + kCellPadBehind, 32));
    k_pitch_ = static_cast<std::ptrdiff_t>(align_up(width + kCellPadBehind, 64));
    tiles_ = (plan.size.width + kCellTile - 1) / kCellTile;
    rows_ = Bands::cut(plan.size.height, workers, 4, 8);
    bands_ = Bands::cut(plan.size.height, workers, 1, kLeastBand);
    for (int s = 0; s < plan.stage_count; ++s) {
      make_taps(s);
      most_levels_ = std::max(most_levels_, plan_of(s).levels);
      synchronous_any_ |= plan_of(s).update == CellUpdate::kSynchronous;
      data_of(s).row_classes =
          color_class_count(plan.size.height, plan_of(s).spacing, plan_of(s).boundary);
    }
  }

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

  void layout(LayoutBuilder& builder) noexcept override {
    const auto height = static_cast<std::size_t>(plan_.size.height);
    const auto width = static_cast<std::size_t>(plan_.size.width);
    const std::size_t padded = static_cast<std::size_t>(pitch_) * (height + 2 * kMaxTemplateRadius);
    // Swaps read the row below the last one, and vector loads read past the end of a row.
    const std::size_t outputs = static_cast<std::size_t>(k_pitch_) * (height + 1);
    const auto workers = static_cast<std::size_t>(workers_);
    table_ = builder.take<std::int16_t>(plan_.format == PixelFormat::kGray8 ? 256 : 65536);
    if (plan_.format == PixelFormat::kFloat32) gray_ = builder.take<std::uint16_t>(width * workers);
    levels_out_ = builder.take<float>(256);
    u_ = builder.take<std::int16_t>(padded);
    y_ = builder.take<std::int16_t>(padded);
    if (mirrored_any_) difference_ = builder.take<std::int16_t>(padded);
    k_ = builder.take<std::uint8_t>(outputs);
    if (synchronous_any_) k_next_ = builder.take<std::uint8_t>(outputs);
    if (plan_.warm_start) k_kept_ = builder.take<std::uint8_t>(outputs);
    if (plan_.group_count > 0) k_pass_ = builder.take<std::uint8_t>(outputs);
    const std::size_t states = static_cast<std::size_t>(pitch_) * height;
    x_ = most_levels_ == 2 ? static_cast<void*>(builder.take<std::int16_t>(states))
                           : static_cast<void*>(builder.take<std::int32_t>(states));
    marks_ = builder.take<std::uint8_t>(height * static_cast<std::size_t>(tiles_));
    scratch_size_ = std::max(diffusion_scratch(), 2 * width);
    scratch_ = builder.take<std::int32_t>(scratch_size_ * workers);
    band_ = builder.take<Band>(static_cast<std::size_t>(bands_.count()));
    for (int b = 0; b < bands_.count(); ++b) {
      // A class has at most two rows near the ends of a band, and a swap changes two cells.
      CellEvent* events = builder.take<CellEvent>(4 * width + 16);
      if (band_ != nullptr) {
        new (&band_[b]) Band();
        band_[b].events = events;
      }
    }
    for (int s = 0; s < plan_.stage_count; ++s) {
      const CellStagePlan& plan = plan_of(s);
      StageData& data = data_of(s);
      const auto event_rows = static_cast<std::size_t>(side_of(plan) * kEventLanes);
      data.weights = builder.take<std::int16_t>(event_rows);
      if (plan.move == CellMove::kSwap) {
        data.weights_beside = builder.take<std::int16_t>(event_rows);
        data.weights_below = builder.take<std::int16_t>(event_rows + kEventLanes);
      }
      if (plan.levels > 2) {
        std::int64_t* bounds =
            builder.take<std::int64_t>(static_cast<std::size_t>(plan.levels) + 1);
        data.above = bounds == nullptr ? nullptr : bounds + 1;
      }
      if (plan.has_threshold_plane) data.threshold = builder.take<std::int32_t>(width * height);
      if (plan.start == CellStart::kPlane || plan.start == CellStart::kNoise)
        data.start = builder.take<std::uint8_t>(width * height);
      for (const int again : {0, 1}) {
        if (levels_before(s, again) == 0) continue;
        data.first[again] = builder.take<std::uint8_t>(256);
        data.inputs[again] = builder.take<std::int16_t>(256);
      }
    }
  }

  Expected<void> prepare() noexcept override {
    const auto height = static_cast<std::size_t>(plan_.size.height);
    const std::size_t padded = static_cast<std::size_t>(pitch_) * (height + 2 * kMaxTemplateRadius);
    std::memset(u_, 0, padded * sizeof(*u_));
    std::memset(y_, 0, padded * sizeof(*y_));
    if (difference_ != nullptr) std::memset(difference_, 0, padded * sizeof(*difference_));
    const std::size_t outputs = static_cast<std::size_t>(k_pitch_) * (height + 1);
    for (std::uint8_t* plane : {k_, k_next_, k_kept_, k_pass_})
      if (plane != nullptr) std::memset(plane, 0, outputs);
    std::memset(x_, 0,
                static_cast<std::size_t>(pitch_) * height *
                    (most_levels_ == 2 ? sizeof(std::int16_t) : sizeof(std::int32_t)));

    const int white = 65535 / gray_unit(plan_.format);
    for (int gray = 0; gray <= white; ++gray)
      table_[gray] = static_cast<std::int16_t>(input_of(plan_.gray_input, gray));
    const int levels = plan_of(plan_.stage_count - 1).levels;
    for (int k = 0; k < levels; ++k) {
      const std::uint32_t gray = gray_of_level(k, levels, plan_.output_range,
                                               gray_unit(plan_.output_format), plan_.white_is_one);
      switch (plan_.output_format) {
        case PixelFormat::kGray8:
          static_cast<std::uint8_t*>(levels_out_)[k] = static_cast<std::uint8_t>(gray);
          break;
        case PixelFormat::kGray16:
          static_cast<std::uint16_t*>(levels_out_)[k] = static_cast<std::uint16_t>(gray);
          break;
        default:  // kFloat32; no color comes here
          static_cast<float*>(levels_out_)[k] =
              float_of_level(k, levels, plan_.output_range, plan_.white_is_one);
          break;
      }
    }
    for (int s = 0; s < plan_.stage_count; ++s) {
      make_weights(s);
      make_planes(s);
    }
    sources_ = nullptr;
    return {};
  }

  /// Calls use(function, parts, stage, index) for the steps of a frame, in order.
  template <typename Use>
  void for_each_step(const Use& use) const noexcept {
    using Self = CpuCellularNetwork;
    int at = 0;
    const auto add = [&](void (*function)(void*, int, int) noexcept, int parts, int stage,
                         int index = 0) {
      use(function, parts, stage, index);
      ++at;
    };
    const int bands = bands_.count();
    int group_first = 0;  // first step of the present group
    for (int s = 0; s < plan_.stage_count; ++s) {
      const CellStagePlan& plan = plan_of(s);
      const CellGroupPlan* const group = plan_.group_of(s);
      if (group != nullptr && group->first == s) group_first = at;
      if (!plan.keeps_state) {
        add(&Self::run<&Self::load_input>, rows_.count(), s);
        add(&Self::run<&Self::start_cells>, rows_.count(), s);
        add(&Self::run<&Self::diffuse>,
            plan.start == CellStart::kErrorDiffusion ? diffusion_rows().count() : 0, s);
        add(&Self::run<&Self::give_outputs>, rows_.count(), s);
        add(&Self::run<&Self::make_states>, rows_.count(), s);
      }
      const int first = at;
      switch (plan.update) {
        case CellUpdate::kColors:
          for (int c = 0; c < data_[static_cast<std::size_t>(s)].row_classes; ++c) {
            add(&Self::sweep<&Self::visit_colors>, bands, s, c);
            add(&Self::sweep<&Self::exchange>, bands > 1 ? bands : 0, s, c);
          }
          break;
        case CellUpdate::kRaster:
          add(&Self::sweep<&Self::visit_raster>, 1, s);
          break;
        case CellUpdate::kSynchronous:
          add(&Self::sweep<&Self::want>, bands, s);
          add(&Self::sweep<&Self::spread>, bands, s);
          add(&Self::sweep<&Self::commit>, bands, s);
          break;
      }
      add(&Self::decide<&Self::control>, 1, s, first - at);
      if (group != nullptr && group->end == s + 1) {
        add(&Self::run<&Self::compare>, bands, s);
        add(&Self::decide<&Self::repeat>, 1, s, group_first - at);
      }
      if (plan_.warm_start && s == last_of_first_run())
        add(&Self::run<&Self::keep>, rows_.count(), s);
    }
    add(&Self::run<&Self::write>, rows_.count(), plan_.stage_count - 1);
  }

  int step_count() const noexcept override {
    int count = 0;
    for_each_step([&count](auto...) { ++count; });
    return count;
  }

  void build_steps(JobStep* steps, StepContext* contexts) noexcept override {
    for_each_step([&](auto function, int parts, int stage, int index) {
      contexts->level = stage;
      contexts->index = index;
      *steps++ = {function, contexts++, parts};
    });
  }

  void write_bad(const FrameJob& frame) noexcept override {
    for (int y = 0; y < plan_.size.height; ++y) {
      std::memset(frame.out_row<void>(0, y), 0,
                  static_cast<std::size_t>(plan_.size.width) *
                      static_cast<std::size_t>(bytes_per_pixel(plan_.output_format)));
    }
  }

  void complete(const FrameJob& frame) noexcept override {
    auto& record = *static_cast<CellularNetworkRecord*>(frame.record);
    record.sweeps = sweeps_;
    record.changed = changed_;
    record.converged = finished_ && changed_ == 0;
    record.finished = finished_;
    record.passes = passes_;
  }

  void forget() noexcept override {
    stage_sweeps_ = group_passes_ = 0;
    take_changes();
  }

  // The steps of a frame; build_steps puts them in order.
  void load_input(const StepContext& at, int part, int worker) noexcept {
    const CellStagePlan& plan = plan_of(at.level);
    const int width = plan_.size.width;
    const CellInput input = input_of_stage(at.level);
    FrameJob& frame = *at.frame;
    bool finite = true;
    for (int y = rows_.begin(part); y < rows_.end(part); ++y) {
      std::int16_t* row = padded_row(u_, y);
      if (input == CellInput::kPrevious) {
        const std::int16_t* inputs = data_of(at.level).inputs[again(at.level)];
        const std::uint8_t* k = k_row(y);
        for (int x = 0; x < width; ++x) row[x] = inputs[k[x]];
      } else {
        const void* in = static_cast<const char*>(frame.in.data) + y * frame.in.stride;
        if (plan_.format == PixelFormat::kFloat32) {
          std::uint16_t* gray = gray_ + static_cast<std::ptrdiff_t>(worker) * width;
          finite &= gray_row(static_cast<const float*>(in), gray, width);
          table_row(gray, PixelFormat::kGray16, table_, row, width);
        } else {
          table_row(in, plan_.format, table_, row, width);
        }
      }
      extend(u_, y, plan, static_cast<std::int16_t>(plan.boundary_value));
    }
    if (!finite) mark_bad(frame);
    if (part == 0 && at.level == 0 && group_passes_ == 0) {
      sweeps_ = passes_ = 0;
      finished_ = true;
    }
  }

  void start_cells(const StepContext& at, int part, int) noexcept {
    const CellStagePlan& plan = plan_of(at.level);
    const StageData& data = data_of(at.level);
    const int width = plan_.size.width;
    const std::uint8_t* outputs = data.first[again(at.level)];
    const auto first = [&](std::int32_t state) {
      return static_cast<std::uint8_t>(first_output(state, plan.levels, plan.start_xi));
    };
    for (int y = rows_.begin(part); y < rows_.end(part); ++y) {
      std::uint8_t* k = k_row(y);
      const std::int16_t* u = padded_row(u_, y);
      if (starts_warm(at.level)) {
        std::memcpy(k, k_kept_ + y * k_pitch_, static_cast<std::size_t>(width));
        continue;
      }
      switch (start_of_stage(at.level)) {
        case CellStart::kConstant:
          std::memset(k, first(plan.start_value), static_cast<std::size_t>(width));
          break;
        case CellStart::kInput:
          for (int x = 0; x < width; ++x) k[x] = first(u[x]);
          break;
        case CellStart::kPlane:
        case CellStart::kNoise:
          std::memcpy(k, data.start + static_cast<std::ptrdiff_t>(y) * width,
                      static_cast<std::size_t>(width));
          break;
        case CellStart::kBlueNoise: {
          const std::uint16_t* ranks =
              blue_noise_ranks().data() +
              static_cast<std::ptrdiff_t>(y % kBlueNoiseSize) * kBlueNoiseSize;
          for (int x = 0; x < width; ++x)
            k[x] = first(u[x] + blue_noise_state(ranks[x % kBlueNoiseSize]));
          break;
        }
        case CellStart::kErrorDiffusion:
          break;  // computed by a separate step, in rows of tiles
        case CellStart::kPrevious:
          for (int x = 0; x < width; ++x) k[x] = outputs[k[x]];
          break;
      }
    }
  }

  void diffuse(const StepContext& at, int part, int worker) noexcept {
    if (starts_warm(at.level)) return;
    const Bands tiles = diffusion_rows();
    diffuse_tiles(padded_row(u_, 0), pitch_, k_, k_pitch_, tiles.begin(part), tiles.end(part),
                  plan_.size.width, plan_of(at.level).levels,
                  scratch_ + static_cast<std::size_t>(worker) * scratch_size_);
  }

  void give_outputs(const StepContext& at, int part, int) noexcept {
    const CellStagePlan& plan = plan_of(at.level);
    const StageData& data = data_of(at.level);
    for (int y = rows_.begin(part); y < rows_.end(part); ++y) {
      // Fixed cells outside the image contribute to the bias; see mend_border.
      if (plan.mirrored) {
        outputs_row(k_row(y), plan.levels, padded_row(u_, y), padded_row(difference_, y),
                    plan_.size.width);
        extend(difference_, y, plan, 0);
      }
      if (data.feedback.count == 0) continue;
      outputs_row(k_row(y), plan.levels, nullptr, padded_row(y_, y), plan_.size.width);
      extend(y_, y, plan, 0);
    }
  }

  void make_states(const StepContext& at, int part, int worker) noexcept {
    const CellStagePlan& plan = plan_of(at.level);
    const StageData& data = data_of(at.level);
    const int width = plan_.size.width;
    std::int16_t* control = plan.mirrored ? difference_ : u_;
    // With a mirrored template, one sum contains both terms, so it is larger. Its bias never
    // reaches the limit.
    const std::int32_t limit = plan.mirrored ? 2 * plan.limit : plan.limit;
    const bool mended = plan.boundary == CellBoundary::kFixed && plan.boundary_value != 0 &&
                        plan.has_a && !plan.mirrored;
    for (int y = rows_.begin(part); y < rows_.end(part); ++y) {
      const std::int32_t* thresholds =
          data.threshold == nullptr ? nullptr
                                    : data.threshold + static_cast<std::ptrdiff_t>(y) * width;
      if (plan.levels == 2) {
        binary_states_row(padded_row(control, y), data.control, padded_row(y_, y), data.feedback,
                          plan.threshold, thresholds, limit, x_origin<std::int16_t>() + y * pitch_,
                          width);
      } else {
        many_states_row(padded_row(control, y), data.control, padded_row(y_, y), data.feedback,
                        plan.levels, plan.threshold, thresholds,
                        scratch_ + static_cast<std::size_t>(worker) * scratch_size_,
                        x_origin<std::int32_t>() + y * pitch_, width);
      }
      if (mended) mend_border(at.level, y);
      std::memset(marks_ + static_cast<std::ptrdiff_t>(y) * tiles_, kAllMarks,
                  static_cast<std::size_t>(tiles_));
    }
  }

  void visit_colors(const StepContext& at, int part, int) noexcept {
    const CellStagePlan& plan = plan_of(at.level);
    CellBand& band = band_for(part, at.level);
    band.event_count = 0;
    const ColorClass rows = color_class(at.index, plan_.size.height, plan.spacing, plan.boundary);
    int y = rows.first;
    if (y < band.top) y += (band.top - y + rows.step - 1) / rows.step * rows.step;
    const int end = std::min(rows.end, band.bottom);
    if (part > 0 && takes_next_row(part - 1, at)) ++band.top;
    if (takes_next_row(part, at)) ++band.bottom;
    for (; y < end; y += rows.step) colors_row(band, y);
  }

  void exchange(const StepContext& at, int part, int) noexcept {
    CellBand& band = band_[part].cells;
    band.bottom = bands_.end(part);
    for (int other = 0; other < bands_.count(); ++other) {
      if (other == part) continue;
      const CellBand& from = band_[other].cells;
      for (int i = 0; i < from.event_count; ++i) apply_event(band, from.events[i]);
    }
    if (part > 0 && takes_next_row(part - 1, at)) {
      // No band has marked this row while the class was processed.
      std::memset(marks_ + static_cast<std::ptrdiff_t>(bands_.begin(part)) * tiles_, kAllMarks,
                  static_cast<std::size_t>(tiles_));
    }
  }

  void visit_raster(const StepContext& at, int, int) noexcept {
    CellBand& band = band_for(0, at.level);
    band.top = 0;
    band.bottom = plan_.size.height;
    band.events = nullptr;
    // The longest part of the network: a whole sweep.
    for (int y = 0; y < plan_.size.height && !at.frame->job.is_stopping(); ++y) raster_row(band, y);
  }

  void want(const StepContext& at, int part, int) noexcept {
    CellBand& band = band_for(part, at.level);
    for (int y = band.top; y < band.bottom; ++y)
      band.changed += wanted_row(band, y, k_next_ + y * k_pitch_);
  }

  void spread(const StepContext& at, int part, int) noexcept {
    CellBand& band = band_for(part, at.level);
    const int reach = plan_of(at.level).radius;
    const bool wraps = plan_of(at.level).boundary == CellBoundary::kPeriodic;
    for (int y = 0; y < plan_.size.height; ++y) {
      const bool near = y >= band.top - reach && y < band.bottom + reach;
      const bool over = wraps && (y < reach || y >= plan_.size.height - reach);
      if (!near && !over) continue;
      const std::uint8_t* now = k_row(y);
      const std::uint8_t* next = k_next_ + y * k_pitch_;
      for (int x = 0; x < plan_.size.width; ++x)
        if (now[x] != next[x]) apply_event(band, {x, y, 2 * (next[x] - now[x])});
    }
  }

  void commit(const StepContext&, int part, int) noexcept {
    for (int y = bands_.begin(part); y < bands_.end(part); ++y)
      std::memcpy(k_row(y), k_next_ + y * k_pitch_, static_cast<std::size_t>(plan_.size.width));
  }

  void control(const StepContext& at, int, int) noexcept {
    if (!may_sweep()) {  // so this stage has made no sweep
      finished_ = false;
      return;
    }
    changed_ = take_changes();
    ++sweeps_;
    ++stage_sweeps_;
    if (changed_ != 0 && stage_sweeps_ < plan_of(at.level).max_sweeps) {
      if (may_sweep()) {
        at.step->next = at.index;
        return;
      }
      finished_ = false;
    }
    stage_sweeps_ = 0;
  }

  /// The plane of the previous pass holds nothing of this frame in the first pass, so that all
  /// cells count as changed.
  void compare(const StepContext&, int part, int) noexcept {
    const int width = plan_.size.width;
    std::uint32_t changes = 0;
    for (int y = bands_.begin(part); y < bands_.end(part); ++y) {
      const std::uint8_t* now = k_row(y);
      std::uint8_t* before = k_pass_ + y * k_pitch_;
      if (group_passes_ == 0) {
        changes += static_cast<std::uint32_t>(width);
      } else {
        for (int x = 0; x < width; ++x) changes += now[x] != before[x] ? 1u : 0u;
      }
      std::memcpy(before, now, static_cast<std::size_t>(width));
    }
    band_[part].cells.changed = changes;
  }

  void repeat(const StepContext& at, int, int) noexcept {
    changed_ = take_changes();
    ++passes_;
    ++group_passes_;
    if (changed_ != 0 && group_passes_ < plan_.group_of(at.level)->max_passes) {
      if (may_sweep()) {
        at.step->next = at.index;
        return;
      }
      finished_ = false;
    }
    group_passes_ = 0;
  }

  void keep(const StepContext&, int part, int) noexcept {
    for (int y = rows_.begin(part); y < rows_.end(part); ++y)
      std::memcpy(k_kept_ + y * k_pitch_, k_row(y), static_cast<std::size_t>(plan_.size.width));
  }

  void write(const StepContext& at, int part, int) noexcept {
    for (int y = rows_.begin(part); y < rows_.end(part); ++y) {
      write_row(k_row(y), plan_of(at.level).levels, levels_out_, plan_.output_format,
                at.frame->out_row<void>(0, y), plan_.size.width);
    }
  }

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
  std::uint32_t take_changes() noexcept {
    std::uint32_t changes = 0;
    for (int b = 0; b < bands_.count(); ++b) changes += std::exchange(band_[b].cells.changed, 0u);
    return changes;
  }

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
              std::int16_t fixed) const noexcept {
    const ImageSize size = plan_.size;
    const int reach = stage.radius;
    std::int16_t* row = padded_row(plane, y);
    for (int i = 1; i <= reach; ++i) {
      const int before = beyond(-i, size.width, stage.boundary);
      const int behind = beyond(size.width - 1 + i, size.width, stage.boundary);
      row[-i] = before < 0 ? fixed : row[before];
      row[size.width - 1 + i] = behind < 0 ? fixed : row[behind];
    }
    for (int i = 1; i <= reach; ++i) {
      for (const int out : {-i, size.height - 1 + i}) {
        std::int16_t* copy = padded_row(plane, out);
        const int from = beyond(out, size.height, stage.boundary);
        if (from == y) {
          std::memcpy(copy - reach, row - reach,
                      static_cast<std::size_t>(size.width + 2 * reach) * sizeof(*row));
        } else if (from < 0 && y == 0) {
          std::fill(copy - reach, copy + size.width + reach, fixed);
        }
      }
    }
  }

  /// Number of levels of the previous stage, for each index of StageData::inputs; 0 if there is no
  /// previous stage.
  int levels_before(int stage, int again) const noexcept {
    if (again == 0) return stage == 0 ? 0 : plan_of(stage - 1).levels;
    const CellGroupPlan* const group = plan_.group_of(stage);
    return group != nullptr && group->first == stage ? plan_of(group->end - 1).levels : 0;
  }

  void make_taps(int stage) noexcept {
    const CellStagePlan& plan = plan_of(stage);
    StageData& data = data_of(stage);
    const int side = side_of(plan);
    const int center = side * side / 2;
    mirrored_any_ |= plan.mirrored;
    for (int i = 0; i < side * side; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::ptrdiff_t offset = (i / side - plan.radius) * pitch_ + (i % side - plan.radius);
      add_tap(data.control, offset, plan.b[at]);
      if (!plan.mirrored) {
        add_tap(data.feedback, offset, plan.a[at]);
      } else if (i == center) {
        add_tap(data.feedback, 0, plan.a[at] + plan.b[at]);
      }
    }
    even_out(data.control);
    even_out(data.feedback);
  }

  void make_weights(int stage) noexcept {
    const CellStagePlan& plan = plan_of(stage);
    StageData& data = data_of(stage);
    const int side = side_of(plan);
    // Row and column are relative to the first cell that an event updates.
    const auto weight = [&](int row, int lane) {
      if (row < 0 || row >= side || lane < 0 || lane >= side) return 0;
      const int a = plan.a[static_cast<std::size_t>(row * side + side - 1 - lane)];
      return plan.levels == 2 ? 2 * a : a;
    };
    for (int row = 0; row <= side; ++row) {
      for (int lane = 0; lane < kEventLanes; ++lane) {
        const int at = row * kEventLanes + lane;
        // A difference may wrap around. The sum then wraps around again and is correct.
        if (row < side) data.weights[at] = static_cast<std::int16_t>(weight(row, lane));
        if (plan.move != CellMove::kSwap) continue;
        if (row < side) {
          data.weights_beside[at] =
              static_cast<std::int16_t>(weight(row, lane) - weight(row, lane - 1));
        }
        data.weights_below[at] =
            static_cast<std::int16_t>(weight(row - 1, lane) - weight(row, lane));
      }
    }
    if (plan.levels == 2) return;
    const int most = plan.levels - 1;
    data.above[-1] = std::numeric_limits<std::int64_t>::min();
    data.above[most] = std::numeric_limits<std::int64_t>::max();
    for (int k = 0; k < most; ++k) {
      // The smallest X with ((X + xi) most + xi) >= 2 xi (k + 1).
      const std::int64_t least = static_cast<std::int64_t>(plan.xi) * (2 * k + 1);
      data.above[k] = (least + most - 1) / most - plan.xi;
    }
  }

  void make_planes(int stage) noexcept {
    const CellStagePlan& plan = plan_of(stage);
    StageData& data = data_of(stage);
    const auto at = static_cast<std::size_t>(stage);
    const auto row_of = [](const CellSources::Plane& plane, int y) {
      return reinterpret_cast<const float*>(reinterpret_cast<const char*>(plane.data) +
                                            y * plane.stride);
    };
    for (int y = 0; y < plan_.size.height; ++y) {
      const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(y) * plan_.size.width;
      for (int x = 0; x < plan_.size.width; ++x) {
        if (data.threshold != nullptr) {
          data.threshold[row + x] =
              threshold_of(row_of(sources_->threshold[at], y)[x], plan.fraction_bits);
        }
        if (data.start != nullptr) {
          const std::int32_t state = plan.start == CellStart::kNoise
                                         ? noise_state(x, y, plan.seed)
                                         : start_of(row_of(sources_->start[at], y)[x]);
          data.start[row + x] =
              static_cast<std::uint8_t>(first_output(state, plan.levels, plan.start_xi));
        }
      }
    }
    for (const int again : {0, 1}) {
      const int before = levels_before(stage, again);
      for (int k = 0; k < before; ++k) {
        const std::int32_t u = input_of_level(k, before);
        data.inputs[again][k] = static_cast<std::int16_t>(u);
        data.first[again][k] =
            static_cast<std::uint8_t>(first_output(u, plan.levels, plan.start_xi));
      }
    }
  }

  /// Corrects X of cells of a row that are near fixed cells with values other than 0.
  /// The sums of taps do not include the contribution of A at fixed cells outside the image.
  void mend_border(int stage, int y) noexcept {
    const CellStagePlan& plan = plan_of(stage);
    const ImageSize size = plan_.size;
    const auto put = [&](int x) {
      const std::ptrdiff_t at = y * pitch_ + x;
      if (plan.levels == 2) {
        x_origin<std::int16_t>()[at] = static_cast<std::int16_t>(border_state(stage, x, y));
      } else {
        x_origin<std::int32_t>()[at] = border_state(stage, x, y);
      }
    };
    const bool whole = y < plan.radius || y >= size.height - plan.radius;
    for (int x = 0; x < size.width; ++x) {
      if (!whole && x == plan.radius && x < size.width - plan.radius) x = size.width - plan.radius;
      put(x);
    }
  }

  std::int32_t border_state(int stage, int x, int y) noexcept {
    const CellStagePlan& plan = plan_of(stage);
    const StageData& data = data_of(stage);
    const int side = side_of(plan);
    std::int64_t control = 0;
    std::int64_t feedback = 0;
    for (int i = 0; i < side * side; ++i) {
      const int at_x = x + i % side - plan.radius;
      const int at_y = y + i / side - plan.radius;
      const bool inside =
          at_x >= 0 && at_y >= 0 && at_x < plan_.size.width && at_y < plan_.size.height;
      const auto at = static_cast<std::size_t>(i);
      control += static_cast<std::int64_t>(plan.b[at]) *
                 (inside ? padded_row(u_, at_y)[at_x] : plan.boundary_value);
      if (inside) {
        feedback += plan.a[at] * (2 * k_row(at_y)[at_x] - (plan.levels - 1));
      } else {
        control += static_cast<std::int64_t>(plan.a[at]) * plan.boundary_value;
      }
    }
    std::int64_t threshold = plan.threshold;
    if (data.threshold != nullptr)
      threshold += data.threshold[static_cast<std::ptrdiff_t>(y) * plan_.size.width + x];
    return static_cast<std::int32_t>(bias_of(control, plan.levels, threshold, plan.limit) +
                                     feedback);
  }

  /// A swap reads X of the row below and changes cells there. The last row of a band must read the
  /// changes that its own cells have made in the first row of the next band. The band therefore
  /// owns that row while the class is processed. No other band changes the row, because rows of a
  /// class are at least radius + 2 apart.
  bool takes_next_row(int band, const StepContext& at) const noexcept {
    const CellStagePlan& plan = plan_of(at.level);
    const int last = bands_.end(band) - 1;
    if (plan.move != CellMove::kSwap || last + 1 == plan_.size.height) return false;
    const ColorClass rows = color_class(at.index, plan_.size.height, plan.spacing, plan.boundary);
    return last >= rows.first && last < rows.end && (last - rows.first) % rows.step == 0;
  }

  CellBand& band_for(int band, int stage) noexcept {
    CellBand& cells = band_[band].cells;
    cells.size = plan_.size;
    cells.top = bands_.begin(band);
    cells.bottom = bands_.end(band);
    cells.x = plan_of(stage).levels == 2 ? static_cast<void*>(x_origin<std::int16_t>())
                                         : static_cast<void*>(x_origin<std::int32_t>());
    cells.x_pitch = pitch_;
    cells.k = k_;
    cells.k_pitch = k_pitch_;
    cells.marks = marks_;
    cells.tiles = tiles_;
    cells.stage = &plan_of(stage);
    cells.weights = data_of(stage).weights;
    cells.weights_beside = data_of(stage).weights_beside;
    cells.weights_below = data_of(stage).weights_below;
    cells.above = data_of(stage).above;
    cells.events = bands_.count() > 1 ? band_[band].events : nullptr;
    return cells;
  }

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

}  // namespace

std::unique_ptr<OperatorInstance> make_network_cpu(const CellularNetworkPlan& plan, int workers,
                                                   const CellSources* sources) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow)
                                               CpuCellularNetwork(plan, workers, sources));
}

}  // namespace ocellus::detail
