// Options: the values of a configuration by name, for programs that set them from a command line, a
// file or a property. Each configuration has one table of its options. Each row describes one
// option completely.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Type of an option and of its text.
enum class OptionType : std::uint8_t {
  kBool,    ///< "true" or "false"
  kInt,     ///< an integer of 32 bits
  kFloat,   ///< a finite number
  kChoice,  ///< one of Option::choices
  kText,    ///< a text; `help` says what is valid
};

/// A word that an option of type kChoice accepts.
struct OptionChoice {
  const char* word{};
  int value{};  ///< value of the member
  const char* help{};
};

/// A text inside a configuration. Texts that are too long are refused, not cut off.
template <std::size_t Capacity>
struct Text {
  char data[Capacity] = {};  ///< NUL-terminated

  constexpr Text() noexcept = default;
  /// An array that fits, such as a literal. A longer one does not compile.
  template <std::size_t N>
  requires(N <= Capacity) constexpr Text(const char (&text)[N]) noexcept {
    std::copy_n(text, N - 1, data);
  }
  /// A text whose length is not known may not fit: use `assign`, which tells.
  explicit Text(std::string_view text) = delete;
  constexpr std::string_view view() const noexcept { return data; }
  constexpr const char* c_str() const noexcept { return data; }
  constexpr bool empty() const noexcept { return data[0] == '\0'; }
  static constexpr std::size_t capacity() noexcept { return Capacity - 1; }
  /// Returns false and changes nothing if the text is too long or contains a NUL.
  [[nodiscard]] constexpr bool assign(std::string_view text) noexcept {
    if (text.size() >= Capacity || text.find('\0') != std::string_view::npos) return false;
    std::fill(std::copy(text.begin(), text.end(), data), data + Capacity, '\0');
    return true;
  }
  friend constexpr bool operator==(const Text& a, const Text& b) noexcept {
    return a.view() == b.view();
  }
};

/// A row of an option table. Static storage, as all texts in it.
struct Option {
  const char* name = "";  ///< name of the member, such as "sigma_space"
  OptionType type = OptionType::kInt;
  const char* unit = "";  ///< for example "pixels"; "": no unit
  const char* help = "";  ///< one sentence without the final period
  double low = 0.0;       ///< kInt, kFloat: smallest and largest value, both valid
  double high = 0.0;
  bool odd = false;                         ///< kInt: only odd values are valid
  std::span<const OptionChoice> choices{};  ///< kChoice
  /// The condition under which the option has a meaning, in words; "": always.
  const char* needs = "";

  /// Null: the option always has a meaning.
  bool (*has_meaning)(const void* config) noexcept = nullptr;
  /// For kBool, kInt, kFloat and kChoice.
  double (*get)(const void* config) noexcept = nullptr;
  void (*set)(void* config, double value) noexcept = nullptr;
  /// For kText. Errors of `set_text`: InvalidArgument (the text says what is valid), and errors of
  /// reading a file.
  void (*get_text)(const void* config, char* text, std::size_t capacity) noexcept = nullptr;
  Expected<void> (*set_text)(void* config, std::string_view text) noexcept = nullptr;

  bool means_something(const void* config) const noexcept {
    return has_meaning == nullptr || has_meaning(config);
  }
};

/// The options of a configuration, in the order in which they are set.
using OptionTable = std::span<const Option>;

/// Capacity for the text of an option, including the NUL.
inline constexpr std::size_t kMaxOptionText = 2048;

/// Returns the option of this name, or null if there is none. Words may be separated by '_' or '-'.
const Option* find_option(OptionTable table, std::string_view name) noexcept;

/// An option by name, and its value as text.
struct OptionSetting {
  std::string_view name{};
  std::string_view value{};
};

/// Finds the name that was probably meant by one that does not exist, for error texts. Looks for
/// few letters that are wrong, missing, too many or swapped, or else for a name that contains the
/// given one. '-' counts as '_'.
class NearestName {
 public:
  explicit NearestName(std::string_view given) noexcept;

  void consider(std::string_view name) noexcept;
  /// The nearest of the names that were considered; "" if none is near.
  std::string_view found() const noexcept { return found_; }

 private:
  std::string_view given_;
  std::string_view found_;
  std::size_t distance_;  ///< of the names that are not near
};

namespace detail {
/// The error for a name that is not in the table. Names the nearest option.
tl::unexpected<Error> unknown_option(OptionTable table, std::string_view name) noexcept;
Expected<void> set_options(OptionTable table, void* config,
                           std::span<const OptionSetting> settings) noexcept;
void get_option(const Option& option, const void* config, char* text,
                std::size_t capacity) noexcept;
/// Checks the values of all options that have a meaning. Errors: InvalidArgument; the text names
/// option, value and range.
Expected<void> check_options(OptionTable table, const void* config) noexcept;
}  // namespace detail

/// Sets options in the order of the table, whatever the order of `settings`: a preset is applied
/// before the options that modify it. An option that is not named keeps its value or takes the
/// preset's value.
///
/// Errors: InvalidArgument for an unknown name, which names the nearest option; for a value that
/// cannot be parsed or is out of range, and for an option that has no meaning in this
/// configuration. The text names the option. After an error `config` may be partly changed and must
/// not be used.
template <typename Config>
Expected<void> set_options(Config& config, std::span<const OptionSetting> settings) noexcept {
  return detail::set_options(Config::options(), &config, settings);
}
template <typename Config>
Expected<void> set_option(Config& config, std::string_view name, std::string_view value) noexcept {
  const OptionSetting setting{name, value};
  return set_options(config, std::span(&setting, 1));
}

/// Returns the value of an option as text; `set_option` accepts this text. Errors: InvalidArgument
/// (no such name).
template <typename Config>
Expected<Text<kMaxOptionText>> get_option(const Config& config, std::string_view name) noexcept {
  const Option* const option = find_option(Config::options(), name);
  if (option == nullptr) return detail::unknown_option(Config::options(), name);
  Text<kMaxOptionText> text;
  detail::get_option(*option, &config, text.data, sizeof(text.data));
  return text;
}

}  // namespace ocellus

#pragma GCC visibility pop
