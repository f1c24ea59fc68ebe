#include "json_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "input_error.h"
#include "output_file.h"

namespace ocellus::app {
namespace {

/// The most arrays and objects in each other, as brackets outside of strings say. In text that is
/// no JSON it is at least as deep as a parser gets before it finds that out.
int depth_of(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

nlohmann::json json_object(std::string_view text) {
  if (text.size() > kMostJsonBytes) {
    throw InputError(fmt::format("the JSON has {}; at most {} are read", bytes_text(text.size()),
                                 bytes_text(kMostJsonBytes)));
  }
  if (const int depth = depth_of(text); depth > kMostJsonDepth) {
    throw InputError(
        fmt::format("the JSON has {} arrays and objects in each other; at most {} are read", depth,
                    kMostJsonDepth));
  }
  nlohmann::json root;
  try {
    root = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception...] " is for those who program with the library.
    const std::string_view what = error.what();
    const std::size_t end = what.find("] ");
    throw InputError(fmt::format(
        "not valid JSON: {}",
        printable(end == std::string_view::npos ? what : what.substr(end + 2), kMostOfValue)));
  }
  if (!root.is_object()) throw InputError("the JSON is not an object");
  return root;
}

std::string shown_json(const nlohmann::json& value) {
  return printable(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                   kMostOfValue);
}

}  // namespace ocellus::app
