// JSON input that users write by hand, and JSON output of the program.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "apps/common/printable.h"

namespace ocellus::app {

/// Limits of JSON input: bytes, values (one value takes up to 80 bytes of memory), and nesting
/// depth of arrays and objects.
inline constexpr std::size_t kMostJsonBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMostJsonValues = 800'000;
inline constexpr int kMostJsonDepth = 16;

/// Parses an object. The program reads all JSON through this function, which checks size, number of
/// values and depth before it parses. Throws InputError.
nlohmann::json json_object(std::string_view text);

/// Throws InputError that names the first word of the text, unless the text is empty or begins an
/// object or an array.
void check_json_begin(std::string_view text);

/// Throws InputError for an error of the parser.
[[noreturn]] void refuse_json(const nlohmann::json::exception& error);

/// A value for an error text: on one line, and cut off if it is long.
std::string shown_json(const nlohmann::json& value);

/// Prints an object, indented, for a terminal or a file. File names in it need not be valid UTF-8.
template <typename Object>
std::string json_text(const Object& object) {
  return printable_json(object.dump(2, ' ', false, Object::error_handler_t::replace));
}

/// The same on one line.
template <typename Object>
std::string json_line(const Object& object) {
  return printable_json(object.dump(-1, ' ', false, Object::error_handler_t::replace));
}

}  // namespace ocellus::app
