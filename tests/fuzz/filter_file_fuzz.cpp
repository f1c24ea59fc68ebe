// Fuzz target: any bytes as a filter file of restoration. The reader must not read out of bounds or
// return a value out of range, and the analysis must end with a proof or a text. Sanitizers detect
// other faults. With clang this is a libFuzzer program. Otherwise replay.cpp runs it over the seeds
// and over a fixed number of damaged copies.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "fuzz/memory_file.h"
#include "fuzz/model_bytes.h"
#include "ocellus/restoration_filter.h"
#include "restoration/filter_file.h"

namespace {

using namespace ocellus;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_as_filter(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file(data, size);
  FilterFileInfo info;
  const auto filter = read_restoration_filter(file.path().c_str(), &info);
  if (!filter) return require(filter.error().text[0] != '\0');
  require(filter->support >= 1 && filter->support <= kMaxFilterSupport);
  require(info.margin > 0.0f && info.margin <= 1.0f);
  require(info.response >= 0 && info.response <= kMaxFilterResponse);
  require(info.residual >= 0.0f || info.residual == -1.0f);
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    for (const float a : filter->feedforward[q]) require(std::isfinite(a));
    for (const float b : filter->feedback[q]) require(std::isfinite(b));
  }
  // The proof takes up to a second for a large support.
  if (filter->support > 4) return;
  const auto properties = analyze_filter(*filter);
  if (!properties) return require(properties.error().text[0] != '\0');
  require(properties->largest_root < 1.0 && properties->response <= kMaxFilterResponse);
  require(std::isfinite(properties->gain) && std::isfinite(properties->absolute_gain));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_as_filter(data, size);
  // The input again with a corrected header, because nearly every other input is refused at its
  // header.
  std::vector<std::uint8_t> bytes(data, data + size);
  if (fuzz::mend_header(bytes, detail::kFilterKind, true))
    read_as_filter(bytes.data(), bytes.size());
  return 0;
}
