// Row kernels of the cellular network on the CPU.
//
// States are kept, not recomputed: X of every cell is made once, and a cell that changes adds its
// weights to the X of those that see it. After the first sweep few cells change, so that a sweep
// costs little more than looking whether any asks to; and where no X has changed since the last
// look, not even that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halftone/plan.h"

namespace ocellus::detail {

/// Elements in front of and behind each row of a padded plane.
inline constexpr int kCellPadBefore = 16;
inline constexpr int kCellPadBehind = 48;
/// Columns that share a mark.
inline constexpr int kCellTile = 128;
/// Lanes that an event adds to a row of X at once; those past the weights add 0.
inline constexpr int kEventLanes = 16;

/// A weighed element of a padded plane, at a constant distance from the cell.
struct CellTap {
  std::ptrdiff_t offset = 0;  ///< elements
  std::int32_t weight = 0;
};

/// Taps that are not 0; an even number, so that they go in pairs.
struct CellTaps {
  int count = 0;
  CellTap taps[kMaxTemplateWeights + 1];
};

/// A change of a cell, for the bands that see it from outside.
struct CellEvent {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::int32_t change = 0;  ///< of Y
};

/// What marks say of a tile of a row.
enum CellMark : std::uint8_t {
  kUpdateMark = 1,  ///< an X changed since the cells were last asked for their output
  kSwapMark = 2,    ///< since they were last asked whether to change places
  kAllMarks = 3,
};

/// One band of rows of the network, with all that its cells need. X is int16 with two levels, int32
/// with more. Events reach X and marks of the rows from `top` to below `bottom` only.
struct CellBand {
  ImageSize size;
  int top = 0;
  int bottom = 0;
  void* x = nullptr;           ///< cell (0, 0)
  std::ptrdiff_t x_pitch = 0;  ///< elements
  std::uint8_t* k = nullptr;
  std::ptrdiff_t k_pitch = 0;
  std::uint8_t* marks = nullptr;
  int tiles = 0;  ///< of a row

  const CellStagePlan* stage = nullptr;
  /// A row by row, from the right to the left, behind each row zeros up to kEventLanes; for two
  /// levels twice A, which is what a change of Y from -1 to 1 adds.
  const std::int16_t* weights = nullptr;
  /// What a swap adds: of a cell that goes to 1 and its right neighbor that goes to 0, rows as
  /// above; of it and its lower neighbor, 2 radius + 2 rows.
  const std::int16_t* weights_beside = nullptr;
  const std::int16_t* weights_below = nullptr;
  /// For more levels: X below `above[k]` and not below `above[k-1]` has the output k; above[-1] and
  /// above[levels-1] bound all X.
  const std::int64_t* above = nullptr;

  CellEvent* events = nullptr;  ///< for other bands; null when there are none
  int event_count = 0;
  std::uint32_t changed = 0;  ///< cells, in this sweep
};

/// u of a row of 16-bit or 8-bit gray by a table of all values.
void table_row(const void* in, PixelFormat format, const std::int16_t* table, std::int16_t* out,
               int width) noexcept;
/// Float pixels as 16-bit gray. False when one is not finite.
bool gray_row(const float* in, std::uint16_t* out, int width) noexcept;

/// X of a row of two levels: floor((control + 2^12) / 2^13) + threshold, held within -limit and
/// limit, + feedback, with the sums of taps of the planes that begin at `control_row` and
/// `feedback_row`.
void binary_states_row(const std::int16_t* control_row, const CellTaps& control,
                       const std::int16_t* feedback_row, const CellTaps& feedback,
                       std::int32_t threshold, const std::int32_t* threshold_row,
                       std::int32_t limit, std::int16_t* x_row, int width) noexcept;
/// The same of more levels; `sums` is scratch of 2 x width.
void many_states_row(const std::int16_t* control_row, const CellTaps& control,
                     const std::int16_t* feedback_row, const CellTaps& feedback, int levels,
                     std::int32_t threshold, const std::int32_t* threshold_row, std::int32_t* sums,
                     std::int32_t* x_row, int width) noexcept;

/// Y of a row of outputs, or with `input` u - 2^13 Y.
void outputs_row(const std::uint8_t* k, int levels, const std::int16_t* input, std::int16_t* out,
                 int width) noexcept;

/// Lets the row's cells go through their colors: updates or swaps.
void colors_row(CellBand& band, int y) noexcept;
/// Lets the row's cells go one after the other.
void raster_row(CellBand& band, int y) noexcept;
/// Writes the outputs that X asks for, changes nothing. Returns how many differ.
std::uint32_t wanted_row(const CellBand& band, int y, std::uint8_t* out) noexcept;
/// Adds what a change at (x, y) means for the rows of the band.
void apply_event(CellBand& band, const CellEvent& event) noexcept;

/// Floyd and Steinberg's error diffusion of a row of tiles: rows `top` to below `bottom` of u.
/// `scratch` is diffusion_scratch() elements.
void diffuse_tiles(const std::int16_t* u, std::ptrdiff_t u_pitch, std::uint8_t* k,
                   std::ptrdiff_t k_pitch, int top, int bottom, int width,
                   std::int32_t* scratch) noexcept;
std::size_t diffusion_scratch() noexcept;

/// Gray values of a row of outputs.
void write_row(const std::uint8_t* k, int levels, const void* table, PixelFormat format, void* out,
               int width) noexcept;

}  // namespace ocellus::detail
