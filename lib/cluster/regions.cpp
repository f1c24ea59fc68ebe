#include "cluster/regions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ocellus::cluster {

Reach Reach::of_kernel(int nx, int ny) noexcept {
  return {nx - 1 - nx / 2, nx / 2, ny - 1 - ny / 2, ny / 2};
}

Reach Reach::of_window(int window) noexcept {
  return {window / 2, window / 2, window / 2, window / 2};
}

std::vector<int> apportion(int length, std::span<const double> weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto count = static_cast<int>(weights.size());
  std::vector<int> ends;
  double sum = 0.0;
  int last = 0;
  for (int i = 0; i < count; ++i) {
    sum += weights[static_cast<std::size_t>(i)];
    const auto ideal = static_cast<int>(std::lround(length * sum / total));
    // Every piece before and after this one keeps a pixel.
    last = i == count - 1 ? length : std::clamp(ideal, last + 1, length - (count - 1 - i));
    ends.push_back(last);
  }
  return ends;
}

std::vector<Rect> cut_regions(ImageSize image, int columns, int rows,
                              std::span<const double> weights) {
  const auto width = static_cast<std::size_t>(columns);
  std::vector<double> row_weights;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const auto part = weights.subspan(row * width, width);
    row_weights.push_back(std::accumulate(part.begin(), part.end(), 0.0));
  }
  std::vector<Rect> regions;
  int top = 0;
  const std::vector<int> row_ends = apportion(image.height, row_weights);
  for (std::size_t row = 0; row < row_ends.size(); ++row) {
    int left = 0;
    for (const int end : apportion(image.width, weights.subspan(row * width, width))) {
      regions.push_back({left, top, end - left, row_ends[row] - top});
      left = end;
    }
    top = row_ends[row];
  }
  return regions;
}

Rect grow(const Rect& rect, const Reach& by, ImageSize image) noexcept {
  const int left = std::max(0, rect.x - by.left);
  const int top = std::max(0, rect.y - by.above);
  const int right = std::min(image.width, rect.x + rect.width + by.right);
  const int bottom = std::min(image.height, rect.y + rect.height + by.below);
  return {left, top, right - left, bottom - top};
}

Rect intersection(const Rect& a, const Rect& b) noexcept {
  const int left = std::max(a.x, b.x);
  const int top = std::max(a.y, b.y);
  const int right = std::min(a.x + a.width, b.x + b.width);
  const int bottom = std::min(a.y + a.height, b.y + b.height);
  if (right <= left || bottom <= top) return {};
  return {left, top, right - left, bottom - top};
}

Rect bounding(std::span<const Rect> rects) noexcept {
  Rect all = rects.front();
  for (const Rect& rect : rects) {
    const int right = std::max(all.x + all.width, rect.x + rect.width);
    const int bottom = std::max(all.y + all.height, rect.y + rect.height);
    all.x = std::min(all.x, rect.x);
    all.y = std::min(all.y, rect.y);
    all.width = right - all.x;
    all.height = bottom - all.y;
  }
  return all;
}

TreeNode tree_node(int rank, int ranks, int fan_out) {
  int first = 0;
  TreeNode node{-1, ranks, {}};
  for (;;) {
    const int below = node.end - first - 1;  // ranks that this node serves besides itself
    const int branches = fan_out == 0 ? below : std::min(fan_out, below);
    node.children.clear();
    std::vector<int> ends;
    for (int branch = 0, begin = first + 1; branch < branches; ++branch) {
      node.children.push_back(begin);
      begin += below / branches + (branch < below % branches ? 1 : 0);
      ends.push_back(begin);
    }
    if (rank == first) return node;
    std::size_t branch = 0;
    while (rank >= ends[branch]) ++branch;
    node.parent = first;
    first = node.children[branch];
    node.end = ends[branch];
  }
}

}  // namespace ocellus::cluster
