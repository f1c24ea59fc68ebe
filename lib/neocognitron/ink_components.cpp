#include "neocognitron/ink_components.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace ocellus::detail {
namespace {

constexpr int kMinRuns = 4096;
constexpr int kMaxRuns = 1 << 18;
constexpr int kPixelsPerRun = 16;
constexpr int kRunsPerComponent = 4;
constexpr int kWord = 64;
constexpr int kLeastReach = 4;  // of the search for an outline, pixels
constexpr int kReachShare = 5;  // of the shorter side of the field
constexpr int kLeastThickness = 5;
constexpr int kThicknessShare = 10;  // of the shorter side of the field

int run_capacity_for(ImageSize size) noexcept {
  const std::int64_t pixels = static_cast<std::int64_t>(size.width) * size.height;
  return static_cast<int>(std::clamp<std::int64_t>(pixels / kPixelsPerRun, kMinRuns, kMaxRuns));
}

/// The first index in [from, count) whose bit is `value`; `count` if there is none.
int next(const std::uint64_t* bits, int from, int count, bool value) noexcept {
  if (from >= count) return count;
  const std::uint64_t flip = value ? 0 : ~std::uint64_t{0};
  int word = from / kWord;
  std::uint64_t left = (bits[word] ^ flip) & (~std::uint64_t{0} << (from % kWord));
  while (left == 0) {
    if (++word * kWord >= count) return count;
    left = bits[word] ^ flip;
  }
  return std::min(word * kWord + std::countr_zero(left), count);
}

}  // namespace

void InkArrays::layout(ImageSize field, int least, bool has_outline,
                       LayoutBuilder& memory) noexcept {
  *this = {};
  size = field;
  least_height = least;
  run_capacity = run_capacity_for(size);
  component_capacity = run_capacity / kRunsPerComponent;
  const auto most_runs = static_cast<std::size_t>(run_capacity);
  runs = memory.take<InkRun>(most_runs);
  spare = memory.take<InkRun>(most_runs);
  row_begin = memory.take<int>(static_cast<std::size_t>(size.height) + 1);
  parents = memory.take<int>(most_runs);
  places = memory.take<int>(most_runs);
  components = memory.take<InkComponent>(static_cast<std::size_t>(component_capacity));
  if (!has_outline) return;
  const int side = std::min(size.width, size.height);
  outline.size = size;
  outline.reach = std::clamp(side / kReachShare, kLeastReach, kMostOutlineReach);
  outline.thickest = std::max(kLeastThickness, side / kThicknessShare);
  for (int i = 0; i < InkOutline::kSides; ++i) {
    const auto places_along = static_cast<std::size_t>(outline.length(i));
    outline.edges[i] = memory.take<InkOutline::Edge>(places_along);
    outline.cuts[i] = memory.take<std::int16_t>(places_along);
  }
  outline.lines = memory.take<InkOutline::Line>(InkOutline::kSides);
}

InkComponents::InkComponents(ImageSize size, int least_height, bool has_outline,
                             LayoutBuilder& memory) noexcept {
  arrays_.layout(size, least_height, has_outline, memory);
  arrays_.work = memory.take<int>(kSearchWork);
  for (Half& half : halves_) {
    half.thresholds = memory.take<std::uint8_t>(threshold_bytes(size.width));
    half.ink = memory.take<std::uint64_t>(ink_words(size.width));
  }
}

int InkComponents::extract(const GrayPlane& plane, const InkLevels& levels, int first, int end,
                           std::uint8_t* thresholds, std::uint64_t* ink, InkRun* out,
                           int capacity) noexcept {
  const int side = levels.block_side();
  const int columns = levels.block_columns();
  const int group = side / 2;
  const std::uint8_t invert = levels.invert();
  int count = 0;
  std::fill(arrays_.row_begin + first, arrays_.row_begin + end, 0);
  for (int top = first; top < end;) {
    const int block_row = top / side;
    const int bottom = std::min(end, (block_row + 1) * side);
    // From the first block that may have ink to the last one.
    int column = 0;
    while (column < columns && !levels.may_have_ink(column, block_row)) ++column;
    const int left = column * side;
    for (column = columns; column * side > left && !levels.may_have_ink(column - 1, block_row);)
      --column;
    const int width = std::min(column * side, arrays_.size.width) - left;
    for (int y = top; width > 0 && y < bottom; ++y) {
      const std::uint8_t* const pixels = plane.row(y) + left;
      if (y == top || y % group == 0)
        levels.threshold_row(threshold_row_of(levels.grid(), y), left, left + width, thresholds);
      find_ink(pixels, invert, thresholds, width, ink);
      const int before = count;
      for (int x = next(ink, 0, width, true); x < width;) {
        const int x_end = next(ink, x, width, false);
        if (count == capacity) {
          arrays_.row_begin[y] = count - before;
          return capacity + 1;
        }
        int sum = 0;
        for (int i = x; i < x_end; ++i) sum += pixels[i] ^ invert;
        const int background = levels.background(left + (x + x_end) / 2, y);
        out[count++] = {static_cast<std::uint16_t>(y), static_cast<std::uint16_t>(left + x),
                        static_cast<std::uint16_t>(left + x_end),
                        run_contrast(background, sum, x_end - x), 0};
        x = next(ink, x_end, width, true);
      }
      arrays_.row_begin[y] = count - before;
    }
    top = bottom;
  }
  return count;
}

void InkComponents::extract(const GrayPlane& plane, const InkLevels& levels, int half) noexcept {
  Half& own = halves_[static_cast<std::size_t>(half)];
  const int height = arrays_.size.height;
  const int middle = height / 2;
  own.runs =
      extract(plane, levels, half == 0 ? 0 : middle, half == 0 ? middle : height, own.thresholds,
              own.ink, half == 0 ? arrays_.runs : arrays_.spare, arrays_.run_capacity);
}

void InkComponents::join_halves() noexcept {
  // The second half is in the memory for the runs without rules.
  const int first = std::min(halves_[0].runs, arrays_.run_capacity);
  const int count = std::min(halves_[0].runs + halves_[1].runs, arrays_.run_capacity);
  std::copy_n(arrays_.spare, count - first, arrays_.runs + first);
  int begin = 0;
  for (int y = 0; y < arrays_.size.height; ++y)
    begin += std::exchange(arrays_.row_begin[y], std::min(begin, count));
  arrays_.row_begin[arrays_.size.height] = count;
}

void InkComponents::find() noexcept {
  const OneThread team;
  InkSearch search(team, arrays_, halves_[0].runs + halves_[1].runs);
  counts_ = search.find();
  found_ = search.runs();
}

}  // namespace ocellus::detail
