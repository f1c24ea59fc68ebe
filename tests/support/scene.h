// Synthetic images and frames: noise, and smooth textures with exactly known motion.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "support/plane.h"

namespace ocellus::test {

/// White noise, 0 to 255.
inline PlaneD noise(ImageSize size, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> gray(0.0, 255.0);
  PlaneD plane(size.width, size.height);
  for (double& value : plane.data) value = gray(random);
  return plane;
}

/// A smooth texture between 0 and 255: a sum of plane waves in all directions, with wavelengths
/// from `shortest` to `longest` pixels.
class Texture {
 public:
  explicit Texture(unsigned seed, double shortest = 10.0, double longest = 40.0, int waves = 24) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    for (int i = 0; i < waves; ++i) {
      // The directions are spread evenly, so that no place has the aperture problem.
      const double angle = std::numbers::pi * (i + unit(random)) / waves;
      const double length = shortest * std::pow(longest / shortest, unit(random));
      const double k = 2.0 * std::numbers::pi / length;
      waves_.push_back(
          {k * std::cos(angle), k * std::sin(angle), 2.0 * std::numbers::pi * unit(random)});
    }
    amplitude_ = 120.0 / std::sqrt(static_cast<double>(waves)) / 1.6;
  }
  double operator()(double x, double y) const {
    double sum = 127.5;
    for (const Wave& wave : waves_)
      sum += amplitude_ * std::cos(wave.kx * x + wave.ky * y + wave.phase);
    return sum;
  }

 private:
  struct Wave {
    double kx, ky, phase;
  };
  std::vector<Wave> waves_;
  double amplitude_;
};

/// The motion with velocity (a x + b y + c, d x + e y + f) at (x, y), constant in time, in pixels
/// per frame.
class AffineMotion {
 public:
  AffineMotion(double a, double b, double c, double d, double e, double f) : m_{a, b, c, d, e, f} {}
  /// The same linear part, with velocity (u, v) at the point (x, y).
  static AffineMotion about(double x, double y, double u, double v, double a, double b, double d,
                            double e) {
    return {a, b, u - a * x - b * y, d, e, v - d * x - e * y};
  }

  std::array<double, 2> velocity(double x, double y) const {
    return {m_[0] * x + m_[1] * y + m_[2], m_[3] * x + m_[4] * y + m_[5]};
  }
  /// The place of a point `frames` later, earlier when negative. The series of the matrix
  /// exponential.
  std::array<double, 2> moved(double x, double y, double frames) const {
    std::array<double, 2> position = {x, y};
    std::array<double, 2> term = velocity(x, y);
    double factor = frames;
    for (int k = 1; k < 40; ++k) {
      position[0] += factor * term[0];
      position[1] += factor * term[1];
      term = {m_[0] * term[0] + m_[1] * term[1], m_[3] * term[0] + m_[4] * term[1]};
      factor *= frames / (k + 1);
    }
    return position;
  }
  /// From (x, y) to the place of the same point in the next frame.
  std::array<double, 2> displacement(double x, double y) const {
    const auto next = moved(x, y, 1.0);
    return {next[0] - x, next[1] - y};
  }

 private:
  double m_[6];
};

/// The texture after motion for `moment` frames.
inline PlaneD render(const Texture& texture, const AffineMotion& motion, ImageSize size,
                     double moment) {
  PlaneD plane(size.width, size.height);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const auto source = motion.moved(x, y, -moment);
      plane.at(x, y) = texture(source[0], source[1]);
    }
  }
  return plane;
}

/// Frames of white noise.
inline std::vector<FrameBuffer> noise_frames(ImageSize size, PixelFormat format, int count,
                                             unsigned seed, int padding = 0, int offset = 0) {
  std::vector<FrameBuffer> frames;
  for (int f = 0; f < count; ++f) {
    frames.emplace_back(size, format, padding, offset);
    frames.back().fill(noise(size, seed * 1000 + static_cast<unsigned>(f)));
  }
  return frames;
}

/// Frames of a smooth texture that moves by (u, v) pixels from frame to frame. With `noisy` the
/// left third is noise, so that flat, smooth and rough parts occur.
inline std::vector<FrameBuffer> moving_frames(ImageSize size, PixelFormat format, int count,
                                              bool noisy = false, double u = 0.6, double v = -0.4) {
  const Texture texture(5, 6.0, 24.0);
  const AffineMotion motion(0, 0, u, 0, 0, v);
  std::vector<FrameBuffer> frames;
  for (int f = 0; f < count; ++f) {
    PlaneD plane = render(texture, motion, size, f);
    if (noisy) {
      const PlaneD rough = noise(size, static_cast<unsigned>(f));
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width / 3; ++x) plane.at(x, y) = rough.at(x, y);
    }
    frames.emplace_back(size, format);
    frames.back().fill(plane);
  }
  return frames;
}

/// Two textures that move differently, the second one in the lower right, and noise. Some residuals
/// are large.
inline std::vector<FrameBuffer> layered_frames(ImageSize size, PixelFormat format, int count) {
  const Texture far(11, 6.0, 30.0);
  const Texture near(12, 6.0, 30.0);
  const AffineMotion slow(0.002, 0, 1.3, 0, -0.002, -0.6);
  const AffineMotion fast(0, 0, -2.4, 0, 0, 1.7);
  std::vector<FrameBuffer> frames;
  for (int f = 0; f < count; ++f) {
    PlaneD gray = render(far, slow, size, f);
    const PlaneD front = render(near, fast, size, f);
    const PlaneD grain = noise(size, 500 + static_cast<unsigned>(f));
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        if (x - 2.4 * f > 0.5 * size.width && y + 1.7 * f > 0.4 * size.height)
          gray.at(x, y) = front.at(x, y);
        gray.at(x, y) += 0.06 * (grain.at(x, y) - 127.5);
      }
    }
    frames.emplace_back(size, format);
    frames.back().fill(gray);
  }
  return frames;
}

}  // namespace ocellus::test
