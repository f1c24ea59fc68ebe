#include "apps/io/flow_file.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "apps/common/common.h"
#include "apps/io/input_file.h"
#include "apps/io/output_file.h"

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

void check_side(const InputFile& file, ImageSize size) {
  if (size.width < 1 || size.height < 1 || size.width > kMaxImageSide ||
      size.height > kMaxImageSide) {
    file.fail(fmt::format("the header says {}; width and height must be 1 to {}", size_text(size),
                          kMaxImageSide));
  }
}

/// Checks that the field follows the header and nothing else.
void check_bytes(const InputFile& file, ImageSize size, const char* what, std::uint64_t each) {
  const std::uint64_t needed =
      each * static_cast<std::uint64_t>(size.width) * static_cast<std::uint64_t>(size.height);
  const std::uint64_t there = file.left();
  if (there == needed) return;
  file.fail(fmt::format("{}: {} {} make {} bytes, {} follow the header",
                        there < needed ? "truncated" : "damaged", size_text(size), what, needed,
                        there));
}

}  // namespace

FlowField::FlowField(ImageSize field_size, bool with_confidence, bool with_deviation)
    : size(field_size) {
  const std::size_t count =
      static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  u.resize(count);
  v.resize(count);
  if (with_confidence) confidence.resize(count);
  if (with_deviation) deviation.resize(count);
}

FlowOutput FlowField::output() {
  const auto plane = [this](std::vector<float>& values) {
    ImageView view;
    view.data = values.empty() ? nullptr : values.data();
    view.size = size;
    view.stride =
        static_cast<std::ptrdiff_t>(size.width) * static_cast<std::ptrdiff_t>(sizeof(float));
    view.format = PixelFormat::kFloat32;
    return view;
  };
  return {plane(u), plane(v), plane(confidence), plane(deviation)};
}

void copy_plane(const ImageView& plane, std::vector<float>& to) {
  if (plane.data == nullptr) return;
  to.clear();
  for (int y = 0; y < plane.size.height; ++y)
    to.insert(to.end(), plane.row<float>(y), plane.row<float>(y) + plane.size.width);
}

FlowField read_flo(const std::string& path) {
  InputFile file(path);
  char magic[4] = {};
  if (file.read_some(magic, 4) != 4 || std::memcmp(magic, kFloMagic, 4) != 0)
    file.fail("not a .flo file: it does not begin with PIEH");
  if (file.size() < 12) {
    file.fail(fmt::format("truncated: the header of a .flo file has 12 bytes, {} are there",
                          file.size()));
  }
  std::int32_t size[2] = {};
  file.read(size, sizeof(size));
  const ImageSize claimed{size[0], size[1]};
  check_side(file, claimed);
  // Checked before memory is allocated for the size that the header claims.
  check_bytes(file, claimed, "vectors", 8);
  FlowField field(claimed, false);
  const auto width = static_cast<std::size_t>(claimed.width);
  std::vector<float> row(2 * width);
  for (std::size_t at = 0; at < field.pixels(); at += width) {
    file.read(row.data(), row.size() * sizeof(float));
    for (std::size_t x = 0; x < width; ++x) {
      const float u = row[2 * x];
      const float v = row[2 * x + 1];
      const bool known =
          std::fabs(u) <= kUnknownFlow && std::fabs(v) <= kUnknownFlow;  // false for NaN
      field.u[at + x] = known ? u : std::numeric_limits<float>::quiet_NaN();
      field.v[at + x] = known ? v : std::numeric_limits<float>::quiet_NaN();
    }
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
  InputFile file(path);
  std::string head(128, '\0');
  head.resize(file.read_some(head.data(), head.size()));
  if (!head.starts_with("Pf"))
    file.fail("not a PFM file of one channel: it does not begin with Pf");
  std::istringstream header(head);
  std::string magic;
  FloatPlane plane;
  double scale = 0.0;
  // Exactly one white-space character ends the header.
  if (!(header >> magic >> plane.size.width >> plane.size.height >> scale) || magic != "Pf" ||
      scale == 0.0 || header.get() == std::istringstream::traits_type::eof())
    file.fail("damaged PFM header");
  check_side(file, plane.size);
  file.seek(static_cast<std::uint64_t>(header.tellg()));
  check_bytes(file, plane.size, "values", 4);
  const std::size_t width = static_cast<std::size_t>(plane.size.width);
  const std::size_t height = static_cast<std::size_t>(plane.size.height);
  plane.values.resize(width * height);
  for (std::size_t y = 0; y < height; ++y)
    file.read(plane.values.data() + (height - 1 - y) * width, width * sizeof(float));
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
