#include "apps/neocognitron/printed_boxes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>

#include "core/layout_builder.h"
#include "neocognitron/ink_components.h"
#include "neocognitron/ink_levels.h"

namespace ocellus::app {
namespace {

using detail::InkComponent;
using detail::InkComponents;
using detail::InkLevels;

constexpr int kLeastSide = 16;          // of a box, pixels
constexpr int kMargin = 3;              // of a side, pixels
constexpr double kTurn = 0.015;         // of a side, radians: its margin grows with its length
constexpr double kLeastCoverage = 0.8;  // of a side
constexpr int kThickness = 5;           // of the lines, pixels: mean, also of the digits that touch
constexpr int kWindow = 96;             // of the local threshold, pixels

/// The ink of a frame, in memory of its own.
class Ink {
 public:
  explicit Ink(const GrayImage& image) {
    detail::LayoutBuilder counting;
    { const InkLevels levels(image.size, kWindow, counting); }
    { const InkComponents components(image.size, kLeastSide, counting); }
    memory_.reset(std::aligned_alloc(kMemoryAlignment, counting.bytes()));
    if (memory_ == nullptr) throw std::bad_alloc();
    detail::LayoutBuilder placing(memory_.get());
    InkLevels levels(image.size, kWindow, placing);
    components_ = std::make_unique<InkComponents>(image.size, kLeastSide, placing);

    std::vector<std::uint8_t> gray(pixels_of(image.size));
    for (int y = 0; y < image.size.height; ++y) {
      for (int x = 0; x < image.size.width; ++x) {
        gray[static_cast<std::size_t>(y) * static_cast<std::size_t>(image.size.width) +
             static_cast<std::size_t>(x)] =
            static_cast<std::uint8_t>(std::clamp(image.brightness(x, y), 0.0f, 255.0f));
      }
    }
    const detail::GrayPlane plane{gray.data(), image.size.width, image.size};
    for (int half = 0; half < InkLevels::kHalves; ++half) levels.measure(plane, half);
    levels.collect(0, levels.block_rows());
    levels.set_light(levels.ink_is_light());
    levels.derive(0, levels.block_rows());
    levels.mark(0, levels.block_rows());
    for (int half = 0; half < InkComponents::kHalves; ++half)
      components_->extract(plane, levels, half);
    components_->find_all();
  }
  const InkComponents& components() const { return *components_; }

 private:
  std::unique_ptr<void, void (*)(void*)> memory_{nullptr, std::free};
  std::unique_ptr<InkComponents> components_;
};

/// The places along the four sides of a component where it has ink.
struct Sides {
  std::vector<bool> top;
  std::vector<bool> bottom;
  std::vector<bool> left;
  std::vector<bool> right;

  explicit Sides(const InkComponent& box)
      : top(static_cast<std::size_t>(box.width())),
        bottom(top.size()),
        left(static_cast<std::size_t>(box.height())),
        right(left.size()) {}

  void add(const InkComponent& box, const detail::InkRun& run) {
    const int across = kMargin + static_cast<int>(kTurn * box.width());
    const int along = kMargin + static_cast<int>(kTurn * box.height());
    const auto first = top.begin() + (run.first - box.left);
    const int length = run.end - run.first;
    if (run.y < box.top + across) std::fill_n(first, length, true);
    if (run.y >= box.bottom - across)
      std::fill_n(bottom.begin() + (run.first - box.left), length, true);
    const auto row = static_cast<std::size_t>(run.y - box.top);
    if (run.first < box.left + along) left[row] = true;
    if (run.end > box.right - along) right[row] = true;
  }
  bool covered() const {
    const auto full = [](const std::vector<bool>& side) {
      return static_cast<double>(std::count(side.begin(), side.end(), true)) >=
             kLeastCoverage * static_cast<double>(side.size());
    };
    return full(top) && full(bottom) && full(left) && full(right);
  }
};

bool may_be_box(const InkComponent& box) {
  const int around = 2 * (box.width() + box.height());
  return box.width() >= kLeastSide && box.height() >= kLeastSide &&
         box.area <= std::int64_t{kThickness} * around;
}

bool contains(const Rect& outer, const Rect& inner) {
  return inner.x >= outer.x && inner.y >= outer.y &&
         inner.x + inner.width <= outer.x + outer.width &&
         inner.y + inner.height <= outer.y + outer.height && !(inner == outer);
}

/// Rows from top to bottom, in each from left to right.
void sort_for_reading(std::vector<Rect>& boxes) {
  const auto middle = [](const Rect& box) { return 2 * box.y + box.height; };
  std::sort(boxes.begin(), boxes.end(),
            [&](const Rect& a, const Rect& b) { return middle(a) < middle(b); });
  for (auto begin = boxes.begin(); begin != boxes.end();) {
    const auto end = std::find_if(begin, boxes.end(), [&](const Rect& box) {
      return middle(box) - middle(*begin) >= std::min(box.height, begin->height);
    });
    std::sort(begin, end, [](const Rect& a, const Rect& b) { return a.x < b.x; });
    begin = end;
  }
}

}  // namespace

std::vector<Rect> find_printed_boxes(const GrayImage& image) {
  const Ink ink(image);
  const auto components = ink.components().components();
  std::vector<std::unique_ptr<Sides>> sides(components.size());
  for (std::size_t c = 0; c < components.size(); ++c)
    if (may_be_box(components[c])) sides[c] = std::make_unique<Sides>(components[c]);
  for (const detail::InkRun& run : ink.components().runs())
    if (run.label != InkComponents::kNoComponent && sides[run.label] != nullptr)
      sides[run.label]->add(components[run.label], run);
  std::vector<Rect> found;
  for (std::size_t c = 0; c < components.size(); ++c) {
    const InkComponent& box = components[c];
    if (sides[c] != nullptr && sides[c]->covered())
      found.push_back({box.left, box.top, box.width(), box.height()});
  }
  std::vector<Rect> boxes;
  for (const Rect& box : found)
    if (std::none_of(found.begin(), found.end(),
                     [&](const Rect& other) { return contains(box, other); }))
      boxes.push_back(box);
  sort_for_reading(boxes);
  return boxes;
}

}  // namespace ocellus::app
