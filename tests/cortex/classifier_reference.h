// The classifier of ocellus/cortex_model.h in double precision: sums over all inputs, and every
// quantity in its own units.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cortex/classifier.h"

namespace ocellus::test {

class ReferenceClassifier {
 public:
  ReferenceClassifier(const CortexParameters& parameters, int classes,
                      const detail::CortexArrays& arrays)
      : p_(parameters), classes_(classes), arrays_(arrays) {}

  /// Removes the slant in double precision, without rounding.
  static std::vector<double> deslant(const std::vector<double>& patch, int width, int height) {
    const auto at = [&](int x, int y) {
      return x < 0 || x >= width ? 0.0 : patch[static_cast<std::size_t>(y * width + x)];
    };
    double ink = 0.0;
    double cx = 0.0;
    double cy = 0.0;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        ink += at(x, y);
        cx += at(x, y) * x;
        cy += at(x, y) * y;
      }
    }
    if (ink == 0.0) return patch;
    cx /= ink;
    cy /= ink;
    double xy = 0.0;
    double yy = 0.0;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        xy += at(x, y) * (x - cx) * (y - cy);
        yy += at(x, y) * (y - cy) * (y - cy);
      }
    }
    const double slope = yy > 0.0 ? std::clamp(xy / yy, -1.0, 1.0) : 0.0;
    std::vector<double> out;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const double from = x + slope * (y - cy);
        const double whole = std::floor(from);
        const double part = from - whole;
        const int i = static_cast<int>(whole);
        out.push_back(at(i, y) * (1.0 - part) + at(i + 1, y) * part);
      }
    }
    return out;
  }

  /// Evidence (c) of each class from the LGN cells, [pixel].
  std::vector<double> evidence(const std::vector<int>& cells) {
    std::vector<double> e;
    for (int c = 0; c < classes_; ++c)
      e.push_back(arrays_.class_bias[c] / static_cast<double>(kCortexReadOutScale));
    std::vector<std::vector<double>> below;
    for (const int cell : cells) below.push_back({static_cast<double>(cell)});
    int columns = p_.width;
    int rows = p_.height;
    std::size_t weight = 0;
    std::size_t number = 0;  // of the first minicolumn of a hypercolumn, padded
    winners.clear();
    for (int level = 0; level < p_.level_count; ++level) {
      const CorticalLevel& shape = p_.levels[static_cast<std::size_t>(level)];
      const auto padded = static_cast<std::size_t>((shape.minicolumns + 31) / 32 * 32);
      std::vector<std::vector<double>> outputs;
      const bool free_fields = level == 0 && p_.fields > 0;
      const int wide =
          free_fields ? p_.fields : (columns - shape.window_width) / shape.stride_x + 1;
      const int high = free_fields ? 1 : (rows - shape.window_height) / shape.stride_y + 1;
      for (int h = 0; h < wide * high; ++h) {
        std::vector<double> scores;
        for (int m = 0; m < shape.minicolumns; ++m)
          scores.push_back(arrays_.bias[number + static_cast<std::size_t>(m)] / kUnit);
        for (const int point : points_of(shape, free_fields, h, wide, columns)) {
          for (const double input : below[static_cast<std::size_t>(point)]) {
            for (std::size_t m = 0; m < scores.size(); ++m)
              scores[m] += input * arrays_.weights[weight + m] / kUnit;
            weight += padded;
          }
        }
        add(scores, number, e, outputs);
        number += padded;
      }
      below = outputs;
      columns = wide;
      rows = high;
    }
    return e;
  }

  std::vector<int> winners;  ///< of the last image, level after level

 private:
  static constexpr double kUnit = kCortexWeightScale;

  /// Points of the grid below that a hypercolumn sees.
  std::vector<int> points_of(const CorticalLevel& shape, bool free_fields, int h, int wide,
                             int columns) const {
    std::vector<int> points;
    if (free_fields) {
      for (int i = 0; i < p_.field_inputs; ++i)
        points.push_back(arrays_.fields[h * p_.field_inputs + i]);
      return points;
    }
    for (int y = 0; y < shape.window_height; ++y)
      for (int x = 0; x < shape.window_width; ++x)
        points.push_back((h / wide * shape.stride_y + y) * columns + h % wide * shape.stride_x + x);
    return points;
  }

  void add(std::vector<double> scores, std::size_t number, std::vector<double>& e,
           std::vector<std::vector<double>>& outputs) {
    std::vector<std::size_t> order(scores.size());
    for (std::size_t m = 0; m < order.size(); ++m) order[m] = m;
    // Scores are multiples of 1/24; their sums in double precision are not, so they are rounded.
    for (double& s : scores) s = std::round(s * kUnit);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    double sum = 0.0;
    std::vector<double> shares;
    for (std::size_t k = 0; k < static_cast<std::size_t>(p_.competitors); ++k) {
      shares.push_back(std::exp(static_cast<double>(p_.softness) *
                                (scores[order[k]] - scores[order[0]]) / kUnit));
      sum += shares.back();
    }
    for (std::size_t k = 0; k < shares.size(); ++k) {
      for (std::size_t c = 0; c < e.size(); ++c) {
        e[c] += shares[k] / sum * arrays_.read_out[(number + order[k]) * e.size() + c] /
                static_cast<double>(kCortexReadOutScale);
      }
    }
    std::vector<double> output(scores.size(), 0.0);
    output[order[0]] = 1.0;
    outputs.push_back(output);
    winners.push_back(static_cast<int>(order[0]));
  }

  CortexParameters p_;
  int classes_;
  detail::CortexArrays arrays_;
};

}  // namespace ocellus::test
