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
#include <vector>

#include "core/failure.h"
#include "identify/blur_shape.h"
#include "ocellus/identification.h"

namespace ocellus {
namespace {

/// Samples per pixel and direction for the shapes with a sharp boundary.
constexpr int kOversampling = 16;

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

Psf psf_of(const identify::BlurShape& shape, int radius) {
  return {2 * radius + 1, 2 * radius + 1, identify::draw(shape, radius)};
}

}  // namespace

namespace identify {

const char* BlurShape::name() const {
  switch (kind) {
    case BlurShape::Kind::kGaussian:
      return "gaussian";
    case BlurShape::Kind::kDisk:
      return "disk";
    case BlurShape::Kind::kMotion:
      return "motion";
    default:
      return "";
  }
}

std::vector<double> draw(const BlurShape& shape, int radius) {
  const int side = 2 * radius + 1;
  std::vector<double> values(static_cast<std::size_t>(side * side), 0.0);
  const auto at = [&](int y, int x) -> double& {
    return values[static_cast<std::size_t>((y + radius) * side + x + radius)];
  };
  if (shape.kind == BlurShape::Kind::kMotion) {
    const double c = std::cos(shape.angle * std::numbers::pi / 180.0);
    const double s = -std::sin(shape.angle * std::numbers::pi / 180.0);  // y points down
    const int samples = kOversampling * static_cast<int>(std::ceil(shape.size));
    for (int k = 0; k < samples; ++k) {
      const double t = shape.size * ((k + 0.5) / samples - 0.5);
      // The pixel that holds the sample: motion by n pixels along an axis gives n equal values.
      const auto nearest = [&](double v) {
        return std::clamp(static_cast<int>(std::lround(v + radius)) - radius, -radius, radius);
      };
      at(nearest(t * s + shape.y), nearest(t * c + shape.x)) += 1.0;
    }
  } else {
    for (int y = -radius; y <= radius; ++y) {
      for (int x = -radius; x <= radius; ++x) {
        const double u = x - shape.x;
        const double v = y - shape.y;
        if (shape.kind == BlurShape::Kind::kGaussian) {
          at(y, x) = std::exp(-0.5 * (u * u + v * v) / (shape.size * shape.size));
          continue;
        }
        if (std::hypot(u, v) > shape.size + 1.0) continue;
        int inside = 0;
        for (int k = 0; k < kOversampling * kOversampling; ++k) {
          const int row = k / kOversampling;
          const double du = u + (k % kOversampling + 0.5) / kOversampling - 0.5;
          const double dv = v + (row + 0.5) / kOversampling - 0.5;
          inside += du * du + dv * dv <= shape.size * shape.size ? 1 : 0;
        }
        at(y, x) = inside;
      }
    }
  }
  double sum = 0.0;
  for (double v : values) sum += v;
  for (double& v : values) v /= sum;
  return values;
}

}  // namespace identify

Expected<Psf> gaussian_psf(double sigma) {
  if (!(sigma > 0.0 && sigma <= 7.0)) {
    return detail::invalid_argument("sigma is %g; it must be above 0 and at most 7 pixels", sigma);
  }
  return psf_of({identify::BlurShape::Kind::kGaussian, sigma},
                std::max(1, static_cast<int>(std::ceil(4.0 * sigma))));
}

Expected<Psf> motion_psf(double length, double angle) {
  if (!(length >= 1.0 && length <= 61.0)) {
    return detail::invalid_argument("length is %g; it must be 1 to 61 pixels", length);
  }
  if (!std::isfinite(angle)) {
    return detail::invalid_argument("angle is %g; it must be finite, in degrees", angle);
  }
  return psf_of({identify::BlurShape::Kind::kMotion, length, angle},
                static_cast<int>(std::ceil(0.5 * length)));
}

Expected<Psf> disk_psf(double radius) {
  if (!(radius > 0.0 && radius <= 30.0)) {
    return detail::invalid_argument("radius is %g; it must be above 0 and at most 30 pixels",
                                    radius);
  }
  return psf_of({identify::BlurShape::Kind::kDisk, radius}, static_cast<int>(std::ceil(radius)));
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
