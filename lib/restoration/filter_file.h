// Reads and writes a filter file (*.ocellus). restoration_filter.fbs describes its table and its
// array.
#pragma once

#include <cstddef>

#include "core/model_file.h"
#include "ocellus/restoration_filter.h"
#include "ocellus/status.h"

namespace ocellus::detail {

inline constexpr ModelKind kFilterKind{"filter", "filter file", 2, 960};

/// Number of floats in the array of a file.
constexpr std::size_t filter_floats(int support) {
  return std::size_t{2} * kFilterQuadrants * static_cast<std::size_t>(support * support);
}

/// Checks the table and fills in everything except the coefficients. `bytes` are the file up to its
/// arrays, aligned to 8 bytes. Errors: CorruptFile.
Expected<void> parse_filter_table(const void* bytes, const ModelHeader& model,
                                  RestorationFilter& filter, FilterFileInfo& info) noexcept;

/// Copies the coefficients from the array of a file of `filter.support`. Errors: CorruptFile (a
/// value that is not finite).
Expected<void> set_coefficients(const float* array, RestorationFilter& filter) noexcept;

/// The bytes of a filter file.
struct FilterFileBytes {
  alignas(8) unsigned char bytes[model_arrays_at(kFilterKind.max_table_bytes) +
                                 filter_floats(kMaxFilterSupport) * sizeof(float)];
  std::size_t count = 0;
};

/// Makes the file of a filter that an operator takes, and returns what `analyze_filter` says of it.
/// `residual`: FilterFileInfo::residual. Errors: those of analyze_filter.
Expected<FilterProperties> encode_filter(const RestorationFilter& filter, float residual,
                                         FilterFileBytes& file) noexcept;

}  // namespace ocellus::detail
