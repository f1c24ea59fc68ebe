// What the texts of synthetic sources (test:) have in common.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "apps/common/input_error.h"

namespace ocellus::app {

/// Refuses `part` of the text of a source. `form` is the form of such a text.
[[noreturn]] inline void refuse_part(const std::string& text, const std::string& part,
                                     const std::string& why, const char* form) {
  throw InputError(fmt::format("{}: '{}' {}; {}", text, part, why, form));
}

/// The number `value` of `part`. Throws InputError if it is none or out of its range.
template <typename T>
T number_of_part(const std::string& text, const std::string& part, const std::string& value, T low,
                 T high, const char* form) {
  T result{};
  const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (code != std::errc() || end != value.data() + value.size() ||
      !(result >= low && result <= high)) {
    refuse_part(text, part, fmt::format("must be a number from {} to {}", low, high), form);
  }
  return result;
}

}  // namespace ocellus::app
