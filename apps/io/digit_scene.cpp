#include "apps/io/digit_scene.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "apps/common/rounding.h"
#include "apps/io/digit_strokes.h"
#include "apps/io/scene_random.h"

namespace ocellus::app {
namespace {

constexpr double kWidest = 1.3;  // of a digit, in heights
constexpr double kHeightVariation = 0.1;
constexpr double kBaselineVariation = 0.06;  // in heights
constexpr double kLineShare = 0.92;          // of the width of the frame that a line may take
constexpr double kCameraDistance = 1.2;      // in widths of the frame
constexpr int kSamples = 2;                  // of a pixel, along x and y
constexpr double kInkShare = 0.4;            // of full ink: such a pixel is inside the box
constexpr int kFormRows = 7;
constexpr int kFormColumns = 4;
constexpr int kMostFieldDigits = 10;   // of a field
constexpr double kFieldHeight = 0.42;  // in the distance of rows
constexpr double kFieldDigit = 0.66;   // height of a digit, in that of the field
constexpr double kFieldPitch = 0.9;    // width of a field for each digit, in heights of a digit
constexpr double kFieldEnds = 0.9;     // of a field beside its digits, in heights of a digit
constexpr double kFieldGap = 1.0;      // between fields, in heights of a digit
constexpr double kFormTurn = 0.003;    // at most, radians
constexpr double kFormShift = 1.0;     // at most, pixels
constexpr double kLeastInset = -2.0;   // of an outline in its field, pixels
constexpr double kMostInset = 3.0;
constexpr double kTouching = 0.3;   // share of the fields
constexpr double kClearance = 3.0;  // pixels between an outline and digits that do not touch it

/// A digit on the paper, whose coordinates are those of the frame without tilt and roll.
struct Placed {
  const std::uint8_t* ink = nullptr;
  double x = 0;      // of the left edge of the ink's box
  double y = 0;      // of its upper edge
  double scale = 1;  // pixels for a pixel of the digit's image
  int left = 0;      // the ink's box in the digit's image
  int top = 0;
  int right = 0;  // one past the last column
  int bottom = 0;
};

Placed find_ink(const DigitImages& digits, std::size_t index) {
  Placed placed;
  const std::size_t area = pixels_of({digits.width, digits.height});
  placed.ink = digits.ink.data() + index * area;
  placed.left = digits.width;
  placed.top = digits.height;
  for (int y = 0; y < digits.height; ++y) {
    for (int x = 0; x < digits.width; ++x) {
      if (placed.ink[y * digits.width + x] < 255 * kInkShare) continue;
      placed.left = std::min(placed.left, x);
      placed.top = std::min(placed.top, y);
      placed.right = std::max(placed.right, x + 1);
      placed.bottom = std::max(placed.bottom, y + 1);
    }
  }
  // An image without ink is placed as a whole.
  if (placed.right == 0) placed = {placed.ink, 0, 0, 1, 0, 0, digits.width, digits.height};
  return placed;
}

double ink_at(const Placed& digit, const DigitImages& images, double x, double y) {
  const double u = (x - digit.x) / digit.scale + digit.left - 0.5;
  const double v = (y - digit.y) / digit.scale + digit.top - 0.5;
  if (u <= -1 || v <= -1 || u >= images.width || v >= images.height) return 0;
  const auto column = static_cast<int>(std::floor(u));
  const auto row = static_cast<int>(std::floor(v));
  const auto pixel = [&](int px, int py) {
    const bool inside = px >= 0 && py >= 0 && px < images.width && py < images.height;
    return inside ? digit.ink[py * images.width + px] / 255.0 : 0.0;
  };
  const double fx = u - column;
  const double fy = v - row;
  return (pixel(column, row) * (1 - fx) + pixel(column + 1, row) * fx) * (1 - fy) +
         (pixel(column, row + 1) * (1 - fx) + pixel(column + 1, row + 1) * fx) * fy;
}

/// Where a pixel of the frame lies on the paper: a camera looks at a tilted plane.
class Camera {
 public:
  Camera(ImageSize size, double tilt, double direction, double roll)
      : center_x_(0.5 * size.width),
        center_y_(0.5 * size.height),
        distance_(kCameraDistance * size.width),
        roll_cosine_(std::cos(roll)),
        roll_sine_(std::sin(roll)),
        axis_x_(std::cos(direction)),
        axis_y_(std::sin(direction)),
        tilt_cosine_(std::cos(tilt)),
        tilt_sine_(std::sin(tilt)) {}

