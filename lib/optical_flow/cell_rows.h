// Row functions of MovingObjects. A row begins kCellReach cells before its first one and ends
// kRowSlack + kCellReach cells after its last one. The cells there do not move.
#pragma once

#include <array>

namespace ocellus::detail {

/// Cells up to so many columns and rows apart are neighbors, so that a gap such as that between the
/// legs of a walker is bridged.
inline constexpr int kCellReach = 2;

/// A row, and the kCellReach rows above it, from top to bottom.
template <typename Row>
using CellRows = std::array<Row, kCellReach + 1>;

/// The vectors of a row of cells.
struct CellRow {
  float* u;  ///< NaN: the cell does not move
  float* v;
  float* squared;  ///< length of the vector; finite where the cell moves
};

/// The links of a cell are those neighbors before it, row by row, that belong to its object.
/// Neighbor (x, y) of the window around the cell has bit y * kLinkWindow + x.
inline constexpr int kLinkWindow = 2 * kCellReach + 1;
inline constexpr int kLinks = kCellReach * kLinkWindow + kCellReach;
inline constexpr int kLinkLeft = 1 << (kLinks - 1);
/// The cell itself moves.
inline constexpr int kLinkSelf = 1 << kLinks;

/// Finds the links of the cells of the last row. Two cells that move are linked if their vectors
/// differ by at most half a pixel or half the longer one.
void link_cells(const CellRows<CellRow>& rows, int columns, int* links) noexcept;

/// Leaves out links of the cells of the last row that other links make unnecessary. Keeps kLinkLeft
/// and kLinkSelf.
void needed_links(const CellRows<int*>& links, int columns, int* needed) noexcept;

}  // namespace ocellus::detail
