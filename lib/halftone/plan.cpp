#include "halftone/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/checks.h"
#include "core/failure.h"
#include "halftone/stage_check.h"

namespace ocellus::detail {
namespace {

int weights_of(int radius) noexcept {
  return (2 * radius + 1) * (2 * radius + 1);
}

std::int32_t on_grid(float value, int bits) noexcept {
  return static_cast<std::int32_t>(std::nearbyint(std::ldexp(static_cast<double>(value), bits)));
}

std::int32_t on_input_grid(float value) noexcept {
  return static_cast<std::int32_t>(std::floor(static_cast<double>(value) * kInputOne + 0.5));
}

Check check_plane(int stage, const char* name, const float* data, std::ptrdiff_t stride,
                  ImageSize size) noexcept {
  const auto least = static_cast<std::ptrdiff_t>(sizeof(float)) * size.width;
  if (stride < least || stride % static_cast<std::ptrdiff_t>(sizeof(float)) != 0) {
    return invalid_argument(
        "stages[%d].%s_stride is %td bytes; it must be a multiple of 4 and at "
        "least %td",
        stage, name, stride, least);
  }
  for (int y = 0; y < size.height; ++y) {
    const float* row =
        reinterpret_cast<const float*>(reinterpret_cast<const char*>(data) + y * stride);
    for (int x = 0; x < size.width; ++x) {
      if (!(std::fabs(row[x]) <= kMaxCellWeight)) {
        return invalid_argument("stages[%d].%s_plane holds %g at (%d, %d); it must be -%g to %g",
                                stage, name, static_cast<double>(row[x]), x, y,
                                static_cast<double>(kMaxCellWeight),
                                static_cast<double>(kMaxCellWeight));
      }
    }
  }
  return {};
}

/// Rounds A and B to multiples of 2^-bits. Returns false if the values are too large for this.
bool round_weights(const CellTemplate& weights, int bits, int levels,
                   CellStagePlan& plan) noexcept {
  std::int64_t sum_a = 0;
  std::int64_t sum_b = 0;
  const int count = weights_of(weights.radius);
  plan.has_a = plan.has_b = false;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int32_t a = on_grid(weights.a[at], bits);
    const std::int32_t b = on_grid(weights.b[at], bits);
    if (std::abs(a) > 32767 || std::abs(b) > 32767) return false;
    plan.a[at] = static_cast<std::int16_t>(a);
    plan.b[at] = static_cast<std::int16_t>(b);
    plan.has_a |= a != 0 && i != count / 2;
    plan.has_b |= b != 0;
    sum_a += std::abs(a);
    sum_b += std::abs(b);
  }
  plan.fraction_bits = bits;
  // With these limits, the sums before the shift by 13 fit in 31 bits.
  return sum_a < (levels == 2 ? kBinaryLimit : 2 * kBinaryLimit) && sum_a + sum_b < (1 << 17);
}

/// How often the weights, T and xi can be doubled until the largest of them is 1 or more. The cells
/// depend on their ratios only.
int doublings_of(const CellStage& stage) noexcept {
  if (stage.threshold_plane != nullptr) return 0;  // its values have no least magnitude
  float largest = std::fabs(stage.weights.threshold);
  if (stage.levels > 2) largest = std::max(largest, stage.xi);
  for (int i = 0; i < weights_of(stage.weights.radius); ++i) {
    const auto at = static_cast<std::size_t>(i);
    largest = std::max({largest, std::fabs(stage.weights.a[at]), std::fabs(stage.weights.b[at])});
  }
  return largest > 0.0f ? std::max(0, -std::ilogb(largest)) : 0;
}

bool is_symmetric(const CellStagePlan& plan) noexcept {
  const int count = weights_of(plan.radius);
  for (int i = 0; i < count / 2; ++i) {
    if (plan.a[static_cast<std::size_t>(i)] != plan.a[static_cast<std::size_t>(count - 1 - i)])
      return false;
  }
  return true;
}

bool is_mirrored(const CellStagePlan& plan) noexcept {
  if (plan.levels != 2 || !plan.has_a || plan.has_threshold_plane) return false;
  std::int64_t most = std::abs(plan.threshold);
  const int count = weights_of(plan.radius);
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i != count / 2 && plan.a[at] != -plan.b[at]) return false;
    most += std::abs(plan.b[at]);
  }
  return most <= plan.limit;
}

Check check_swaps(int i, const CellStage& stage, const CellStagePlan& plan) noexcept {
  if (stage.levels != 2) {
    return invalid_argument("stages[%d].move is kSwap with %d levels; swaps need two", i,
                            stage.levels);
  }
  if (stage.update != CellUpdate::kColors)
    return invalid_argument("stages[%d].move is kSwap; its update must be kColors", i);
  if (!is_symmetric(plan)) {
    return invalid_argument(
        "stages[%d].move is kSwap; it needs a symmetric A: opposite weights must be equal", i);
  }
  return {};
}

