// The models of the cortical classifier that are part of the library.
#include "ocellus/cortex.h"

namespace ocellus {
namespace detail {

std::span<const std::uint8_t> cortex_digits_model() noexcept;  // from the build

}  // namespace detail

std::span<const std::uint8_t> library_cortex_model(std::string_view name) noexcept {
  if (name == "digits") return detail::cortex_digits_model();
  return {};
}

}  // namespace ocellus
