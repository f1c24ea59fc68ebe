#include "apps/measure/image_errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "identify/fft.h"

namespace ocellus::app {
namespace {

std::size_t index_of(ImageSize size, int x, int y) {
  return static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
         static_cast<std::size_t>(x);
}

/// The weights of a Gaussian from -radius to radius. Their sum is 1.
std::vector<double> gaussian(double sigma, int radius) {
  std::vector<double> weights;
  double sum = 0.0;
  for (int k = -radius; k <= radius; ++k) {
    weights.push_back(std::exp(-0.5 * k * k / (sigma * sigma)));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// The filtered image without the pixels whose window leaves the image: pixel (x, y) is the
/// weighted sum around (x + radius, y + radius).
GrayPlane filtered_inside(const GrayPlane& in, const std::vector<double>& weights) {
  const int reach = static_cast<int>(weights.size()) - 1;
  const ImageSize inner{in.size.width - reach, in.size.height - reach};
  GrayPlane rows{{inner.width, in.size.height}, {}};
  rows.values.reserve(pixels_of(rows.size));
  for (int y = 0; y < in.size.height; ++y) {
    for (int x = 0; x < inner.width; ++x) {
      const double* const from = &in.values[index_of(in.size, x, y)];
      double sum = 0.0;
      for (std::size_t k = 0; k < weights.size(); ++k) sum += weights[k] * from[k];
      rows.values.push_back(sum);
    }
  }
  GrayPlane out{inner, {}};
  out.values.reserve(pixels_of(inner));
  for (int y = 0; y < inner.height; ++y) {
    for (int x = 0; x < inner.width; ++x) {
      double sum = 0.0;
      for (std::size_t k = 0; k < weights.size(); ++k)
        sum += weights[k] * rows.values[index_of(rows.size, x, y + static_cast<int>(k))];
      out.values.push_back(sum);
    }
  }
  return out;
}

GrayPlane product(const GrayPlane& a, const GrayPlane& b) {
  GrayPlane out = a;
  for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] *= b.values[i];
  return out;
}

/// The coordinate in the image for any coordinate, if the image continues as its mirror image. The
/// last pixel appears twice.
int mirrored(int position, int side) {
  const int period = 2 * side;
  const int phase = ((position % period) + period) % period;
  return phase < side ? phase : period - 1 - phase;
}

}  // namespace

GrayPlane gray_plane(const GrayImage& image, int border) {
  GrayPlane plane;
  plane.size = {image.size.width - 2 * border, image.size.height - 2 * border};
  for (int y = border; y < image.size.height - border; ++y) {
    for (int x = border; x < image.size.width - border; ++x)
      plane.values.push_back(image.brightness(x, y));
  }
  return plane;
}

double psnr_of(double mse) {
  return mse > 0.0 ? 10.0 * std::log10(255.0 * 255.0 / mse)
                   : std::numeric_limits<double>::infinity();
}

std::optional<double> ssim(const GrayPlane& a, const GrayPlane& b) {
  constexpr int kRadius = 5;
  if (a.size.width <= 2 * kRadius || a.size.height <= 2 * kRadius) return std::nullopt;
  const std::vector<double> weights = gaussian(1.5, kRadius);
  const GrayPlane mean_a = filtered_inside(a, weights);
  const GrayPlane mean_b = filtered_inside(b, weights);
  const GrayPlane aa = filtered_inside(product(a, a), weights);
  const GrayPlane bb = filtered_inside(product(b, b), weights);
  const GrayPlane ab = filtered_inside(product(a, b), weights);
  constexpr double kC1 = (0.01 * 255.0) * (0.01 * 255.0);
  constexpr double kC2 = (0.03 * 255.0) * (0.03 * 255.0);
  double total = 0.0;
  for (std::size_t i = 0; i < mean_a.values.size(); ++i) {
    const double ma = mean_a.values[i];
    const double mb = mean_b.values[i];
    total += (2.0 * ma * mb + kC1) * (2.0 * (ab.values[i] - ma * mb) + kC2) /
             ((ma * ma + mb * mb + kC1) * (aa.values[i] - ma * ma + bb.values[i] - mb * mb + kC2));
  }
  return total / static_cast<double>(mean_a.values.size());
}

GrayPlane blurred(const GrayPlane& image, double sigma) {
  const int radius = static_cast<int>(4.0 * sigma + 0.5);
  GrayPlane wide{{image.size.width + 2 * radius, image.size.height + 2 * radius}, {}};
  wide.values.reserve(pixels_of(wide.size));
  for (int y = -radius; y < image.size.height + radius; ++y) {
    for (int x = -radius; x < image.size.width + radius; ++x)
      wide.values.push_back(image.values[index_of(image.size, mirrored(x, image.size.width),
                                                  mirrored(y, image.size.height))]);
  }
  return filtered_inside(wide, gaussian(sigma, radius));
}

std::optional<SeenErrors> seen_errors(const GrayPlane& result, const GrayPlane& truth, double sigma,
                                      int border) {
  const ImageSize size = truth.size;
  if (2 * border >= std::min(size.width, size.height)) return std::nullopt;
  const GrayPlane a = blurred(result, sigma);
  const GrayPlane b = blurred(truth, sigma);
  double squares = 0.0;
  double sum = 0.0;
  double count = 0.0;
  for (int y = border; y < size.height - border; ++y) {
    for (int x = border; x < size.width - border; ++x) {
      const std::size_t i = index_of(size, x, y);
      const double difference = a.values[i] - b.values[i];
      squares += difference * difference;
      sum += result.values[i] - truth.values[i];
      count += 1.0;
    }
  }
  SeenErrors errors;
  errors.psnr = psnr_of(squares / count);
  errors.mean_difference = sum / count / 255.0;
  return errors;
}

std::optional<Anisotropy> anisotropy(const GrayPlane& result, const GrayPlane& truth) {
  constexpr int kBlock = kAnisotropyBlock;
  const ImageSize size = truth.size;
  std::array<double, kBlock> window{};
  for (int i = 0; i < kBlock; ++i)
    window[static_cast<std::size_t>(i)] =
        0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * (i + 0.5) / kBlock);
  std::vector<double> power(static_cast<std::size_t>(kBlock) * kBlock, 0.0);
  Anisotropy found;
  for (int top = 0; top + kBlock <= size.height; top += kBlock / 2) {
    for (int left = 0; left + kBlock <= size.width; left += kBlock / 2) {
      identify::Spectrum block(kBlock);
      for (int y = 0; y < kBlock; ++y) {
        for (int x = 0; x < kBlock; ++x) {
          const std::size_t i = index_of(size, left + x, top + y);
          block.at(y, x) = window[static_cast<std::size_t>(y)] *
                           window[static_cast<std::size_t>(x)] *
                           (result.values[i] - truth.values[i]);
        }
      }
      identify::fourier_transform(block);
      for (std::size_t i = 0; i < power.size(); ++i) power[i] += std::norm(block.values[i]);
      ++found.blocks;
    }
  }
  if (found.blocks == 0) return std::nullopt;