Expected<CellStagePlan> make_stage(int i, const CellStage& stage, ImageSize size) noexcept {
  if (Check c = check_cell_stage(stage); !c)
    return invalid_argument("stages[%d].%s", i, c.error().text);
  if (stage.threshold_plane != nullptr) {
    OCELLUS_TRY(check_plane(i, "threshold", stage.threshold_plane, stage.threshold_stride, size));
  }
  if (stage.start == CellStart::kPlane) {
    OCELLUS_TRY(check_plane(i, "start", stage.start_plane, stage.start_stride, size));
  }

  CellStagePlan plan;
  plan.radius = stage.weights.radius;
  int bits = kInputBits + doublings_of(stage);
  while (!round_weights(stage.weights, bits, stage.levels, plan)) {
    if (--bits >= 0) continue;
    double sum = 0.0;
    for (int w = 0; w < weights_of(plan.radius); ++w)
      sum += static_cast<double>(std::fabs(stage.weights.a[static_cast<std::size_t>(w)]));
    return invalid_argument(
        "the weights of stages[%d] are too large: the sum of |A| is %g; it must be below %d, and "
        "that of |A| and |B| below %d",
        i, sum, kBinaryLimit, 1 << 17);
  }
  const int most = stage.levels - 1;
  plan.levels = stage.levels;
  plan.limit = stage.levels == 2 ? kBinaryLimit : kManyLevelsLimit;
  plan.threshold = on_grid(stage.weights.threshold, plan.fraction_bits);
  plan.has_threshold_plane = stage.threshold_plane != nullptr;
  // Two levels do not depend on it, and it may not fit then.
  if (stage.levels > 2) plan.xi = std::max(1, on_grid(stage.xi, plan.fraction_bits)) * most;
  plan.start_xi = std::max(1, on_input_grid(stage.xi));
  // The first stage has no previous stage; it uses the frame.
  plan.input = i == 0 ? CellInput::kFrame : stage.input;
  plan.start = i == 0 && stage.start == CellStart::kPrevious ? CellStart::kInput : stage.start;
  plan.start_value = on_input_grid(stage.start_value);
  plan.seed = stage.seed;
  plan.boundary = stage.boundary;
  plan.boundary_value = on_input_grid(stage.boundary_value);
  plan.update = stage.update;
  plan.move = stage.move;
  plan.max_sweeps = stage.max_sweeps;
  plan.mirrored = is_mirrored(plan);
  const int least = plan.radius + (stage.move == CellMove::kSwap ? 2 : 1);
  plan.spacing = stage.color_spacing == 0 ? least : stage.color_spacing;
  if (stage.move == CellMove::kSwap) {
    OCELLUS_TRY(check_swaps(i, stage, plan));
  }
  return plan;
}

Expected<GrayLimits> make_limits(const char* field, const GrayRange& range) noexcept {
  const auto in_range = [](float gray) { return gray >= 0.0f && gray <= 255.0f; };  // false for NaN
  if (!in_range(range.black)) {
    return invalid_argument("%s.black is %g; it must be 0 to 254", field,
                            static_cast<double>(range.black));
  }
  if (!in_range(range.white)) {
    return invalid_argument("%s.white is %g; it must be 1 to 255", field,
                            static_cast<double>(range.white));
  }
  const auto steps = [](float gray) {
    return static_cast<std::int32_t>(std::nearbyint(static_cast<double>(gray) * 257.0));
  };
  const GrayLimits limits{steps(range.black), steps(range.white)};
  if (limits.white - limits.black < 257) {
    return invalid_argument("%s.white is %g; it must be at least 1 above %s.black, which is %g",
                            field, static_cast<double>(range.white), field,
                            static_cast<double>(range.black));
  }
  return limits;
}

bool same_states(const CellStage& a, const CellStage& b) noexcept {
  const auto count = static_cast<std::size_t>(weights_of(a.weights.radius));
  return a.weights.radius == b.weights.radius &&
         std::equal(a.weights.a.begin(), a.weights.a.begin() + count, b.weights.a.begin()) &&
         std::equal(a.weights.b.begin(), a.weights.b.begin() + count, b.weights.b.begin()) &&
         a.weights.threshold == b.weights.threshold && a.threshold_plane == b.threshold_plane &&
         (a.threshold_plane == nullptr || a.threshold_stride == b.threshold_stride) &&
         a.levels == b.levels && a.xi == b.xi && a.boundary == b.boundary &&
         // With another xi, the output function would change the outputs of the previous stage.
         (a.levels == 2 || a.xi == 1.0f) &&
         (a.boundary != CellBoundary::kFixed || a.boundary_value == b.boundary_value);
}

