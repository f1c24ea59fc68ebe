#include "flow_file.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "common.h"
#include "image_io.h"
#include "output_file.h"

namespace ocellus::app {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the files are little-endian and written as they lie in memory");

constexpr char kFloMagic[] = {'P', 'I', 'E', 'H'};

void write_all(const std::string& path, const std::string& header, const float* values,
               std::size_t count) {
  OutputFile file(path);
  file.write(header.data(), header.size());
  file.write(values, count * sizeof(float));
  file.commit();
}

}  // namespace

FlowField::FlowField(ImageSize field_size, bool with_confidence) : size(field_size) {
  const std::size_t count =
      static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  u.resize(count);
  v.resize(count);
  if (with_confidence) confidence.resize(count);
}

FlowView FlowField::view() {
  FlowView result;
  result.u = u.data();
  result.v = v.data();
  result.confidence = confidence.empty() ? nullptr : confidence.data();
  result.size = size;
  result.stride =
      static_cast<std::ptrdiff_t>(size.width) * static_cast<std::ptrdiff_t>(sizeof(float));
  return result;
}

FlowField read_flo(const std::string& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  if (bytes.size() < 4 || std::memcmp(bytes.data(), kFloMagic, 4) != 0) {
    throw InputError(fmt::format("{}: not a .flo file: it does not begin with PIEH", path));
  }
  if (bytes.size() < 12)
    throw InputError(fmt::format(
        "{}: truncated: the header of a .flo file has 12 bytes, {} are there", path, bytes.size()));
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::memcpy(&width, bytes.data() + 4, 4);
  std::memcpy(&height, bytes.data() + 8, 4);
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide) {
    throw InputError(fmt::format("{}: the header says {}x{}; width and height must be 1 to {}",
                                 path, width, height, kMaxImageSide));
  }
  FlowField field({width, height}, false);
  const std::size_t needed = 12 + field.pixels() * 8;
  if (bytes.size() != needed) {
    throw InputError(fmt::format("{}: {}: {}x{} vectors make {} bytes, the file has {}", path,
                                 bytes.size() < needed ? "truncated" : "damaged", width, height,
                                 needed, bytes.size()));
  }
  for (std::size_t i = 0; i < field.pixels(); ++i) {
    float vector[2];
    std::memcpy(vector, bytes.data() + 12 + 8 * i, 8);
    const bool known = std::fabs(vector[0]) <= kUnknownFlow &&
                       std::fabs(vector[1]) <= kUnknownFlow;  // false for NaN
    field.u[i] = known ? vector[0] : std::numeric_limits<float>::quiet_NaN();
    field.v[i] = known ? vector[1] : std::numeric_limits<float>::quiet_NaN();
  }
  return field;
}

void write_flo(const std::string& path, const FlowField& field) {
  std::string header(kFloMagic, 4);
  const std::int32_t size[2] = {field.size.width, field.size.height};
  header.append(reinterpret_cast<const char*>(size), 8);
  constexpr float kUnknown = 1e10f;
  std::vector<float> vectors(2 * field.pixels());
  for (std::size_t i = 0; i < field.pixels(); ++i) {
    const bool known =
        std::fabs(field.u[i]) <= kUnknownFlow && std::fabs(field.v[i]) <= kUnknownFlow;
    vectors[2 * i] = known ? field.u[i] : kUnknown;
    vectors[2 * i + 1] = known ? field.v[i] : kUnknown;
  }
  write_all(path, header, vectors.data(), vectors.size());
}

FloatPlane read_pfm(const std::string& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  if (bytes.size() < 3 || bytes[0] != 'P' || bytes[1] != 'f') {
    throw InputError(
        fmt::format("{}: not a PFM file of one channel: it does not begin with Pf", path));
  }
  std::istringstream header(std::string(
      bytes.begin(),
      bytes.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(bytes.size(), 128))));
  std::string magic;
  FloatPlane plane;
  double scale = 0.0;
  if (!(header >> magic >> plane.size.width >> plane.size.height >> scale) || scale == 0.0) {
    throw InputError(fmt::format("{}: damaged PFM header", path));
  }
  if (plane.size.width < 1 || plane.size.height < 1 || plane.size.width > kMaxImageSide ||
      plane.size.height > kMaxImageSide) {
    throw InputError(fmt::format("{}: the header says {}x{}; width and height must be 1 to {}",
                                 path, plane.size.width, plane.size.height, kMaxImageSide));
  }
  const std::size_t begin = static_cast<std::size_t>(header.tellg()) + 1;
  const std::size_t width = static_cast<std::size_t>(plane.size.width);
  const std::size_t height = static_cast<std::size_t>(plane.size.height);
  if (bytes.size() != begin + width * height * 4) {
    throw InputError(fmt::format(
        "{}: truncated or damaged: {}x{} values make {} bytes, {} follow the header", path, width,
        height, width * height * 4, bytes.size() - std::min(begin, bytes.size())));
  }
  plane.values.resize(width * height);
  for (std::size_t y = 0; y < height; ++y) {
    std::memcpy(plane.values.data() + (height - 1 - y) * width,
                bytes.data() + begin + y * width * 4, width * 4);
  }
  if (scale > 0.0) {  // big-endian
    for (float& value : plane.values)
      value = std::bit_cast<float>(__builtin_bswap32(std::bit_cast<std::uint32_t>(value)));
  }
  return plane;
}

void write_pfm(const std::string& path, ImageSize size, const std::vector<float>& values) {
  const std::size_t width = static_cast<std::size_t>(size.width);
  const std::size_t height = static_cast<std::size_t>(size.height);
  std::vector<float> rows(width * height);
  for (std::size_t y = 0; y < height; ++y) {
    std::memcpy(rows.data() + (height - 1 - y) * width, values.data() + y * width,
                width * sizeof(float));
  }
  write_all(path, fmt::format("Pf\n{} {}\n-1.0\n", width, height), rows.data(), rows.size());
}

}  // namespace ocellus::app
