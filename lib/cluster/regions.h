// The regions of a frame that the ranks of a cluster compute, and what they read around them.
#pragma once

#include <span>
#include <vector>

#include "ocellus/frame.h"

namespace ocellus::cluster {

/// Pixels that a kernel of nx x ny taps reads around its pixel, in image coordinates.
struct Reach {
  int left = 0;
  int right = 0;
  int above = 0;
  int below = 0;

  static Reach of_kernel(int nx, int ny) noexcept;
  static Reach of_window(int window) noexcept;
};

/// Cuts `length` pixels into pieces in proportion to `weights`, each of one pixel or more. Returns
/// the ends of the pieces. `length` must be at least the number of weights.
std::vector<int> apportion(int length, std::span<const double> weights);

/// Cuts the image into rows of regions, whose heights are in proportion to the sum of their
/// weights, and each row into regions in proportion to their weights. Region r is in row
/// r / columns. There must be columns x rows weights, all above 0, and the image must have at least
/// as many pixels along each side.
std::vector<Rect> cut_regions(ImageSize image, int columns, int rows,
                              std::span<const double> weights);

/// The rectangle extended on all sides and clipped to the image.
Rect grow(const Rect& rect, const Reach& by, ImageSize image) noexcept;
/// Empty (width and height 0) if they have no pixel in common.
Rect intersection(const Rect& a, const Rect& b) noexcept;
/// The smallest rectangle that holds all of them.
Rect bounding(std::span<const Rect> rects) noexcept;

/// The ranks that take part in sending a frame from rank 0 to all others. A node is a range of
/// ranks, whose first one receives for all of them.
struct TreeNode {
  int parent = -1;            ///< rank, -1 at the root
  int end = 0;                ///< the ranks from this one to `end` - 1 receive through this one
  std::vector<int> children;  ///< ranks, each the first of its own range
};

/// The place of `rank` in a tree in which no rank sends to more than `fan_out` others. 0: rank 0
/// sends to all.
TreeNode tree_node(int rank, int ranks, int fan_out);

}  // namespace ocellus::cluster
