#include "apps/neocognitron/training_scenes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "apps/common/common.h"
#include "apps/common/rounding.h"
#include "apps/io/digit_scene.h"
#include "apps/io/scene_random.h"

namespace ocellus::app {
namespace {

constexpr int kDigits = 10;

/// The class that each digit has among the images.
std::array<std::uint16_t, kDigits> classes_of_digits(const LabeledImages& images) {
  std::array<std::uint16_t, kDigits> classes{};
  for (int digit = 0; digit < kDigits; ++digit) {
    const std::string name = std::to_string(digit);
    const auto named = std::find(images.names.begin(), images.names.end(), name);
    if (named == images.names.end() && !images.names.empty()) {
      throw InputError(
          fmt::format("--drawn and --scenes need the classes 0 to 9; there is no class {}", name));
    }
    classes[static_cast<std::size_t>(digit)] =
        static_cast<std::uint16_t>(images.names.empty() ? digit : named - images.names.begin());
  }
  return classes;
}

/// Puts the images into the middle of larger ones.
void enlarge(LabeledImages& images, int width, int height) {
  width = std::max(width, images.width);
  height = std::max(height, images.height);
  if (width == images.width && height == images.height) return;
  LabeledImages larger{width, height, {}, {}, {}};
  larger.ink.resize(images.count() * larger.pixels());
  const int left = (width - images.width) / 2;
  const int top = (height - images.height) / 2;
  for (std::size_t i = 0; i < images.count(); ++i) {
    for (int y = 0; y < images.height; ++y) {
      std::copy_n(images.image(i) + y * images.width, images.width,
                  larger.ink.begin() + static_cast<std::ptrdiff_t>(i * larger.pixels()) +
                      (top + y) * width + left);
    }
  }
  images.width = width;
  images.height = height;
  images.ink = std::move(larger.ink);
}

TrainingFrame line_of_digits(const DigitImages& digits,
                             const std::array<std::uint16_t, kDigits>& classes, int number,
                             SceneRandom& random) {
  DigitSceneConfig config;
  config.seed = static_cast<unsigned>(random.index(1u << 31));
  config.size.width = static_cast<int>(random.uniform(200, 360));
  config.size.height = static_cast<int>(random.uniform(50, 90));
  config.digits = 3 + static_cast<int>(random.index(5));
  config.max_height = 42;
  config.min_gap = -0.12;  // neighbors touch
  config.max_gap = config.min_gap + random.uniform(0.05, 0.4);
  config.tilt = 5;
  config.min_contrast = 0.35;
  config.max_contrast = 0.9;
  DigitScene scene = make_digit_scene(config, digits, number);
  TrainingFrame frame{std::move(scene.image), {}};
  for (std::size_t i = 0; i < scene.boxes.size(); ++i) {
    if (scene.boxes[i].empty()) continue;
    frame.boxes.push_back(
        {scene.boxes[i], classes[static_cast<std::size_t>(scene.string[i] - '0')]});
  }
  return frame;
}

/// Sums of 2 radius + 1 neighbors along x or y.
std::vector<float> box_sums(const std::vector<float>& from, ImageSize size, int radius,
                            bool along_x) {
  std::vector<float> sums(from.size());
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      float sum = 0;
      for (int i = -radius; i <= radius; ++i) {
        const int u = along_x ? std::clamp(x + i, 0, size.width - 1) : x;
        const int v = along_x ? y : std::clamp(y + i, 0, size.height - 1);
        sum += from[static_cast<std::size_t>(v * size.width + u)];
      }
      sums[static_cast<std::size_t>(y * size.width + x)] = sum;
    }
  }
  return sums;
}

std::vector<float> smooth_noise(ImageSize size, SceneRandom& random) {
  std::vector<float> levels(pixels_of(size));
  for (float& level : levels) level = static_cast<float>(random.uniform(-1, 1));
  const int radius = 1 + static_cast<int>(random.index(7));
  for (const bool along_x : {true, false, true, false})
    levels = box_sums(levels, size, radius, along_x);
  return levels;
}

std::vector<float> waves(ImageSize size, SceneRandom& random) {
  std::vector<float> levels(pixels_of(size));
  for (int wave = 0; wave < 4; ++wave) {
    const double angle = random.uniform(0, 2 * std::numbers::pi);
    const double k = 2 * std::numbers::pi / random.uniform(8, 50);
    const double phase = random.uniform(0, 2 * std::numbers::pi);
    const double height = random.uniform(0.3, 1);
    std::size_t at = 0;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const double along = x * std::cos(angle) + y * std::sin(angle);
        levels[at++] += static_cast<float>(height * std::cos(k * along + phase));
      }
    }
  }
  return levels;
}

