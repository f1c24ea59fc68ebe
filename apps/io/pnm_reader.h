// PnmReader: reads PBM, PGM and PPM images, as text and as bytes.
#pragma once

#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>

#include "apps/io/image_target.h"

namespace ocellus::app {

/// Whether these are the first bytes of a PBM, PGM or PPM image; three are enough.
inline bool is_pnm(std::string_view head) {
  constexpr std::string_view kKinds = "123456";
  return head.size() >= 3 && head[0] == 'P' && kKinds.find(head[1]) != std::string_view::npos &&
         (std::isspace(static_cast<unsigned char>(head[2])) || head[2] == '#');
}

/// Reads one image. `Source` has these functions:
///   int take()             the next byte, or EOF
///   void put_back(int)     the byte that was taken last
///   std::uint64_t there(std::uint64_t most)   how many bytes follow, counted up to `most` or
///   further void fail(text)        throws InputError that names the source
template <typename Source>
class PnmReader {
 public:
  explicit PnmReader(Source& file) : file_(file) {}

  void read(ImageTarget& image) {
    take();  // P
    const char kind = static_cast<char>(take());
    const std::uint64_t wide_width = header_number("width");
    const std::uint64_t wide_height = header_number("height");
    check_side(file_, wide_width, wide_height);
    const auto width = static_cast<unsigned>(wide_width);
    const auto height = static_cast<unsigned>(wide_height);
    const bool bitmap = kind == '1' || kind == '4';
    if (bitmap) return read_bitmap(width, height, kind == '1', image);
    const std::uint64_t largest = header_number("largest value");
    if (largest < 1 || largest > 65535)
      file_.fail(fmt::format("the largest value is {}; it must be 1 to 65535", largest));
    const auto maximum = static_cast<unsigned>(largest);
    const bool text = kind == '2' || kind == '3';
    const unsigned channels = kind == '3' || kind == '6' ? 3 : 1;
    const bool wide = maximum > 255;
    const unsigned full = wide ? 65535 : 255;
    const std::size_t count = std::size_t{width} * height;
    if (!text) take();  // exactly one white-space character ends the header
    // In a text file, a sample has at least one digit and one separator.
    const std::uint64_t samples = std::uint64_t{count} * channels;
    const std::uint64_t least = text ? 2 * samples - 1 : samples * (wide ? 2 : 1);
    check_bytes(file_, width, height, least, file_.there(least));
    image.make({static_cast<int>(width), static_cast<int>(height)},
               wide ? PixelFormat::kGray16 : PixelFormat::kGray8, channels == 3);
    for (std::size_t i = 0; i < count; ++i) {
      unsigned value[3];
      for (unsigned c = 0; c < channels; ++c) {
        const std::uint64_t sample = text ? text_number(i, count) : raw_number(wide);
        if (sample > maximum) {
          file_.fail(fmt::format("pixel ({}, {}) is {}, above the header's largest value {}",
                                 i % width, i / width, sample, maximum));
        }
        value[c] = static_cast<unsigned>(sample);
        if (maximum != full) value[c] = (value[c] * full + maximum / 2) / maximum;
      }
      if (channels == 3)
        image.set(i, value[0], value[1], value[2]);
      else
        image.set(i, value[0]);
    }
  }

 private:
  /// PBM, where 1 is black. A text has a digit for each pixel, which need not be separated. Rows of
  /// the other form begin with the highest bit of a byte.
  void read_bitmap(unsigned width, unsigned height, bool text, ImageTarget& image) {
    const std::size_t count = std::size_t{width} * height;
    if (!text) take();  // exactly one white-space character ends the header
    const std::uint64_t least = text ? count : (width + 7) / 8 * std::uint64_t{height};
    check_bytes(file_, width, height, least, file_.there(least));
    image.make({static_cast<int>(width), static_cast<int>(height)}, PixelFormat::kGray8, false);
    unsigned byte = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bit = i % width % 8;
      if (!text && bit == 0) byte = raw_number(false);
      const bool black = text ? text_bit(i, count) : (byte << bit & 0x80u) != 0;
      image.set(i, black ? 0 : 255);
    }
  }
  bool text_bit(std::size_t index, std::size_t count) {
    const int c = take_after_blanks();
    if (c != '0' && c != '1')
      file_.fail(fmt::format("truncated or damaged: {} of {} pixels can be read", index, count));
    return c == '1';
  }

  int take() { return file_.take(); }

  /// The first character that is neither white space nor in a comment.
  int take_after_blanks() {
    int c = take();
    while (c != EOF && (std::isspace(c) || c == '#')) {
      if (c == '#') {
        while (c != EOF && c != '\n') c = take();
      } else {
        c = take();
      }
    }
    return c;
  }
  /// Skips white space and comments, then reads digits. Returns nothing if there are none. A number
  /// that does not fit becomes the largest one that fits.
  std::optional<std::uint64_t> number() {
    int c = take_after_blanks();
    if (c == EOF || !std::isdigit(c)) return std::nullopt;
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t value = 0;
    for (; c != EOF && std::isdigit(c); c = take()) {
      const auto digit = static_cast<std::uint64_t>(c - '0');
      value = value > (kMost - digit) / 10 ? kMost : 10 * value + digit;
    }
    if (c != EOF) file_.put_back(c);
    return value;
  }
  std::uint64_t header_number(const char* what) {
    const auto value = number();
    if (!value) file_.fail(fmt::format("damaged PGM header: {} is missing", what));
    return *value;
  }
  std::uint64_t text_number(std::size_t index, std::size_t count) {
    const auto value = number();
    if (!value) {
      file_.fail(fmt::format("truncated or damaged: {} of {} pixels can be read", index, count));
    }
    return *value;
  }
  unsigned raw_number(bool wide) {
    const int first = take();
    const int second = wide ? take() : 0;
    if (first == EOF || second == EOF) file_.fail("the file became shorter while it was read");
    return static_cast<unsigned>(wide ? first << 8 | second : first);  // big-endian
  }

  Source& file_;
};

}  // namespace ocellus::app
