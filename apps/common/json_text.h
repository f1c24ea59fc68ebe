// JSON that people write by hand, and JSON that the program prints.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "apps/common/printable.h"

namespace ocellus::app {

/// What the program reads has at most so many bytes, so many values (a value takes up to 80 bytes
/// of memory), and so many arrays and objects in each other.
inline constexpr std::size_t kMostJsonBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMostJsonValues = 800'000;
inline constexpr int kMostJsonDepth = 16;

/// The object that `text` holds. All JSON that the program reads comes through here: its size,
/// values and depth are bounded before it is parsed. Throws InputError.
nlohmann::json json_object(std::string_view text);

/// A value as it may stand in an error's text: on one line, cut off where it is long.
std::string shown_json(const nlohmann::json& value);

/// An object, indented, as text for a terminal or a file. Names of files need not be UTF-8.
template <typename Object>
std::string json_text(const Object& object) {
  return printable_json(object.dump(2, ' ', false, Object::error_handler_t::replace));
}

}  // namespace ocellus::app
