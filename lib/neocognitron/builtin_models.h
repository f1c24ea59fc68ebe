// The models that are part of the library.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ocellus::detail {

/// The bytes of a model file, aligned to 64 bytes; empty if the library has no such model.
std::span<const std::uint8_t> builtin_model(std::string_view name) noexcept;

}  // namespace ocellus::detail
