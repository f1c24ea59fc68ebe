#include "neocognitron/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/failure.h"

namespace ocellus {

Expected<void> check_parameters(const NeocognitronParameters& parameters) noexcept {
  Expected<void> result;
  // Comparisons with NaN are false.
  const auto check = [&result](const char* name, int stage, float value, float low, float high) {
    if (!result || (value >= low && value <= high)) return;
    char of[24] = "";
    if (stage > 0) std::snprintf(of, sizeof(of), " of stage %d", stage);
    result = detail::invalid_argument("neocognitron: %s%s is %g; it must be %g to %g", name, of,
                                      static_cast<double>(value), static_cast<double>(low),
                                      static_cast<double>(high));
  };
  constexpr float kSmall = 0.01f;
  check("center_sigma", 0, parameters.center_sigma, 0.1f, 4.0f);
  check("surround_sigma", 0, parameters.surround_sigma, parameters.center_sigma + kSmall, 8.0f);
  check("contrast_radius", 0, parameters.contrast_radius, 1.1f, 4.0f);
  check("contrast_threshold", 0, parameters.contrast_threshold, 0.0f, 0.5f);
  check("gain", 0, parameters.gain, 1.0f, 1e6f);
  for (std::size_t i = 0; i < parameters.stages.size(); ++i) {
    const NeocognitronStage& stage = parameters.stages[i];
    const int l = static_cast<int>(i) + 1;
    check("threshold", l, stage.threshold, kSmall, 1.0f - kSmall);
    check("s_radius", l, stage.s_radius, 0.8f, 6.0f);
    check("s_decay", l, stage.s_decay, kSmall, 1.0f);
    check("c_radius", l, stage.c_radius, 0.8f, 6.0f);
    check("c_decay", l, stage.c_decay, kSmall, 1.0f);
    check("surround", l, stage.surround, 0.0f, 4.0f);
    check("surround_radius", l, stage.surround_radius, stage.c_radius, 10.0f);
  }
  const int side = parameters.reference_side;
  const int most = detail::kSimpleSides[3].out;
  if (result && side != 1 && side != most) {
    result = detail::invalid_argument("neocognitron: reference_side is %d; it must be 1 or %d",
                                      side, most);
  }
  return result;
}

namespace detail {
namespace {

/// Where the cell at 0 lies along an axis of the layer that is read.
struct Axis {
  int first;  ///< the input at its place or, if it lies between two, the one before it
  bool half;  ///< it lies between two inputs

  explicit Axis(const LayerSides& sides) {
    const int twice = (sides.in - 1) - sides.pitch * (sides.out - 1);
    // Rounds down, for negative numbers, too.
    first = twice >= 0 ? twice / 2 : -((1 - twice) / 2);
    half = twice != 2 * first;
  }
};

/// Adds the taps at a distance of `from` or more and below `to`.
void add_ring(CellWindow& window, double from, double to) noexcept {
  const Axis axis(window.sides);
  const double shift = axis.half ? 0.5 : 0.0;
  window.first = axis.first;
  const int reach = static_cast<int>(std::ceil(to)) + 1;
  for (int dy = -reach; dy <= reach; ++dy) {
    for (int dx = -reach; dx <= reach; ++dx) {
      const double distance = std::hypot(dx - shift, dy - shift);
      if (distance < from || distance >= to || window.taps == kMaxWindowTaps) continue;
      window.tap[static_cast<std::size_t>(window.taps++)] = {static_cast<std::int16_t>(dx),
                                                             static_cast<std::int16_t>(dy),
                                                             static_cast<float>(distance)};
    }
  }
}

/// Replaces the distances of the taps from `begin` on by decay^distance. Returns their sum.
double weigh(CellWindow& window, float decay) noexcept {
  double sum = 0.0;
  for (int i = 0; i < window.taps; ++i) {
    float& weight = window.tap[static_cast<std::size_t>(i)].weight;
    weight = static_cast<float>(std::pow(static_cast<double>(decay), static_cast<double>(weight)));
    sum += static_cast<double>(weight);
  }
  return sum;
}

}  // namespace

CellWindow contrast_window(const NeocognitronParameters& parameters) noexcept {
  CellWindow window;
  window.sides = kContrastSides;
  add_ring(window, 0.0, static_cast<double>(parameters.contrast_radius));
  const auto gaussian = [](double distance, float sigma) {
    const double relative = distance / static_cast<double>(sigma);
    return std::exp(-0.5 * relative * relative);
  };
  double center = 0.0;
  double surround = 0.0;
  for (const WindowTap& tap : window.all()) {
    center += gaussian(static_cast<double>(tap.weight), parameters.center_sigma);
    surround += gaussian(static_cast<double>(tap.weight), parameters.surround_sigma);
  }
  for (int i = 0; i < window.taps; ++i) {
    float& weight = window.tap[static_cast<std::size_t>(i)].weight;
    const auto distance = static_cast<double>(weight);
    weight = static_cast<float>(gaussian(distance, parameters.center_sigma) / center -
                                gaussian(distance, parameters.surround_sigma) / surround);
  }
  return window;
}

CellWindow simple_window(const NeocognitronParameters& parameters, int stage) noexcept {
  const auto index = static_cast<std::size_t>(stage);
  CellWindow window;
  window.sides = kSimpleSides[index];
  if (stage == kNeocognitronStages - 1) window.sides.out = parameters.reference_side;
  add_ring(window, 0.0, static_cast<double>(parameters.stages[index].s_radius));
  const double sum = weigh(window, parameters.stages[index].s_decay);
  for (int i = 0; i < window.taps; ++i) {
    float& weight = window.tap[static_cast<std::size_t>(i)].weight;
    weight = static_cast<float>(static_cast<double>(weight) / sum);
  }
  return window;
}

CellWindow complex_window(const NeocognitronParameters& parameters, int stage) noexcept {
  const auto index = static_cast<std::size_t>(stage);
  const NeocognitronStage& constants = parameters.stages[index];
  CellWindow window;
  window.sides = kComplexSides[index];
  add_ring(window, 0.0, static_cast<double>(constants.c_radius));
  const double sum = weigh(window, constants.c_decay);
  if (constants.surround <= 0.0f) return window;
  const int inner = window.taps;
  add_ring(window, static_cast<double>(constants.c_radius),
           static_cast<double>(constants.surround_radius));
  const int outer = window.taps - inner;
  for (int i = inner; i < window.taps; ++i) {
    window.tap[static_cast<std::size_t>(i)].weight =
        static_cast<float>(-static_cast<double>(constants.surround) * sum / outer);
  }
  return window;
}

}  // namespace detail
}  // namespace ocellus
