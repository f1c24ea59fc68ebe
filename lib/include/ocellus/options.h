// Options: the values of a configuration by name, for programs that set them from a command line, a
// file or a property. Each configuration has one table of its options; what is known of an option
// stands in its row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

enum class OptionType : std::uint8_t {
  kBool,    ///< "true" or "false"
  kInt,     ///< a whole number of 32 bits
  kFloat,   ///< a finite number
  kChoice,  ///< one of Option::choices
  kText,    ///< a text; what it must be, `help` says
};

/// A word that an option of the type kChoice takes.
struct OptionChoice {
  const char* word;
  int value;  ///< of the member
  const char* help;
};

/// A text inside a configuration, cut off by nobody: what is too long is refused.
template <std::size_t Capacity>
struct Text {
  char data[Capacity] = {};  ///< NUL-terminated

  constexpr Text() noexcept = default;
  constexpr std::string_view view() const noexcept { return data; }
  constexpr const char* c_str() const noexcept { return data; }
  constexpr bool empty() const noexcept { return data[0] == '\0'; }
  static constexpr std::size_t capacity() noexcept { return Capacity - 1; }
  /// False, and nothing is changed, when the text is too long or holds a NUL.
  constexpr bool assign(std::string_view text) noexcept {
    if (text.size() >= Capacity || text.find('\0') != std::string_view::npos) return false;
    std::fill(std::copy(text.begin(), text.end(), data), data + Capacity, '\0');
    return true;
  }
  friend constexpr bool operator==(const Text& a, const Text& b) noexcept {
    return a.view() == b.view();
  }
};

/// A row of a table. Static storage, as all texts in it.
struct Option {
  const char* name = "";  ///< of the member, such as "sigma_space"
  OptionType type = OptionType::kInt;
  const char* unit = "";  ///< "pixels"; "" without one
  const char* help = "";  ///< one sentence without its full stop
  double low = 0.0;       ///< kInt, kFloat: the range, ends included
  double high = 0.0;
  bool odd = false;                         ///< kInt: and odd
  std::span<const OptionChoice> choices{};  ///< kChoice
  const char* needs = "";                   ///< when it has a meaning, in words; "": always

  /// Null: it always has a meaning.
  bool (*has_meaning)(const void* config) noexcept = nullptr;
  /// kBool, kInt, kFloat, kChoice.
  double (*get)(const void* config) noexcept = nullptr;
  void (*set)(void* config, double value) noexcept = nullptr;
  /// kText. `set_text` errors: InvalidArgument and what reading a file gives; the text says what
  /// would be right.
  void (*get_text)(const void* config, char* text, std::size_t capacity) noexcept = nullptr;
  Expected<void> (*set_text)(void* config, std::string_view text) noexcept = nullptr;

  bool means_something(const void* config) const noexcept {
    return has_meaning == nullptr || has_meaning(config);
  }
};

using OptionTable = std::span<const Option>;

/// Longest text of an option, with its NUL.
inline constexpr std::size_t kMaxOptionText = 1024;

/// An option by its name, with '_' or '-' between the words. Null: there is none.
const Option* find_option(OptionTable table, std::string_view name) noexcept;

/// A value for an option.
struct OptionSetting {
  std::string_view name;
  std::string_view value;
};

namespace detail {
Expected<void> set_options(OptionTable table, void* config,
                           std::span<const OptionSetting> settings) noexcept;
void get_option(const Option& option, const void* config, char* text,
                std::size_t capacity) noexcept;
/// The values of all options that have a meaning. Errors: InvalidArgument, naming option, value and
/// range.
Expected<void> check_options(OptionTable table, const void* config) noexcept;
}  // namespace detail

/// Sets options in the order of the table, whatever the order of the settings is: a preset comes
/// before what changes it. An option that is not named keeps its value, or takes the preset's.
/// Errors: InvalidArgument: an unknown name, a value that cannot be read or is out of its range, an
/// option that has no meaning with the others. The text names the option. After an error `config`
/// is unchanged or partly changed, and must not be used.
template <typename Config>
Expected<void> set_options(Config& config, std::span<const OptionSetting> settings) noexcept {
  return detail::set_options(Config::options(), &config, settings);
}
template <typename Config>
Expected<void> set_option(Config& config, std::string_view name, std::string_view value) noexcept {
  const OptionSetting setting{name, value};
  return set_options(config, std::span(&setting, 1));
}

/// The value of an option as text, which `set_option` takes. Errors: InvalidArgument (no such
/// name).
template <typename Config>
Expected<Text<kMaxOptionText>> get_option(const Config& config, std::string_view name) noexcept {
  const Option* const option = find_option(Config::options(), name);
  if (option == nullptr) {
    return tl::unexpected(make_error(Status::kInvalidArgument, "there is no option \"%.*s\"",
                                     static_cast<int>(std::min<std::size_t>(name.size(), 60)),
                                     name.data()));
  }
  Text<kMaxOptionText> text;
  detail::get_option(*option, &config, text.data, sizeof(text.data));
  return text;
}

}  // namespace ocellus

#pragma GCC visibility pop
