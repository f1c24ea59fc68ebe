// Draws boxes and text over a camera frame, such as the items of an operator's record. No
// allocation. Link ocellus::draw, or pkg-config's ocellus-draw.
#pragma once

#include <cstdint>
#include <string_view>

#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/overlay_image.h"

namespace ocellus {

/// Red, green and blue. A frame without chroma shows the luma.
struct OverlayColor {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
};

inline constexpr int kGlyphWidth = 6;   ///< pixels of a character at scale 1, with the gap
inline constexpr int kGlyphHeight = 8;  ///< pixels of a line at scale 1, with the descenders

/// Draws the printable characters of ASCII, each pixel of the font as a square of `scale` pixels,
/// clamped to 1 to 64. (x, y) is the upper left corner. Any other character of UTF-8 is a
/// rectangle. A line end begins a new line. Text outside the image is cut off.
void draw_text(std::string_view text, int x, int y, int scale, const OverlayColor& color,
               const OverlayImage& image) noexcept;

/// Draws the outline of a box, `line` pixels wide, clamped to 1 to 64, inside the box. Draws
/// nothing if the box is empty. What lies outside the image is cut off.
void draw_box(const Rect& box, int line, const OverlayColor& color,
              const OverlayImage& image) noexcept;

/// Draws the box of each item of a record, such as a character, and its text above the box
/// (RecordItems::text): green, or orange if the text is not the name of its class. Items without a
/// class are not drawn. `info`: of the operator that wrote the record.
void draw_items(const OperatorInfo& info, const void* record, const OverlayImage& image) noexcept;

}  // namespace ocellus
