// A gray picture in double precision.
#pragma once

#include <cstddef>
#include <vector>

namespace ocellus::identify {

/// Values in rows.
template <typename Value>
struct Grid {
  Grid() = default;
  Grid(int w, int h)
      : width(w), height(h), values(static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {}
  Value& at(int y, int x) {
    return values[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(x)];
  }
  Value at(int y, int x) const { return const_cast<Grid*>(this)->at(y, x); }

  int width = 0;
  int height = 0;
  std::vector<Value> values;
};

/// A gray picture; 1 is white.
using Picture = Grid<double>;

/// Part of `picture`; the rectangle is inside.
inline Picture crop(const Picture& picture, int x, int y, int width, int height) {
  Picture result(width, height);
  for (int i = 0; i < height; ++i) {
    for (int j = 0; j < width; ++j) result.at(i, j) = picture.at(y + i, x + j);
  }
  return result;
}

inline double mean(const Picture& picture) {
  double sum = 0.0;
  for (double v : picture.values) sum += v;
  return sum / static_cast<double>(picture.values.size());
}

inline double variance(const Picture& picture) {
  const double m = mean(picture);
  double sum = 0.0;
  for (double v : picture.values) sum += (v - m) * (v - m);
  return sum / static_cast<double>(picture.values.size());
}

}  // namespace ocellus::identify
