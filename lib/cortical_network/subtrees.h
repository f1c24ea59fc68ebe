// Subtrees of a hierarchy: which hypercolumns belong to which hypercolumn of a higher level.
#pragma once

#include <array>
#include <cstdint>

#include "cortical_network/hierarchy.h"

namespace ocellus::detail {

/// Levels [first, end), roots [begin_root, end_root) of level end - 1.
struct Subtrees {
  int first = 0;
  int end = 0;
  int begin_root = 0;
  int end_root = 0;

  bool empty() const noexcept { return begin_root == end_root; }
  friend bool operator==(const Subtrees&, const Subtrees&) = default;
};

/// A rectangle of the grid of a level.
struct GridRect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  int hypercolumns() const noexcept { return width * height; }
};

/// Rectangles from top to bottom: the rest of a row of roots, whole rows, the begin of a row.
struct SubtreeRects {
  static constexpr int kMost = 3;
  std::array<GridRect, kMost> rects{};
  int count = 0;

  int hypercolumns() const noexcept;
};

/// The hypercolumns of a level that belong to the subtrees. Root columns and rows begin at
/// multiples of the strides; the last ones take all that remain, also those that no window covers.
SubtreeRects rects_of(const Hierarchy& hierarchy, const Subtrees& trees, int level) noexcept;

/// Levels up to this one have disjoint windows above the lowest level, so that the subtrees of
/// their hypercolumns share nothing.
int disjoint_levels(const Hierarchy& hierarchy) noexcept;

}  // namespace ocellus::detail
