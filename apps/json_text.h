// JSON that people write by hand.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "input_error.h"

namespace ocellus::app {

/// The object that `source` holds, a string or a stream. Throws InputError.
template <typename Source>
nlohmann::json json_object(Source&& source) {
  nlohmann::json root;
  try {
    root = nlohmann::json::parse(std::forward<Source>(source));
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception...] " is for those who program with the library.
    const std::string_view text = error.what();
    const std::size_t end = text.find("] ");
    throw InputError(fmt::format("not valid JSON: {}",
                                 end == std::string_view::npos ? text : text.substr(end + 2)));
  }
  if (!root.is_object()) throw InputError("the JSON is not an object");
  return root;
}

}  // namespace ocellus::app
