// Strokes of the ten digits, for synthetic scenes that need no data files.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

namespace ocellus::app {

struct StrokePoint {
  double x;
  double y;
};
using Stroke = std::vector<StrokePoint>;

/// The strokes of a digit in a box of width 0.6 and height 1.
inline std::vector<Stroke> strokes_of(int digit) {
  const auto ellipse = [](double cx, double cy, double rx, double ry) {
    Stroke stroke;
    for (int i = 0; i <= 24; ++i) {
      const double angle = 2 * std::numbers::pi * i / 24;
      stroke.push_back({cx + rx * std::sin(angle), cy - ry * std::cos(angle)});
    }
    return stroke;
  };
  switch (digit) {
    case 0:
      return {ellipse(0.3, 0.5, 0.3, 0.5)};
    case 1:
      return {{{0.1, 0.2}, {0.3, 0}, {0.3, 1}}};
    case 2:
      return {{{0, 0.2}, {0.12, 0.03}, {0.3, 0}, {0.5, 0.06}, {0.58, 0.25}, {0, 1}, {0.6, 1}}};
    case 3:
      return {{{0, 0.05},
               {0.3, 0},
               {0.55, 0.12},
               {0.55, 0.35},
               {0.25, 0.47},
               {0.55, 0.6},
               {0.6, 0.8},
               {0.45, 0.97},
               {0.2, 1},
               {0, 0.92}}};
    case 4:
      return {{{0.45, 1}, {0.45, 0}, {0, 0.7}, {0.6, 0.7}}};
    case 5:
      return {{{0.55, 0},
               {0.08, 0},
               {0.05, 0.45},
               {0.3, 0.4},
               {0.55, 0.55},
               {0.58, 0.8},
               {0.3, 1},
               {0, 0.92}}};
    case 6:
      return {ellipse(0.3, 0.73, 0.28, 0.27), {{0.5, 0}, {0.15, 0.3}, {0.02, 0.7}}};
    case 7:
      return {{{0, 0}, {0.6, 0}, {0.2, 1}}};
    case 8:
      return {ellipse(0.3, 0.24, 0.24, 0.24), ellipse(0.3, 0.74, 0.3, 0.26)};
    default:
      return {ellipse(0.3, 0.27, 0.28, 0.27), {{0.58, 0.3}, {0.45, 0.7}, {0.1, 1}}};
  }
}

}  // namespace ocellus::app
