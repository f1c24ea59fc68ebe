// The input of a fuzz target as a model file.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "core/model_file.h"

namespace ocellus::fuzz {

/// Corrects the header, so that the reader continues behind it: magic number, kind, versions,
/// lengths and checksums. Without arrays, the table extends to the end. Returns false if there are
/// too few bytes.
inline bool mend_header(std::vector<std::uint8_t>& bytes, const detail::ModelKind& kind,
                        bool has_arrays) {
  constexpr std::size_t kTableBytesAt = 20;
  if (bytes.size() < detail::kModelTableAt) return false;
  std::uint32_t table_bytes = 0;
  std::memcpy(&table_bytes, bytes.data() + kTableBytesAt, sizeof(table_bytes));
  if (!has_arrays) {
    const auto rest = static_cast<std::uint32_t>(bytes.size() - detail::kModelTableAt);
    bytes.resize(detail::model_arrays_at(rest));
    if (detail::model_arrays_at(table_bytes) != bytes.size()) table_bytes = rest;
  }
  const std::uint64_t arrays_at = detail::model_arrays_at(table_bytes);
  if (arrays_at > bytes.size()) return false;
  const auto* const table = bytes.data() + detail::kModelTableAt;
  const std::vector<std::uint8_t> copy(table, table + table_bytes);
  const std::uint64_t array_bytes = bytes.size() - arrays_at;
  detail::write_model_header(kind, copy.data(), table_bytes, array_bytes,
                             XXH64(bytes.data() + arrays_at, array_bytes, 0), bytes.data());
  return true;
}

}  // namespace ocellus::fuzz
