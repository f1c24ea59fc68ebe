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
using detail::InkRun;

constexpr int kLeastSide = 16;          // of a box, pixels
constexpr int kGap = 2;                 // half of the gaps that lines may have, pixels
constexpr int kMargin = 4;              // of a side, pixels
constexpr double kTurn = 0.015;         // of a side, radians: its margin grows with its length
constexpr double kLeastCoverage = 0.8;  // of a side
constexpr double kMostInk = 0.85;       // share of a box: areas have more
// Of the local threshold, pixels. A faint line beside dark digits needs a small one.
constexpr int kWindows[] = {24, 96};

/// The ink of an image.
std::vector<InkRun> ink_of(const GrayImage& image, int window) {
  detail::LayoutBuilder counting;
  { const InkLevels levels(image.size, window, counting); }
  { const InkComponents components(image.size, kLeastSide, counting); }
  const std::unique_ptr<void, void (*)(void*)> memory(
      std::aligned_alloc(kMemoryAlignment, counting.bytes()), std::free);
  if (memory == nullptr) throw std::bad_alloc();
  detail::LayoutBuilder placing(memory.get());
  InkLevels levels(image.size, window, placing);
  InkComponents components(image.size, kLeastSide, placing);

  std::vector<std::uint8_t> gray;
  gray.reserve(pixels_of(image.size));
  for (int y = 0; y < image.size.height; ++y)
    for (int x = 0; x < image.size.width; ++x)
      gray.push_back(static_cast<std::uint8_t>(std::clamp(image.brightness(x, y), 0.0f, 255.0f)));
  const detail::GrayPlane plane{gray.data(), image.size.width, image.size};
  for (int half = 0; half < InkLevels::kHalves; ++half) levels.measure(plane, half);
  levels.collect(0, levels.block_rows());
  levels.set_light(levels.ink_is_light());
  levels.derive(0, levels.block_rows());
  levels.mark(0, levels.block_rows());
  std::vector<std::uint8_t> thresholds(InkComponents::threshold_bytes(image.size.width));
  std::vector<std::uint64_t> words(InkComponents::ink_words(image.size.width));
  std::vector<InkRun> runs(static_cast<std::size_t>(components.run_capacity()));
  const int count = components.extract(plane, levels, 0, image.size.height, thresholds.data(),
                                       words.data(), runs.data(), static_cast<int>(runs.size()));
  runs.resize(std::min(static_cast<std::size_t>(count), runs.size()));
  return runs;
}

/// The ink and what is near it, so that lines with small gaps are connected.
std::vector<InkRun> widened_ink_of(const GrayImage& image) {
  const ImageSize size = image.size;
  std::vector<std::vector<bool>> rows(static_cast<std::size_t>(size.height),
                                      std::vector<bool>(static_cast<std::size_t>(size.width)));
  for (const int window : kWindows) {
    for (const InkRun& run : ink_of(image, window)) {
      const int first = std::max(run.first - kGap, 0);
      const int end = std::min(run.end + kGap, size.width);
      for (int y = std::max(run.y - kGap, 0); y <= std::min(run.y + kGap, size.height - 1); ++y)
        std::fill_n(rows[static_cast<std::size_t>(y)].begin() + first, end - first, true);
    }
  }
  std::vector<InkRun> runs;
  for (int y = 0; y < size.height; ++y) {
    const std::vector<bool>& row = rows[static_cast<std::size_t>(y)];
    for (auto at = std::find(row.begin(), row.end(), true); at != row.end();) {
      const auto end = std::find(at, row.end(), false);
      runs.push_back({static_cast<std::uint16_t>(y), static_cast<std::uint16_t>(at - row.begin()),
                      static_cast<std::uint16_t>(end - row.begin()), 0, 0});
      at = std::find(end, row.end(), true);
    }
  }
  return runs;
}

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

  void add(const InkComponent& box, const InkRun& run) {
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
  const double pixels = static_cast<double>(box.width()) * box.height();
  return box.width() >= kLeastSide && box.height() >= kLeastSide &&
         static_cast<double>(box.area) <= kMostInk * pixels;
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
  std::vector<InkRun> runs = widened_ink_of(image);
  std::vector<std::uint32_t> parents(runs.size());
  const detail::RunSets sets{parents.data()};
  sets.connect(runs);
  std::vector<InkComponent> components(runs.size());  // of the first run of each set
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].label = sets.root(static_cast<std::uint32_t>(i));
    components[runs[i].label].add(runs[i]);
  }
  std::vector<std::unique_ptr<Sides>> sides(runs.size());
  for (const InkRun& run : runs) {
    const InkComponent& box = components[run.label];
    std::unique_ptr<Sides>& own = sides[run.label];
    if (own == nullptr && may_be_box(box)) own = std::make_unique<Sides>(box);
    if (own != nullptr) own->add(box, run);
  }
  std::vector<Rect> found;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (sides[i] == nullptr || !sides[i]->covered()) continue;
    const InkComponent& box = components[i];
    found.push_back(
        {box.left + kGap, box.top + kGap, box.width() - 2 * kGap, box.height() - 2 * kGap});
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
