#include "cortical_network/subtrees.h"

#include <algorithm>

namespace ocellus::detail {
namespace {

/// Where the columns or rows of roots begin at a level.
struct RootBegins {
  int roots = 0;
  int points = 0;
  std::int64_t stride = 1;

  int operator()(int root) const noexcept {
    return root == roots ? points : static_cast<int>(root * stride);
  }
};

}  // namespace

int SubtreeRects::hypercolumns() const noexcept {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += rects[static_cast<std::size_t>(i)].hypercolumns();
  return sum;
}

SubtreeRects rects_of(const Hierarchy& hierarchy, const Subtrees& trees, int level) noexcept {
  SubtreeRects made;
  if (trees.empty()) return made;
  const LevelPlan& top = hierarchy.level(trees.end - 1);
  const LevelPlan& at = hierarchy.level(level);
  RootBegins column{top.columns, at.columns, 1};
  RootBegins row{top.rows, at.rows, 1};
  for (int l = level + 1; l < trees.end; ++l) {
    // A stride beyond the grid belongs to a single column or row.
    const CorticalLevel& shape = hierarchy.level(l).shape;
    column.stride = std::min<std::int64_t>(column.stride * shape.stride_x, kMaxHypercolumns);
    row.stride = std::min<std::int64_t>(row.stride * shape.stride_y, kMaxHypercolumns);
  }
  const auto add = [&](int x_begin, int x_end, int y_begin, int y_end) {
    if (x_begin == x_end || y_begin == y_end) return;
    made.rects[static_cast<std::size_t>(made.count++)] = {
        column(x_begin), row(y_begin), column(x_end) - column(x_begin), row(y_end) - row(y_begin)};
  };
  const int last = trees.end_root - 1;
  const int y0 = trees.begin_root / top.columns;
  const int x0 = trees.begin_root % top.columns;
  const int y1 = last / top.columns;
  const int x1 = last % top.columns + 1;
  if (y0 == y1) {
    add(x0, x1, y0, y0 + 1);
    return made;
  }
  const int whole_begin = x0 == 0 ? y0 : y0 + 1;
  const int whole_end = x1 == top.columns ? y1 + 1 : y1;
  add(x0, top.columns, y0, whole_begin);
  add(0, top.columns, whole_begin, whole_end);
  add(0, x1, whole_end, y1 + 1);
  return made;
}

int disjoint_levels(const Hierarchy& hierarchy) noexcept {
  for (int l = 1; l < hierarchy.level_count; ++l) {
    const LevelPlan& level = hierarchy.level(l);
    const bool shared = (level.columns > 1 && level.shape.window_width > level.shape.stride_x) ||
                        (level.rows > 1 && level.shape.window_height > level.shape.stride_y);
    if (shared) return l;
  }
  return hierarchy.level_count;
}

}  // namespace ocellus::detail