  StrokePoint to_paper(double x, double y) const {
    const double rx = (x - center_x_) * roll_cosine_ + (y - center_y_) * roll_sine_;
    const double ry = (y - center_y_) * roll_cosine_ - (x - center_x_) * roll_sine_;
    // The paper rises along the axis. The ray (rx, ry, distance) t meets it where
    // along t = a cos(tilt) and distance t = distance + a sin(tilt), with a on the paper.
    const double along = rx * axis_x_ + ry * axis_y_;
    const double across = ry * axis_x_ - rx * axis_y_;
    const double a = along * distance_ / (distance_ * tilt_cosine_ - along * tilt_sine_);
    const double t = 1 + a * tilt_sine_ / distance_;
    const double b = across * t;
    return {center_x_ + a * axis_x_ - b * axis_y_, center_y_ + a * axis_y_ + b * axis_x_};
  }

 private:
  double center_x_;
  double center_y_;
  double distance_;
  double roll_cosine_;
  double roll_sine_;
  double axis_x_;  // direction in which the paper is tilted
  double axis_y_;
  double tilt_cosine_;
  double tilt_sine_;
};

void blur(std::vector<float>& image, ImageSize size, double sigma) {
  const auto radius = static_cast<int>(std::ceil(3 * sigma));
  if (radius == 0) return;
  std::vector<float> weights;
  float sum = 0;
  for (int i = -radius; i <= radius; ++i) {
    weights.push_back(static_cast<float>(std::exp(-0.5 * i * i / (sigma * sigma))));
    sum += weights.back();
  }
  for (const bool vertical : {false, true}) {
    const std::vector<float> in = image;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        float value = 0;
        for (int i = -radius; i <= radius; ++i) {
          const int u = std::clamp(vertical ? x : x + i, 0, size.width - 1);
          const int v = std::clamp(vertical ? y + i : y, 0, size.height - 1);
          value += weights[static_cast<std::size_t>(i + radius)] *
                   in[static_cast<std::size_t>(v) * static_cast<std::size_t>(size.width) +
                      static_cast<std::size_t>(u)];
        }
        image[static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
              static_cast<std::size_t>(x)] = value / sum;
      }
    }
  }
}

/// Slow variations of the paper, at most 1.
class Paper {
 public:
  explicit Paper(SceneRandom& random) {
    for (Wave& wave : waves_) {
      const double angle = random.uniform(0, 2 * std::numbers::pi);
      const double k = 2 * std::numbers::pi / random.uniform(12, 120);
      wave = {k * std::cos(angle), k * std::sin(angle), random.uniform(0, 2 * std::numbers::pi)};
    }
  }
  double at(StrokePoint p) const {
    double sum = 0;
    for (const Wave& wave : waves_) sum += std::cos(wave.x * p.x + wave.y * p.y + wave.phase);
    return sum / static_cast<double>(waves_.size());
  }

 private:
  struct Wave {
    double x;
    double y;
    double phase;
  };
  std::array<Wave, 6> waves_{};
};

void extend(Rect& box, int x, int y) {
  if (box.empty()) {
    box = {x, y, 1, 1};
    return;
  }
  const int right = std::max(box.x + box.width, x + 1);
  const int bottom = std::max(box.y + box.height, y + 1);
  box.x = std::min(box.x, x);
  box.y = std::min(box.y, y);
  box.width = right - box.x;
  box.height = bottom - box.y;
}

/// The light on the paper, and the camera's blur and noise.
class Photograph {
 public:
  Photograph(const DigitSceneConfig& config, SceneRandom& random)
      : config_(config),
        paper_(random),
        white_(random.uniform(190, 240)),
        contrast_(random.uniform(config.min_contrast, config.max_contrast)),
        angle_(random.uniform(0, 2 * std::numbers::pi)),
        sigma_(random.uniform(0, config.blur)),
        texture_(random.uniform(0, 0.02)),
        radius_(0.5 * (std::abs(std::cos(angle_)) * config.size.width +
                       std::abs(std::sin(angle_)) * config.size.height)) {
    levels_.reserve(pixels_of(config.size));
  }

