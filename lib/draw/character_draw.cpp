#include "ocellus/character_draw.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "draw/font.h"
#include "draw/labeled_boxes.h"
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

ImageSize detail::text_size(std::string_view text, int scale) noexcept {
  const auto letters =
      std::count_if(text.begin(), text.end(), [](char byte) { return !continues_character(byte); });
  return {(static_cast<int>(letters) * kGlyphWidth - 1) * scale, kFontHeight * scale};
}

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
  const RecordItems items(info, record);
  const int line = detail::line_width(image.size);
  const auto describe = [&](int i) -> detail::LabeledBox {
    if (items.name(i)[0] == '\0') return {};
    const Rect ink = items.box(i);
    return {around(ink, line, image.size), items.text(i), 0, std::clamp(ink.height / 16, line, 16),
            items.marked(i) ? kRejected : kAccepted};
  };
  detail::draw_labeled_boxes(items.count(), describe, image);
}

}  // namespace ocellus
