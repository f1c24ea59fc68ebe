// Creates a network: its memory, tables and planes.
#include "halftone/cpu/cellular_network.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "halftone/backend.h"

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

}  // namespace

CpuCellularNetwork::CpuCellularNetwork(const CellularNetworkPlan& plan, int workers,
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

std::unique_ptr<OperatorInstance> make_network_cpu(const CellularNetworkPlan& plan, int workers,
                                                   const CellSources* sources) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow)
                                               CpuCellularNetwork(plan, workers, sources));
}

// ---- creation

void CpuCellularNetwork::make_taps(int stage) noexcept {
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

int CpuCellularNetwork::levels_before(int stage, int again) const noexcept {
  if (again == 0) return stage == 0 ? 0 : plan_of(stage - 1).levels;
  const CellGroupPlan* const group = plan_.group_of(stage);
  return group != nullptr && group->first == stage ? plan_of(group->end - 1).levels : 0;
}

void CpuCellularNetwork::layout(LayoutBuilder& builder) noexcept {
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
      std::int64_t* bounds = builder.take<std::int64_t>(static_cast<std::size_t>(plan.levels) + 1);
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

void CpuCellularNetwork::make_weights(int stage) noexcept {
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
      data.weights_below[at] = static_cast<std::int16_t>(weight(row - 1, lane) - weight(row, lane));
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

void CpuCellularNetwork::make_planes(int stage) noexcept {
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
      data.first[again][k] = static_cast<std::uint8_t>(first_output(u, plan.levels, plan.start_xi));
    }
  }
}

Expected<void> CpuCellularNetwork::prepare() noexcept {
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

}  // namespace ocellus::detail
