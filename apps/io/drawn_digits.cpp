// Digits drawn from strokes.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "apps/common/rounding.h"
#include "apps/io/digit_scene.h"
#include "apps/io/digit_strokes.h"
#include "apps/io/scene_random.h"

namespace ocellus::app {
namespace {

constexpr int kDrawnSide = 64;       // of a digit drawn from strokes
constexpr double kDrawnHeight = 44;  // of the middles of its strokes

double distance_to(StrokePoint a, StrokePoint b, double x, double y) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double length = dx * dx + dy * dy;
  const double t =
      length == 0 ? 0 : std::clamp(((x - a.x) * dx + (y - a.y) * dy) / length, 0.0, 1.0);
  return std::hypot(x - a.x - t * dx, y - a.y - t * dy);
}

/// Ways to write a digit: a one with a hook of any length or none, a seven with a bar, an open
/// four, a two with a loop, a nine with a curved or a straight stem.
std::vector<Stroke> varied_strokes(int digit, SceneRandom& random) {
  const double choice = random.uniform(0, 1);
  const double a = random.uniform(0, 1);
  const double b = random.uniform(0, 1);
  if (digit == 1) {
    if (choice < 0.2) return {{{0.3, 0}, {0.3, 1}}};
    std::vector<Stroke> strokes{{{0.2 - 0.35 * a, 0.15 + 0.5 * b}, {0.3, 0}, {0.3, 1}}};
    if (choice > 0.9) strokes.push_back({{0.1, 1}, {0.5, 1}});
    return strokes;
  }
  if (digit == 2 && choice < 0.3) {
    return {{{0.02, 0.2},
             {0.15, 0.03},
             {0.35, 0},
             {0.5, 0.1},
             {0.52, 0.3},
             {0.35, 0.65},
             {0.12, 0.95},
             {0, 0.95},
             {0.02, 0.82},
             {0.15, 0.8},
             {0.35, 0.93},
             {0.62, 0.97}}};
  }
  if (digit == 4 && choice < 0.6) {
    return {{{0.1 + 0.1 * a, 0}, {0, 0.5 + 0.15 * b}, {0.62, 0.5 + 0.1 * b}},
            {{0.45, 0.1 + 0.25 * a}, {0.4, 1}}};
  }
  if (digit == 3 && choice < 0.25) {
    return {{{0, 0}, {0.55, 0}, {0.25, 0.4}, {0.55, 0.55}, {0.58, 0.8}, {0.4, 1}, {0, 0.93}}};
  }
  std::vector<Stroke> strokes = strokes_of(digit);
  if (digit == 0 && choice < 0.25) {
    strokes.push_back({{0.3, 0}, {0.45 + 0.1 * a, 0.05}, {0.6, -0.05 * b}});
  }
  if (digit == 7) {
    if (choice < 0.6) strokes.push_back({{0.12, 0.5}, {0.55, 0.45 + 0.1 * a}});
    if (b < 0.4) strokes.push_back({{-0.02, 0.15}, {0, 0}});
  }
  if (digit == 9 && choice < 0.5) strokes[1] = {{0.58, 0.2}, {0.58 - 0.1 * a, 1}};
  return strokes;
}

/// Ways to write a digit that are common in some countries and rare in others.
std::vector<Stroke> rare_strokes(int digit, SceneRandom& random) {
  const double choice = random.uniform(0, 1);
  const double a = random.uniform(0, 1);
  const double b = random.uniform(0, 1);
  switch (digit) {
    case 0:
      if (choice < 0.5) {  // open at the top, or its ends cross
        return {{{0.3 + 0.2 * a, 0.02 + 0.1 * b},
                 {0.1, 0.12},
                 {0, 0.5},
                 {0.12, 0.9},
                 {0.35, 1},
                 {0.55, 0.8},
                 {0.6, 0.45},
                 {0.5, 0.1},
                 {0.2 + 0.15 * b, 0.1 * a}}};
      }
      return {strokes_of(0)[0], {{0.35, 0.02}, {0.5 + 0.2 * a, 0.08 * b}, {0.7 + 0.3 * a, 0.05}}};
    case 1: {  // a long upstroke; a foot or a roof
      std::vector<Stroke> strokes{{{0.05 - 0.4 * a, 0.3 + 0.5 * b}, {0.3, 0}, {0.3, 1}}};
      if (choice < 0.2) strokes.push_back({{0.1, 1}, {0.5, 1}});
      if (choice > 0.8) strokes = {{{0, 0.1 + 0.1 * a}, {0.3, 0}, {0.28, 1}}};
      return strokes;
    }
    case 2:
      if (choice < 0.5) {  // a loop at the lower left, a wave to the right
        return {{{0.02, 0.25},
                 {0.1, 0.05},
                 {0.3, 0},
                 {0.48, 0.1},
                 {0.46, 0.35},
                 {0.25, 0.75},
                 {0.05, 0.98},
                 {-0.05, 0.9},
                 {0.05, 0.8},
                 {0.25, 0.88},
                 {0.5 + 0.2 * a, 1 - 0.1 * b}}};
      }
      return {{{0.1, 0.15 + 0.1 * a},  // narrow, with a loop at the top
               {0.2, 0},
               {0.4, 0.05},
               {0.42, 0.25},
               {0.25, 0.3 + 0.1 * b},
               {0.15, 0.2},
               {0.35, 0.35},
               {0.2, 0.75},
               {0.02, 1},
               {0.5, 0.95}}};
    case 3:
      if (choice < 0.5)
        return {{{0, 0.03}, {0.5, 0}, {0.22, 0.4}, {0.5, 0.5}, {0.5, 1}, {0.05, 1}}};
      return {{{0, 0.1}, {0.3, 0}, {0.5, 0.2}, {0.15, 0.45}, {0.55, 0.6}, {0.5, 0.95}, {0, 0.9}}};
    case 4:
      if (choice < 0.4) {  // one stroke, like lightning
        return {{{0.35 + 0.15 * a, 0},
                 {0.05, 0.4 + 0.1 * b},
                 {0.42 + 0.1 * a, 0.38 + 0.1 * b},
                 {0.15 + 0.15 * a, 1}}};
      }
      if (choice < 0.7) {  // narrow and open
        return {{{0.25, 0}, {0.08, 0.45 + 0.15 * b}, {0.4, 0.45 + 0.1 * b}},
                {{0.42, 0.1 + 0.25 * a}, {0.25 + 0.1 * a, 1}}};
      }
      return {{{0, 0.05}, {0.05, 0.45}, {0.5, 0.45}}, {{0.55, 0}, {0.5, 0.45}, {0.35 * b, 1}}};
    case 5:
      if (choice < 0.7) {  // ticked
        return {{{0.02, 0.2 + 0.25 * b},
                 {0.14, 0.22 + 0.2 * b},
                 {0.22 + 0.08 * a, 1},
                 {0.32 + 0.15 * a, 0.1 + 0.1 * b},
                 {0.45 + 0.15 * a, 0.03},
                 {0.8 + 0.3 * b, 0.02 + 0.05 * a}}};
      }
      return {{{0.1, 0.05}, {0.05, 0.45}, {0.35, 0.4}, {0.5, 0.6}, {0.35, 0.95}, {0, 0.95}},
              {{0.1, 0.05}, {0.5 + 0.3 * a, 0.02 - 0.1 * b}}};
    case 6:
      return {{{0.45, 0},
               {0.12, 0.4},
               {0, 0.75},
               {0.15, 1},
               {0.4, 0.95},
               {0.5, 0.7},
               {0.3, 0.55},
               {0.05, 0.75}}};
    case 7: {  // hooked, with a bar or without
      std::vector<Stroke> strokes{{{-0.02, 0.12 + 0.1 * b},
                                   {0.05, 0.02},
                                   {0.45, 0.03},
                                   {0.5, 0.1},
                                   {0.3, 0.5},
                                   {0.2 + 0.15 * a, 1}}};
      if (choice < 0.75)
        strokes.push_back({{0.05 + 0.1 * b, 0.52}, {0.5 + 0.1 * a, 0.45 + 0.08 * b}});
      return strokes;
    }
    case 8:
      return {{{0.5, 0.1},
               {0.25, 0},
               {0.1, 0.2},
               {0.45, 0.65},
               {0.4, 0.95},
               {0.15, 1},
               {0.05, 0.75},
               {0.4, 0.3},
               {0.5, 0.1 - 0.15 * a}}};
    default:
      if (choice < 0.5) {  // like a P
        return {{{0.12 + 0.1 * a, 0.05},
                 {0.4, 0},
                 {0.55, 0.12},
                 {0.5, 0.33},
                 {0.3, 0.42},
                 {0.1 + 0.05 * b, 0.36}},
                {{0.15 + 0.1 * a, 0.03}, {0.08, 0.5}, {-0.05 + 0.15 * b, 1}}};
      }
      if (choice < 0.75) {  // like a Q
        return {{{0.5, 0.1},
                 {0.25, 0},
                 {0.03, 0.18},
                 {0.1, 0.42},
                 {0.35, 0.45},
                 {0.52, 0.25},
                 {0.45, 0.08}},
                {{0.3, 0.4}, {0.42 + 0.1 * a, 0.7}, {0.5 + 0.15 * b, 1}}};
      }
      return {{{0.5, 0.15},
               {0.3, 0},
               {0.08, 0.1},
               {0.02, 0.3},
               {0.2, 0.4},
               {0.45, 0.25},
               {0.5, 0.02},
               {0.42, 0.6},
               {0.2 + 0.3 * a, 1}}};
  }
}

/// Cuts the corners of a stroke (Chaikin): it stays as it is at its ends.
Stroke rounded(const Stroke& stroke) {
  Stroke out{stroke.front()};
  for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
    const StrokePoint a = stroke[i];
    const StrokePoint b = stroke[i + 1];
    out.push_back({0.75 * a.x + 0.25 * b.x, 0.75 * a.y + 0.25 * b.y});
    out.push_back({0.25 * a.x + 0.75 * b.x, 0.25 * a.y + 0.75 * b.y});
  }
  out.push_back(stroke.back());
  return out;
}

