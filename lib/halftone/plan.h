// CellularNetworkPlan: a checked configuration in the form that the backends use. Plain data.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ocellus/cellular_network.h"

namespace ocellus::detail {

/// Inputs and initial states are rounded to multiples of 2^-13.
inline constexpr int kInputBits = 13;
inline constexpr int kInputOne = 1 << kInputBits;
/// Two levels: |B u + T| is clamped to this limit, and the sum of |A| is below it.
inline constexpr int kBinaryLimit = 1 << 14;
/// More levels: |B u + T| times (levels - 1) is clamped to this limit.
inline constexpr int kManyLevelsLimit = 1 << 29;
inline constexpr int kBlueNoiseSize = 64;
/// Size of the tiles of CellStart::kErrorDiffusion.
inline constexpr int kDiffusionTileWidth = 128;
inline constexpr int kDiffusionTileHeight = 32;

/// A stage in fixed point. The output of a cell is the integer Y = 2k - (levels - 1), k = 0 to
/// levels - 1. Its state is X = sum A Y + bias, in units of 2^-fraction_bits / (levels - 1). Here
///   bias = clamp(floor(((sum B u + sum of B v and A v outside the image) (levels - 1) + 2^12)
///                      / 2^13) + (T + T of the cell) (levels - 1)),
/// with u and the fixed cells v in units of 2^-13. The output is
///   two levels: k = [X >= 0]
///   more:       k = clamp(floor(((X + xi) (levels - 1) + xi) / (2 xi)), 0, levels - 1)
struct CellStagePlan {
  int radius = 1;
  int fraction_bits = 0;
  std::array<std::int16_t, kMaxTemplateWeights> a{};  ///< (2 radius + 1)^2 weights, row by row
  std::array<std::int16_t, kMaxTemplateWeights> b{};
  bool has_a = false;  ///< true if a weight of A other than the center is not 0
  bool has_b = false;
  /// True if A is -B except at the center, as in halftoning, and the bias is never clamped. One sum
  /// over u - 2^13 Y then replaces both sums, because rounding does not change multiples of 2^13.
  bool mirrored = false;
  std::int32_t threshold = 0;  ///< in units of 2^-fraction_bits
  bool has_threshold_plane = false;
  int levels = 2;
  std::int32_t xi = 0;                ///< times (levels - 1), like X; with more than two levels
  std::int32_t start_xi = 0;          ///< xi in units of 2^-13, for the initial output
  std::int32_t limit = kBinaryLimit;  ///< limit of |bias|

  CellInput input = CellInput::kFrame;  ///< always kFrame for the first stage
  CellStart start = CellStart::kInput;
  std::int32_t start_value = 0;  ///< in units of 2^-13
  std::uint32_t seed = 0;
  CellBoundary boundary = CellBoundary::kZeroFlux;
  std::int32_t boundary_value = 0;  ///< in units of 2^-13

  CellUpdate update = CellUpdate::kColors;
  CellMove move = CellMove::kUpdate;
  int spacing = 2;  ///< spacing of the colors
  int max_sweeps = 1;
  /// The stage continues with the states of the previous one: it starts with kPrevious, both use
  /// the frame as input, and both have the same template, boundary, thresholds, levels and xi.
  bool keeps_state = false;
};

/// A group of stages; see CellStage::group_stages.
struct CellGroupPlan {
  int first = 0;
  int end = 0;
  int max_passes = 1;
  /// Input and start of the first stage from the second pass on.
  CellInput input = CellInput::kPrevious;
  CellStart start = CellStart::kInput;
};

/// A GrayRange in 16-bit gray, for every format.
struct GrayLimits {
  std::int32_t black = 0;
  std::int32_t white = 65535;
};

/// Computes u from a gray value without a division; see `input_of`.
struct GrayInput {
  std::int32_t factor = 0;  ///< factor of a gray value in units of the format
  std::int32_t offset = 0;
  std::int32_t least = 0;  ///< value for u = -1
  std::int32_t most = 0;   ///< value for u = 1
  std::uint32_t inverse = 0;
  std::int32_t shift = 0;
};

struct CellularNetworkPlan {
  const char* name = "cellular network";  ///< OperatorInfo::name
  ImageSize size;
  PixelFormat input_format = PixelFormat::kGray8;  ///< of the frames
  PixelFormat format = PixelFormat::kGray8;        ///< of their luma
  PixelFormat output_format = PixelFormat::kGray8;
  PictureColor chroma = PictureColor::kNeutral;
  int depth = 1;
  bool white_is_one = false;
  GrayInput gray_input;
  GrayLimits output_range;
  bool warm_start = false;
  int max_sweeps = 1;  ///< of a frame
  int stage_count = 0;
  std::array<CellStagePlan, kMaxCellStages> stages{};
  int group_count = 0;
  std::array<CellGroupPlan, kMaxCellStages> groups{};  ///< in the order of their stages

