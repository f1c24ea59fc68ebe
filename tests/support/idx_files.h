// IDX files for tests.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

namespace ocellus::test {

/// Big-endian numbers, as the header has them.
inline std::string idx_header(std::initializer_list<std::uint32_t> numbers) {
  std::string bytes;
  for (const std::uint32_t number : numbers)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
  return bytes;
}

inline std::string idx_images(std::uint32_t count, std::uint32_t height, std::uint32_t width,
                              const std::vector<std::uint8_t>& pixels) {
  return idx_header({0x0803, count, height, width}) + std::string(pixels.begin(), pixels.end());
}

inline std::string idx_labels(const std::vector<std::uint8_t>& labels) {
  return idx_header({0x0801, static_cast<std::uint32_t>(labels.size())}) +
         std::string(labels.begin(), labels.end());
}

/// The bytes of a gzip file.
inline std::string gzipped(const std::string& bytes) {
  z_stream stream = {};
  constexpr int kGzip = 15 + 16;
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace ocellus::test
