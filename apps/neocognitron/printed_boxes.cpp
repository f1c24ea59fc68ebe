#include "apps/neocognitron/printed_boxes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <optional>

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
constexpr int kFarthestShare = 5;       // of the size of a component, for what protrudes
constexpr double kLeastCoverage = 0.8;  // of a side
constexpr double kMostInk = 0.85;       // share of a box: areas have more
constexpr double kCharacterInk = 0.55;  // share of a printed 8 or B, which has the sides of a box
constexpr int kCharacterShare = 3;      // of the height of a field, in the least of a character
constexpr int kContentShare = 4;        // of the height of a box, in the least of what it holds
// Of the local threshold, pixels. A faint line beside dark digits needs a small one.
constexpr int kWindows[] = {24, 96};

/// The ink of an image.
std::vector<InkRun> ink_of(const GrayImage& image, int window) {
  detail::LayoutBuilder counting;
  { const InkLevels levels(image.size, window, counting); }
  { const InkComponents components(image.size, kLeastSide, false, counting); }
  const std::unique_ptr<void, void (*)(void*)> memory(
      std::aligned_alloc(kMemoryAlignment, counting.bytes()), std::free);
  if (memory == nullptr) throw std::bad_alloc();
  detail::LayoutBuilder placing(memory.get());
  InkLevels levels(image.size, window, placing);
  InkComponents components(image.size, kLeastSide, false, placing);

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

/// The distances of the first ink of a component from the four sides of its box, inwards.
struct Sides {
  std::vector<int> top;
  std::vector<int> bottom;
  std::vector<int> left;
  std::vector<int> right;

  explicit Sides(const InkComponent& box)
      : top(static_cast<std::size_t>(box.width()), box.height()),
        bottom(top),
        left(static_cast<std::size_t>(box.height()), box.width()),
        right(left) {}

  void add(const InkComponent& box, const InkRun& run) {
    for (int x = run.first; x < run.end; ++x) {
      const auto column = static_cast<std::size_t>(x - box.left);
      top[column] = std::min(top[column], run.y - box.top);
      bottom[column] = std::min(bottom[column], box.bottom - 1 - run.y);
    }
    const auto row = static_cast<std::size_t>(run.y - box.top);
    left[row] = std::min(left[row], run.first - box.left);
    right[row] = std::min(right[row], box.right - run.end);
  }
};

/// The distance of a line along a side, if there is one. Digits may protrude beyond it.
std::optional<int> line_of(const std::vector<int>& side, int depth) {
  const int band = kMargin + static_cast<int>(kTurn * static_cast<double>(side.size()));
  const int farthest = std::max(1, depth / kFarthestShare);
  std::vector<int> counts(static_cast<std::size_t>(farthest + band));
  for (const int distance : side)
    if (distance < farthest + band) ++counts[static_cast<std::size_t>(distance)];
  int most = 0;
  int line = 0;
  for (int first = 0; first < farthest; ++first) {
    const int sum = std::accumulate(counts.begin() + first, counts.begin() + first + band, 0);
    if (sum <= most) continue;
    most = sum;
    line = first;
  }
  if (most < kLeastCoverage * static_cast<double>(side.size())) return std::nullopt;
  // The middle of what is in the band.
  int sum = 0;
  while (2 * (sum + counts[static_cast<std::size_t>(line)]) < most)
    sum += counts[static_cast<std::size_t>(line++)];
  return line;
}

/// The rectangle of lines that a component is.
std::optional<Rect> box_of(const InkComponent& component, const Sides& sides) {
  const auto top = line_of(sides.top, component.height());
  const auto bottom = line_of(sides.bottom, component.height());
  const auto left = line_of(sides.left, component.width());
  const auto right = line_of(sides.right, component.width());
  if (!top || !bottom || !left || !right) return std::nullopt;
  const Rect box{component.left + *left + kGap, component.top + *top + kGap,
                 component.width() - *left - *right - 2 * kGap,
                 component.height() - *top - *bottom - 2 * kGap};
  return box.width < kLeastSide || box.height < kLeastSide ? std::nullopt : std::optional(box);
}

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
  std::vector<int> parents(runs.size());
  const detail::RunSets<detail::OneThread> sets{{}, parents.data()};
  sets.connect(runs);
  std::vector<InkComponent> components(runs.size());  // of the first run of each set
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].label = static_cast<std::uint32_t>(sets.root(static_cast<int>(i)));
    components[runs[i].label].add(runs[i]);
  }
  std::vector<std::unique_ptr<Sides>> sides(runs.size());
  for (const InkRun& run : runs) {
    const InkComponent& box = components[run.label];
    std::unique_ptr<Sides>& own = sides[run.label];
    if (own == nullptr && may_be_box(box)) own = std::make_unique<Sides>(box);
    if (own != nullptr) own->add(box, run);
  }
  struct Found {
    Rect box;
    bool like_character;
  };
  std::vector<Found> found;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (sides[i] == nullptr) continue;
    const std::optional<Rect> box = box_of(components[i], *sides[i]);
    if (!box) continue;
    const bool holds_ink =
        std::any_of(components.begin(), components.end(), [&](const InkComponent& other) {
          return other.area > 0 && kContentShare * other.height() >= box->height &&
                 contains(*box, {other.left, other.top, other.width(), other.height()});
        });
    const double pixels = static_cast<double>(components[i].width()) * components[i].height();
    found.push_back(
        {*box, !holds_ink && static_cast<double>(components[i].area) >= kCharacterInk * pixels});
  }
  // A box in which there are boxes is none, unless they are its characters.
  const auto is_field = [&found](const Rect& box) {
    return std::none_of(found.begin(), found.end(), [&](const Found& other) {
      return contains(box, other.box) &&
             !(other.like_character && kCharacterShare * other.box.height >= box.height);
    });
  };
  std::vector<Rect> boxes;
  for (const Found& one : found)
    if (is_field(one.box) && std::none_of(found.begin(), found.end(), [&](const Found& other) {
          return contains(other.box, one.box) && is_field(other.box);
        }))
      boxes.push_back(one.box);
  sort_for_reading(boxes);
  return boxes;
}

}  // namespace ocellus::app