  /// The group that the stage belongs to; null if there is none.
  const CellGroupPlan* group_of(int stage) const noexcept {
    for (int g = 0; g < group_count; ++g) {
      const CellGroupPlan& group = groups[static_cast<std::size_t>(g)];
      if (stage >= group.first && stage < group.end) return &group;
    }
    return nullptr;
  }
};

/// Planes of the caller that are read only at creation.
struct CellSources {
  struct Plane {
    const float* data = nullptr;
    std::ptrdiff_t stride = 0;  ///< bytes from row to row
  };
  std::array<Plane, kMaxCellStages> threshold{};
  std::array<Plane, kMaxCellStages> start{};
};

/// Rounds a value of a threshold plane to units of 2^-fraction_bits, and a value of a start plane
/// to units of 2^-13.
std::int32_t threshold_of(float value, int fraction_bits) noexcept;
std::int32_t start_of(float state) noexcept;

/// Checks every field. Errors: InvalidArgument and Unsupported; the text names the field, its value
/// and its range.
Expected<CellularNetworkPlan> make_plan(const CellularNetworkConfig& config) noexcept;
CellSources sources_of(const CellularNetworkConfig& config) noexcept;

/// The columns or rows of one color: first, first + step, ..., below end.
struct ColorClass {
  int first = 0;
  int step = 1;
  int end = 0;
  bool single = false;  ///< a single column or row of a periodic remainder
};

/// Number of classes along an axis of `length` cells. With a periodic boundary, each of the last
/// (length mod spacing) cells is a class of its own, because it sees the first cells.
constexpr int color_class_count(int length, int spacing, CellBoundary boundary) noexcept {
  const int whole = boundary == CellBoundary::kPeriodic ? length - length % spacing : length;
  const int regular = whole < spacing ? whole : spacing;
  return regular + (length - whole);
}

constexpr ColorClass color_class(int index, int length, int spacing,
                                 CellBoundary boundary) noexcept {
  const int whole = boundary == CellBoundary::kPeriodic ? length - length % spacing : length;
  const int regular = whole < spacing ? whole : spacing;
  if (index < regular) return {index, spacing, whole, false};
  const int at = whole + (index - regular);
  return {at, spacing, at + 1, true};
}

/// Maps a position outside the image to the position inside that it repeats; -1 for a fixed
/// boundary.
constexpr int beyond(int position, int length, CellBoundary boundary) noexcept {
  if (position >= 0 && position < length) return position;
  if (boundary == CellBoundary::kFixed) return -1;
  if (boundary == CellBoundary::kZeroFlux) return position < 0 ? 0 : length - 1;
  const int wrapped = position % length;
  return wrapped < 0 ? wrapped + length : wrapped;
}

/// The bias of a cell. `control` is the sum in units of 2^-(fraction_bits + 13); `threshold` is in
/// units of 2^-fraction_bits.
constexpr std::int64_t bias_of(std::int64_t control, int levels, std::int64_t threshold,
                               std::int64_t limit) noexcept {
  const std::int64_t rounded = (control * (levels - 1) + kInputOne / 2) >> kInputBits;
  const std::int64_t bias = rounded + threshold * (levels - 1);
  return bias < -limit ? -limit : bias > limit ? limit : bias;
}

/// Output k of an initial state in units of 2^-13.
constexpr int first_output(std::int32_t state, int levels, std::int32_t start_xi) noexcept {
  if (levels == 2) return state >= 0 ? 1 : 0;
  const std::int64_t above =
      (static_cast<std::int64_t>(state) + start_xi) * (levels - 1) + start_xi;
  if (above <= 0) return 0;
  const std::int64_t k = above / (2 * static_cast<std::int64_t>(start_xi));
  return k < levels ? static_cast<int>(k) : levels - 1;
}

/// Output k of the state X, for more than two levels.
constexpr int many_levels_output(std::int32_t x, int levels, std::int32_t xi) noexcept {
  const std::int64_t above = (static_cast<std::int64_t>(x) + xi) * (levels - 1) + xi;
  if (above <= 0) return 0;
  const std::int64_t k = above / (2 * static_cast<std::int64_t>(xi));
  return k < levels ? static_cast<int>(k) : levels - 1;
}

/// Input u of the next stage for output k: Y / (levels - 1) in units of 2^-13, halves up.
constexpr std::int32_t input_of_level(int k, int levels) noexcept {
  const int most = levels - 1;
  const int above = 2 * (2 * k - most) * kInputOne + most;
  return above >= 0 ? above / (2 * most) : -((-above + 2 * most - 1) / (2 * most));
}

/// Initial state of CellStart::kNoise, in units of 2^-13: -2^13 to 2^13 - 1.
constexpr std::int32_t noise_state(int x, int y, std::uint32_t seed) noexcept {
  std::uint32_t h = static_cast<std::uint32_t>(x) * 0x9E3779B1u ^
                    static_cast<std::uint32_t>(y) * 0x85EBCA77u ^ seed * 0xC2B2AE3Du;
  h ^= h >> 16;
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  h ^= h >> 16;
  return static_cast<std::int32_t>(h >> 18) - kInputOne;
}

/// One unit of a format in 16-bit gray. Floats are rounded to 16 bits first.
constexpr std::int32_t gray_unit(PixelFormat format) noexcept {
  return format == PixelFormat::kGray8 ? 257 : 1;
}

/// Let h be the 16-bit gray above black (below white unless `white_is_one`), clamped to 0 to D =
/// white - black. Then
///   u + 2^13 = floor((2^15 h + D) / (2 D)) = floor((2^14 h + floor(D / 2)) / D).
/// The numerator n is below 2^31. n / D is computed as n `inverse` / 2^(32 + s) with 2^s < D <=
/// 2^(s + 1). `inverse` is 2^(32 + s) / D rounded up, so it is less than 1 too large. The result is
/// therefore less than n / 2^(32 + s) < 2^-(s + 1) <= 1 / D too large. A quotient that is not an
/// integer is at least 1 / D below the next integer, so floor gives the correct result.
constexpr GrayInput make_gray_input(const GrayLimits& range, std::int32_t unit,
                                    bool white_is_one) noexcept {
  const std::int32_t span = range.white - range.black;
  GrayInput made;
  made.least = span / 2;
  made.most = 2 * kInputOne * span + span / 2;
  made.factor = (white_is_one ? 2 : -2) * kInputOne * unit;
  made.offset = 2 * kInputOne * (white_is_one ? -range.black : range.white) + span / 2;
  made.shift = static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(span - 1))) - 1;
  const std::uint64_t one = std::uint64_t{1} << (32 + made.shift);
  const auto divisor = static_cast<std::uint64_t>(span);
  made.inverse = static_cast<std::uint32_t>((one + divisor - 1) / divisor);
  return made;
}

