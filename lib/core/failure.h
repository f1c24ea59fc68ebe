// Short forms for making the errors that the library returns.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <string_view>

#include "ocellus/status.h"

/// Evaluates an Expected<void>. Returns its error from the function if it has one.
#define OCELLUS_TRY(...)                                       \
  do {                                                         \
    if (const auto tried = (__VA_ARGS__); !tried) [[unlikely]] \
      return tl::unexpected(tried.error());                    \
  } while (false)

/// Declares `name`, an Expected of a value. Returns its error from the function if it has one; so
/// `*name` is the value behind it.
#define OCELLUS_TRY_ASSIGN(name, ...) \
  auto name = (__VA_ARGS__);          \
  if (!name) [[unlikely]]             \
  return tl::unexpected(name.error())

namespace ocellus::detail {

/// Returns the precision for printf's "%.*s", which limits the length of a text from the user.
inline int shown(std::string_view text) noexcept {
  return static_cast<int>(std::min<std::size_t>(text.size(), 60));
}

__attribute__((format(printf, 2, 0))) Error format_error(Status status, const char* format,
                                                         va_list arguments) noexcept;

/// A failed Expected from a printf format.
__attribute__((format(printf, 2, 3))) tl::unexpected<Error> failure(Status status,
                                                                    const char* format,
                                                                    ...) noexcept;

/// Makes an Error of kInvalidArgument from a printf format. The text should name the field, its
/// value and the valid values.
__attribute__((format(printf, 1, 2))) tl::unexpected<Error> invalid_argument(const char* format,
                                                                             ...) noexcept;

/// The same of kCorruptFile.
__attribute__((format(printf, 1, 2))) tl::unexpected<Error> corrupt_file(const char* format,
                                                                         ...) noexcept;

/// Makes an Error of kOutOfMemory for an operator's object, which the system allocates, not the
/// engine's block.
tl::unexpected<Error> no_memory_for_operator() noexcept;

}  // namespace ocellus::detail