void draw_digit(int digit, SceneRandom& random, double rare, std::uint8_t* out) {
  constexpr double kShift = 0.035;  // of a point of a stroke, in heights
  double aspect = random.uniform(0.8, 1.15);
  const double slant = random.uniform(-0.1, 0.3);
  const double thickness = kDrawnHeight * random.uniform(0.07, 0.13);
  std::vector<Stroke> strokes;
  if (rare > 0 && random.uniform(0, 1) < rare) {
    aspect *= random.uniform(0.65, 1.2);
    strokes = rare_strokes(digit, random);
    for (Stroke& stroke : strokes) stroke = rounded(rounded(stroke));
  } else {
    strokes = varied_strokes(digit, random);
  }
  for (Stroke& stroke : strokes) {
    // Smooth shifts, so that neighboring points move alike.
    const double phase_x = random.uniform(0, 2 * std::numbers::pi);
    const double phase_y = random.uniform(0, 2 * std::numbers::pi);
    for (StrokePoint& p : stroke) {
      const double x = p.x + kShift * std::sin(5 * p.y + phase_x);
      const double y = p.y + kShift * std::sin(5 * p.x + phase_y);
      p.x = 0.5 * kDrawnSide + kDrawnHeight * (aspect * (x - 0.3) + slant * (0.5 - y));
      p.y = 0.5 * kDrawnSide + kDrawnHeight * (y - 0.5);
    }
  }
  for (int y = 0; y < kDrawnSide; ++y) {
    for (int x = 0; x < kDrawnSide; ++x) {
      double distance = kDrawnSide;
      for (const Stroke& stroke : strokes) {
        for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
          distance = std::min(distance, distance_to(stroke[i], stroke[i + 1], x, y));
        }
      }
      const double cover = std::clamp(0.5 * thickness - distance + 0.5, 0.0, 1.0);
      out[y * kDrawnSide + x] = nearest_byte(255 * cover);
    }
  }
}

}  // namespace

DigitImages draw_digits(std::size_t count, unsigned seed, double rare) {
  DigitImages digits{kDrawnSide, kDrawnSide, {}, {}};
  constexpr std::size_t kArea = static_cast<std::size_t>(kDrawnSide) * kDrawnSide;
  digits.ink.resize(count * kArea);
  for (std::size_t i = 0; i < count; ++i) {
    SceneRandom random(seed, static_cast<int>(i));
    const auto label = static_cast<std::uint8_t>(random.index(10));
    digits.labels.push_back(label);
    draw_digit(label, random, rare, digits.ink.data() + i * kArea);
  }
  return digits;
}

}  // namespace ocellus::app
