#include "neocognitron/character_lattice.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace ocellus::detail {
namespace {

constexpr int kFull = 64;  // a cell full of ink
constexpr float kForbidden = 1e6f;
constexpr float kLeastSegment = 0.2f;  // width of a segment, in heights of a character
constexpr float kMostCrossed = 2.0f;   // strokes that a cut beside the best split may cross

}  // namespace

InkSplitter::InkSplitter(LayoutBuilder& memory) noexcept
    : ink_(memory.take<std::uint8_t>(kRows * kColumns)),
      sums_(memory.take<std::uint16_t>(kRows * (kColumns + 1))),
      from_top_(memory.take<std::uint16_t>(kRows * kColumns)),
      to_bottom_(memory.take<std::uint16_t>(kRows * kColumns)),
      paths_(memory.take<std::uint16_t>(kRows * kCandidates)) {}

void InkSplitter::draw(std::span<const InkRun> runs) noexcept {
  std::uint16_t* counts = from_top_;
  std::fill(counts, counts + rows_ * columns_, std::uint16_t{0});
  for (const InkRun& run : runs) {
    std::uint16_t* row = counts + (run.y - top_) / cell_ * columns_;
    const int run_end = run.end + shift(run.y) - left_;
    for (int x = run.first + shift(run.y) - left_; x < run_end;) {
      const int column = x / cell_;
      const int end = std::min((column + 1) * cell_, run_end);
      row[column] = static_cast<std::uint16_t>(row[column] + (end - x));
      x = end;
    }
  }
  const int cell_pixels = cell_ * cell_;
  for (int y = 0; y < rows_; ++y) {
    std::uint16_t sum = 0;
    for (int x = 0; x < columns_; ++x) {
      const int at = y * columns_ + x;
      ink_[at] = static_cast<std::uint8_t>(counts[at] * kFull / cell_pixels);
      sums_[y * (columns_ + 1) + x] = sum;
      sum = static_cast<std::uint16_t>(sum + ink_[at]);
    }
    sums_[y * (columns_ + 1) + columns_] = sum;
  }
}

float InkSplitter::stroke() const noexcept {
  // Ink divided by the number of its left edges is the mean length of horizontal runs; in the same
  // way for vertical runs. The smaller one is the better estimate of the stroke.
  int ink = 0;
  int horizontal = 0;
  int vertical = 0;
  for (int y = 0; y < rows_; ++y) {
    for (int x = 0; x < columns_; ++x) {
      const int at = y * columns_ + x;
      const bool here = ink_[at] * 2 >= kFull;
      ink += ink_[at];
      horizontal += here && (x == 0 || ink_[at - 1] * 2 < kFull) ? 1 : 0;
      vertical += here && (y == 0 || ink_[at - columns_] * 2 < kFull) ? 1 : 0;
    }
  }
  const int edges = std::max({1, horizontal, vertical});
  return std::max(1.0f, static_cast<float>(ink) / static_cast<float>(kFull * edges));
}

void InkSplitter::sweep() noexcept {
  const int sideways = static_cast<int>(kWeights.sideways * kFull);
  const auto pass = [&](std::uint16_t* costs, int y, int from) {
    for (int x = 0; x < columns_; ++x) {
      int best = costs[from * columns_ + x];
      if (x > 0) best = std::min(best, costs[from * columns_ + x - 1] + sideways);
      if (x + 1 < columns_) best = std::min(best, costs[from * columns_ + x + 1] + sideways);
      costs[y * columns_ + x] = static_cast<std::uint16_t>(best + ink_[y * columns_ + x]);
    }
  };
  for (int x = 0; x < columns_; ++x) {
    from_top_[x] = ink_[x];
    to_bottom_[(rows_ - 1) * columns_ + x] = ink_[(rows_ - 1) * columns_ + x];
  }
  for (int y = 1; y < rows_; ++y) pass(from_top_, y, y - 1);
  for (int y = rows_ - 2; y >= 0; --y) pass(to_bottom_, y, y + 1);
}

