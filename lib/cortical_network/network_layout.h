// Where the arrays of a cortical network lie on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cortical_network/hierarchy.h"

namespace ocellus::detail {

/// Weights of a minicolumn are padded to this number of inputs: a cache line.
inline constexpr int kInputAlignment = 32;
inline constexpr int kBitsOfWord = 32;
/// The strong bits of a level begin at a multiple of this number of words, so that rows can be read
/// as vectors.
inline constexpr std::size_t kStrongAlignment = 8;

constexpr int padded_inputs(int count) noexcept {
  return (count + kInputAlignment - 1) / kInputAlignment * kInputAlignment;
}

/// A response needs to know which minicolumns have a strong weight for each active input, and
/// rarely a weight itself: a bit of each weight is kept apart. The winner learns with all of its
/// weights, which lie side by side.
struct LevelLayout {
  int minicolumns = 0;  ///< of a hypercolumn
  int inputs = 0;       ///< of a hypercolumn
  int pitch = 0;        ///< weights of a minicolumn, padded
  int words = 0;        ///< of strong bits of an input, a bit for each padded minicolumn
  std::size_t weights_at = 0;
  std::size_t strong_at = 0;

  /// Elements of a hypercolumn.
  std::size_t weights() const noexcept {
    return static_cast<std::size_t>(minicolumns) * static_cast<std::size_t>(pitch);
  }
  std::size_t strong_words() const noexcept {
    return static_cast<std::size_t>(inputs) * static_cast<std::size_t>(words);
  }
};

struct NetworkLayout {
  std::array<LevelLayout, kMaxCorticalLevels> levels{};
  std::size_t weights = 0;  ///< [hypercolumn][minicolumn][padded input]
  std::size_t strong = 0;   ///< [hypercolumn][input][word]

  const LevelLayout& level(int number) const noexcept {
    return levels[static_cast<std::size_t>(number)];
  }
  std::size_t weights_of(int number, int hypercolumn, int minicolumn) const noexcept {
    const LevelLayout& l = level(number);
    return l.weights_at + static_cast<std::size_t>(hypercolumn) * l.weights() +
           static_cast<std::size_t>(minicolumn) * static_cast<std::size_t>(l.pitch);
  }
  std::size_t strong_of(int number, int hypercolumn) const noexcept {
    const LevelLayout& l = level(number);
    return l.strong_at + static_cast<std::size_t>(hypercolumn) * l.strong_words();
  }
};

NetworkLayout layout_of(const Hierarchy& hierarchy) noexcept;

}  // namespace ocellus::detail