  /// The next pixel, row after row. `p`: its place on the paper. `cover`: the share of ink.
  void add(int x, int y, StrokePoint p, double cover) {
    const double along = ((x + 0.5 - 0.5 * config_.size.width) * std::cos(angle_) +
                          (y + 0.5 - 0.5 * config_.size.height) * std::sin(angle_)) /
                         radius_;
    // From 1 / light_ratio to 1.
    const double dark = 1 / config_.light_ratio;
    const double light = dark + (1 - dark) * 0.5 * (1 + along);
    const double reflected = (1 + texture_ * paper_.at(p)) * (1 - contrast_ * cover);
    levels_.push_back(static_cast<float>(white_ * light * reflected));
  }

  void finish(SceneRandom& random, GrayImage& image) {
    blur(levels_, config_.size, sigma_);
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const double level = config_.light_ink ? 255 - levels_[i] : levels_[i];
      const double noisy = level + config_.noise * random.normal();
      image.pixels[i] = nearest_byte(noisy);
    }
  }

 private:
  const DigitSceneConfig& config_;
  // In the order in which they are drawn from the random numbers.
  Paper paper_;
  double white_;
  double contrast_;
  double angle_;
  double sigma_;
  double texture_;
  double radius_;
  std::vector<float> levels_;
};

struct DigitLine {
  std::vector<Placed> digits;
  double height = 0;
  double width = 0;
};

/// Digits at random on a line that begins at x = 0 and has its baseline near y = 0. It is at most
/// `widest` pixels wide.
DigitLine make_line(const DigitSceneConfig& config, const DigitImages& digits, SceneRandom& random,
                    double widest, DigitScene& scene) {
  double height = random.uniform(config.min_height, config.max_height);
  std::vector<Placed> line;
  double width = 0;
  for (int i = 0; i < config.digits; ++i) {
    const std::size_t index = random.index(digits.count());
    scene.images.push_back(index);
    scene.string += static_cast<char>('0' + digits.labels[index]);
    Placed placed = find_ink(digits, index);
    const double own =
        std::clamp(height * random.uniform(1 - kHeightVariation, 1 + kHeightVariation),
                   config.min_height, config.max_height);
    placed.scale =
        std::min(own / (placed.bottom - placed.top), kWidest * own / (placed.right - placed.left));
    if (i > 0) width += height * random.uniform(config.min_gap, config.max_gap);
    placed.x = width;
    placed.y = height * (random.uniform(-kBaselineVariation, kBaselineVariation)) -
               placed.scale * (placed.bottom - placed.top);  // above the baseline
    width += placed.scale * (placed.right - placed.left);
    line.push_back(placed);
  }
  const double factor = std::min(1.0, widest / width);
  for (Placed& placed : line) {
    placed.x *= factor;
    placed.y *= factor;
    placed.scale *= factor;
  }
  return {line, height * factor, width * factor};
}

/// Places a line of digits in the frame.
std::vector<Placed> place_line(const DigitSceneConfig& config, const DigitImages& digits,
                               SceneRandom& random, DigitScene& scene) {
  DigitLine line = make_line(config, digits, random, kLineShare * config.size.width, scene);
  const double room_x = kLineShare * config.size.width - line.width;
  const double room_y = std::max(0.0, config.size.height * 0.8 - 2 * line.height);
  const double left = 0.5 * (config.size.width - line.width) + random.uniform(-0.5, 0.5) * room_x;
  const double base = 0.5 * (config.size.height + line.height) + random.uniform(-0.5, 0.5) * room_y;
  for (Placed& placed : line.digits) {
    placed.x += left;
    placed.y += base;
  }
  return line.digits;
}

}  // namespace