/// If the fixed point depends on the start, a warm start would carry the result of the first frame
/// along.
Check check_warm_start(const CellStage& first, const CellStagePlan& plan) noexcept {
  if (first.start == CellStart::kConstant) {
    return invalid_argument(
        "warm_start is true, but stages[0] starts with a constant: the result of the template "
        "depends "
        "on this start; warm_start needs a template that works from any start, such as a halftone");
  }
  if (first.group_stages > 0) {
    return invalid_argument(
        "warm_start is true, but stages[0] begins a group: the result of a group depends on the "
        "output that it starts with; warm_start needs a template that works from any start, such "
        "as a halftone");
  }
  if (!plan.has_b) {
    return invalid_argument(
        "warm_start is true, but stages[0] has no weights in B: frames after the first would not "
        "change the result; warm_start needs a template with weights in B, such as a halftone");
  }
  return {};
}

}  // namespace

std::int32_t threshold_of(float value, int fraction_bits) noexcept {
  return on_grid(value, fraction_bits);
}
std::int32_t start_of(float state) noexcept {
  return on_input_grid(state);
}

Expected<CellularNetworkPlan> make_plan(const CellularNetworkConfig& config) noexcept {
  OCELLUS_TRY(check_geometry(config.size, config.format, Rect{}, config.depth));
  if (config.output_format != PixelFormat::kGray8 && config.output_format != PixelFormat::kGray16 &&
      config.output_format != PixelFormat::kFloat32) {
    return invalid_argument("output_format is %d; it must be kGray8, kGray16 or kFloat32",
                            static_cast<int>(config.output_format));
  }
  if (config.polarity != CellPolarity::kBlackIsOne && config.polarity != CellPolarity::kWhiteIsOne)
    return invalid_argument("polarity is %d; it must be kBlackIsOne or kWhiteIsOne",
                            static_cast<int>(config.polarity));
  if (config.chroma != PictureColor::kNeutral && config.chroma != PictureColor::kKept) {
    return invalid_argument("chroma is %d; it must be kNeutral or kKept",
                            static_cast<int>(config.chroma));
  }
  OCELLUS_TRY_ASSIGN(input_range, make_limits("input_range", config.input_range));
  OCELLUS_TRY_ASSIGN(output_range, make_limits("output_range", config.output_range));
  OCELLUS_TRY(check_range("stage_count", config.stage_count, 1, kMaxCellStages));
  OCELLUS_TRY(check_range("max_sweeps", config.max_sweeps, 1, kMaxFrameSweeps));

  OCELLUS_TRY(check_cell_groups(config.stages.data(), config.stage_count));

  CellularNetworkPlan plan;
  plan.size = config.size;
  plan.input_format = config.format;
  plan.format = luma_format(config.format);
  plan.output_format = config.output_format;
  plan.chroma = config.chroma;
  plan.depth = config.depth;
  plan.white_is_one = config.polarity == CellPolarity::kWhiteIsOne;
  plan.gray_input = make_gray_input(*input_range, gray_unit(plan.format), plan.white_is_one);
  plan.output_range = *output_range;
  plan.warm_start = config.warm_start;
  plan.max_sweeps = config.max_sweeps;
  plan.stage_count = config.stage_count;
  for (int i = 0; i < config.stage_count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    OCELLUS_TRY_ASSIGN(stage, make_stage(i, config.stages[at], config.size));
    plan.stages[at] = *stage;
    if (i == 0 && config.warm_start) {
      OCELLUS_TRY(check_warm_start(config.stages[0], *stage));
    }
    if (const CellStage& first = config.stages[at]; first.group_stages > 0) {
      plan.groups[static_cast<std::size_t>(plan.group_count++)] = {
          i, i + first.group_stages, first.max_passes, first.input, first.start};
    }
    if (i > 0 && plan.group_of(i) == nullptr && plan.group_of(i - 1) == nullptr) {
      plan.stages[at].keeps_state = stage->start == CellStart::kPrevious &&
                                    stage->input == CellInput::kFrame &&
                                    plan.stages[at - 1].input == CellInput::kFrame &&
                                    same_states(config.stages[at], config.stages[at - 1]);
    }
  }
  return plan;
}

CellSources sources_of(const CellularNetworkConfig& config) noexcept {
  CellSources sources;
  for (std::size_t i = 0; i < static_cast<std::size_t>(config.stage_count); ++i) {
    const CellStage& stage = config.stages[i];
    sources.threshold[i] = {stage.threshold_plane, stage.threshold_stride};
    if (stage.start == CellStart::kPlane)
      sources.start[i] = {stage.start_plane, stage.start_stride};
  }
  return sources;
}

}  // namespace ocellus::detail