void InkSplitter::trace(int x, std::uint16_t* path) const noexcept {
  const int sideways = static_cast<int>(kWeights.sideways * kFull);
  const auto follow = [&](const std::uint16_t* costs, int y, int at) {
    int best = costs[y * columns_ + at];
    int to = at;
    for (const int side : {at - 1, at + 1}) {
      if (side < 0 || side >= columns_) continue;
      const int cost = costs[y * columns_ + side] + sideways;
      if (cost < best) {
        best = cost;
        to = side;
      }
    }
    return to;
  };
  const int middle = rows_ / 2;
  path[middle] = static_cast<std::uint16_t>(x);
  for (int y = middle - 1; y >= 0; --y) {
    path[y] = static_cast<std::uint16_t>(follow(from_top_, y, path[y + 1]));
  }
  for (int y = middle + 1; y < rows_; ++y) {
    path[y] = static_cast<std::uint16_t>(follow(to_bottom_, y, path[y - 1]));
  }
}

void InkSplitter::find_candidates(float largest_cost, int least_distance) noexcept {
  candidate_count_ = 0;
  const int middle = rows_ / 2;
  const auto cost = [&](int x) {
    const int at = middle * columns_ + x;
    return from_top_[at] + to_bottom_[at] - ink_[at];
  };
  int last = -least_distance;
  for (int x = least_distance; x < columns_ - least_distance; ++x) {
    const int here = cost(x);
    if (cost(x - 1) < here || cost(x + 1) < here) continue;
    // On a plateau, the middle is taken.
    int end = x;
    while (end + 1 < columns_ - least_distance && cost(end + 1) == here) ++end;
    if (end + 1 < columns_ && cost(end + 1) < here) {
      x = end;
      continue;
    }
    const int center = (x + end) / 2;
    x = end;
    const float value = static_cast<float>(here);
    if (value > largest_cost) continue;
    const bool near = candidate_count_ > 0 && center - last < least_distance;
    if (near && candidate_costs_[candidate_count_ - 1] <= value) continue;
    if (!near && candidate_count_ == kCandidates) break;
    if (!near) ++candidate_count_;
    candidate_costs_[candidate_count_ - 1] = value;
    trace(center, paths_ + (candidate_count_ - 1) * kRows);
    last = center;
  }
}

int InkSplitter::boundary(int candidate, int y) const noexcept {
  if (candidate < 0) return 0;
  if (candidate >= candidate_count_) return columns_;
  return paths_[candidate * kRows + y];
}

float InkSplitter::mean_boundary(int candidate) const noexcept {
  int sum = 0;
  for (int y = 0; y < rows_; ++y) sum += boundary(candidate, y);
  return static_cast<float>(sum) / static_cast<float>(rows_);
}

float InkSplitter::piece_cost(int from, int to) const noexcept {
  int first = rows_;
  int last = -1;
  for (int y = 0; y < rows_; ++y) {
    const int left = boundary(from, y);
    const int right = boundary(to, y);
    if (right < left) return kForbidden;
    const std::uint16_t* sums = sums_ + y * (columns_ + 1);
    if (sums[right] == sums[left]) continue;
    first = std::min(first, y);
    last = y;
  }
  const bool whole = from < 0 && to >= candidate_count_;
  const float height = whole ? 1.0f : static_cast<float>(last + 1 - first) / height_;
  if (height < kWeights.shortest) return kForbidden;
  const float width = (mean_boundary(to) - mean_boundary(from)) / height_;
  const float wide = std::max(0.0f, width - kWeights.widest);
  const float narrow = std::max(0.0f, kWeights.narrowest - width);
  const float low = std::max(0.0f, kWeights.lowest - height);
  return kWeights.wide * wide * wide + kWeights.narrow * narrow * narrow + kWeights.low * low * low;
}

float InkSplitter::cut_cost(int candidate) const noexcept {
  if (candidate < 0 || candidate >= candidate_count_) return 0.0f;
  return kWeights.cut + kWeights.crossing * candidate_costs_[candidate] / unit_;
}

float InkSplitter::fit(int first, int last) const noexcept {
  const int from = before(first);
  const int to = behind(last);
  return -piece_cost(from, to) - 0.5f * (cut_cost(from) + cut_cost(to));
}

