#include "neocognitron/ink_image.h"

#include <algorithm>

namespace ocellus::detail {
namespace {

// Kinds of pixels.
constexpr std::uint8_t kOutside = 0;
constexpr std::uint8_t kEdge = 1;  // near ink of the character
constexpr std::uint8_t kInk = 2;

constexpr int kContrasts = 256;

}  // namespace

InkImager::InkImager(ImageSize frame, LayoutBuilder& memory) noexcept {
  const std::size_t width = static_cast<std::size_t>(frame.width) + 2 * InkLevels::kMaxBlockSide;
  background_ = memory.take<std::uint8_t>(width);
  threshold_ = memory.take<std::uint8_t>(width);
  zone_ = memory.take<std::uint8_t>(width);
}

InkRange InkImager::range(const GrayPlane& plane, const InkLevels& levels,
                          std::span<const InkRun> ink) noexcept {
  std::array<std::uint32_t, kContrasts> counts{};
  std::uint32_t total = 0;
  const int side = levels.block_side();
  for (const InkRun& run : ink) {
    const int first = run.first / side * side;
    levels.background_row(run.y, first, run.end, background_);
    const std::uint8_t* pixels = plane.row(run.y);
    for (int x = run.first; x < run.end; ++x) {
      ++counts[std::max(0, background_[x - first] - (pixels[x] ^ levels.invert()))];
    }
    total += run.end - run.first;
  }
  const std::uint32_t below = ink_below_full(total);
  int full = 0;
  for (std::uint32_t sum = counts[0]; sum <= below && full < kContrasts - 1; sum += counts[full]) {
    ++full;
  }
  const InkRun& middle = ink[ink.size() / 2];
  return {full, levels.noise(middle.first, middle.y)};
}

ImageSize InkImager::draw(const GrayPlane& plane, const InkLevels& levels,
                          std::span<const InkRun> ink, const Rect& box,
                          std::uint8_t* out) noexcept {
  if (ink.empty()) return {};
  const InkArea area = ink_area(box, plane.size);
  const int left = area.left;
  const int right = area.right;
  const int width = right - left;
  const int margin = area.margin;
  const int factor = area.factor;
  const ImageSize size = area.size;

  const InkRange contrast = range(plane, levels, ink);
  std::array<std::uint8_t, kContrasts> stretched{};
  for (int level = 0; level < kContrasts; ++level) stretched[level] = contrast.stretched(level);
  const int first = left / levels.block_side() * levels.block_side();
  const std::uint8_t invert = levels.invert();
  std::size_t near = 0;  // the first run that is not above the margin of the row
  for (int y = area.top; y < area.bottom; ++y) {
    std::fill(zone_, zone_ + width, kOutside);
    while (near < ink.size() && ink[near].y + margin < y) ++near;
    const auto fill = [&](const InkRun& run, int around, std::uint8_t kind) {
      const int begin = std::max(left, run.first - around) - left;
      const int end = std::min(right, run.end + around) - left;
      if (begin < end) std::fill(zone_ + begin, zone_ + end, kind);
    };
    std::size_t end_near = near;
    for (; end_near < ink.size() && ink[end_near].y <= y + margin; ++end_near)
      fill(ink[end_near], margin, kEdge);
    for (std::size_t r = near; r < end_near; ++r)
      if (ink[r].y == y) fill(ink[r], 0, kInk);
    levels.background_row(y, first, right, background_);
    levels.threshold_row(y, first, right, threshold_);
    const std::uint8_t* pixels = plane.row(y) + left;
    const std::uint8_t* backgrounds = background_ + (left - first);
    const std::uint8_t* thresholds = threshold_ + (left - first);

    const int row = (y - area.top) / factor;
    if ((y - area.top) % factor == 0) std::fill(sums_.begin(), sums_.begin() + size.width, 0u);
    for (int begin = 0, column = 0; begin < width; begin += factor, ++column) {
      for (int x = begin; x < std::min(begin + factor, width); ++x) {
        const int pixel = pixels[x] ^ invert;
        // Ink beside the character belongs to another one.
        const bool own = zone_[x] == kInk || (zone_[x] == kEdge && pixel >= thresholds[x]);
        const std::uint8_t level = stretched[std::max(0, backgrounds[x] - pixel)];
        sums_[column] += own ? level : 0u;
      }
    }
    if ((y - area.top) % factor != factor - 1 && y != area.bottom - 1) continue;
    for (int x = 0; x < size.width; ++x) out[row * kSide + x] = area_mean(sums_[x], factor);
  }
  return size;
}

}  // namespace ocellus::detail
