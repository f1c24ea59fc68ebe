// Functions that process rows of the cellular network on the CPU.
//
// The state X of every cell is computed once per frame. After that, a cell that changes adds its
// weights to the X of the cells around it. Few cells change after the first sweep, so a sweep
// mostly compares signs. With marks, a sweep skips tiles in which no X has changed since the last
// visit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halftone/plan.h"

namespace ocellus::detail {

/// Elements before and after each row of a padded plane.
inline constexpr int kCellPadBefore = 16;
inline constexpr int kCellPadBehind = 48;
/// Columns that share one mark.
inline constexpr int kCellTile = 128;
/// Elements of a row of X that an event updates at once. Weights beyond the template are 0.
inline constexpr int kEventLanes = 16;

/// A weighted element of a padded plane, at a fixed offset from the cell.
struct CellTap {
  std::ptrdiff_t offset = 0;  ///< elements
  std::int32_t weight = 0;
};

/// The taps that are not 0. Their number is even, because they are applied in pairs.
struct CellTaps {
  int count = 0;
  CellTap taps[kMaxTemplateWeights + 1];
};

/// A change of a cell, recorded for other bands that depend on this cell.
struct CellEvent {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::int32_t change = 0;  ///< difference of Y
};

/// Marks of one tile of one row.
enum CellMark : std::uint8_t {
  kUpdateMark = 1,  ///< an X has changed since the last update of these cells
  kSwapMark = 2,    ///< an X has changed since the last swaps of these cells
  kAllMarks = 3,
};

/// A band of rows of the network. X is int16 with two levels and int32 with more. Events change X
/// and marks only in rows `top` to `bottom` - 1.
struct CellBand {
  ImageSize size;
  int top = 0;
  int bottom = 0;
  void* x = nullptr;           ///< cell (0, 0)
  std::ptrdiff_t x_pitch = 0;  ///< elements
  std::uint8_t* k = nullptr;
  std::ptrdiff_t k_pitch = 0;
  std::uint8_t* marks = nullptr;
  int tiles = 0;  ///< tiles of one row

  const CellStagePlan* stage = nullptr;
  /// The weights A, row by row and each row from right to left, followed by zeros up to
  /// kEventLanes. With two levels the values are 2 A, the effect of a change of Y from -1 to 1.
  const std::int16_t* weights = nullptr;
  /// The effect of a swap in which the cell becomes 1 and its right neighbor 0, in rows as above.
  /// `weights_below` is the same for the lower neighbor, in 2 radius + 2 rows.
  const std::int16_t* weights_beside = nullptr;
  const std::int16_t* weights_below = nullptr;
  /// More than two levels: the output is k if above[k-1] <= X < above[k]. above[-1] and
  /// above[levels-1] are limits of all X.
  const std::int64_t* above = nullptr;

  CellEvent* events = nullptr;  ///< events for other bands; null if there are no other bands
  int event_count = 0;
  std::uint32_t changed = 0;  ///< cells that changed in this sweep
};

/// Converts a row of 8-bit or 16-bit gray to u, with a table of all gray values.
void table_row(const void* in, PixelFormat format, const std::int16_t* table, std::int16_t* out,
               int width) noexcept;
/// Converts float pixels to 16-bit gray. Returns false if one is not finite.
bool gray_row(const float* in, std::uint16_t* out, int width) noexcept;

/// Computes X of a row with two levels: floor((control + 2^12) / 2^13) + threshold, clamped to
/// -limit to limit, plus feedback. Control and feedback are sums over taps of the planes at
/// `control_row` and `feedback_row`.
void binary_states_row(const std::int16_t* control_row, const CellTaps& control,
                       const std::int16_t* feedback_row, const CellTaps& feedback,
                       std::int32_t threshold, const std::int32_t* threshold_row,
                       std::int32_t limit, std::int16_t* x_row, int width) noexcept;
/// The same for more levels. `sums` is scratch of 2 x width elements.
void many_states_row(const std::int16_t* control_row, const CellTaps& control,
                     const std::int16_t* feedback_row, const CellTaps& feedback, int levels,
                     std::int32_t threshold, const std::int32_t* threshold_row, std::int32_t* sums,
                     std::int32_t* x_row, int width) noexcept;

/// Writes Y of a row of outputs, or u - 2^13 Y if `input` is not null.
void outputs_row(const std::uint8_t* k, int levels, const std::int16_t* input, std::int16_t* out,
                 int width) noexcept;

/// Updates or swaps the cells of a row, color by color.
void colors_row(CellBand& band, int y) noexcept;
/// Updates the cells of a row in raster order.
void raster_row(CellBand& band, int y) noexcept;
/// Writes the outputs that follow from X to `out`. Returns the number of cells whose output would
/// change.
std::uint32_t wanted_row(const CellBand& band, int y, std::uint8_t* out) noexcept;
/// Applies a change of a cell to the rows of the band.
void apply_event(CellBand& band, const CellEvent& event) noexcept;

/// Computes Floyd and Steinberg's error diffusion of one row of tiles to 2 to 256 levels, in rows
/// `top` to `bottom` - 1 of u. `scratch` has diffusion_scratch() elements.
void diffuse_tiles(const std::int16_t* u, std::ptrdiff_t u_pitch, std::uint8_t* k,
                   std::ptrdiff_t k_pitch, int top, int bottom, int width, int levels,
                   std::int32_t* scratch) noexcept;
std::size_t diffusion_scratch() noexcept;

/// Writes the gray values of a row of outputs.
void write_row(const std::uint8_t* k, int levels, const void* table, PixelFormat format, void* out,
               int width) noexcept;

}  // namespace ocellus::detail