bool InkSplitter::planned(int first, int last) const noexcept {
  const bool left = first == 0 || planned_[first - 1];
  const bool right = last + 1 == segments_ || planned_[last];
  return left && right &&
         std::none_of(planned_.begin() + first, planned_.begin() + last, [](bool p) { return p; });
}

void InkSplitter::add_cuts(int least_distance) noexcept {
  // The cheapest cuts first, as long as they are not near others.
  const int middle = rows_ / 2;
  while (segments_ < kMaxSegments) {
    int best = -1;
    for (int c = 0; c < candidate_count_; ++c) {
      if (candidate_costs_[c] > kMostCrossed * unit_) continue;
      if (best >= 0 && candidate_costs_[c] >= candidate_costs_[best]) continue;
      const int x = boundary(c, middle);
      const bool near = x < least_distance || x > columns_ - least_distance ||
                        std::any_of(cuts_.begin(), cuts_.begin() + segments_ - 1, [&](int cut) {
                          return std::abs(boundary(cut, middle) - x) < least_distance;
                        });
      if (!near) best = c;
    }
    if (best < 0) return;
    int at = segments_ - 1;
    for (; at > 0 && cuts_[at - 1] > best; --at) {
      cuts_[at] = cuts_[at - 1];
      planned_[at] = planned_[at - 1];
    }
    cuts_[at] = best;
    planned_[at] = false;
    ++segments_;
  }
}

int InkSplitter::plan(std::span<const InkRun> runs, const InkComponent& box, float height,
                      float slant) noexcept {
  left_ = box.left;
  top_ = box.top;
  bottom_ = box.bottom;
  const int widest = box.width() + kMostSlant * box.height() / kSlantUnit + 1;
  cell_ = std::max({1, (box.height() + kRows - 1) / kRows, (widest + kColumns - 1) / kColumns});
  slant_ = std::clamp(static_cast<int>(std::lround(slant * kSlantUnit)), -kMostSlant, kMostSlant);
  int first = box.left + widest;
  int last = box.left;
  for (const InkRun& run : runs) {
    first = std::min(first, run.first + shift(run.y));
    last = std::max(last, run.end + shift(run.y));
  }
  rows_ = (box.height() + cell_ - 1) / cell_;
  left_ = first;
  columns_ = (last - first + cell_ - 1) / cell_;
  height_ = std::max(1.0f, height / static_cast<float>(cell_));
  candidate_count_ = 0;
  segments_ = 1;
  // The counts of pixels of a cell must fit 16 bits.
  if (columns_ < 4 || rows_ < 4 || cell_ > 255) return 1;
  draw(runs);
  sweep();
  stroke_ = stroke();
  unit_ = stroke_ * kFull;
  find_candidates(3.0f * unit_, std::max(2, static_cast<int>(0.1f * height_)));

  // best[i]: the least cost of the pieces to the left of candidate i. The last entry is the end.
  std::array<float, kCandidates + 1> best{};
  std::array<int, kCandidates + 1> before{};
  std::array<int, kCandidates + 1> pieces{};
  for (int i = 0; i <= candidate_count_; ++i) {
    best[i] = piece_cost(-1, i);
    before[i] = -1;
    pieces[i] = 1;
    for (int j = 0; j < i; ++j) {
      if (best[j] >= best[i] || pieces[j] == kMaxSegments) continue;
      const float cost = best[j] + piece_cost(j, i);
      if (cost < best[i]) {
        best[i] = cost;
        before[i] = j;
        pieces[i] = pieces[j] + 1;
      }
    }
    if (i < candidate_count_) {
      best[i] += cut_cost(i);
    }
  }
  segments_ = pieces[candidate_count_];
  int at = candidate_count_;
  for (int i = segments_ - 2; i >= 0; --i) {
    at = before[at];
    cuts_[i] = at;
    planned_[i] = true;
  }
  add_cuts(std::max(2, static_cast<int>(kLeastSegment * height_)));
  return segments_;
}

}  // namespace ocellus::detail
