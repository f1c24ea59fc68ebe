#include "identify/picture.h"

namespace ocellus::identify {

Picture crop(const Picture& picture, int x, int y, int width, int height) {
  Picture result(width, height);
  for (int i = 0; i < height; ++i) {
    for (int j = 0; j < width; ++j) result.at(i, j) = picture.at(y + i, x + j);
  }
  return result;
}

double mean(const Picture& picture) {
  double sum = 0.0;
  for (double v : picture.values) sum += v;
  return sum / static_cast<double>(picture.values.size());
}

double variance(const Picture& picture) {
  const double m = mean(picture);
  double sum = 0.0;
  for (double v : picture.values) sum += (v - m) * (v - m);
  return sum / static_cast<double>(picture.values.size());
}

}  // namespace ocellus::identify
