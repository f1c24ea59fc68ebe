#include "apps/common/printable.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <set>

namespace ocellus::app {
namespace {

/// One character of a text, or one byte that begins no valid character.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

/// The first character of a text that is not empty. Overlong forms, surrogates and codes above
/// U+10FFFF are not valid UTF-8.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {lead, 1, false};
  std::uint32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1, false};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    return {lead, 1, false};
  return {code, bytes, true};
}

/// Control characters for a terminal, characters that XML does not allow, and characters that
/// change the direction of a line.
bool is_hidden(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c ||
         (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff || (code & 0xfffe) == 0xfffe;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const Character c = first_of(rest);
    std::string shown(rest.substr(0, c.bytes));
    if (!c.valid || c.code < 0x80) {
      if (!c.valid || is_hidden(c.code)) shown = fmt::format("\\x{:02x}", c.code);
    } else if (is_hidden(c.code)) {
      shown = fmt::format("\\u{:04x}", c.code);
    }
    if (out.size() + shown.size() > most)
      return fmt::format("{}... ({} bytes in all)", out, text.size());
    out += shown;
    rest.remove_prefix(c.bytes);
  }
  return out;
}

void tell(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void tell_once(const std::string& path, const std::string& what) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard<std::mutex> lock(mutex);
  if (told.insert(what).second)
    tell(fmt::format("ocellus: {}: {}\n", printable(path, kMostOfValue), what));
}

std::string printable_json(std::string_view json) {
  std::string out;
  for (std::string_view rest = json; !rest.empty();) {
    const Character c = first_of(rest);
    // Line ends and the like can only stand between values, because JSON escapes them inside
    // strings.
    if (c.code >= 0x7f && c.valid && is_hidden(c.code)) {
      if (c.code >= 0x10000) {
        out +=
            fmt::format("\\u{:04x}\\u{:04x}", 0xd7c0 + (c.code >> 10), 0xdc00 + (c.code & 0x3ff));
      } else {
        out += fmt::format("\\u{:04x}", c.code);
      }
    } else {
      out += rest.substr(0, c.bytes);
    }
    rest.remove_prefix(c.bytes);
  }
  return out;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 7> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024.0 && unit + 1 < kUnits.size(); ++unit) value /= 1024.0;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace ocellus::app
