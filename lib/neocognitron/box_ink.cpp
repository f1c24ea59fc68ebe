#include "neocognitron/box_ink.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ocellus::detail {
namespace {

constexpr float kLargeCut = 0.5f;      // pixels of a cut piece, of those of the main piece
constexpr float kMostlyInside = 0.6f;  // pixels of a cut piece, of those of its component
constexpr int kCutRows = 2;            // a piece that is cut in fewer rows is not cut
constexpr int kFaintShare = 2;         // the contrast of the main piece, in that of a faint one
constexpr float kSpeck = 0.03f;        // pixels of a speck, of those of the main piece
constexpr float kDot = 0.3f;           // width and height of a dot, in heights of the main piece
constexpr float kDotTop = 0.55f;       // dots lie below this, in heights of the main piece

}  // namespace

BoxInk::BoxInk(const InkComponents& components, LayoutBuilder& memory) noexcept {
  const auto runs = static_cast<std::size_t>(components.run_capacity());
  runs_ = memory.take<InkRun>(runs);
  parents_ = memory.take<int>(runs);
  beyond_ = memory.take<int>(runs);
  pieces_ = memory.take<Piece>(runs);
}

void BoxInk::collect(const InkComponents& components, const Rect& box) noexcept {
  run_count_ = 0;
  for (const InkRun& run : components.runs()) {
    if (run.label == kNoComponent) continue;
    if (run.y < box.y || run.y >= box.y + box.height) continue;
    const int first = std::max<int>(run.first, box.x);
    const int end = std::min<int>(run.end, box.x + box.width);
    if (first >= end) continue;
    InkRun& out = runs_[run_count_];
    out = run;
    out.first = static_cast<std::uint16_t>(first);
    out.end = static_cast<std::uint16_t>(end);
    beyond_[run_count_] = end - first < run.end - run.first ? 1 : 0;
    ++run_count_;
  }
}

void BoxInk::connect(const InkComponents& components) noexcept {
  const RunSets<OneThread> sets{{}, parents_};
  sets.connect({runs_, static_cast<std::size_t>(run_count_)});
  for (int i = 0; i < run_count_; ++i) {
    InkRun& run = runs_[i];
    const int first = sets.root(i);
    Piece& piece = pieces_[first];
    if (first == i) piece = {{}, components.components()[run.label].area, 0};
    run.label = static_cast<std::uint32_t>(first);
    piece.box.add(run);
    piece.cut_rows += beyond_[i];
  }
}

// The share of the component that lies in the box counts less than the area: a bar that lies in it
// wholly must not win over the body of a digit that touches its neighbor.
float BoxInk::weight(const Piece& piece) noexcept {
  const auto area = static_cast<float>(piece.box.area);
  return area * std::sqrt(area / static_cast<float>(piece.whole));
}

bool BoxInk::belongs(const Piece& piece, const Piece& main) noexcept {
  const auto area = static_cast<float>(piece.box.area);
  const auto main_area = static_cast<float>(main.box.area);
  if (piece.cut_rows >= kCutRows &&
      area < std::max(kLargeCut * main_area, kMostlyInside * static_cast<float>(piece.whole))) {
    return false;
  }
  if (area < kSpeck * main_area) return false;
  if (kFaintShare * piece.box.mean_contrast() < main.box.mean_contrast()) return false;
  const auto height = static_cast<float>(main.box.height());
  const bool small = static_cast<float>(piece.box.width()) < kDot * height &&
                     static_cast<float>(piece.box.height()) < kDot * height;
  return !small ||
         static_cast<float>(piece.box.top) < static_cast<float>(main.box.top) + kDotTop * height;
}

std::span<const InkRun> BoxInk::select(const InkComponents& components, const Rect& box) noexcept {
  collect(components, box);
  if (run_count_ == 0) return {};
  connect(components);
  int main = 0;
  for (int i = 0; i < run_count_; ++i) {
    if (runs_[i].label == static_cast<std::uint32_t>(i) &&
        weight(pieces_[i]) > weight(pieces_[main]))
      main = i;
  }
  int count = 0;
  for (int i = 0; i < run_count_; ++i) {
    const auto piece = static_cast<int>(runs_[i].label);
    if (piece != main && !belongs(pieces_[piece], pieces_[main])) continue;
    runs_[count++] = runs_[i];
  }
  return {runs_, static_cast<std::size_t>(count)};
}

}  // namespace ocellus::detail
