// A converging hierarchy of grids of hypercolumns, and the inputs of each of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ocellus/cortical_network.h"

namespace ocellus::detail {

/// Rows of weights begin at multiples of this number of minicolumns.
inline constexpr int kMinicolumnAlignment = 32;

constexpr int padded_minicolumns(int count) noexcept {
  return (count + kMinicolumnAlignment - 1) / kMinicolumnAlignment * kMinicolumnAlignment;
}

/// A grid of windows over the grid below. Plain data, which kernels take, too.
struct LevelPlan : CorticalLevel {
  int columns = 0;  ///< hypercolumns of a row
  int rows = 0;
  int hypercolumns = 0;
  int first = 0;         ///< number of the first hypercolumn, counted over all levels
  int below_first = -1;  ///< that of the level below; -1: the pixels of the image are below
  int below_columns = 0;
  int below_cells = 0;  ///< of a grid point below: LGN cells or minicolumns
  int inputs = 0;       ///< of a hypercolumn
  int padded = 0;       ///< minicolumns
  // Of a cortical network, see hierarchy_of() in hypercolumn.h.
  int pitch = 0;  ///< weights of a minicolumn, padded
  int words = 0;  ///< of strong bits of an input, a bit for each padded minicolumn
  std::size_t strong_at = 0;
  // Where the other arrays of the level begin, in elements.
  std::size_t weights_at = 0;
  std::size_t minicolumns_at = 0;  ///< arrays with an element for each padded minicolumn
  std::size_t weights = 0;         ///< of a hypercolumn, padded

  /// Of a hypercolumn.
  std::size_t strong_words() const noexcept {
    return static_cast<std::size_t>(inputs) * static_cast<std::size_t>(words);
  }
};

struct Hierarchy {
  int width = 0;  ///< of the images, pixels
  int height = 0;
  int level_count = 0;
  std::array<LevelPlan, kMaxCorticalLevels> levels{};
  int hypercolumns = 0;         ///< of all levels
  std::size_t weights = 0;      ///< of all levels, padded
  std::size_t strong = 0;       ///< words of all levels of a cortical network
  std::size_t minicolumns = 0;  ///< of all levels, padded
  int most_inputs = 0;          ///< of a hypercolumn
  int most_minicolumns = 0;     ///< of a hypercolumn, padded

  const LevelPlan& level(int number) const noexcept {
    return levels[static_cast<std::size_t>(number)];
  }
  /// Where the weights of a hypercolumn begin (in a cortical network, of its minicolumn), its
  /// strong bits, and the arrays with an element for each minicolumn.
  std::size_t weights_of(int number, int hypercolumn, int minicolumn = 0) const noexcept {
    const LevelPlan& l = level(number);
    return l.weights_at + static_cast<std::size_t>(hypercolumn) * l.weights +
           static_cast<std::size_t>(minicolumn) * static_cast<std::size_t>(l.pitch);
  }
  std::size_t strong_of(int number, int hypercolumn) const noexcept {
    return level(number).strong_at +
           static_cast<std::size_t>(hypercolumn) * level(number).strong_words();
  }
  std::size_t minicolumns_of(int number, int hypercolumn) const noexcept {
    const LevelPlan& l = level(number);
    return l.minicolumns_at +
           static_cast<std::size_t>(hypercolumn) * static_cast<std::size_t>(l.padded);
  }
};

/// A number between bounds. Errors: InvalidArgument, with its name.
Expected<void> check_number(const char* name, long long value, long long low,
                            long long high) noexcept;

/// Reads a level, such as 12x12/2x2:256: window, stride, minicolumns. Returns where its text ends,
/// or null.
const char* parse_level(const char* text, CorticalLevel& level) noexcept;

/// Hypercolumns of the lowest level without windows: each has a list of cells of its own.
struct FreeFields {
  int count = 0;  ///< hypercolumns; 0: there are windows
  int inputs = 0;
};

/// Plans a hierarchy over images with `cells` binary cells in each pixel. With free fields, the
/// lowest level is a row of hypercolumns, and of its shape only the number of minicolumns counts.
/// Errors: InvalidArgument.
Expected<Hierarchy> plan_hierarchy(int width, int height, int cells,
                                   std::span<const CorticalLevel> levels,
                                   const FreeFields& fields = {}) noexcept;

/// Numbers of the active inputs of a hypercolumn, in ascending order. Returns how many there are.
/// `cells`: of the image, [pixel][cell], 0 or 1; `winners`: of each hypercolumn, counted over all
/// levels, or kSilent.
int active_inputs(const Hierarchy& hierarchy, int level, int hypercolumn, const std::uint8_t* cells,
                  const std::int32_t* winners, std::uint16_t* active) noexcept;

/// The same for a free field of `inputs` cells.
int active_inputs(const std::uint16_t* field, int inputs, const std::uint8_t* cells,
                  std::uint16_t* active) noexcept;

}  // namespace ocellus::detail
