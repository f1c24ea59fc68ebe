// Model files of the cortical classifier, shared by the operator and by programs that train.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/model_file.h"
#include "cortex/classifier.h"

namespace ocellus::detail {

inline constexpr ModelKind kCortexKind{"cortex", "cortex model", 1, 32768};

/// What the table of a model file says.
struct CortexTable {
  CortexShape shape;
  float sharpness = 1.0f;
  std::array<char[kMaxClassName + 1], kMaxCortexClasses> names{};
  char note[256] = {};
};

/// Where the arrays lie, counted from the first byte of the arrays.
struct CortexPlaces {
  std::uint64_t weights = 0;
  std::uint64_t bias = 0;
  std::uint64_t read_out = 0;
  std::uint64_t class_bias = 0;
  std::uint64_t bytes = 0;  ///< of all
};

CortexPlaces places_of(const CortexShape& shape) noexcept;
/// The arrays at `bytes`, which is aligned to 64 bytes.
CortexArrays arrays_at(const CortexShape& shape, const std::uint8_t* bytes) noexcept;

/// A sharpness in its range: above 0, at most 1000.
bool is_sharpness(float sharpness) noexcept;

/// Checks the values of the arrays. Errors: CorruptFile.
Expected<void> check_arrays(const CortexShape& shape, const CortexArrays& arrays) noexcept;

/// Checks the table and the length of the arrays. `bytes` has passed the checks of the container.
/// Errors: CorruptFile.
Expected<void> parse_cortex_table(const void* bytes, const ModelHeader& header,
                                  CortexTable& table) noexcept;

}  // namespace ocellus::detail
