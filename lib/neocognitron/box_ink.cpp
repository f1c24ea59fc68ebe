#include "neocognitron/box_ink.h"

#include <algorithm>

namespace ocellus::detail {
namespace {

constexpr float kMostlyInside = 0.6f;   // share of a component's pixels that are in the box
constexpr float kLeastContrast = 0.5f;  // of the contrast of the main component
constexpr float kSpeck = 0.03f;         // of the pixels of the main component
constexpr float kDot = 0.3f;      // width and height of a dot, in heights of the main component
constexpr float kDotTop = 0.55f;  // dots lie below this, in heights of the main component

bool cut_off(const InkRun& run, const Rect& box, int& first, int& end) noexcept {
  if (run.y < box.y || run.y >= box.y + box.height) return false;
  first = std::max<int>(run.first, box.x);
  end = std::min<int>(run.end, box.x + box.width);
  return first < end;
}

}  // namespace

BoxInk::BoxInk(const InkComponents& components, LayoutBuilder& memory) noexcept
    : runs_(memory.take<InkRun>(static_cast<std::size_t>(components.run_capacity()))),
      insides_(memory.take<Inside>(static_cast<std::size_t>(components.component_capacity()))) {}

float BoxInk::weight(const InkComponent& component, const Inside& inside) noexcept {
  const auto area = static_cast<float>(inside.area);
  return area * area / static_cast<float>(component.area);
}

bool BoxInk::belongs(const InkComponent& component, const Inside& inside, const InkComponent& main,
                     const Inside& main_inside) noexcept {
  if (inside.area == 0) return false;
  const auto area = static_cast<float>(inside.area);
  if (area < kMostlyInside * static_cast<float>(component.area)) return false;
  if (area < kSpeck * static_cast<float>(main_inside.area)) return false;
  if (component.mean_contrast() < kLeastContrast * main.mean_contrast()) return false;
  // A dot or a comma at the lower part of the character.
  const auto height = static_cast<float>(main.height());
  const bool small = static_cast<float>(component.width()) < kDot * height &&
                     static_cast<float>(component.height()) < kDot * height;
  return !small ||
         static_cast<float>(component.top) < static_cast<float>(main.top) + kDotTop * height;
}

std::span<const InkRun> BoxInk::select(const InkComponents& components, const Rect& box) noexcept {
  const auto all = components.components();
  std::fill(insides_, insides_ + all.size(), Inside{});
  int first = 0;
  int end = 0;
  for (const InkRun& run : components.runs()) {
    if (run.label == InkComponents::kNoComponent || !cut_off(run, box, first, end)) continue;
    Inside& inside = insides_[run.label];
    inside.area += end - first;
  }
  std::size_t main = 0;
  for (std::size_t c = 1; c < all.size(); ++c) {
    if (weight(all[c], insides_[c]) > weight(all[main], insides_[main])) main = c;
  }
  int count = 0;
  for (const InkRun& run : components.runs()) {
    if (run.label == InkComponents::kNoComponent || !cut_off(run, box, first, end)) continue;
    if (run.label != main &&
        !belongs(all[run.label], insides_[run.label], all[main], insides_[main])) {
      continue;
    }
    runs_[count] = run;
    runs_[count].first = static_cast<std::uint16_t>(first);
    runs_[count].end = static_cast<std::uint16_t>(end);
    ++count;
  }
  return {runs_, static_cast<std::size_t>(count)};
}

}  // namespace ocellus::detail
