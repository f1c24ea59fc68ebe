// The filters that come with the library.
#include <algorithm>
#include <cstdio>
#include <span>

#include "filter_library_generated.h"
#include "ocellus/restoration_filter.h"

namespace ocellus {
namespace detail {

/// filter_library.json as a FlatBuffer, from the build.
std::span<const std::uint8_t> filter_library() noexcept;

}  // namespace detail

std::optional<RestorationFilter> find_restoration_filter(std::string_view name) noexcept {
  const auto& library = *flatbuffers::GetRoot<file::FilterLibrary>(detail::filter_library().data());
  for (const file::LibraryFilter* const from : *library.filters()) {
    if (from->name()->string_view() != name) continue;
    RestorationFilter filter;
    filter.support = from->support();
    for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
      std::copy(from->feedforward()->begin(), from->feedforward()->end(),
                filter.feedforward[q].begin());
      std::copy(from->feedback()->begin(), from->feedback()->end(), filter.feedback[q].begin());
    }
    std::snprintf(filter.note, sizeof(filter.note), "%s of the library: ocellus %s",
                  from->name()->c_str(), from->command()->c_str());
    return filter;
  }
  return std::nullopt;
}

}  // namespace ocellus
