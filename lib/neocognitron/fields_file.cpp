#include "neocognitron/fields_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/failure.h"
#include "core/option_table.h"

namespace ocellus::detail {
namespace {

constexpr std::size_t kMostFileBytes = 16384;

tl::unexpected<Error> no_fields_file(const char* path, const char* why) noexcept {
  return tl::unexpected(
      make_error(Status::kIoError, "\"%.150s\": %s; @ is followed by a file of fields", path, why));
}

/// Reads at most `to.size()` bytes. Errors: IoError.
Expected<std::size_t> read_bytes(int file, const char* path, std::span<char> to) noexcept {
  struct stat status = {};
  if (fstat(file, &status) != 0) return no_fields_file(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return no_fields_file(path, "it is not a regular file");
  std::size_t bytes = 0;
  while (bytes < to.size()) {
    const ssize_t got = read(file, to.data() + bytes, to.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return no_fields_file(path, std::strerror(errno));
    if (got == 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string_view without_blanks(std::string_view text) noexcept {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

Expected<void> add_field(std::string_view text, TextFields& fields) noexcept {
  if (fields.count == kMaxTextFields)
    return invalid_argument("there are more than %d fields", kMaxTextFields);
  Rect& rect = fields.fields[static_cast<std::size_t>(fields.count++)];
  if (!text.empty() && parse_rect(text, rect)) return {};
  return invalid_argument(
      "field %d is \"%.*s\"; a field is x,y,width,height in pixels, such as 40,30,200,48",
      fields.count, shown(text), text.data());
}

Expected<void> read_fields_file(const char* path, TextFields& fields) noexcept {
  std::array<char, kMostFileBytes + 1> bytes;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return no_fields_file(path, std::strerror(errno));
  const Expected<std::size_t> count = read_bytes(file, path, bytes);
  close(file);
  if (!count) return tl::unexpected(count.error());
  if (*count > kMostFileBytes) return no_fields_file(path, "it has more than 16384 bytes");
  std::string_view text = without_byte_order_mark({bytes.data(), *count});
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view field = without_blanks(text.substr(0, end).substr(0, text.find('#')));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (field.empty()) continue;
    if (const Expected<void> added = add_field(field, fields); !added) {
      return tl::unexpected(make_error(added.error().status, "\"%.100s\", line %d: %.130s", path,
                                       line, added.error().text));
    }
  }
  if (fields.count == 0) return invalid_argument("\"%.150s\": it has no fields", path);
  return {};
}

}  // namespace ocellus::detail
