// What the texts of synthetic sources (test:) have in common.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "apps/common/common.h"

namespace ocellus::app {

/// The text of a source: parts with commas between them. Errors name the text and the part.
class SceneText {
 public:
  /// The parts follow the first `begin` bytes. `form`: of such a text.
  SceneText(const std::string& text, std::size_t begin, const char* form)
      : text_(text), rest_(text.substr(std::min(begin, text.size()))), form_(form) {}

  /// Goes to the next part. Returns false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const std::size_t comma = rest_.find(',');
    part_ = rest_.substr(0, comma);
    rest_ = comma == std::string::npos ? "" : rest_.substr(comma + 1);
    const std::size_t equals = part_.find('=');
    has_value_ = equals != std::string::npos;
    name_ = part_.substr(0, equals);
    value_ = has_value_ ? part_.substr(equals + 1) : "";
    return true;
  }
  const std::string& part() const { return part_; }
  /// Whether the part has the form NAME=VALUE.
  bool has_value() const { return has_value_; }
  bool is(const char* name) const { return has_value_ && name_ == name; }
  const std::string& value() const { return value_; }

  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError(fmt::format("{}: '{}' {}; {}", text_, part_, why, form_));
  }
  [[noreturn]] void refuse_unknown() const {
    refuse(has_value_ ? "is unknown" : "does not have the form NAME=VALUE");
  }

  /// The number `value` of the part. Throws InputError if it is none or out of its range.
  template <typename T>
  T number(const std::string& value, T low, T high) const {
    const std::optional<T> result = number_of<T>(value);
    if (!result || !(*result >= low && *result <= high))
      refuse(fmt::format("must be a number from {} to {}", low, high));
    return *result;
  }
  template <typename T>
  T number(T low, T high) const {
    return number(value_, low, high);
  }
  /// Frames per second, behind an @.
  double rate(const std::string& value) const {
    const std::optional<double> fps = number_of<double>(value);
    if (!fps || !(*fps >= 0.1 && *fps <= 1000.0))
      refuse("must have 0.1 to 1000 frames per second behind @");
    return *fps;
  }

 private:
  std::string text_;
  std::string rest_;
  const char* form_;
  std::string part_;
  std::string name_;
  std::string value_;
  bool has_value_ = false;
};

}  // namespace ocellus::app
