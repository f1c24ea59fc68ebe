#include "ocellus/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/failure.h"
#include "core/option_table.h"

namespace ocellus {
namespace {

using detail::shown;

/// Words of a name may be separated by '_' or '-'.
bool same_letter(char a, char b) noexcept {
  return a == b || ((a == '-' || a == '_') && (b == '-' || b == '_'));
}

bool same_name(std::string_view name, std::string_view given) noexcept {
  return std::equal(name.begin(), name.end(), given.begin(), given.end(), same_letter);
}

/// Lists the words of a choice as "a, b or c". With `numbers`, lists them with the values of the
/// member.
void list_choices(const Option& option, bool numbers, char* text, std::size_t capacity) noexcept {
  std::size_t at = 0;
  text[0] = '\0';
  for (std::size_t i = 0; i < option.choices.size() && at < capacity; ++i) {
    const char* const between = i == 0 ? "" : i + 1 == option.choices.size() ? " or " : ", ";
    const OptionChoice& choice = option.choices[i];
    const int wrote = numbers
                          ? std::snprintf(text + at, capacity - at, "%s%d (%s)", between,
                                          choice.value, choice.word)
                          : std::snprintf(text + at, capacity - at, "%s%s", between, choice.word);
    at += wrote > 0 ? static_cast<std::size_t>(wrote) : 0;
  }
}

Expected<void> check_number(const Option& option, double value) noexcept {
  const char* const blank = option.unit[0] != '\0' ? " " : "";
  if (option.type == OptionType::kInt) {
    const bool good = value >= option.low && value <= option.high &&
                      (!option.odd || std::fmod(value, 2.0) != 0.0);
    if (good) return {};
    return detail::invalid_argument("%s is %.0f; it must be %s%.0f to %.0f%s%s", option.name, value,
                                    option.odd ? "odd, " : "", option.low, option.high, blank,
                                    option.unit);
  }
  // The member is a float. The float nearest to a limit may lie outside the range and is accepted.
  // False for NaN.
  const double low = std::min(option.low, static_cast<double>(static_cast<float>(option.low)));
  const double high = std::max(option.high, static_cast<double>(static_cast<float>(option.high)));
  if (value >= low && value <= high) return {};
  return detail::invalid_argument("%s is %g; it must be %g to %g%s%s", option.name, value,
                                  option.low, option.high, blank, option.unit);
}

Expected<double> read_number(const Option& option, std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  double value = 0.0;
  std::from_chars_result read{};
  if (option.type == OptionType::kInt) {
    long long whole = 0;
    read = std::from_chars(text.data(), end, whole);
    value = static_cast<double>(whole);
    if (read.ec == std::errc::result_out_of_range)
      value = text.front() == '-' ? -1e18 : 1e18, read.ec = std::errc();
  } else {
    read = std::from_chars(text.data(), end, value);
  }
  if (text.empty() || read.ec != std::errc() || read.ptr != end) {
    const bool whole = option.type == OptionType::kInt;
    return detail::invalid_argument(whole
                                        ? "%s is \"%.*s\"; it must be a whole number, %.0f to %.0f"
                                        : "%s is \"%.*s\"; it must be a number, %g to %g",
                                    option.name, shown(text), text.data(), option.low, option.high);
  }
  return value;
}

Expected<double> read_choice(const Option& option, std::string_view text) noexcept {
  for (const OptionChoice& choice : option.choices)
    if (text == choice.word) return static_cast<double>(choice.value);
  char words[160];
  list_choices(option, false, words, sizeof(words));
  return detail::invalid_argument("%s is \"%.*s\"; it must be %s", option.name, shown(text),
                                  text.data(), words);
}

Expected<void> set_one(const Option& option, void* config, std::string_view text) noexcept {
  switch (option.type) {
    case OptionType::kBool:
      if (text != "true" && text != "false") {
        return detail::invalid_argument("%s is \"%.*s\"; it must be true or false", option.name,
                                        shown(text), text.data());
      }
      option.set(config, text == "true" ? 1.0 : 0.0);
      return {};
    case OptionType::kInt:
    case OptionType::kFloat: {
      OCELLUS_TRY_ASSIGN(value, read_number(option, text));
      OCELLUS_TRY(check_number(option, *value));
      option.set(config, *value);
      return {};
    }
    case OptionType::kChoice: {
      OCELLUS_TRY_ASSIGN(value, read_choice(option, text));
      option.set(config, *value);
      return {};
    }
    case OptionType::kText:
      break;
  }
  if (Expected<void> set = option.set_text(config, text); !set) {
    return detail::failure(set.error().status, "%s: %s", option.name, set.error().text);
  }
  return {};
}

/// Number of letters that are wrong, missing, too many or swapped with their neighbor. Names of
/// more than kLongestName letters are not compared.
constexpr std::size_t kLongestName = 64;
std::size_t wrong_letters(std::string_view a, std::string_view b) noexcept {
  if (a.size() > kLongestName || b.size() > kLongestName)
    return std::numeric_limits<std::size_t>::max();
  // rows[i % 3][j]: the distance of the first i letters of a and the first j letters of b
  std::size_t rows[3][kLongestName + 1];
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::size_t* const before = rows[(i - 1) % 3];
    std::size_t* const row = rows[i % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t wrong = same_letter(a[i - 1], b[j - 1]) ? 0 : 1;
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + wrong});
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

bool contains(std::string_view name, std::string_view given) noexcept {
  return std::search(name.begin(), name.end(), given.begin(), given.end(), same_letter) !=
         name.end();
}

}  // namespace

const Option* find_option(OptionTable table, std::string_view name) noexcept {
  for (const Option& option : table)
    if (same_name(option.name, name)) return &option;
  return nullptr;
}

NearestName::NearestName(std::string_view given) noexcept
    : given_(given), distance_(given.size() / 4 + 2) {}

void NearestName::consider(std::string_view name) noexcept {
  const std::size_t distance = wrong_letters(given_, name);
  if (distance < distance_) {
    found_ = name;
    distance_ = distance;
  } else if (found_.empty() && given_.size() >= 3 && contains(name, given_)) {
    found_ = name;
  }
}

namespace detail {

tl::unexpected<Error> unknown_option(OptionTable table, std::string_view name) noexcept {
  NearestName nearest(name);
  for (const Option& option : table) nearest.consider(option.name);
  if (!nearest.found().empty()) {
    return invalid_argument("there is no option \"%.*s\"; the nearest is %.*s", shown(name),
                            name.data(), shown(nearest.found()), nearest.found().data());
  }
  char names[145] = "";
  std::size_t at = 0;
  for (const Option& option : table) {
    const int wrote =
        std::snprintf(names + at, sizeof(names) - at, "%s%s", at == 0 ? "" : ", ", option.name);
    constexpr char kMore[] = ", ...";
    if (wrote < 0 || at + static_cast<std::size_t>(wrote) + sizeof(kMore) > sizeof(names)) {
      std::memcpy(names + at, kMore, sizeof(kMore));  // the loop leaves enough room for it
      break;
    }
    at += static_cast<std::size_t>(wrote);
  }
  return invalid_argument("there is no option \"%.*s\"; there are %s", shown(name), name.data(),
                          names);
}

Expected<void> set_options(OptionTable table, void* config,
                           std::span<const OptionSetting> settings) noexcept {
  for (const OptionSetting& setting : settings)
    if (find_option(table, setting.name) == nullptr) return unknown_option(table, setting.name);
  for (const Option& option : table) {
    for (const OptionSetting& setting : settings) {
      if (!same_name(option.name, setting.name)) continue;
      if (!option.means_something(config))
        return invalid_argument("%s has no meaning here: it needs %s", option.name, option.needs);
      OCELLUS_TRY(set_one(option, config, setting.value));
    }
  }
  // A later row may have changed the condition under which an earlier row has a meaning.
  for (const OptionSetting& setting : settings) {
    const Option& option = *find_option(table, setting.name);
    if (option.means_something(config)) continue;
    return invalid_argument("%s has no meaning here: it needs %s", option.name, option.needs);
  }
  return {};
}

void get_option(const Option& option, const void* config, char* text,
                std::size_t capacity) noexcept {
  switch (option.type) {
    case OptionType::kBool:
      std::snprintf(text, capacity, "%s", option.get(config) != 0.0 ? "true" : "false");
      return;
    case OptionType::kInt:
      std::snprintf(text, capacity, "%.0f", option.get(config));
      return;
    case OptionType::kFloat: {
      // The fewest digits that parse to the same number.
      const auto value = static_cast<float>(option.get(config));
      const std::to_chars_result end = std::to_chars(text, text + capacity - 1, value);
      *end.ptr = '\0';
      return;
    }
    case OptionType::kChoice:
      for (const OptionChoice& choice : option.choices) {
        if (static_cast<double>(choice.value) != option.get(config)) continue;
        std::snprintf(text, capacity, "%s", choice.word);
        return;
      }
      std::snprintf(text, capacity, "%.0f", option.get(config));
      return;
    case OptionType::kText:
      option.get_text(config, text, capacity);
      return;
  }
}

Expected<void> check_options(OptionTable table, const void* config) noexcept {
  for (const Option& option : table) {
    if (option.type == OptionType::kText || !option.means_something(config)) continue;
    const double value = option.get(config);
    if (option.type == OptionType::kInt || option.type == OptionType::kFloat) {
      OCELLUS_TRY(check_number(option, value));
    } else if (option.type == OptionType::kChoice) {
      const bool known = std::any_of(option.choices.begin(), option.choices.end(),
                                     [value](const OptionChoice& choice) {
                                       return static_cast<double>(choice.value) == value;
                                     });
      if (known) continue;
      char words[160];
      list_choices(option, true, words, sizeof(words));
      return invalid_argument("%s is %.0f; it must be %s", option.name, value, words);
    }
  }
  return {};
}

bool parse_integers(std::string_view text, char separator, std::span<int> numbers) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && (at == end || *at++ != separator)) return false;
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc()) return false;
    at = next;
  }
  return at == end;
}

void print_rect(const Rect& rect, char* text, std::size_t capacity) noexcept {
  if (rect.empty())
    text[0] = '\0';
  else
    std::snprintf(text, capacity, "%d,%d,%d,%d", rect.x, rect.y, rect.width, rect.height);
}

Expected<void> parse_rect(std::string_view text, Rect& rect) noexcept {
  int numbers[4] = {};
  if (!text.empty() && (!parse_integers(text, ',', numbers) || numbers[0] < 0 || numbers[1] < 0 ||
                        numbers[2] < 1 || numbers[3] < 1)) {
    return invalid_argument(
        "it is \"%.*s\"; it must be x,y,width,height in pixels, such as 160,120,320,240, or empty "
        "for the whole image",
        shown(text), text.data());
  }
  rect = {numbers[0], numbers[1], numbers[2], numbers[3]};
  return {};
}

}  // namespace detail
}  // namespace ocellus
