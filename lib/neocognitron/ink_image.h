// InkImager: draws the ink of one character.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/layout_builder.h"
#include "neocognitron/ink_area.h"
#include "neocognitron/ink_components.h"
#include "neocognitron/ink_levels.h"
#include "ocellus/frame.h"

namespace ocellus::detail {

/// Draws a character as an image of ink: 0 is background, 255 is full ink. The local background is
/// subtracted, and the contrast of the character is stretched to the full range. Edges stay soft.
/// Ink that does not belong to the character is background.
///
/// All memory is taken by the constructor. Workers that draw at the same time need one each.
class InkImager {
 public:
  /// Width and height of the largest image, and bytes from row to row of every image.
  static constexpr int kSide = kDrawnSide;

  /// `frame` is the size of the largest frames.
  InkImager(ImageSize frame, LayoutBuilder& memory) noexcept;

  /// Draws the character with the pixels `ink` and the box `box`. `plane` and `levels` are those of
  /// the frame or the field in which it was found. `out` has room for kSide rows.
  ///
  /// The image has the box and a margin of a few pixels, which holds soft edges. It is cut off at
  /// the border of `plane`. A character that is too large is reduced by an integer factor, each
  /// pixel being the mean of an area. Returns the size; rows and columns beyond it are not written.
  ImageSize draw(const GrayPlane& plane, const InkLevels& levels, std::span<const InkRun> ink,
                 const Rect& box, std::uint8_t* out) noexcept;

 private:
  InkRange range(const GrayPlane& plane, const InkLevels& levels,
                 std::span<const InkRun> ink) noexcept;

  std::uint8_t* background_;  // of a row
  std::uint8_t* threshold_;
  std::uint8_t* zone_;  // kinds of the pixels of a row
  std::array<std::uint32_t, kSide> sums_{};
};

}  // namespace ocellus::detail
