// NetworkPiece: subtrees of a cortical network whose arrays lie together, in the memory of a device
// or of the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cortical_network/hypercolumn.h"
#include "ocellus/cortical_placement.h"

namespace ocellus::detail {

// ---- subtrees: which hypercolumns belong to which hypercolumn of a higher level

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

// ---- pieces

/// Arrays of a piece begin at multiples of this number of bytes.
inline constexpr std::size_t kPieceAlignment = 256;

/// Hypercolumns [begin, end) of a level, and the place of the first of them in the arrays.
struct PieceRun {
  int begin = 0;
  int end = 0;
  int slot = 0;

  int count() const noexcept { return end - begin; }
};

struct PieceLevel {
  SubtreeRects rects;
  int hypercolumns = 0;
  // Where the level begins in the arrays of the piece, in elements.
  std::size_t weights_at = 0;
  std::size_t strong_at = 0;
  std::size_t minicolumns_at = 0;
};

class NetworkPiece {
 public:
  NetworkPiece() noexcept = default;
  NetworkPiece(const NetworkPlan& plan, const Subtrees& trees) noexcept;

  const Subtrees& trees() const noexcept { return trees_; }
  bool empty() const noexcept { return trees_.empty(); }
  const PieceLevel& level(int number) const noexcept {
    return levels_[static_cast<std::size_t>(number)];
  }
  /// Bytes of the arrays.
  std::size_t bytes(PlacementKind kind) const noexcept;
  /// Places the arrays, where a hypercolumn is at its slot. `builder` must align to
  /// kPieceAlignment.
  HypercolumnArrays place(LayoutBuilder& builder, PlacementKind kind) const noexcept;

  /// Calls body(PieceRun) for the hypercolumns of a level, in ascending order, or until it returns
  /// false.
  template <typename Body>
  void for_each_run(const Hierarchy& hierarchy, int level, const Body& body) const noexcept {
    const int columns = hierarchy.level(level).columns;
    const SubtreeRects& of = levels_[static_cast<std::size_t>(level)].rects;
    int slot = 0;
    for (int i = 0; i < of.count; ++i) {
      const GridRect& rect = of.rects[static_cast<std::size_t>(i)];
      // Whole rows follow each other.
      const bool joined = rect.width == columns;
      const int length = joined ? rect.hypercolumns() : rect.width;
      for (int y = rect.y; y < rect.y + (joined ? 1 : rect.height); ++y) {
        const int begin = y * columns + rect.x;
        if (!body(PieceRun{begin, begin + length, slot})) return;
        slot += length;
      }
    }
  }

  /// The run of a hypercolumn, from it on; empty if the piece does not have it.
  PieceRun run_from(const Hierarchy& hierarchy, int level, int hypercolumn) const noexcept;

  /// The plan with the places of the arrays of this piece.
  void apply(NetworkPlan& plan) const noexcept;

 private:
  Subtrees trees_;
  std::array<PieceLevel, kMaxCorticalLevels> levels_{};
  std::size_t weights_ = 0;
  std::size_t strong_ = 0;
  std::size_t minicolumns_ = 0;
  std::size_t pattern_bytes_ = 0;
};

/// The pixels that a piece with the lowest level reads.
PixelRange pixels_of(const NetworkPlan& plan, const NetworkPiece& piece) noexcept;

/// Bytes of the arrays of a hypercolumn. `lowest`: of the lowest level.
std::size_t hypercolumn_bytes(const LevelPlan& level, bool lowest, PlacementKind kind) noexcept;

/// Bytes that a device needs beside its pieces, at most: the image or its LGN cells, the winners of
/// the whole network, and gaps between arrays.
std::size_t shared_bytes(const Hierarchy& hierarchy, PlacementKind kind) noexcept;

}  // namespace ocellus::detail
