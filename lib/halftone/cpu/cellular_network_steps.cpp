// The steps of a frame and their order.
#include <algorithm>
#include <cstring>
#include <utility>

#include "halftone/cpu/cellular_network.h"

namespace ocellus::detail {

int CpuCellularNetwork::step_count() const noexcept {
  int count = 1;  // the step `write`
  for (int s = 0; s < plan_.stage_count; ++s) {
    const CellStagePlan& plan = plan_of(s);
    if (!plan.keeps_state) count += 5;
    switch (plan.update) {
      case CellUpdate::kColors:
        count += 2 * data_[static_cast<std::size_t>(s)].row_classes;
        break;
      case CellUpdate::kRaster:
        count += 1;
        break;
      case CellUpdate::kSynchronous:
        count += 3;
        break;
    }
    ++count;  // the step `control`
  }
  count += 2 * plan_.group_count;  // the steps `compare` and `repeat`
  return count + (plan_.warm_start ? 1 : 0);
}

void CpuCellularNetwork::build_steps(JobStep* steps, StepContext* contexts) noexcept {
  int at = 0;
  const auto add = [&](void (*function)(void*, int, int) noexcept, int parts, int stage,
                       int index = 0) {
    contexts[at].level = stage;
    contexts[at].index = index;
    steps[at] = {function, &contexts[at], parts};
    ++at;
  };
  const int bands = bands_.count();
  int group_first = 0;  // first step of the present group
  for (int s = 0; s < plan_.stage_count; ++s) {
    const CellStagePlan& plan = plan_of(s);
    const CellGroupPlan* const group = plan_.group_of(s);
    if (group != nullptr && group->first == s) group_first = at;
    if (!plan.keeps_state) {
      add(&CpuCellularNetwork::run<&CpuCellularNetwork::load_input>, rows_.count(), s);
      add(&CpuCellularNetwork::run<&CpuCellularNetwork::start_cells>, rows_.count(), s);
      add(&CpuCellularNetwork::run<&CpuCellularNetwork::diffuse>,
          plan.start == CellStart::kErrorDiffusion ? diffusion_rows().count() : 0, s);
      add(&CpuCellularNetwork::run<&CpuCellularNetwork::give_outputs>, rows_.count(), s);
      add(&CpuCellularNetwork::run<&CpuCellularNetwork::make_states>, rows_.count(), s);
    }
    const int first = at;
    switch (plan.update) {
      case CellUpdate::kColors:
        for (int c = 0; c < data_of(s).row_classes; ++c) {
          add(&CpuCellularNetwork::sweep<&CpuCellularNetwork::visit_colors>, bands, s, c);
          add(&CpuCellularNetwork::sweep<&CpuCellularNetwork::exchange>, bands > 1 ? bands : 0, s,
              c);
        }
        break;
      case CellUpdate::kRaster:
        add(&CpuCellularNetwork::sweep<&CpuCellularNetwork::visit_raster>, 1, s);
        break;
      case CellUpdate::kSynchronous:
        add(&CpuCellularNetwork::sweep<&CpuCellularNetwork::want>, bands, s);
        add(&CpuCellularNetwork::sweep<&CpuCellularNetwork::spread>, bands, s);
        add(&CpuCellularNetwork::sweep<&CpuCellularNetwork::commit>, bands, s);
        break;
    }
    add(&CpuCellularNetwork::decide<&CpuCellularNetwork::control>, 1, s, first - at);
    if (group != nullptr && group->end == s + 1) {
      add(&CpuCellularNetwork::run<&CpuCellularNetwork::compare>, bands, s);
      add(&CpuCellularNetwork::decide<&CpuCellularNetwork::repeat>, 1, s, group_first - at);
    }
    if (plan_.warm_start && s == last_of_first_run())
      add(&CpuCellularNetwork::run<&CpuCellularNetwork::keep>, rows_.count(), s);
  }
  add(&CpuCellularNetwork::run<&CpuCellularNetwork::write>, rows_.count(), plan_.stage_count - 1);
}

void CpuCellularNetwork::extend(std::int16_t* plane, int y, const CellStagePlan& stage,
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

void CpuCellularNetwork::load_input(const StepContext& at, int part, int worker) noexcept {
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

void CpuCellularNetwork::start_cells(const StepContext& at, int part, int) noexcept {
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

void CpuCellularNetwork::diffuse(const StepContext& at, int part, int worker) noexcept {
  if (starts_warm(at.level)) return;
  const Bands tiles = diffusion_rows();
  diffuse_tiles(padded_row(u_, 0), pitch_, k_, k_pitch_, tiles.begin(part), tiles.end(part),
                plan_.size.width, plan_of(at.level).levels,
                scratch_ + static_cast<std::size_t>(worker) * scratch_size_);
}

void CpuCellularNetwork::give_outputs(const StepContext& at, int part, int) noexcept {
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

std::int32_t CpuCellularNetwork::border_state(int stage, int x, int y) noexcept {
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
  return static_cast<std::int32_t>(bias_of(control, plan.levels, threshold, plan.limit) + feedback);
}

/// The sums of taps do not include the contribution of A at fixed cells outside the image.
void CpuCellularNetwork::mend_border(int stage, int y) noexcept {
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

void CpuCellularNetwork::make_states(const StepContext& at, int part, int worker) noexcept {
  const CellStagePlan& plan = plan_of(at.level);
  const StageData& data = data_of(at.level);
  const int width = plan_.size.width;
  std::int16_t* control = plan.mirrored ? difference_ : u_;
  // With a mirrored template, one sum contains both terms, so it is larger. Its bias never reaches
  // the limit.
  const std::int32_t limit = plan.mirrored ? 2 * plan.limit : plan.limit;
  const bool mended = plan.boundary == CellBoundary::kFixed && plan.boundary_value != 0 &&
                      plan.has_a && !plan.mirrored;
  for (int y = rows_.begin(part); y < rows_.end(part); ++y) {
    const std::int32_t* thresholds = data.threshold == nullptr
                                         ? nullptr
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

CellBand& CpuCellularNetwork::band_for(int band, int stage) noexcept {
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

/// A swap reads X of the row below and changes cells there. The last row of a band must read the
/// changes that its own cells have made in the first row of the next band. The band therefore owns
/// that row while the class is processed. No other band changes the row, because rows of a class
/// are at least radius + 2 apart.
bool CpuCellularNetwork::takes_next_row(int band, const StepContext& at) const noexcept {
  const CellStagePlan& plan = plan_of(at.level);
  const int last = bands_.end(band) - 1;
  if (plan.move != CellMove::kSwap || last + 1 == plan_.size.height) return false;
  const ColorClass rows = color_class(at.index, plan_.size.height, plan.spacing, plan.boundary);
  return last >= rows.first && last < rows.end && (last - rows.first) % rows.step == 0;
}

void CpuCellularNetwork::visit_colors(const StepContext& at, int part, int) noexcept {
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

void CpuCellularNetwork::exchange(const StepContext& at, int part, int) noexcept {
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

void CpuCellularNetwork::visit_raster(const StepContext& at, int, int) noexcept {
  CellBand& band = band_for(0, at.level);
  band.top = 0;
  band.bottom = plan_.size.height;
  band.events = nullptr;
  // The longest part of the network: a whole sweep.
  for (int y = 0; y < plan_.size.height && !at.frame->job.is_stopping(); ++y) raster_row(band, y);
}

void CpuCellularNetwork::want(const StepContext& at, int part, int) noexcept {
  CellBand& band = band_for(part, at.level);
  for (int y = band.top; y < band.bottom; ++y)
    band.changed += wanted_row(band, y, k_next_ + y * k_pitch_);
}

void CpuCellularNetwork::spread(const StepContext& at, int part, int) noexcept {
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

void CpuCellularNetwork::commit(const StepContext&, int part, int) noexcept {
  for (int y = bands_.begin(part); y < bands_.end(part); ++y)
    std::memcpy(k_row(y), k_next_ + y * k_pitch_, static_cast<std::size_t>(plan_.size.width));
}

std::uint32_t CpuCellularNetwork::take_changes() noexcept {
  std::uint32_t changes = 0;
  for (int b = 0; b < bands_.count(); ++b) changes += std::exchange(band_[b].cells.changed, 0u);
  return changes;
}

void CpuCellularNetwork::control(const StepContext& at, int, int) noexcept {
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

/// The plane of the previous pass holds nothing of this frame in the first pass, so that all cells
/// count as changed.
void CpuCellularNetwork::compare(const StepContext&, int part, int) noexcept {
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

void CpuCellularNetwork::repeat(const StepContext& at, int, int) noexcept {
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

void CpuCellularNetwork::keep(const StepContext&, int part, int) noexcept {
  for (int y = rows_.begin(part); y < rows_.end(part); ++y)
    std::memcpy(k_kept_ + y * k_pitch_, k_row(y), static_cast<std::size_t>(plan_.size.width));
}

void CpuCellularNetwork::write(const StepContext& at, int part, int) noexcept {
  for (int y = rows_.begin(part); y < rows_.end(part); ++y) {
    write_row(k_row(y), plan_of(at.level).levels, levels_out_, plan_.output_format,
              at.frame->out_row<void>(0, y), plan_.size.width);
  }
}

void CpuCellularNetwork::write_bad(const FrameJob& frame) noexcept {
  for (int y = 0; y < plan_.size.height; ++y) {
    std::memset(frame.out_row<void>(0, y), 0,
                static_cast<std::size_t>(plan_.size.width) *
                    static_cast<std::size_t>(bytes_per_pixel(plan_.output_format)));
  }
}

void CpuCellularNetwork::complete(const FrameJob& frame) noexcept {
  auto& record = *static_cast<CellularNetworkRecord*>(frame.record);
  record.sweeps = sweeps_;
  record.changed = changed_;
  record.converged = finished_ && changed_ == 0;
  record.finished = finished_;
  record.passes = passes_;
}

void CpuCellularNetwork::forget() noexcept {
  stage_sweeps_ = group_passes_ = 0;
  take_changes();
}

}  // namespace ocellus::detail