DigitScene make_digit_scene(const DigitSceneConfig& config, const DigitImages& digits, int number) {
  constexpr double kPi = std::numbers::pi;
  SceneRandom random(config.seed, number);
  DigitScene scene;
  scene.image = GrayImage(config.size, PixelFormat::kGray8);
  const std::vector<Placed> line = place_line(config, digits, random, scene);
  scene.boxes.resize(line.size());

  // In statements of their own: compilers evaluate the arguments of a call in different orders.
  const double roll = random.uniform(-config.roll, config.roll) * kPi / 180;
  const double direction = random.uniform(0, 2 * kPi);
  const double tilt = random.uniform(0, config.tilt) * kPi / 180;
  const Camera camera(config.size, tilt, direction, roll);
  Photograph photograph(config, random);
  for (int y = 0; y < config.size.height; ++y) {
    for (int x = 0; x < config.size.width; ++x) {
      double cover = 0;
      for (int s = 0; s < kSamples * kSamples; ++s) {
        const StrokePoint p = camera.to_paper(x + (s % kSamples + 0.5) / kSamples,
                                              y + (s / kSamples + 0.5) / kSamples);
        double darkest = 0;
        for (const Placed& digit : line)
          darkest = std::max(darkest, ink_at(digit, digits, p.x, p.y));
        cover += darkest / (kSamples * kSamples);
      }
      const StrokePoint p = camera.to_paper(x + 0.5, y + 0.5);
      for (std::size_t i = 0; i < line.size(); ++i) {
        if (ink_at(line[i], digits, p.x, p.y) >= kInkShare) extend(scene.boxes[i], x, y);
      }
      photograph.add(x, y, p, cover);
    }
  }
  photograph.finish(random, scene.image);
  return scene;
}

std::vector<FormField> form_fields(ImageSize size) {
  const double pitch = static_cast<double>(size.height) / kFormRows;
  const double height = kFieldHeight * pitch;
  std::vector<FormField> fields;
  for (int row = 0; row < kFormRows; ++row) {
    std::array<double, kFormColumns> widths{};
    double digit = kFieldDigit * height;
    double sum = 0;  // of the row, in heights of a digit
    for (int column = 0; column < kFormColumns; ++column) {
      const int digits = 1 + 7 * (row * kFormColumns + column) % kMostFieldDigits;
      fields.push_back({{}, digits});
      widths[static_cast<std::size_t>(column)] = kFieldPitch * digits + kFieldEnds;
      sum += widths[static_cast<std::size_t>(column)];
    }
    digit = std::min(digit, kLineShare * size.width / (sum + kFieldGap * (kFormColumns - 1)));
    const double gap = (size.width - digit * sum) / (kFormColumns + 1);
    double left = gap;
    for (int column = 0; column < kFormColumns; ++column) {
      const double width = digit * widths[static_cast<std::size_t>(column)];
      FormField& field = fields[static_cast<std::size_t>(row * kFormColumns + column)];
      field.box = {static_cast<int>(std::lround(left)),
                   static_cast<int>(std::lround(pitch * (row + 0.5) - 0.5 * height)),
                   static_cast<int>(std::lround(width)), static_cast<int>(std::lround(height))};
      left += width + gap;
    }
  }
  return fields;
}

