// NewOperatorPlan: a checked configuration in the form that backends work from, and the arithmetic
// that they share.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ocellus/new_operator.h"

namespace ocellus::detail {

inline constexpr int kMaxNewOperatorRadius = 7;

/// Plain data.
struct NewOperatorPlan {
  ImageSize size;
  PixelFormat input_format = PixelFormat::kGray8;  ///< of the frames
  PixelFormat format = PixelFormat::kGray8;        ///< of their luma
  int depth = 1;
  int radius = 1;
  NewOperatorBorder border = NewOperatorBorder::kRepeat;
};

/// Checks every field. Errors: InvalidArgument, naming the field, its value and its range.
Expected<NewOperatorPlan> make_plan(const NewOperatorConfig& config) noexcept;
OperatorInfo info_of(const NewOperatorPlan& plan) noexcept;

/// The type of a sum of pixels. Whole numbers hold the largest one: 15^2 pixels of 65535.
template <typename Pixel>
using NewOperatorSum = std::conditional_t<std::is_floating_point_v<Pixel>, float, std::uint32_t>;

/// The mean of `count` pixels; whole numbers are rounded, halves up.
template <typename Pixel>
constexpr Pixel new_operator_mean(NewOperatorSum<Pixel> sum, int count) noexcept {
  if constexpr (std::is_floating_point_v<Pixel>) {
    return sum / static_cast<Pixel>(count);
  } else {
    const auto n = static_cast<std::uint32_t>(count);
    return static_cast<Pixel>((2 * sum + n) / (2 * n));
  }
}

/// The position that stands for one along an axis of `length` pixels; -1: the pixel is black.
constexpr int new_operator_position(int position, int length, NewOperatorBorder border) noexcept {
  if (position >= 0 && position < length) return position;
  if (border == NewOperatorBorder::kBlack) return -1;
  return position < 0 ? 0 : length - 1;
}

}  // namespace ocellus::detail
