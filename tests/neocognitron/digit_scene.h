// Frames with digits of known boxes, drawn from strokes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "apps/io/digit_strokes.h"
#include "core/layout_builder.h"
#include "neocognitron/character_finder.h"
#include "neocognitron/ink_image.h"

namespace ocellus::test {

using Point = app::StrokePoint;
using app::Stroke;
using app::strokes_of;

/// A frame of paper with ink on it.
class Scene {
 public:
  Scene(int width, int height, double paper = 180, double ink = 50)
      : width_(width), height_(height), paper_(paper), ink_(ink), cover_(width * height) {}

  int width() const { return width_; }
  int height() const { return height_; }
  const std::vector<Rect>& boxes() const { return boxes_; }

  /// Draws a line of the given thickness and returns the box of its ink.
  Rect line(Point a, Point b, double thickness, double darkness = 1) {
    const double reach = thickness / 2 + 1;
    Rect box = nothing();
    for (int y = first(std::min(a.y, b.y) - reach); y <= last(std::max(a.y, b.y) + reach, height_);
         ++y) {
      for (int x = first(std::min(a.x, b.x) - reach); x <= last(std::max(a.x, b.x) + reach, width_);
           ++x) {
        const double dx = b.x - a.x;
        const double dy = b.y - a.y;
        const double length = dx * dx + dy * dy;
        const double t =
            length == 0 ? 0 : std::clamp(((x - a.x) * dx + (y - a.y) * dy) / length, 0.0, 1.0);
        const double distance = std::hypot(x - a.x - t * dx, y - a.y - t * dy);
        const double cover = std::clamp(thickness / 2 - distance + 0.5, 0.0, 1.0) * darkness;
        double& pixel = cover_[y * width_ + x];
        pixel = std::max(pixel, cover);
        if (cover >= 0.5 * darkness) add(box, x, y);
      }
    }
    return box;
  }

  /// Draws a digit; (x, y) is the upper left corner of its strokes' middles. Its box becomes one of
  /// `boxes`.
  Rect digit(int value, double x, double y, double height, double thickness = 4, double degrees = 0,
             double darkness = 1) {
    const double cosine = std::cos(degrees * std::numbers::pi / 180);
    const double sine = std::sin(degrees * std::numbers::pi / 180);
    Rect box = nothing();
    for (const Stroke& stroke : strokes_of(value)) {
      const auto at = [&](const Point& p) {
        return Point{x + height * (p.x * cosine - p.y * sine),
                     y + height * (p.x * sine + p.y * cosine)};
      };
      for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
        add(box, line(at(stroke[i]), at(stroke[i + 1]), thickness, darkness));
      }
    }
    boxes_.push_back(box);
    return box;
  }

  void blur(double sigma) {
    const int radius = static_cast<int>(std::ceil(3 * sigma));
    for (const bool vertical : {false, true}) {
      const std::vector<double> in = cover_;
      for (int y = 0; y < height_; ++y) {
        for (int x = 0; x < width_; ++x) {
          double sum = 0;
          double weights = 0;
          for (int i = -radius; i <= radius; ++i) {
            const int u = std::clamp(vertical ? x : x + i, 0, width_ - 1);
            const int v = std::clamp(vertical ? y + i : y, 0, height_ - 1);
            const double weight = std::exp(-0.5 * i * i / (sigma * sigma));
            sum += weight * in[v * width_ + u];
            weights += weight;
          }
          cover_[y * width_ + x] = sum / weights;
        }
      }
    }
  }

