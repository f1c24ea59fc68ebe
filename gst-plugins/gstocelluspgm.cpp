#include "gstocelluspgm.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

using ocellus::Expected;
using ocellus::ImageSize;
using ocellus::Status;

namespace {

// Of a header with its comments; more is not looked at.
constexpr gsize kHeaderBytes = 4096;
constexpr gint64 kMostNumber = 1000000;  // larger ones are taken to be this

Expected<std::vector<gchar>> read_beginning(const char* path, gsize most) {
  const auto failed = [path](const char* what) {
    return tl::unexpected(ocellus::make_error(Status::kIoError, "initial: \"%s\": %s", path, what));
  };
  // Non-blocking, because opening a FIFO would otherwise wait for a writer.
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return failed(g_strerror(errno));
  struct stat status = {};
  const bool known = fstat(file, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    const int error = errno;
    close(file);
    return failed(known ? "is not a regular file" : g_strerror(error));
  }
  std::vector<gchar> bytes(MIN(static_cast<gsize>(status.st_size), most));
  gsize have = 0;
  int error = 0;
  while (have < bytes.size()) {
    const gssize got = read(file, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    have += static_cast<gsize>(got);
  }
  close(file);
  if (error != 0) return failed(g_strerror(error));
  bytes.resize(have);
  return bytes;
}

// A header's numbers: white space and comments, then digits. Negative: there is none.
gint64 next_number(const gchar* bytes, gsize size, gsize* at) {
  while (*at < size && (g_ascii_isspace(bytes[*at]) || bytes[*at] == '#')) {
    if (bytes[*at] == '#')
      while (*at < size && bytes[*at] != '\n') ++*at;
    else
      ++*at;
  }
  gint64 value = -1;
  for (; *at < size && g_ascii_isdigit(bytes[*at]); ++*at)
    value = MIN(MAX(value, 0) * 10 + (bytes[*at] - '0'), kMostNumber);
  return value;
}

}  // namespace

Expected<std::vector<float>> gst_ocellus_read_states(const char* path, ImageSize size,
                                                     bool white_is_one) {
  const gsize most = kHeaderBytes + static_cast<gsize>(size.width) *
                                        static_cast<gsize>(size.height) * sizeof(guint16);
  const Expected<std::vector<gchar>> contents = read_beginning(path, most);
  if (!contents) return tl::unexpected(contents.error());
  const gchar* const bytes = contents->data();
  const gsize length = contents->size();
  const auto bad = [path](const char* what) {
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument,
        "initial is \"%s\", %s; it must be a binary PGM file (P5, 8 or 16 bits)", path, what));
  };
  if (length < 3 || bytes[0] != 'P' || bytes[1] != '5') return bad("which is none");
  gsize at = 2;
  std::array<gint64, 3> header{};  // width, height, largest value
  for (gint64& number : header) number = next_number(bytes, length, &at);
  const auto [width, height, largest] = header;
  if (at >= kHeaderBytes) return bad("its header is longer than 4096 bytes");
  if (width < 1 || height < 1 || largest < 1 || largest > 65535)
    return bad("its header is damaged");
  if (width == kMostNumber || height == kMostNumber)
    return bad("its header claims a side of a million pixels or more");
  if (width != size.width || height != size.height) {
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument, "initial is \"%s\", which is %dx%d; the pictures are %dx%d", path,
        static_cast<int>(width), static_cast<int>(height), size.width, size.height));
  }
  ++at;  // exactly one white space ends the header
  const gsize cell = largest > 255 ? 2 : 1;
  const gsize cells = static_cast<gsize>(width) * static_cast<gsize>(height);
  if (at > length || length - at < cells * cell) return bad("which is truncated");
  const float sign = white_is_one ? 1.0f : -1.0f;
  std::vector<float> states(cells);
  const auto* gray = reinterpret_cast<const guint8*>(bytes) + at;
  for (gsize i = 0; i < cells; ++i, gray += cell) {
    const int value = cell == 2 ? gray[0] << 8 | gray[1] : gray[0];
    if (value > largest) return bad("with a value above its header's largest");
    states[i] = sign * (2.0f * static_cast<float>(value) / static_cast<float>(largest) - 1.0f);
  }
  return states;
}
