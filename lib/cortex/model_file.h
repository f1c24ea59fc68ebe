// Model files of the cortical classifier, shared by the operator and by programs that train.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/model_file.h"
#include "cortex/classifier.h"
#include "cortex/hebbian_features.h"

namespace ocellus::detail {

inline constexpr ModelKind kCortexKind{"cortex", "cortex model", 1, 32768};

/// What the table of a model file says.
struct CortexTable {
  CortexShape shape;
  CortexRule rule = CortexRule::kHebb;  ///< by which the features were learned
  float sharpness = 1.0f;
  std::array<ClassName, kMaxCortexClasses> names{};
  char note[256] = {};
  bool probabilities = false;  ///< the file has P
};

/// Where the arrays lie, counted from the first byte of the arrays.
struct CortexPlaces {
  std::uint64_t weights = 0;
  std::uint64_t bias = 0;
  std::uint64_t read_out = 0;
  std::uint64_t fields = 0;
  std::uint64_t class_bias = 0;
  std::uint64_t probabilities = 0;  ///< behind all others
  std::uint64_t bytes = 0;          ///< of all
};

/// With or without P. The other arrays lie at the same places in both.
CortexPlaces places_of(const CortexShape& shape, bool probabilities) noexcept;
/// The arrays at `bytes`, which is aligned to 64 bytes.
CortexArrays arrays_at(const CortexShape& shape, const std::uint8_t* bytes) noexcept;
/// Those that change while an operator learns.
LearningArrays learning_arrays_at(const CortexShape& shape, std::uint8_t* bytes) noexcept;

/// Checks the values of the arrays. Errors: CorruptFile.
Expected<void> check_arrays(const CortexShape& shape, const CortexArrays& arrays) noexcept;
/// The same for P.
Expected<void> check_probabilities(const std::uint32_t* values, std::size_t count) noexcept;

/// Writes the table. `names`: of the classes.
void build_cortex_table(flatbuffers::FlatBufferBuilder& builder, const CortexParameters& parameters,
                        CortexRule rule, float sharpness, std::span<const std::string_view> names,
                        std::string_view note, bool probabilities) noexcept;

/// Checks the table and the length of the arrays. `bytes` has passed the checks of the container.
/// Errors: CorruptFile.
Expected<void> parse_cortex_table(const void* bytes, const ModelHeader& header,
                                  CortexTable& table) noexcept;

}  // namespace ocellus::detail
