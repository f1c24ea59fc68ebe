#include "neocognitron/ink_image.h"

#include <algorithm>

namespace ocellus::detail {
namespace {

// Kinds of pixels.
constexpr std::uint8_t kOutside = 0;
constexpr std::uint8_t kEdge = 1;  // near ink of the character
constexpr std::uint8_t kInk = 2;

constexpr int kLevels = 256;
constexpr int kHeightsPerMargin = 16;
constexpr int kMaxMargin = 4;
// The share of the ink that is lighter than full ink. Strokes are darkest in their middle.
constexpr std::uint32_t kBelowFullTenths = 7;
constexpr int kNoiseOffset = 2;
constexpr int kLargestOffsetDivisor = 4;

}  // namespace

InkImager::InkImager(ImageSize frame, LayoutBuilder& memory) noexcept : frame_(frame) {
  const std::size_t width = static_cast<std::size_t>(frame.width) + 2 * InkLevels::kMaxBlockSide;
  background_ = memory.take<std::uint8_t>(width);
  threshold_ = memory.take<std::uint8_t>(width);
  zone_ = memory.take<std::uint8_t>(width);
}

InkImager::Range InkImager::range(const GrayPlane& plane, const InkLevels& levels,
                                  std::span<const InkRun> ink) noexcept {
  std::array<std::uint32_t, kLevels> counts{};
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
  const std::uint32_t below = total * kBelowFullTenths / 10;
  int full = 0;
  for (std::uint32_t sum = counts[0]; sum <= below && full < kLevels - 1; sum += counts[full]) {
    ++full;
  }
  full = std::max(full, 2);
  const InkRun& middle = ink[ink.size() / 2];
  const int noise = kNoiseOffset * levels.noise(middle.first, middle.y) / kLevelUnit;
  return {std::min(noise, full / kLargestOffsetDivisor), full};
}

ImageSize InkImager::draw(const GrayPlane& plane, const InkLevels& levels,
                          std::span<const InkRun> ink, const Rect& box,
                          std::uint8_t* out) noexcept {
  if (ink.empty()) return {};
  const int margin = std::clamp(box.height / kHeightsPerMargin, 1, kMaxMargin);
  const int left = std::max(0, box.x - margin);
  const int right = std::min(frame_.width, box.x + box.width + margin);
  const int top = std::max(0, box.y - margin);
  const int bottom = std::min(frame_.height, box.y + box.height + margin);
  const int width = right - left;
  const int factor = (std::max(width, bottom - top) + kSide - 1) / kSide;
  const ImageSize size{(width + factor - 1) / factor, (bottom - top + factor - 1) / factor};

  const Range contrast = range(plane, levels, ink);
  const int span = contrast.high - contrast.low;
  // Of a difference to the background.
  std::array<std::uint8_t, kLevels> stretched{};
  for (int level = 0; level < kLevels; ++level)
    stretched[level] =
        static_cast<std::uint8_t>(std::clamp(level - contrast.low, 0, span) * 255 / span);
  const int first = left / levels.block_side() * levels.block_side();
  const std::uint8_t invert = levels.invert();
  std::size_t near = 0;  // the first run that is not above the margin of the row
  for (int y = top; y < bottom; ++y) {
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

    const int row = (y - top) / factor;
    if ((y - top) % factor == 0) std::fill(sums_.begin(), sums_.begin() + size.width, 0u);
    for (int first_of_area = 0, area = 0; first_of_area < width; first_of_area += factor, ++area) {
      for (int x = first_of_area; x < std::min(first_of_area + factor, width); ++x) {
        const int pixel = pixels[x] ^ invert;
        // Ink beside the character belongs to another one.
        const bool own = zone_[x] == kInk || (zone_[x] == kEdge && pixel >= thresholds[x]);
        const std::uint8_t level = stretched[std::max(0, backgrounds[x] - pixel)];
        sums_[area] += own ? level : 0u;
      }
    }
    if ((y - top) % factor != factor - 1 && y != bottom - 1) continue;
    const auto area = static_cast<std::uint32_t>(factor * factor);
    for (int x = 0; x < size.width; ++x) {
      out[row * kSide + x] = static_cast<std::uint8_t>((sums_[x] + area / 2) / area);
    }
  }
  return size;
}

}  // namespace ocellus::detail