  /// The frame in 8 bits. The light falls by `gradient` from the left to the right. Noise is
  /// normal.
  std::vector<std::uint8_t> pixels(bool light_ink = false, double gradient = 1,
                                   double noise = 0) const {
    std::mt19937 random(1);
    std::normal_distribution<double> normal(0, 1);
    std::vector<std::uint8_t> out(cover_.size());
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        const double light = 1 + (1 / gradient - 1) * x / width_;
        double level = (paper_ + (ink_ - paper_) * cover_[y * width_ + x]) * light;
        if (light_ink) level = 255 - level;
        if (noise > 0) level += noise * normal(random);
        out[y * width_ + x] = static_cast<std::uint8_t>(std::lround(std::clamp(level, 0.0, 255.0)));
      }
    }
    return out;
  }

 private:
  static Rect nothing() { return {}; }
  static int first(double at) { return std::max(0, static_cast<int>(std::floor(at))); }
  static int last(double at, int size) {
    return std::min(size - 1, static_cast<int>(std::ceil(at)));
  }
  static void add(Rect& box, const Rect& other) {
    if (other.empty()) return;
    if (box.empty()) {
      box = other;
      return;
    }
    const int right = std::max(box.x + box.width, other.x + other.width);
    const int bottom = std::max(box.y + box.height, other.y + other.height);
    box.x = std::min(box.x, other.x);
    box.y = std::min(box.y, other.y);
    box.width = right - box.x;
    box.height = bottom - box.y;
  }
  static void add(Rect& box, int x, int y) { add(box, {x, y, 1, 1}); }

  int width_;
  int height_;
  double paper_;
  double ink_;
  std::vector<double> cover_;
  std::vector<Rect> boxes_;
};

inline double intersection_over_union(const Rect& a, const Rect& b) {
  const int width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const int height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  if (width <= 0 || height <= 0) return 0;
  const double both = static_cast<double>(width) * height;
  return both /
         (static_cast<double>(a.width) * a.height + static_cast<double>(b.width) * b.height - both);
}

/// Memory laid out for objects that take theirs from a LayoutBuilder.
class LaidOutMemory {
 public:
  explicit LaidOutMemory(std::size_t bytes)
      : memory_(std::aligned_alloc(kMemoryAlignment, bytes), std::free) {}
  void* get() const { return memory_.get(); }

 private:
  std::unique_ptr<void, void (*)(void*)> memory_;
};

/// A finder with its own memory.
class Finder {
 public:
  explicit Finder(const detail::CharacterFinderConfig& config)
      : memory_(bytes_for(config)), layout_(memory_.get()), finder_(config, layout_) {}

  void find(const std::vector<std::uint8_t>& pixels, int width, int height) {
    find({pixels.data(), width, {width, height}});
  }
  void find(const detail::GrayPlane& plane) {
    for (int half = 0; half < detail::CharacterFinder::kHalves; ++half)
      finder_.measure(plane, half);
    finder_.set_levels();
    for (int half = 0; half < detail::CharacterFinder::kHalves; ++half)
      finder_.extract(plane, half);
    finder_.find();
  }
  detail::CharacterFinder* operator->() { return &finder_; }
  /// The characters that are chosen without a recognizer.
  std::vector<detail::CharacterCandidate> characters() const {
    std::vector<detail::CharacterCandidate> characters;
    for (const std::uint8_t i : chosen()) characters.push_back(finder_.candidates()[i]);
    return characters;
  }
  /// Their indices among the candidates.
  std::vector<std::uint8_t> chosen() const {
    const detail::CharacterChoice all = choice();
    return {all.chosen().begin(), all.chosen().end()};
  }
  detail::CharacterChoice choice() const {
    detail::CharacterChoice choice;
    detail::choose_characters(finder_.candidates(), {}, {}, {}, choice);
    return choice;
  }
  std::vector<Rect> boxes() const {
    std::vector<Rect> boxes;
    for (const auto& character : characters()) boxes.push_back(character.box);
    return boxes;
  }

  static std::size_t bytes_for(const detail::CharacterFinderConfig& config) {
    detail::LayoutBuilder layout;
    const detail::CharacterFinder finder(config, layout);
    return layout.bytes();
  }

 private:
  LaidOutMemory memory_;
  detail::LayoutBuilder layout_;
  detail::CharacterFinder finder_;
};

}  // namespace ocellus::test
