#include "apps/common/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "apps/common/input_error.h"
#include "apps/common/printable.h"

namespace ocellus::app {
namespace {

/// The number of values and the nesting depth, estimated from the commas and brackets outside
/// strings. In text that is not valid JSON, the estimate is at least what a parser would create
/// before it fails.
struct Extent {
  std::size_t values = 1;
  int depth = 0;
};

Extent extent_of(std::string_view text) {
  Extent extent;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      ++extent.values;
      extent.depth = std::max(extent.depth, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',') {
      ++extent.values;
    }
  }
  return extent;
}

}  // namespace

void check_json_begin(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  if (text.empty() || text[0] == '{' || text[0] == '[') return;
  throw InputError(
      fmt::format("it must be JSON, which begins with {{; it begins with \"{}\"",
                  printable(text.substr(0, text.find_first_of(kSpace)), kMostOfValue)));
}

void refuse_json(const nlohmann::json::exception& error) {
  // The prefix "[json.exception...] " only helps programmers.
  const std::string_view what = error.what();
  const std::size_t end = what.find("] ");
  throw InputError(fmt::format(
      "not valid JSON: {}",
      printable(end == std::string_view::npos ? what : what.substr(end + 2), kMostOfValue)));
}

nlohmann::json json_object(std::string_view text) {
  check_json_begin(text);
  if (text.size() > kMostJsonBytes) {
    throw InputError(fmt::format("the JSON has {}; the limit is {}", bytes_text(text.size()),
                                 bytes_text(kMostJsonBytes)));
  }
  const Extent extent = extent_of(text);
  if (extent.depth > kMostJsonDepth) {
    throw InputError(fmt::format("the JSON nests {} arrays and objects; the limit is {}",
                                 extent.depth, kMostJsonDepth));
  }
  if (extent.values > kMostJsonValues) {
    throw InputError(
        fmt::format("the JSON has {} values; the limit is {}", extent.values, kMostJsonValues));
  }
  nlohmann::json root;
  try {
    std::vector<std::set<std::string>> open;  // the keys of each object that has not ended
    root = nlohmann::json::parse(
        text, [&open](int, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
          using Event = nlohmann::json::parse_event_t;
          if (event == Event::object_start) open.emplace_back();
          if (event == Event::object_end) open.pop_back();
          if (event == Event::key && !open.back().insert(parsed.get<std::string>()).second)
            throw InputError(
                fmt::format("the JSON has \"{}\" twice in one object",
                            printable(parsed.get_ref<const std::string&>(), kMostOfValue)));
          return true;
        });
  } catch (const nlohmann::json::exception& error) {
    refuse_json(error);
  }
  if (!root.is_object()) throw InputError("the JSON is not an object");
  return root;
}

std::string shown_json(const nlohmann::json& value) {
  return printable(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                   kMostOfValue);
}

}  // namespace ocellus::app
