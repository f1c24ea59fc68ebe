#include "ocellus/character_draw.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "draw/font.h"
#include "draw/painter.h"

namespace ocellus {
namespace {

using detail::Painter;
using detail::Yuv;

constexpr int kMostScale = 64;
constexpr OverlayColor kAccepted{40, 220, 60};
constexpr OverlayColor kRejected{255, 140, 0};
constexpr OverlayColor kOutline{0, 0, 0};

/// Far outside of every image, and small enough for sums.
constexpr std::int64_t kFarthest = 1 << 24;

int limited(std::int64_t coordinate) noexcept {
  return static_cast<int>(std::clamp(coordinate, -kFarthest, kFarthest));
}

Yuv yuv_of(const OverlayColor& color) noexcept {
  return detail::to_yuv({color.red, color.green, color.blue});
}

const detail::Glyph& glyph_of(char character) noexcept {
  const int index = static_cast<unsigned char>(character) - detail::kFirstGlyph;
  return index >= 0 && index < detail::kGlyphs ? detail::kFont[static_cast<std::size_t>(index)]
                                               : detail::kMissingGlyph;
}

/// Whether the byte belongs to a character of UTF-8 that began before it.
bool continues_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

/// Each pixel of the font becomes a square, which `border` pixels on each side enlarge.
void paint_text(const Painter& painter, std::string_view text, int x, int y, int scale, int border,
                const Yuv& color) noexcept {
  int left = x;
  for (const char character : text) {
    if (character == '\n') {
      left = x;
      y += detail::kFontHeight * scale;
      continue;
    }
    if (continues_character(character)) continue;
    const detail::Glyph& glyph = glyph_of(character);
    for (int row = 0; row < detail::kFontHeight; ++row) {
      for (int column = 0; column < detail::kFontWidth; ++column) {
        const unsigned bit = 1U << static_cast<unsigned>(detail::kFontWidth - 1 - column);
        if ((glyph[static_cast<std::size_t>(row)] & bit) == 0) continue;
        painter.rectangle({left + column * scale - border, y + row * scale - border,
                           scale + 2 * border, scale + 2 * border},
                          color);
      }
    }
    left += kGlyphWidth * scale;
  }
}

void paint_box(const Painter& painter, const Rect& box, int line, const Yuv& color) noexcept {
  if (box.empty()) return;
  const int height = std::min(line, box.height);
  const int width = std::min(line, box.width);
  painter.rectangle({box.x, box.y, box.width, height}, color);
  painter.rectangle({box.x, box.y + box.height - height, box.width, height}, color);
  painter.rectangle({box.x, box.y, width, box.height}, color);
  painter.rectangle({box.x + box.width - width, box.y, width, box.height}, color);
}

/// The outline of an item. A distance of a line keeps the ink visible. At the edge of the image
/// the outline lies on the ink.
Rect around(const Rect& ink, int line, ImageSize image) noexcept {
  const int left = std::max(std::min(ink.x, line), ink.x - 2 * line);
  const int top = std::max(std::min(ink.y, line), ink.y - 2 * line);
  const int right =
      std::min(std::max(ink.x + ink.width, image.width - line), ink.x + ink.width + 2 * line);
  const int bottom =
      std::min(std::max(ink.y + ink.height, image.height - line), ink.y + ink.height + 2 * line);
  return {left, top, right - left, bottom - top};
}

}  // namespace

void detail::outlined_text(std::string_view text, int x, int y, int scale,
                           const OverlayColor& color, const OverlayImage& image) noexcept {
  const Painter painter(image);
  paint_text(painter, text, x, y, scale, line_width(image.size), yuv_of(kOutline));
  paint_text(painter, text, x, y, scale, 0, yuv_of(color));
}

void draw_text(std::string_view text, int x, int y, int scale, const OverlayColor& color,
               const OverlayImage& image) noexcept {
  paint_text(Painter(image), text, limited(x), limited(y), std::clamp(scale, 1, kMostScale), 0,
             yuv_of(color));
}

void draw_box(const Rect& box, int line, const OverlayColor& color,
              const OverlayImage& image) noexcept {
  if (box.empty()) return;
  const int x = limited(box.x);
  const int y = limited(box.y);
  const Rect reachable{x, y, limited(std::int64_t{box.x} + box.width) - x,
                       limited(std::int64_t{box.y} + box.height) - y};
  paint_box(Painter(image), reachable, std::clamp(line, 1, kMostScale), yuv_of(color));
}

void draw_items(const OperatorInfo& info, const void* record, const OverlayImage& image) noexcept {
  const Painter painter(image);
  const Yuv outline = yuv_of(kOutline);
  const RecordItems items(info, record);
  const int line = detail::line_width(image.size);
  for (int i = 0; i < items.count(); ++i) {
    if (items.name(i)[0] == '\0') continue;
    const Yuv color = yuv_of(items.marked(i) ? kRejected : kAccepted);
    const Rect ink = items.box(i);
    const Rect box = around(ink, line, image.size);
    paint_box(painter, {box.x - line, box.y - line, box.width + 2 * line, box.height + 2 * line},
              3 * line, outline);
    paint_box(painter, box, line, color);
    const int scale = std::clamp(ink.height / 16, line, 16);
    const int height = 2 * line + detail::kFontHeight * scale;
    const int below = box.y + box.height + 3 * line;
    // Above the box, otherwise below it, otherwise in it.
    const int y = box.y >= height                       ? box.y - height
                  : below + height <= image.size.height ? below
                                                        : box.y + 3 * line;
    paint_text(painter, items.text(i), box.x, y, scale, line, outline);
    paint_text(painter, items.text(i), box.x, y, scale, 0, color);
  }
}

}  // namespace ocellus
