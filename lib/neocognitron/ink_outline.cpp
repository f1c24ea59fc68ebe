#include "neocognitron/ink_outline.h"

#include <cmath>
#include <cstdlib>

namespace ocellus::detail {
namespace {

constexpr int kLeastReach = 4;  // pixels
constexpr int kMostReach = 24;
constexpr int kReachShare = 5;  // of the shorter side of the field
constexpr int kLeastThickness = 5;
constexpr int kThicknessShare = 10;       // of the shorter side of the field
constexpr float kMostDrift = 0.04f;       // of the length of the side
constexpr int kSamples = 256;             // places along a side, at which lines are looked for
constexpr float kLeastCoverage = 0.6f;    // of a side along which digits may stand
constexpr float kUprightCoverage = 0.8f;  // of the sides whose direction strokes may have
constexpr float kUnbroken = 0.93f;        // of a line that is longer than any stroke
constexpr float kPieceCoverage = 0.25f;   // of a side beside others
constexpr float kEndShare = 0.1f;         // of the length, and at least kLeastEnd pixels
constexpr int kLeastEnd = 2;
constexpr float kLineTolerance = 1.6f;  // pixels between a line and its edge
constexpr float kContact = 1.6f;        // pixels between a line and the border of the field
constexpr float kThinner = 0.6f;        // than other strokes
constexpr float kWideField = 1.5f;      // field, in heights
constexpr int kJitter = 2;              // pixels beyond the line that belong to it
constexpr int kLongestStroke = 63;      // pixels
constexpr std::int16_t kNothing = -1;

}  // namespace

InkOutline::InkOutline(ImageSize size, LayoutBuilder& memory) noexcept : size_(size) {
  const int side = std::min(size.width, size.height);
  reach_ = std::clamp(side / kReachShare, kLeastReach, kMostReach);
  thickest_ = std::max(kLeastThickness, side / kThicknessShare);
  for (int i = 0; i < static_cast<int>(kSides); ++i) {
    const auto places = static_cast<std::size_t>(length(i));
    edges_[static_cast<std::size_t>(i)] = memory.take<Edge>(places);
    cuts_[static_cast<std::size_t>(i)] = memory.take<std::int16_t>(places);
  }
  votes_ = memory.take<int>(3 * kMostReach + kLongestStroke + 1);
}

void InkOutline::collect(std::span<const InkRun> runs, const int* row_begin) noexcept {
  for (int side = 0; side < static_cast<int>(kSides); ++side)
    std::fill_n(edges_[static_cast<std::size_t>(side)], length(side), Edge{kNothing, 0});
  for (int y = 0; y < size_.height; ++y) {
    const int begin = row_begin[y];
    const int end = row_begin[y + 1];
    if (begin == end) continue;
    const InkRun& left = runs[static_cast<std::size_t>(begin)];
    const InkRun& right = runs[static_cast<std::size_t>(end - 1)];
    const auto add = [&](std::size_t side, const InkRun& run, int distance) {
      if (distance >= reach_) return;
      edges_[side][y] = {static_cast<std::int16_t>(distance),
                         static_cast<std::int16_t>(run.end - run.first)};
    };
    add(kLeft, left, left.first);
    add(kRight, right, size_.width - right.end);
  }
  // From the border inwards, until the ink that began near it cannot be a line.
  const int rows = std::min(size_.height, reach_ + thickest_ + 1);
  for (const std::size_t side : {std::size_t{kTop}, std::size_t{kBottom}}) {
    Edge* const edges = edges_[side];
    for (int distance = 0; distance < rows; ++distance) {
      const int y = side == kTop ? distance : size_.height - 1 - distance;
      for (int i = row_begin[y]; i < row_begin[y + 1]; ++i) {
        const InkRun& run = runs[static_cast<std::size_t>(i)];
        for (int x = run.first; x < run.end; ++x) {
          Edge& edge = edges[x];
          if (edge.distance == kNothing) {
            if (distance < reach_) edge = {static_cast<std::int16_t>(distance), 1};
          } else if (edge.distance + edge.thickness == distance) {
            ++edge.thickness;
          }
        }
      }
    }
  }
}

bool InkOutline::is_on(int side, const Line& line, int at) const noexcept {
  const Edge& edge = edges_[static_cast<std::size_t>(side)][at];
  return edge.distance != kNothing &&
         std::abs(static_cast<float>(edge.distance) - line_at(side, line, at)) <= kLineTolerance;
}

InkOutline::Line InkOutline::fit(int side, int first, int end) noexcept {
  Line best;
  const Edge* const edges = edges_[static_cast<std::size_t>(side)];
  const int step = std::max(1, (end - first) / kSamples);
  const int samples = (end - first + step - 1) / step;
  const int most =
      std::min(reach_, static_cast<int>(std::ceil(kMostDrift * static_cast<float>(length(side)))));
  int most_votes = 0;
  // Small drifts first, so that of equal lines the straightest one is taken.
  for (int n = 0; n <= 2 * most; ++n) {
    const int drift = n % 2 == 0 ? -n / 2 : (n + 1) / 2;
    Line line;
    line.drift = static_cast<float>(drift);
    std::fill_n(votes_, 3 * kMostReach, 0);
    for (int at = first; at < end; at += step) {
      if (edges[at].distance == kNothing) continue;
      const auto moved = static_cast<int>(std::lround(line_at(side, line, at)));
      ++votes_[edges[at].distance - moved + kMostReach];
    }
    for (int i = 1; i + 1 < 3 * kMostReach; ++i) {
      const int votes = votes_[i - 1] + votes_[i] + votes_[i + 1];
      if (votes <= most_votes) continue;
      most_votes = votes;
      best = line;
      best.distance = static_cast<float>(i - kMostReach);
    }
  }
  best.coverage = static_cast<float>(most_votes) / static_cast<float>(std::max(samples, 1));
  if (most_votes == 0) return best;
  // The median thickness: where a digit touches the line, it is larger.
  std::fill_n(votes_, kLongestStroke + 1, 0);
  int total = 0;
  int nearest = end;
  int farthest = first;
  for (int at = first; at < end; ++at) {
    if (!is_on(side, best, at)) continue;
    ++votes_[std::min<int>(edges[at].thickness, kLongestStroke)];
    ++total;
    nearest = std::min(nearest, at);
    farthest = at;
  }
  int sum = 0;
  while (best.thickness < kLongestStroke && 2 * sum < total) sum += votes_[++best.thickness];
  const int close =
      std::max(kLeastEnd, static_cast<int>(kEndShare * static_cast<float>(end - first)));
  best.ends = nearest - first <= close && end - 1 - farthest <= close;
  best.found = best.thickness <= thickest_;
  return best;
}

float InkOutline::stroke(std::span<const InkRun> runs) const noexcept {
  // Of the horizontal runs that are not near the border, the length that two thirds exceed: strokes
  // that lie have longer ones.
  std::fill_n(votes_, kLongestStroke + 1, 0);
  int total = 0;
  for (const InkRun& run : runs) {
    const int length = run.end - run.first;
    if (length > kLongestStroke || run.first < reach_ || run.end > size_.width - reach_ ||
        run.y < reach_ || run.y >= size_.height - reach_) {
      continue;
    }
    ++votes_[length];
    ++total;
  }
  int sum = 0;
  int width = 0;
  while (width < kLongestStroke && 3 * sum < total) sum += votes_[++width];
  return static_cast<float>(width);
}

void InkOutline::choose(std::span<const InkRun> runs) noexcept {
  const bool wide =
      static_cast<float>(size_.width) >= kWideField * static_cast<float>(size_.height);
  const float across = wide ? kLeastCoverage : kUprightCoverage;
  for (const Side side : {kTop, kBottom}) {
    Line& line = lines_[side];
    line = fit(side, 0, size_.width);
    line.found = line.found && line.coverage >= across;
  }
  // The other sides lie between these.
  const int top = lines_[kTop].found ? static_cast<int>(lines_[kTop].distance) : 0;
  const int bottom =
      size_.height - (lines_[kBottom].found ? static_cast<int>(lines_[kBottom].distance) : 0);
  for (const Side side : {kLeft, kRight}) {
    Line& line = lines_[side];
    line = fit(side, std::max(top, 0), std::min(bottom, size_.height));
    line.found = line.found && line.coverage >= kUprightCoverage && line.ends;
  }
  const auto found_sides = [this] {
    return std::count_if(lines_.begin(), lines_.end(), [](const Line& line) { return line.found; });
  };
  const float limit = kThinner * stroke(runs);
  if (found_sides() < 3) drop_strokes(wide, limit);
  if (found_sides() == 0) return;
  // Pieces of the other sides, which lie partly outside of the field.
  for (Line& line : lines_) {
    line.found = line.found || (line.coverage >= kPieceCoverage && line.distance <= kContact &&
                                static_cast<float>(line.thickness) <= limit);
  }
}

void InkOutline::drop_strokes(bool wide, float limit) noexcept {
  const bool corner = (lines_[kTop].found || lines_[kBottom].found) &&
                      (lines_[kLeft].found || lines_[kRight].found);
  const bool both = lines_[kLeft].found && lines_[kRight].found;
  for (const Side side : {kTop, kBottom, kLeft, kRight}) {
    Line& line = lines_[side];
    if (!line.found) continue;
    const bool upright = side >= kLeft;
    const bool contact = line.distance <= kContact;
    const bool thin = static_cast<float>(line.thickness) <= limit;
    // What no strokes of digits have: lengths of several digits, or two sides of a corner.
    const bool longer = !upright && wide && line.ends && line.coverage >= kUnbroken;
    line.found = corner || longer || (contact && line.ends && ((upright && both) || thin));
  }
}

bool InkOutline::find(std::span<const InkRun> runs, const int* row_begin) noexcept {
  collect(runs, row_begin);
  choose(runs);
  bool any = false;
  for (int side = 0; side < static_cast<int>(kSides); ++side) {
    const auto s = static_cast<std::size_t>(side);
    const Line& line = lines_[s];
    any = any || line.found;
    for (int at = 0; at < length(side); ++at) {
      if (!line.found) {
        cuts_[s][at] = 0;
        continue;
      }
      float inner = line_at(side, line, at) + static_cast<float>(line.thickness);
      const Edge& edge = edges_[s][at];
      // The rough edge of the line is part of it.
      const auto own = static_cast<float>(edge.distance + edge.thickness);
      if (is_on(side, line, at) && std::abs(own - inner) <= kJitter) inner = own;
      cuts_[s][at] = static_cast<std::int16_t>(std::max(0L, std::lround(inner)));
    }
  }
  return any;
}

}  // namespace ocellus::detail
