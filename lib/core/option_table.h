// Makes the rows of an option table from the members of a configuration.
#pragma once

#include <cstdio>
#include <type_traits>
#include <utility>

#include "core/failure.h"
#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/options.h"

namespace ocellus::detail {

/// Prints a rectangle as "x,y,width,height"; "" for the whole image.
void print_rect(const Rect& rect, char* text, std::size_t capacity) noexcept;
Expected<void> parse_rect(std::string_view text, Rect& rect) noexcept;

/// A text without the mark of UTF-8 that some editors put before it.
constexpr std::string_view without_byte_order_mark(std::string_view text) noexcept {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

/// Parses integers separated by `separator`, as many as `numbers` has. Returns false if the text is
/// anything else.
bool parse_integers(std::string_view text, char separator, std::span<int> numbers) noexcept;

/// Calls a template argument: a function, or a lambda without captures. The lambda is made anew,
/// because the object that stands for such an argument has the same name in all files with clang,
/// which then do not link.
template <auto kFunction, typename... Args>
constexpr decltype(auto) call(Args&&... args) {
  using Function = std::remove_cvref_t<decltype(kFunction)>;
  if constexpr (std::is_class_v<Function>)
    return Function{}(std::forward<Args>(args)...);
  else
    return kFunction(std::forward<Args>(args)...);
}

/// Makes rows for `Config`. `kMember` is a lambda without captures that returns the address of a
/// member of a configuration.
template <typename Config>
struct Rows {
  template <auto kMember>
  static constexpr Option flag(const char* name, const char* help) noexcept {
    Option row = number_row<kMember>(name, OptionType::kBool, "", help);
    row.high = 1.0;
    return row;
  }
  template <auto kMember>
  static constexpr Option integer(const char* name, int low, int high, const char* unit,
                                  const char* help) noexcept {
    Option row = number_row<kMember>(name, OptionType::kInt, unit, help);
    row.low = low;
    row.high = high;
    return row;
  }
  template <auto kMember>
  static constexpr Option real(const char* name, double low, double high, const char* unit,
                               const char* help) noexcept {
    Option row = number_row<kMember>(name, OptionType::kFloat, unit, help);
    row.low = low;
    row.high = high;
    return row;
  }
  template <auto kMember>
  static constexpr Option choice(const char* name, std::span<const OptionChoice> choices,
                                 const char* help) noexcept {
    Option row = number_row<kMember>(name, OptionType::kChoice, "", help);
    row.choices = choices;
    return row;
  }
  /// Calls `kSet`, (Config&, int value), instead of assigning the value.
  template <auto kMember, auto kSet>
  static constexpr Option preset(const char* name, std::span<const OptionChoice> choices,
                                 const char* help) noexcept {
    Option row = choice<kMember>(name, choices, help);
    row.set = [](void* config, double value) noexcept {
      call<kSet>(*static_cast<Config*>(config), static_cast<int>(value));
    };
    return row;
  }
  /// A member of type Text.
  template <auto kMember>
  static constexpr Option text(const char* name, const char* help) noexcept {
    return composite<[](const Config& config, char* out, std::size_t capacity) {
      std::snprintf(out, capacity, "%s", call<kMember>(config)->c_str());
    },
                     [](Config& config, std::string_view value) -> Expected<void> {
                       auto& member = *call<kMember>(config);
                       if (member.assign(value)) return {};
                       if (value.size() <= member.capacity())
                         return invalid_argument("the text holds a NUL; none is allowed");
                       return invalid_argument(
                           "the text has %zu characters; at most %zu are allowed", value.size(),
                           member.capacity());
                     }>(name, help);
  }
  /// A text option with its own parser and printer. kPrint: (const Config&, char*, std::size_t).
  /// kParse: (Config&, std::string_view) -> Expected<void>.
  template <auto kPrint, auto kParse>
  static constexpr Option composite(const char* name, const char* help) noexcept {
    Option row;
    row.name = name;
    row.type = OptionType::kText;
    row.help = help;
    row.get_text = [](const void* config, char* out, std::size_t capacity) noexcept {
      call<kPrint>(*static_cast<const Config*>(config), out, capacity);
    };
    row.set_text = [](void* config, std::string_view value) noexcept {
      return call<kParse>(*static_cast<Config*>(config), value);
    };
    return row;
  }
  /// A region of interest.
  template <auto kMember>
  static constexpr Option roi(const char* help) noexcept {
    return composite<[](const Config& config, char* out, std::size_t capacity) {
      print_rect(*call<kMember>(config), out, capacity);
    },
                     [](Config& config, std::string_view value) {
                       return parse_rect(value, *call<kMember>(config));
                     }>("roi", help);
  }

  /// The row has a meaning only if `kWhen`, a lambda of the configuration, returns true.
  template <auto kWhen>
  static constexpr Option when(const char* needs, Option row) noexcept {
    row.needs = needs;
    row.has_meaning = [](const void* config) noexcept {
      return call<kWhen>(*static_cast<const Config*>(config));
    };
    return row;
  }
  static constexpr Option odd(Option row) noexcept {
    row.odd = true;
    return row;
  }

 private:
  template <auto kMember>
  static constexpr Option number_row(const char* name, OptionType type, const char* unit,
                                     const char* help) noexcept {
    using Member = std::remove_cvref_t<decltype(*call<kMember>(std::declval<Config&>()))>;
    Option row;
    row.name = name;
    row.type = type;
    row.unit = unit;
    row.help = help;
    row.get = [](const void* config) noexcept {
      const Member value = *call<kMember>(*static_cast<const Config*>(config));
      if constexpr (std::is_enum_v<Member>)
        return static_cast<double>(static_cast<std::underlying_type_t<Member>>(value));
      else
        return static_cast<double>(value);
    };
    row.set = [](void* config, double value) noexcept {
      Member& member = *call<kMember>(*static_cast<Config*>(config));
      if constexpr (std::is_enum_v<Member>)
        member = static_cast<Member>(static_cast<std::underlying_type_t<Member>>(value));
      else
        member = static_cast<Member>(value);
    };
    return row;
  }
};

template <typename Config>
constexpr Option depth_option() noexcept {
  return Rows<Config>::template integer<[](auto& c) { return &c.depth; }>(
      "depth", 1, kMaxDepth, "frames",
      "Number of frames in flight; more frames give a higher rate and a longer latency");
}

inline constexpr OptionChoice kPriorityChoices[] = {
    {"low", static_cast<int>(OperatorPriority::kLow), "after the others, but not without end"},
    {"normal", static_cast<int>(OperatorPriority::kNormal), "in the order of the frames"},
    {"high", static_cast<int>(OperatorPriority::kHigh), "before the others"},
};

template <typename Config>
constexpr Option priority_option() noexcept {
  return Rows<Config>::template choice<[](auto& c) { return &c.priority; }>(
      "priority", kPriorityChoices,
      "Which frames come first while those of several operators wait for one engine, or for one "
      "CUDA device");
}

}  // namespace ocellus::detail
