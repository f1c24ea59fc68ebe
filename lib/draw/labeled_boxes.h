// Boxes with labels that do not cover one another.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "draw/painter.h"
#include "ocellus/character_draw.h"
#include "ocellus/overlay_image.h"

namespace ocellus::detail {

/// A box, which is empty for an item that is not drawn, and its label.
struct LabeledBox {
  Rect box{};
  std::string_view text;
  /// Bytes at the begin of the text that say enough where the whole text has no room; 0: all.
  std::size_t least = 0;
  int scale = 1;  ///< of the text
  OverlayColor color{};
};

inline bool is_in(const Rect& part, const Rect& whole) noexcept {
  return part.x >= whole.x && part.y >= whole.y && part.x + part.width <= whole.x + whole.width &&
         part.y + part.height <= whole.y + whole.height;
}

/// Finds places for the labels of boxes. All rectangles of one kind are apart from each other, with
/// the outline around them.
class LabelPlacer {
 public:
  static constexpr std::size_t kMostItems = 512;

  /// `margin`: width of the outline.
  LabelPlacer(ImageSize image, int margin) noexcept
      : image_{0, 0, image.width, image.height}, margin_(margin) {}

  void set_box(std::size_t item, const Rect& box) noexcept {
    boxes_[item] = box;
    items_ = std::max(items_, item + 1);
  }

  /// Finds the place of a label of this size: above the box, below it, in it, to its right or to
  /// its left. It covers no label, and no box if possible. Without such a place there is no label.
  void place(std::size_t item, ImageSize label) noexcept {
    const Rect& box = boxes_[item];
    const int between = 3 * margin_;
    const int x = std::clamp(box.x, 0, std::max(image_.width - label.width, 0));
    const Rect inside{x, box.y + between, label.width, label.height};
    const Rect places[] = {
        {x, box.y - 2 * margin_ - label.height, label.width, label.height},
        {x, box.y + box.height + between, label.width, label.height},
        inside,
        {box.x + box.width + between, box.y, label.width, label.height},
        {box.x - between - label.width, box.y, label.width, label.height},
    };
    for (const bool covers_boxes : {false, true}) {
      for (const Rect& place : places) {
        // Where no place is in the image, the label is cut off in the box.
        if (!is_in(place, place == inside && !covers_boxes ? box : image_) &&
            !(place == inside && covers_boxes))
          continue;
        if (meets(labels_, place, item) || (!covers_boxes && meets(boxes_, place, item))) continue;
        labels_[item] = place;
        return;
      }
    }
  }

  /// Makes room for a longer label, and returns whether there is room.
  bool widen(std::size_t item, int width) noexcept {
    Rect wide = labels_[item];
    wide.x = std::max(std::min(wide.x, image_.width - width), 0);
    wide.width = width;
    const std::size_t besides = is_in(labels_[item], boxes_[item]) ? item : kMostItems;
    if (!is_in(wide, image_) || meets(labels_, wide, item) || meets(boxes_, wide, besides))
      return false;
    labels_[item] = wide;
    return true;
  }

  /// Empty: there is no label.
  const Rect& label(std::size_t item) const noexcept { return labels_[item]; }

 private:
  using Rects = std::array<Rect, kMostItems>;

  /// `besides`: an item that is not looked at.
  bool meets(const Rects& rects, const Rect& rect, std::size_t besides) const noexcept {
    for (std::size_t i = 0; i < items_; ++i) {
      const Rect& other = rects[i];
      if (i != besides && !other.empty() && rect.x - margin_ < other.x + other.width + margin_ &&
          other.x - margin_ < rect.x + rect.width + margin_ &&
          rect.y - margin_ < other.y + other.height + margin_ &&
          other.y - margin_ < rect.y + rect.height + margin_)
        return true;
    }
    return false;
  }

  Rect image_;
  int margin_;
  std::size_t items_ = 0;
  Rects boxes_{};
  Rects labels_{};
};

/// Draws boxes, then their labels, so that no box covers one: first the least that a label says for
/// all boxes, and its rest where there is room. `describe(i)` returns a LabeledBox, whose text
/// lives until the next call. `count`: at most LabelPlacer::kMostItems; others are left out.
template <typename Describe>
void draw_labeled_boxes(int count, Describe describe, const OverlayImage& image) noexcept {
  constexpr OverlayColor kOutline{0, 0, 0};
  const int line = line_width(image.size);
  const auto items =
      static_cast<std::size_t>(std::clamp(count, 0, static_cast<int>(LabelPlacer::kMostItems)));
  const auto least_of = [](const LabeledBox& item) {
    return item.text.substr(0, item.least == 0 ? item.text.npos : item.least);
  };
  LabelPlacer placer(image.size, line);
  for (std::size_t i = 0; i < items; ++i) {
    const LabeledBox item = describe(static_cast<int>(i));
    const Rect& box = item.box;
    placer.set_box(i, box);
    if (box.empty()) continue;
    draw_box({box.x - line, box.y - line, box.width + 2 * line, box.height + 2 * line}, 3 * line,
             kOutline, image);
    draw_box(box, line, item.color, image);
  }
  for (std::size_t i = 0; i < items; ++i) {
    const LabeledBox item = describe(static_cast<int>(i));
    if (!item.box.empty() && !item.text.empty())
      placer.place(i, text_size(least_of(item), item.scale));
  }
  for (std::size_t i = 0; i < items; ++i) {
    if (placer.label(i).empty()) continue;
    const LabeledBox item = describe(static_cast<int>(i));
    const std::string_view least = least_of(item);
    const bool whole =
        least.size() == item.text.size() || placer.widen(i, text_size(item.text, item.scale).width);
    const Rect& place = placer.label(i);
    outlined_text(whole ? item.text : least, place.x, place.y, item.scale, item.color, image);
  }
}

}  // namespace ocellus::detail
