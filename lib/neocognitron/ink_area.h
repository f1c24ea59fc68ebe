// The arithmetic of drawing a character, for the host and for devices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "neocognitron/ink_grid.h"
#include "ocellus/frame.h"

namespace ocellus::detail {

/// Width and height of the largest image of a character, and bytes from row to row of every one.
inline constexpr int kDrawnSide = 128;

/// What an image of a character shows of a frame.
struct InkArea {
  int left;
  int top;
  int right;
  int bottom;
  int margin;      ///< pixels around ink that may be soft edges
  int factor;      ///< side of the area of the frame that becomes a pixel
  ImageSize size;  ///< of the image
};

constexpr InkArea ink_area(const Rect& box, ImageSize frame) noexcept {
  constexpr int kHeightsPerMargin = 16;
  constexpr int kMaxMargin = 4;
  InkArea area{};
  area.margin = std::min(std::max(box.height / kHeightsPerMargin, 1), kMaxMargin);
  area.left = std::max(0, box.x - area.margin);
  area.right = std::min(frame.width, box.x + box.width + area.margin);
  area.top = std::max(0, box.y - area.margin);
  area.bottom = std::min(frame.height, box.y + box.height + area.margin);
  const int width = area.right - area.left;
  const int height = area.bottom - area.top;
  area.factor = (std::max(width, height) + kDrawnSide - 1) / kDrawnSide;
  area.size = {(width + area.factor - 1) / area.factor, (height + area.factor - 1) / area.factor};
  return area;
}

/// Ink that is not full ink, of `pixels` pixels. Strokes are darkest in their middle.
constexpr std::uint32_t ink_below_full(std::uint32_t pixels) noexcept {
  return pixels * 7 / 10;
}

/// The contrasts in gray levels that become 0 and 255.
struct InkRange {
  int low;
  int high;

  /// `full`: the contrast that `ink_below_full` pixels do not reach; `noise`: in levels.
  constexpr InkRange(int full, int noise) noexcept : low(0), high(std::max(full, 2)) {
    constexpr int kNoiseOffset = 2;
    constexpr int kLargestOffsetDivisor = 4;
    low = std::min(kNoiseOffset * noise / kLevelUnit, high / kLargestOffsetDivisor);
  }
  constexpr std::uint8_t stretched(int contrast) const noexcept {
    const int span = high - low;
    return static_cast<std::uint8_t>(std::min(std::max(contrast - low, 0), span) * 255 / span);
  }
};

/// The mean of an area.
constexpr std::uint8_t area_mean(std::uint32_t sum, int factor) noexcept {
  const auto pixels = static_cast<std::uint32_t>(factor * factor);
  return static_cast<std::uint8_t>((sum + pixels / 2) / pixels);
}

}  // namespace ocellus::detail