/// Input u of a gray value, in units of 2^-13, halves up.
constexpr std::int32_t input_of(const GrayInput& how, std::int32_t gray) noexcept {
  std::int32_t above = gray * how.factor + how.offset;
  above = above > how.least ? above : how.least;
  above = above < how.most ? above : how.most;
  const auto n = static_cast<std::uint32_t>(above);
  const auto quotient =
      static_cast<std::uint32_t>(std::uint64_t{n} * how.inverse >> 32) >> how.shift;
  return static_cast<std::int32_t>(quotient) - kInputOne;
}

/// Gray value of an output in 16-bit gray, times (levels - 1).
constexpr std::uint32_t gray_sum_of_level(int k, int levels, const GrayLimits& range,
                                          bool white_is_one) noexcept {
  const int most = levels - 1;
  const int bright = white_is_one ? k : most - k;
  return static_cast<std::uint32_t>(range.black * most + (range.white - range.black) * bright);
}
/// Gray value of an output in multiples of `unit`, halves up. float_of_level returns it as a float,
/// 0 to 255.
constexpr std::uint32_t gray_of_level(int k, int levels, const GrayLimits& range, std::int32_t unit,
                                      bool white_is_one) noexcept {
  const auto divisor = static_cast<std::uint32_t>(unit * (levels - 1));
  return (2 * gray_sum_of_level(k, levels, range, white_is_one) + divisor) / (2 * divisor);
}
constexpr float float_of_level(int k, int levels, const GrayLimits& range,
                               bool white_is_one) noexcept {
  // Both numbers are below 2^24, so only the division rounds.
  return static_cast<float>(gray_sum_of_level(k, levels, range, white_is_one)) /
         static_cast<float>(257 * (levels - 1));
}

/// A term of Floyd and Steinberg's error diffusion: error * sixteenths / 16, rounded to an integer,
/// halves up.
///   x = u + term(left, 7) + term(above left, 1) + term(above, 5) + term(above right, 3)
///   k = first_output(x, levels, 2^13)
///   error = x - input_of_level(k, levels)
/// Errors from outside the tile are 0.
constexpr std::int32_t diffusion_term(std::int32_t error, int sixteenths) noexcept {
  return (error * sixteenths + 8) >> 4;
}

/// The blue-noise mask: ranks 0 to 4095 of 64x64 cells, row by row.
std::span<const std::uint16_t, kBlueNoiseSize * kBlueNoiseSize> blue_noise_ranks() noexcept;
/// The value that CellStart::kBlueNoise adds to u, in units of 2^-13.
constexpr std::int32_t blue_noise_state(std::uint16_t rank) noexcept {
  return 4 * rank + 2 - kInputOne;
}

}  // namespace ocellus::detail
