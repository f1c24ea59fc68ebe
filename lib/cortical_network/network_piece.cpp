#include "cortical_network/network_piece.h"

#include <algorithm>

namespace ocellus::detail {
namespace {

constexpr std::size_t kBitsOfByte = 8;

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
    const CorticalLevel& shape = hierarchy.level(l);
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
    const bool shared = (level.columns > 1 && level.window_width > level.stride_x) ||
                        (level.rows > 1 && level.window_height > level.stride_y);
    if (shared) return l;
  }
  return hierarchy.level_count;
}

NetworkPiece::NetworkPiece(const NetworkPlan& plan, const Subtrees& trees) noexcept
    : trees_(trees) {
  for (int l = trees.first; l < trees.end; ++l) {
    const LevelPlan& of = plan.hierarchy.level(l);
    PieceLevel& level = levels_[static_cast<std::size_t>(l)];
    level.rects = rects_of(plan.hierarchy, trees, l);
    level.hypercolumns = level.rects.hypercolumns();
    level.weights_at = weights_;
    level.strong_at = strong_;
    level.minicolumns_at = minicolumns_;
    const auto count = static_cast<std::size_t>(level.hypercolumns);
    weights_ += count * of.weights;
    strong_ += count * of.strong_words();
    minicolumns_ += count * static_cast<std::size_t>(of.padded);
    if (l == 0) pattern_bytes_ = weights_ / kBitsOfByte;
  }
}

HypercolumnArrays NetworkPiece::place(LayoutBuilder& builder, PlacementKind kind) const noexcept {
  HypercolumnArrays arrays;
  arrays.place(builder, weights_, strong_, minicolumns_,
               kind == PlacementKind::kGpu ? pattern_bytes_ : 0);
  return arrays;
}

std::size_t NetworkPiece::bytes(PlacementKind kind) const noexcept {
  LayoutBuilder sizes(nullptr, kPieceAlignment);
  place(sizes, kind);
  return sizes.bytes();
}

PieceRun NetworkPiece::run_from(const Hierarchy& hierarchy, int level,
                                int hypercolumn) const noexcept {
  PieceRun found;
  if (level < trees_.first || level >= trees_.end) return found;
  for_each_run(hierarchy, level, [&](const PieceRun& run) {
    if (hypercolumn < run.begin || hypercolumn >= run.end) return true;
    found = {hypercolumn, run.end, run.slot + hypercolumn - run.begin};
    return false;
  });
  return found;
}

void NetworkPiece::apply(NetworkPlan& plan) const noexcept {
  for (int l = trees_.first; l < trees_.end; ++l) {
    const PieceLevel& from = level(l);
    LevelPlan& to = plan.hierarchy.levels[static_cast<std::size_t>(l)];
    to.weights_at = from.weights_at;
    to.strong_at = from.strong_at;
    to.minicolumns_at = from.minicolumns_at;
  }
}

PixelRange pixels_of(const NetworkPlan& plan, const NetworkPiece& piece) noexcept {
  const Hierarchy& h = plan.hierarchy;
  const LevelPlan& lowest = h.level(0);
  const SubtreeRects& rects = piece.level(0).rects;
  PixelRange range{h.height, 0, h.width, 0};
  // A contrast cell sees the neighbors of its pixel.
  const int margin = plan.lgn == LgnTransform::kContrast ? 1 : 0;
  for (int i = 0; i < rects.count; ++i) {
    const GridRect& r = rects.rects[static_cast<std::size_t>(i)];
    const CorticalLevel& shape = lowest;
    range.x_begin = std::min(range.x_begin, std::max(r.x * shape.stride_x - margin, 0));
    range.y_begin = std::min(range.y_begin, std::max(r.y * shape.stride_y - margin, 0));
    range.x_end = std::max(
        range.x_end,
        std::min((r.x + r.width - 1) * shape.stride_x + shape.window_width + margin, h.width));
    range.y_end = std::max(
        range.y_end,
        std::min((r.y + r.height - 1) * shape.stride_y + shape.window_height + margin, h.height));
  }
  return range;
}

std::size_t hypercolumn_bytes(const LevelPlan& level, bool lowest, PlacementKind kind) noexcept {
  const bool has_patterns = lowest && kind == PlacementKind::kGpu;
  LayoutBuilder bytes(nullptr, 1);
  HypercolumnArrays().place(bytes, level.weights, level.strong_words(),
                            static_cast<std::size_t>(level.padded),
                            has_patterns ? level.weights / kBitsOfByte : 0);
  return bytes.bytes();
}

std::size_t shared_bytes(const Hierarchy& hierarchy, PlacementKind kind) noexcept {
  // Pieces of a device: of split levels, two buffers, and of the levels where parts meet.
  constexpr std::size_t kPieces = 4;
  constexpr std::size_t kArrays = 5;
  constexpr std::size_t kShared = 6;
  constexpr std::size_t kImages = 2;  // of a GPU
  const bool gpu = kind == PlacementKind::kGpu;
  const auto hypercolumns = static_cast<std::size_t>(hierarchy.hypercolumns);
  const std::size_t pixels =
      static_cast<std::size_t>(hierarchy.width) * static_cast<std::size_t>(hierarchy.height);
  // Winners and their responses; on a GPU, a counter.
  const std::size_t each =
      sizeof(std::int32_t) + sizeof(std::int64_t) + (gpu ? sizeof(std::uint32_t) : 0);
  return each * hypercolumns + pixels * (gpu ? kImages : kLgnCells) +
         kPieceAlignment * (kPieces * kArrays + kShared);
}

}  // namespace ocellus::detail