DigitScene make_form_scene(const DigitSceneConfig& config, const DigitImages& digits, int number) {
  SceneRandom random(config.seed, number);
  DigitScene scene;
  scene.image = GrayImage(config.size, PixelFormat::kGray8);
  const double turn = random.uniform(-kFormTurn, kFormTurn);
  const double shift_x = random.uniform(-kFormShift, kFormShift);
  const double shift_y = random.uniform(-kFormShift, kFormShift);
  const auto to_paper = [&](double x, double y) {
    return StrokePoint{x - shift_x - turn * (y - 0.5 * config.size.height),
                       y - shift_y + turn * (x - 0.5 * config.size.width)};
  };
  std::vector<float> covers(pixels_of(config.size));
  // Draws into the pixels whose places on the paper may lie in a rectangle.
  const auto draw = [&](double left, double top, double right, double bottom,
                        const auto& cover_at) {
    const int margin = static_cast<int>(kFormShift + kFormTurn * config.size.width) + 2;
    for (int y = std::max(0, static_cast<int>(top) - margin);
         y < std::min(config.size.height, static_cast<int>(bottom) + margin); ++y) {
      for (int x = std::max(0, static_cast<int>(left) - margin);
           x < std::min(config.size.width, static_cast<int>(right) + margin); ++x) {
        float& cover =
            covers[static_cast<std::size_t>(y) * static_cast<std::size_t>(config.size.width) +
                   static_cast<std::size_t>(x)];
        cover = std::max(cover, static_cast<float>(cover_at(x, y)));
      }
    }
  };
  for (const FormField& field : form_fields(config.size)) {
    const Rect& box = field.box;
    scene.fields.push_back(box);
    const double thickness = 1 + static_cast<double>(random.index(3));
    const double inset = random.uniform(kLeastInset, kMostInset);
    // The middle of the outline.
    const double left = box.x + inset;
    const double top = box.y + inset;
    const double right = box.x + box.width - inset;
    const double bottom = box.y + box.height - inset;
    draw(left, top, right, bottom, [&](int x, int y) {
      const StrokePoint p = to_paper(x + 0.5, y + 0.5);
      const double dx = std::max(left - p.x, p.x - right);
      const double dy = std::max(top - p.y, p.y - bottom);
      const double distance = dx > 0 && dy > 0 ? std::hypot(dx, dy) : std::abs(std::max(dx, dy));
      return std::clamp(0.5 * thickness - distance + 0.5, 0.0, 1.0);
    });

    DigitSceneConfig line_config = config;
    const double room_x = right - left - thickness - 2 * kClearance;
    const double room_y = bottom - top - thickness - 2 * kClearance;
    line_config.digits = field.digits;
    line_config.max_height = room_y;
    line_config.min_height = 0.75 * room_y;
    line_config.max_gap = 0.35;
    if (!scene.string.empty()) scene.string += '\n';
    std::vector<Placed> line = make_line(line_config, digits, random, room_x, scene).digits;
    double low_x = line.front().x;
    double low_y = line.front().y;
    double high_x = low_x;
    double high_y = low_y;
    for (const Placed& placed : line) {
      low_x = std::min(low_x, placed.x);
      low_y = std::min(low_y, placed.y);
      high_x = std::max(high_x, placed.x + placed.scale * (placed.right - placed.left));
      high_y = std::max(high_y, placed.y + placed.scale * (placed.bottom - placed.top));
    }
    const double half = 0.5 * thickness;
    const double free_x = std::max(0.0, room_x - (high_x - low_x));
    const double free_y = std::max(0.0, room_y - (high_y - low_y));
    double move_x = left + half + kClearance + random.uniform(0, 1) * free_x - low_x;
    double move_y = top + half + kClearance + random.uniform(0, 1) * free_y - low_y;
    const bool touches = random.uniform(0, 1) < kTouching;
    const std::size_t side = random.index(4);
    if (touches && side == 0) move_x = left - low_x;
    if (touches && side == 1) move_x = right - high_x;
    if (touches && side == 2) move_y = top - low_y;
    if (touches && side == 3) move_y = bottom - high_y;
    for (Placed& placed : line) {
      placed.x += move_x;
      placed.y += move_y;
      Rect& ink = scene.boxes.emplace_back();
      const double height = placed.scale * (placed.bottom - placed.top);
      const double width = placed.scale * (placed.right - placed.left);
      draw(placed.x, placed.y, placed.x + width, placed.y + height, [&](int x, int y) {
        double cover = 0;
        for (int s = 0; s < kSamples * kSamples; ++s) {
          const StrokePoint p =
              to_paper(x + (s % kSamples + 0.5) / kSamples, y + (s / kSamples + 0.5) / kSamples);
          cover += ink_at(placed, digits, p.x, p.y) / (kSamples * kSamples);
        }
        if (cover >= kInkShare) extend(ink, x, y);
        return cover;
      });
    }
  }
  Photograph photograph(config, random);
  std::size_t i = 0;
  for (int y = 0; y < config.size.height; ++y)
    for (int x = 0; x < config.size.width; ++x)
      photograph.add(x, y, to_paper(x + 0.5, y + 0.5), static_cast<double>(covers[i++]));
  photograph.finish(random, scene.image);
  return scene;
}

}  // namespace ocellus::app
