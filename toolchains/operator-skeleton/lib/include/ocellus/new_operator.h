// NewOperator: the mean of the pixels around each one.
//
//   result(x, y) = 1 / (2 r + 1)^2  sum of pixel(x + dx, y + dy) over |dx|, |dy| <= r          (1)
#pragma once

#include <cstdint>

#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/options.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// What lies beyond the image.
enum class NewOperatorBorder : std::uint8_t {
  kRepeat,  ///< the nearest pixel of the image
  kBlack,   ///< 0
};

struct NewOperatorConfig {
  ImageSize size{};                                       ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;               ///< of the frames and of the result
  int depth = 1;                                          ///< frames in flight, 1 to 8
  OperatorPriority priority = OperatorPriority::kNormal;  ///< among the operators of an engine
  int radius = 1;                                         ///< r of (1) in pixels, 1 to 7
  NewOperatorBorder border = NewOperatorBorder::kRepeat;

  /// All but size and format.
  static OptionTable options() noexcept;
};

/// The operator. Its output is one plane of the frame's size and format. In whole numbers the mean
/// is rounded to the nearest one, halves up, and is the same on every backend. The result of a
/// frame with pixels that are not finite is 0 everywhere (kBadPixels).
class NewOperator : public Operator<NewOperator, NewOperatorConfig> {};

}  // namespace ocellus

#pragma GCC visibility pop
