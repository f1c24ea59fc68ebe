#include "apps/io/test_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <random>

#include "apps/common/common.h"
#include "apps/common/rounding.h"
#include "apps/io/scene_text.h"

namespace ocellus::app {
namespace {

constexpr double kMean = 127.5;
constexpr double kDeviation = 36.0;  // so that 3.5 deviations reach either end of the range

constexpr const char* kForm =
    "a test scene is "
    "test:[WIDTHxHEIGHT][@FPS][,frames=N][,motion=affine|translate][,u=..][,v=..][,bits=8|16]"
    "[,seed=N]";

}  // namespace

TestScene TestScene::parse(const std::string& text) {
  TestScene scene;
  SceneText parts(text, std::string("test:").size(), kForm);
  for (bool first = true; parts.next(); first = false) {
    if (first && !parts.has_value()) {
      const std::string& part = parts.part();
      const std::size_t at = part.find('@');
      if (at != 0 && !part.empty()) scene.size_ = parse_size(part.substr(0, at), text);
      if (at != std::string::npos) scene.fps_ = parts.rate(part.substr(at + 1));
    } else if (parts.is("frames")) {
      scene.frames_ = parts.number(1, 1000);
    } else if (parts.is("motion")) {
      if (parts.value() != "affine" && parts.value() != "translate")
        parts.refuse("must be motion=affine or motion=translate");
      scene.motion_ = parts.value() == "affine" ? Motion::kAffine : Motion::kTranslate;
    } else if (parts.is("u")) {
      scene.u_ = parts.number(-1000.0, 1000.0);
    } else if (parts.is("v")) {
      scene.v_ = parts.number(-1000.0, 1000.0);
    } else if (parts.is("bits")) {
      const int bits = parts.number(8, 16);
      if (bits != 8 && bits != 16) parts.refuse("must be bits=8 or bits=16");
      scene.format_ = bits == 8 ? PixelFormat::kGray8 : PixelFormat::kGray16;
    } else if (parts.is("seed")) {
      scene.seed_ = parts.number(0u, 1000000u);
    } else {
      parts.refuse_unknown();
    }
  }
  if (scene.motion_ == Motion::kAffine) {
    // About one pixel per frame at the corner of the image, for every image size.
    const double radius = 0.5 * std::hypot(scene.size_.width, scene.size_.height);
    scene.rotation_ = std::min(0.05, 0.8 / radius);
    scene.zoom_ = 1.0 + std::min(0.02, 0.25 / radius);
  }
  scene.make_texture();
  return scene;
}

void TestScene::make_texture() {
  std::mt19937 random(seed_);
  // std::uniform_real_distribution differs between standard libraries. This formula does not.
  const auto uniform = [&random] { return static_cast<double>(random()) / 4294967296.0; };
  double power = 0.0;
  for (int i = 0; i < kWaves; ++i) {
    Wave& wave = waves_[static_cast<std::size_t>(i)];
    const double wavelength = 9.0 * std::pow(8.0, uniform());  // 9 to 72 pixels
    // Directions are spread evenly, so that every place has gradients along more than one line.
    const double angle = std::numbers::pi * (i + uniform()) / kWaves;
    const double k = 2.0 * std::numbers::pi / wavelength;
    wave.kx = k * std::cos(angle);
    wave.ky = k * std::sin(angle);
    wave.phase = 2.0 * std::numbers::pi * uniform();
    wave.amplitude = std::sqrt(wavelength);
    power += 0.5 * wave.amplitude * wave.amplitude;
  }
  for (Wave& wave : waves_) wave.amplitude *= kDeviation / std::sqrt(power);
}

TestScene::Affine TestScene::to_texture(double t) const {
  // As complex numbers about the center, one frame is z -> m z + w. Then t frames are z -> m^t z +
  // w (m^t - 1)/(m - 1), also for a t that is not an integer. The texture is sampled at the
  // inverse. Time counts from the middle of the sequence, so that the zoom stays moderate.
  const double time = t - 0.5 * (frames_ - 1);
  const std::complex<double> m = std::polar(zoom_, rotation_);
  const std::complex<double> w(u_, v_);
  const std::complex<double> power = std::polar(std::pow(zoom_, time), rotation_ * time);
  const std::complex<double> shift =
      motion_ == Motion::kTranslate ? w * time : w * (power - 1.0) / (m - 1.0);
  const std::complex<double> inverse = 1.0 / power;
  const std::complex<double> center(0.5 * (size_.width - 1), 0.5 * (size_.height - 1));
  const std::complex<double> offset = -(center + shift) * inverse;
  return {inverse.real(), -inverse.imag(), offset.real(),
          inverse.imag(), inverse.real(),  offset.imag()};
}

double TestScene::brightness(double x, double y, double t) const {
  const Affine map = to_texture(t);
  const double tx = map.a * x + map.b * y + map.c;
  const double ty = map.d * x + map.e * y + map.f;
  double sum = kMean;
  for (const Wave& wave : waves_)
    sum += wave.amplitude * std::cos(wave.kx * tx + wave.ky * ty + wave.phase);
  return sum;
}

void TestScene::motion_at(double x, double y, double& u, double& v) const {
  const std::complex<double> m = motion_ == Motion::kTranslate ? 1.0 : std::polar(zoom_, rotation_);
  const std::complex<double> z(x - 0.5 * (size_.width - 1), y - 0.5 * (size_.height - 1));
  const std::complex<double> moved = m * z + std::complex<double>(u_, v_) - z;
  u = moved.real();
  v = moved.imag();
}

GrayImage TestScene::frame(int t) const {
  GrayImage image(size_, format_);
  const Affine map = to_texture(t);
  // Along a row, the phase of every wave grows by a constant angle per pixel. So a complex product
  // replaces a cosine.
  std::array<double, kWaves> re{};
  std::array<double, kWaves> im{};
  std::array<double, kWaves> turn_re{};
  std::array<double, kWaves> turn_im{};
  for (int y = 0; y < size_.height; ++y) {
    for (std::size_t i = 0; i < kWaves; ++i) {
      const Wave& wave = waves_[i];
      const double begin =
          wave.kx * (map.b * y + map.c) + wave.ky * (map.e * y + map.f) + wave.phase;
      const double turn = wave.kx * map.a + wave.ky * map.d;
      re[i] = wave.amplitude * std::cos(begin);
      im[i] = wave.amplitude * std::sin(begin);
      turn_re[i] = std::cos(turn);
      turn_im[i] = std::sin(turn);
    }
    for (int x = 0; x < size_.width; ++x) {
      double sum = kMean;
      for (std::size_t i = 0; i < kWaves; ++i) {
        sum += re[i];
        const double next = re[i] * turn_re[i] - im[i] * turn_im[i];
        im[i] = re[i] * turn_im[i] + im[i] * turn_re[i];
        re[i] = next;
      }
      const double value = std::clamp(sum, 0.0, 255.0);
      const std::size_t index =
          static_cast<std::size_t>(y) * static_cast<std::size_t>(size_.width) +
          static_cast<std::size_t>(x);
      if (format_ == PixelFormat::kGray8) {
        image.pixels[index] = nearest_byte(value);
      } else {
        const auto wide = static_cast<std::uint16_t>(std::lround(value * 257.0));
        std::memcpy(image.pixels.data() + 2 * index, &wide, 2);
      }
    }
  }
  return image;
}

FlowField TestScene::truth() const {
  FlowField field(size_, false);
  std::size_t i = 0;
  for (int y = 0; y < size_.height; ++y) {
    for (int x = 0; x < size_.width; ++x, ++i) {
      double u = 0.0;
      double v = 0.0;
      motion_at(x, y, u, v);
      field.u[i] = static_cast<float>(u);
      field.v[i] = static_cast<float>(v);
    }
  }
  return field;
}

}  // namespace ocellus::app