  // Circles with a width of one frequency step, up to the Nyquist frequency along the axes.
  constexpr std::size_t kRadii = kBlock / 2;
  std::array<std::vector<double>, kRadii + 1> circles;
  for (int fy = -kBlock / 2; fy < kBlock / 2; ++fy) {
    for (int fx = -kBlock / 2; fx < kBlock / 2; ++fx) {
      const auto radius = static_cast<std::size_t>(std::lround(std::hypot(fx, fy)));
      if (radius < 1 || radius > kRadii) continue;
      const auto x = static_cast<std::size_t>((fx + kBlock) % kBlock);
      const auto y = static_cast<std::size_t>((fy + kBlock) % kBlock);
      circles[radius].push_back(power[y * kBlock + x]);
    }
  }
  double sum = 0.0;
  double weights = 0.0;
  found.largest_db = -std::numeric_limits<double>::infinity();
  for (const std::vector<double>& circle : circles) {
    double mean = 0.0;
    for (const double value : circle) mean += value / static_cast<double>(circle.size());
    if (mean <= 0.0) continue;
    double variance = 0.0;
    for (const double value : circle)
      variance += (value - mean) * (value - mean) / static_cast<double>(circle.size() - 1);
    const double db = 10.0 * std::log10(std::max(variance / (mean * mean), 1e-30));
    sum += db * static_cast<double>(circle.size());
    weights += static_cast<double>(circle.size());
    found.largest_db = std::max(found.largest_db, db);
  }
  if (weights == 0.0) return std::nullopt;
  found.mean_db = sum / weights;
  return found;
}

}  // namespace ocellus::app