/// Curved strokes with corners, as of letters and signs.
std::vector<float> strokes(ImageSize size, SceneRandom& random) {
  constexpr int kStrokes = 14;
  constexpr double kStep = 0.5;
  std::vector<float> levels(pixels_of(size));
  for (int stroke = 0; stroke < kStrokes; ++stroke) {
    double x = random.uniform(0, size.width);
    double y = random.uniform(0, size.height);
    double angle = random.uniform(0, 2 * std::numbers::pi);
    const double length = random.uniform(5, 60);
    const double curvature = random.uniform(-0.15, 0.15);
    const double radius = random.uniform(1, 3);
    for (double along = 0; along < length; along += kStep) {
      x += kStep * std::cos(angle);
      y += kStep * std::sin(angle);
      angle += kStep * curvature;
      if (random.index(60) == 0) angle += random.uniform(-2, 2);
      for (int v = static_cast<int>(y - radius); v <= static_cast<int>(y + radius); ++v) {
        for (int u = static_cast<int>(x - radius); u <= static_cast<int>(x + radius); ++u) {
          const bool inside = u >= 0 && v >= 0 && u < size.width && v < size.height;
          if (inside && std::hypot(u - x, v - y) <= radius)
            levels[static_cast<std::size_t>(v * size.width + u)] = -1;
        }
      }
    }
  }
  return levels;
}

TrainingFrame without_digits(SceneRandom& random) {
  constexpr double kMiddle = 140;
  constexpr double kNoise = 6;
  ImageSize size;
  size.width = static_cast<int>(random.uniform(160, 360));
  size.height = static_cast<int>(random.uniform(60, 160));
  const double deviation = random.uniform(20, 60);
  const std::size_t kind = random.index(4);
  const std::vector<float> levels = kind <= 1   ? smooth_noise(size, random)
                                    : kind == 2 ? waves(size, random)
                                                : strokes(size, random);
  double sum = 0;
  double squares = 0;
  for (const float level : levels) {
    sum += static_cast<double>(level);
    squares += static_cast<double>(level) * static_cast<double>(level);
  }
  const auto count = static_cast<double>(levels.size());
  const double mean = sum / count;
  const double scale = deviation / std::sqrt(std::max(squares / count - mean * mean, 1e-9));
  TrainingFrame frame{GrayImage(size, PixelFormat::kGray8), {}};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    frame.image.pixels[i] = nearest_byte(kMiddle + scale * (static_cast<double>(levels[i]) - mean) +
                                         random.uniform(-kNoise, kNoise));
  }
  return frame;
}

}  // namespace

void name_classes(LabeledImages& images) {
  const auto most = std::max_element(images.labels.begin(), images.labels.end());
  const std::size_t classes = most == images.labels.end() ? 0 : std::size_t{*most} + 1;
  for (std::size_t i = images.names.size(); i < classes; ++i)
    images.names.push_back(std::to_string(i));
}

std::uint16_t label_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  const auto label = static_cast<std::uint16_t>(found - names.begin());
  if (found == names.end()) names.push_back(name);
  return label;
}

void add_drawn_digits(LabeledImages& images, std::size_t count, std::uint64_t seed) {
  constexpr double kRare = 0.7;
  const auto classes = classes_of_digits(images);
  const DigitImages drawn = draw_digits(count, static_cast<unsigned>(seed), kRare);
  enlarge(images, drawn.width, drawn.height);
  LabeledImages added{drawn.width, drawn.height, drawn.ink, {}, {}};
  for (const std::uint8_t digit : drawn.labels) added.labels.push_back(classes[digit]);
  enlarge(added, images.width, images.height);
  images.ink.insert(images.ink.end(), added.ink.begin(), added.ink.end());
  images.labels.insert(images.labels.end(), added.labels.begin(), added.labels.end());
}

std::vector<TrainingFrame> make_training_frames(const LabeledImages& images, int lines, int others,
                                                std::uint64_t seed) {
  const auto classes = classes_of_digits(images);
  DigitImages digits{images.width, images.height, {}, {}};
  for (std::size_t i = 0; i < images.count(); ++i) {
    const auto digit = std::find(classes.begin(), classes.end(), images.labels[i]);
    if (digit == classes.end()) continue;  // no digit
    digits.labels.push_back(static_cast<std::uint8_t>(digit - classes.begin()));
    digits.ink.insert(digits.ink.end(), images.image(i), images.image(i) + images.pixels());
  }
  SceneRandom random(static_cast<unsigned>(seed), 0);
  std::vector<TrainingFrame> frames;
  for (int i = 0; i < lines; ++i) frames.push_back(line_of_digits(digits, classes, i, random));
  for (int i = 0; i < others; ++i) frames.push_back(without_digits(random));
  return frames;
}

void add_training_frame(LabeledImages& images, const TrainingFrame& frame,
                        const std::string& other) {
  int label = kNoClass;
  if (!other.empty()) {
    if (images.names.empty()) name_classes(images);
    label = label_of(images.names, other);
  }
  constexpr int kSide = 64;  // of cut characters, at least
  enlarge(images, kSide, kSide);
  take(add_characters(frame.image.view(0, 0), frame.boxes, images, label));
}

}  // namespace ocellus::app
