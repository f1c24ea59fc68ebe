#include "neocognitron/ink_components.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "neocognitron/ink_outline.h"

namespace ocellus::detail {
namespace {

constexpr int kMinRuns = 4096;
constexpr int kMaxRuns = 1 << 18;
constexpr int kPixelsPerRun = 16;
constexpr int kRunsPerComponent = 4;
constexpr int kWord = 64;
constexpr int kHeights = 512;  // of the histogram of heights
// A rule is a run that is longer than kRuleLength heights of its component and kLongRun heights of
// a character.
constexpr float kRuleLength = 1.0f;
constexpr float kLongRun = 0.99f;
// The share of a rule that strokes may meet.
constexpr float kMostCovered = 0.89f;
constexpr int kMinRuleThickness = 3;
constexpr int kHeightsPerThickness = 8;

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

InkComponents::InkComponents(ImageSize size, int least_height, LayoutBuilder& memory) noexcept
    : size_(size),
      least_height_(least_height),
      run_capacity_(run_capacity_for(size)),
      component_capacity_(run_capacity_ / kRunsPerComponent) {
  runs_ = input_ = memory.take<InkRun>(run_capacity_);
  sets_.parents = memory.take<std::uint32_t>(run_capacity_);
  kept_ = memory.take<InkRun>(run_capacity_);
  row_runs_ = memory.take<int>(size.height);
  row_begin_ = memory.take<int>(size.height + 1);
  for (Half& half : halves_) {
    half.thresholds = memory.take<std::uint8_t>(threshold_bytes(size.width));
    half.ink = memory.take<std::uint64_t>(ink_words(size.width));
  }
  components_ = memory.take<InkComponent>(component_capacity_);
}

int InkComponents::extract(const GrayPlane& plane, const InkLevels& levels, int first, int end,
                           std::uint8_t* thresholds, std::uint64_t* ink, InkRun* out,
                           int capacity) noexcept {
  const int side = levels.block_side();
  const int columns = levels.block_columns();
  const int group = side / 2;
  const std::uint8_t invert = levels.invert();
  int count = 0;
  std::fill(row_runs_ + first, row_runs_ + end, 0);
  for (int top = first; top < end;) {
    const int block_row = top / side;
    const int bottom = std::min(end, (block_row + 1) * side);
    // From the first block that may have ink to the last one.
    int column = 0;
    while (column < columns && !levels.may_have_ink(column, block_row)) ++column;
    const int left = column * side;
    for (column = columns; column * side > left && !levels.may_have_ink(column - 1, block_row);)
      --column;
    const int width = std::min(column * side, size_.width) - left;
    for (int y = top; width > 0 && y < bottom; ++y) {
      const std::uint8_t* const pixels = plane.row(y) + left;
      if (y == top || y % group == 0)
        levels.threshold_row(threshold_row_of(levels.grid(), y), left, left + width, thresholds);
      find_ink(pixels, invert, thresholds, width, ink);
      const int before = count;
      for (int x = next(ink, 0, width, true); x < width;) {
        const int x_end = next(ink, x, width, false);
        if (count == capacity) {
          row_runs_[y] = count - before;
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
      row_runs_[y] = count - before;
    }
    top = bottom;
  }
  return count;
}

void InkComponents::connect() noexcept {
  sets_.connect(runs());
  component_count_ = 0;
  for (int i = 0; i < run_count_; ++i) {
    InkRun& run = runs_[i];
    const std::uint32_t parent = sets_.root(static_cast<std::uint32_t>(i));
    if (parent == static_cast<std::uint32_t>(i)) {
      if (component_count_ == component_capacity_) {
        run.label = kNoComponent;
        truncated_ = true;
      } else {
        run.label = static_cast<std::uint32_t>(component_count_++);
        components_[run.label] = {};
      }
    } else {
      run.label = runs_[parent].label;
    }
    if (run.label != kNoComponent) components_[run.label].add(run);
  }
}

std::span<const InkRun> InkComponents::row(int y) const noexcept {
  if (y < 0 || y >= size_.height) return {};
  return {runs_ + row_begin_[y], static_cast<std::size_t>(row_begin_[y + 1] - row_begin_[y])};
}

bool InkComponents::remove_rule(const InkRun& run, int& count) noexcept {
  const InkComponent& component = components_[run.label];
  const int thickness = std::max(kMinRuleThickness, component.height() / kHeightsPerThickness);
  // Ink above or below the rule belongs to strokes that meet it. Their pixels are kept.
  auto above = row(run.y - thickness);
  auto below = row(run.y + thickness);
  const int first = count;
  int kept = 0;
  int x = run.first;
  while (x < run.end) {
    while (!above.empty() && above.front().end <= x) above = above.subspan(1);
    while (!below.empty() && below.front().end <= x) below = below.subspan(1);
    int begin = run.end;
    if (!above.empty()) begin = std::min<int>(begin, above.front().first);
    if (!below.empty()) begin = std::min<int>(begin, below.front().first);
    begin = std::max(begin, x);
    if (begin >= run.end) break;
    int end = begin;
    if (!above.empty() && above.front().first <= begin) end = above.front().end;
    if (!below.empty() && below.front().first <= begin) end = std::max<int>(end, below.front().end);
    end = std::min<int>(end, run.end);
    if (count == run_capacity_) {
      truncated_ = true;
      break;
    }
    kept += end - begin;
    if (count > first && kept_[count - 1].end == begin) {
      kept_[count - 1].end = static_cast<std::uint16_t>(end);
    } else {
      kept_[count] = run;
      kept_[count].first = static_cast<std::uint16_t>(begin);
      kept_[count].end = static_cast<std::uint16_t>(end);
      ++count;
    }
    x = end;
  }
  const int length = run.end - run.first;
  if (static_cast<float>(kept) <= kMostCovered * static_cast<float>(length)) return true;
  count = first;
  return false;
}

float InkComponents::typical_height() const noexcept {
  // The height below which three quarters of the components are, without specks.
  std::array<int, kHeights> counts{};
  int total = 0;
  for (int c = 0; c < component_count_; ++c) {
    const int height = components_[c].height();
    if (height < least_height_) continue;
    ++counts[std::min(height, kHeights - 1)];
    ++total;
  }
  int sum = 0;
  for (int height = 0; height < kHeights; ++height) {
    sum += counts[height];
    if (4 * sum > 3 * total) return static_cast<float>(height);
  }
  return static_cast<float>(least_height_);
}

bool InkComponents::remove_rules() noexcept {
  const float longest = kLongRun * typical_height();
  const auto is_long = [longest](int length, const InkComponent& c) {
    return static_cast<float>(length) >
           std::max(longest, kRuleLength * static_cast<float>(c.height()));
  };
  if (std::none_of(components_, components_ + component_count_,
                   [&](const InkComponent& c) { return is_long(c.width(), c); })) {
    return false;
  }
  index_rows();
  bool changed = false;
  int count = 0;
  for (int y = 0; y < size_.height; ++y) {
    const int before = count;
    for (const InkRun& run : row(y)) {
      if (run.label != kNoComponent && is_long(run.end - run.first, components_[run.label]) &&
          remove_rule(run, count)) {
        changed = true;
        continue;
      }
      if (count == run_capacity_) {
        truncated_ = true;
        break;
      }
      kept_[count++] = run;
    }
    row_runs_[y] = count - before;
  }
  std::swap(runs_, kept_);
  run_count_ = count;
  return changed;
}

void InkComponents::index_rows() noexcept {
  row_begin_[0] = 0;
  for (int y = 0; y < size_.height; ++y) row_begin_[y + 1] = row_begin_[y] + row_runs_[y];
}

void InkComponents::remove_outline(InkOutline& outline) noexcept {
  index_rows();
  if (!outline.find(runs(), row_begin_)) return;
  int count = 0;
  for (int y = 0; y < size_.height; ++y) {
    const int before = count;
    for (const InkRun& run : row(y)) {
      outline.cut(run, [&](const InkRun& kept) {
        if (count == run_capacity_)
          truncated_ = true;
        else
          kept_[count++] = kept;
      });
    }
    row_runs_[y] = count - before;
  }
  std::swap(runs_, kept_);
  run_count_ = count;
}

void InkComponents::limit_rows() noexcept {
  int left = run_count_;
  for (int y = 0; y < size_.height; ++y) {
    row_runs_[y] = std::min(row_runs_[y], left);
    left -= row_runs_[y];
  }
}

void InkComponents::extract(const GrayPlane& plane, const InkLevels& levels, int half) noexcept {
  Half& own = halves_[static_cast<std::size_t>(half)];
  const int middle = size_.height / 2;
  own.runs = half == 0
                 ? extract(plane, levels, 0, middle, own.thresholds, own.ink, runs_, run_capacity_)
                 : extract(plane, levels, middle, size_.height, own.thresholds, own.ink, kept_,
                           run_capacity_);
}

void InkComponents::set_count(int count) noexcept {
  truncated_ = count > run_capacity_;
  run_count_ = std::min(count, run_capacity_);
}

void InkComponents::join_halves() noexcept {
  // The second half is in the memory for the runs without rules.
  const int first = std::min(halves_[0].runs, run_capacity_);
  set_count(halves_[0].runs + halves_[1].runs);
  std::copy_n(kept_, run_count_ - first, runs_ + first);
  if (truncated_) limit_rows();
}

void InkComponents::take_runs(int count) noexcept {
  if (runs_ != input_) std::swap(runs_, kept_);
  set_count(count);
}

void InkComponents::find(InkOutline* outline) noexcept {
  if (outline != nullptr) remove_outline(*outline);
  connect();
  if (remove_rules()) connect();
}

}  // namespace ocellus::detail
