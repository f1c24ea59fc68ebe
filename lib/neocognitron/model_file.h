// Model files of the neocognitron, shared by the operator and by programs that train.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/model_file.h"
#include "ocellus/neocognitron_model.h"

namespace ocellus::detail {

inline constexpr ModelKind kNeocognitronKind{"neocog", "neocognitron model", 1, 32768};

/// What the table of a model file says.
struct NeocognitronTable {
  NeocognitronParameters parameters;
  PatchNormalization normalization;
  ConfidenceCalibration calibration;
  std::array<int, kNeocognitronStages> planes{};  ///< 16, K2, K3, K4
  int classes = 0;
  bool has_other = false;  ///< the last class is what is no character
  CharacterOdds odds;
  bool has_sizes = false;
  std::array<CharacterSize, kMaxCharacterClasses> sizes{};  ///< of the classes of characters
  std::array<int, kMaxCharacterClasses> references{};       ///< of each class; K4 together
  std::array<ClassName, kMaxCharacterClasses> names{};
  char note[256] = {};

  /// Classes of characters. They come first.
  int characters() const noexcept { return classes - (has_other ? 1 : 0); }
  /// Of each class of characters; empty if the model does not have them.
  std::span<const CharacterSize> known_sizes() const noexcept {
    return {sizes.data(), has_sizes ? static_cast<std::size_t>(characters()) : 0};
  }
};

/// Where an array lies, counted from the first byte of the arrays.
struct ModelArray {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
};

struct NeocognitronArrays {
  std::array<ModelArray, kNeocognitronStages> weights{};
  ModelArray lengths;
  std::uint64_t bytes = 0;  ///< of all
};

/// Errors: InvalidArgument (a number that is not in its range).
Expected<void> check_calibration(const ConfidenceCalibration& calibration) noexcept;

/// Errors: InvalidArgument (a number that is not in its range).
Expected<void> check_odds(const CharacterOdds& odds) noexcept;
Expected<void> check_size(const CharacterSize& size) noexcept;

/// Planes of UG (stage 0) or of the C-layer below a stage.
int planes_below(const NeocognitronTable& table, int stage) noexcept;
/// Cells of that layer that may be active: this share of all, rounded up.
std::uint32_t active_capacity(const NeocognitronTable& table, int stage, float share) noexcept;
/// Weights of a stage: taps * planes below * planes.
std::uint64_t weight_count(const NeocognitronTable& table, int stage) noexcept;
/// The arrays follow each other.
NeocognitronArrays arrays_of(const NeocognitronTable& table) noexcept;

/// Checks the values of the arrays. `arrays` are all of them, aligned to 4 bytes. Errors:
/// CorruptFile.
Expected<void> check_arrays(const NeocognitronTable& table, const std::uint8_t* arrays) noexcept;

/// Checks the table and the length of the arrays. `bytes` has passed the checks of the container.
/// Errors: CorruptFile.
Expected<void> parse_neocognitron_table(const void* bytes, const ModelHeader& header,
                                        NeocognitronTable& table) noexcept;

}  // namespace ocellus::detail
