// Makers and a reader of blur kernels.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numbers>
#include <string>

#include "core/failure.h"
#include "ocellus/identification.h"

namespace ocellus {
namespace {

Psf empty_psf(int width, int height) {
  Psf psf;
  psf.width = width;
  psf.height = height;
  psf.values.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 0.0);
  return psf;
}

void normalize(Psf& psf) {
  double sum = 0.0;
  for (double v : psf.values) sum += v;
  for (double& v : psf.values) v /= sum;
}

/// Samples per pixel and direction for the shapes with a sharp boundary.
constexpr int kOversampling = 16;

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

}  // namespace

Expected<Psf> gaussian_psf(double sigma) {
  if (!(sigma > 0.0 && sigma <= 7.0)) {
    return detail::invalid_argument("sigma is %g; it must be above 0 and at most 7 pixels", sigma);
  }
  const int radius = std::max(1, static_cast<int>(std::ceil(4.0 * sigma)));
  Psf psf = empty_psf(2 * radius + 1, 2 * radius + 1);
  for (int y = -radius; y <= radius; ++y) {
    for (int x = -radius; x <= radius; ++x) {
      psf.values[static_cast<std::size_t>((y + radius) * psf.width + x + radius)] =
          std::exp(-0.5 * (x * x + y * y) / (sigma * sigma));
    }
  }
  normalize(psf);
  return psf;
}

Expected<Psf> motion_psf(double length, double angle) {
  if (!(length >= 1.0 && length <= 61.0)) {
    return detail::invalid_argument("length is %g; it must be 1 to 61 pixels", length);
  }
  if (!std::isfinite(angle)) {
    return detail::invalid_argument("angle is %g; it must be finite, in degrees", angle);
  }
  const int radius = static_cast<int>(std::ceil(0.5 * length));
  Psf psf = empty_psf(2 * radius + 1, 2 * radius + 1);
  const double c = std::cos(angle * std::numbers::pi / 180.0);
  const double s = -std::sin(angle * std::numbers::pi / 180.0);  // y points down
  const int samples = kOversampling * static_cast<int>(std::ceil(length));
  for (int k = 0; k < samples; ++k) {
    const double t = length * ((k + 0.5) / samples - 0.5);
    const double x = t * c + radius;
    const double y = t * s + radius;
    // The pixel that holds the sample: motion by n pixels along an axis gives n equal values.
    const int column = std::clamp(static_cast<int>(std::lround(x)), 0, psf.width - 1);
    const int row = std::clamp(static_cast<int>(std::lround(y)), 0, psf.height - 1);
    psf.values[static_cast<std::size_t>(row * psf.width + column)] += 1.0;
  }
  normalize(psf);
  return psf;
}

Expected<Psf> disk_psf(double radius) {
  if (!(radius > 0.0 && radius <= 30.0)) {
    return detail::invalid_argument("radius is %g; it must be above 0 and at most 30 pixels",
                                    radius);
  }
  const int reach = static_cast<int>(std::ceil(radius));
  Psf psf = empty_psf(2 * reach + 1, 2 * reach + 1);
  for (int y = -reach; y <= reach; ++y) {
    for (int x = -reach; x <= reach; ++x) {
      int inside = 0;
      for (int k = 0; k < kOversampling * kOversampling; ++k) {
        const int row = k / kOversampling;
        const double u = x + (k % kOversampling + 0.5) / kOversampling - 0.5;
        const double v = y + (row + 0.5) / kOversampling - 0.5;
        inside += u * u + v * v <= radius * radius ? 1 : 0;
      }
      psf.values[static_cast<std::size_t>((y + reach) * psf.width + x + reach)] = inside;
    }
  }
  normalize(psf);
  return psf;
}

Expected<Psf> read_psf(const char* path) {
  const auto corrupt = [&](const char* format, auto... values) {
    char text[160];
    std::snprintf(text, sizeof(text), format, values...);
    return tl::unexpected(make_error(Status::kCorruptFile, "blur kernel: %s", text));
  };
  if (path == nullptr || path[0] == '\0') {
    return detail::invalid_argument("the path is empty; it must name a text file of numbers");
  }
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path, "r"));
  if (!file) {
    return tl::unexpected(
        make_error(Status::kIoError, "cannot open %.60s: %s", path, std::strerror(errno)));
  }
  Psf psf;
  // 63 numbers of 25 characters fit.
  char line[4096];
  for (int number = 1; std::fgets(line, sizeof(line), file.get()) != nullptr; ++number) {
    if (std::strlen(line) + 1 == sizeof(line)) {
      return corrupt("line %d is too long; a row has at most %d numbers", number, kMaxPsfSide);
    }
    int columns = 0;
    for (const char* at = line;;) {
      at += std::strspn(at, " \t,;\r\n");
      if (*at == '\0') break;
      char* end = nullptr;
      const double value = std::strtod(at, &end);
      if (end == at || !std::isfinite(value)) {
        return corrupt("line %d has a value that is not a finite number", number);
      }
      psf.values.push_back(value);
      ++columns;
      at = end;
    }
    if (columns == 0) continue;
    if (psf.height == 0) psf.width = columns;
    if (columns != psf.width) {
      return corrupt("line %d has %d numbers; the first row has %d", number, columns, psf.width);
    }
    ++psf.height;
    if (psf.width > kMaxPsfSide || psf.height > kMaxPsfSide) {
      return corrupt("it is larger than %dx%d values", kMaxPsfSide, kMaxPsfSide);
    }
  }
  if (std::ferror(file.get()) != 0) {
    return tl::unexpected(make_error(Status::kIoError, "cannot read %.60s", path));
  }
  if (psf.height == 0) return corrupt("the file has no numbers%s", "");
  return psf;
}

}  // namespace ocellus
