#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cluster/region_flow.h"
#include "cluster/regions.h"

namespace ocellus::cluster {
namespace {

// Fails when a pixel belongs to no region or to two, or when a region is empty.
TEST(Regions, CoverTheImageOnce) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const int columns = 1 + static_cast<int>(random() % 5);
    const int rows = 1 + static_cast<int>(random() % 5);
    const ImageSize image = {columns + static_cast<int>(random() % 60),
                             rows + static_cast<int>(random() % 60)};
    std::vector<double> weights;
    for (int r = 0; r < columns * rows; ++r)
      weights.push_back(std::exp(std::uniform_real_distribution<>(-4.0, 4.0)(random)));
    const std::vector<Rect> regions = cut_regions(image, columns, rows, weights);
    ASSERT_EQ(regions.size(), weights.size());
    std::vector<int> hits(static_cast<std::size_t>(image.width * image.height));
    for (const Rect& rect : regions) {
      ASSERT_GT(rect.width, 0);
      ASSERT_GT(rect.height, 0);
      for (int y = rect.y; y < rect.y + rect.height; ++y)
        for (int x = rect.x; x < rect.x + rect.width; ++x)
          ++hits.at(static_cast<std::size_t>(y * image.width + x));
    }
    for (const int hit : hits) ASSERT_EQ(hit, 1);
  }
}

// Fails when the areas do not follow the speeds.
TEST(Regions, FollowTheWeights) {
  const double weights[] = {1.0, 3.0, 2.0, 2.0};
  const std::vector<Rect> regions = cut_regions({800, 100}, 2, 2, weights);
  EXPECT_EQ(regions[0], (Rect{0, 0, 200, 50}));
  EXPECT_EQ(regions[1], (Rect{200, 0, 600, 50}));
  EXPECT_EQ(regions[2], (Rect{0, 50, 400, 50}));
  EXPECT_EQ(regions[3], (Rect{400, 50, 400, 50}));
  EXPECT_EQ(apportion(10, std::vector<double>{1e-9, 1.0, 1e-9}), (std::vector<int>{1, 9, 10}));
}

// Fails when a kernel's reach is mirrored: tap xi of a convolution is the pixel x - xi.
TEST(Regions, ReachOfEvenKernels) {
  const Reach reach = Reach::of_kernel(4, 5);
  EXPECT_EQ(reach.left, 1);
  EXPECT_EQ(reach.right, 2);
  EXPECT_EQ(reach.above, 2);
  EXPECT_EQ(reach.below, 2);
  EXPECT_EQ(grow({0, 10, 5, 5}, reach, {100, 16}), (Rect{0, 8, 7, 8}));
}

// Fails when a pixel of a halo comes from no neighbor or from two, or when two ranks disagree about
// what one sends and the other receives.
TEST(Regions, NeighborsHaveTheHalo) {
  FlowClusterConfig config;
  config.flow = OpticalFlowConfig::with_kernels({13, 11});
  const double weights[] = {1.0, 2.0, 1.0, 2.0, 1.0, 1.0};
  const std::vector<Rect> regions = cut_regions(config.flow.size, 3, 2, weights);
  const int ranks = static_cast<int>(regions.size());
  for (const int window : {3, 7, 15}) {
    config.flow.window = window;
    std::vector<RegionPlaces> all;
    for (int rank = 0; rank < ranks; ++rank)
      all.push_back(RegionPlaces::of(config, regions, rank, tree_node(rank, ranks, 0)));
    for (int rank = 0; rank < ranks; ++rank) {
      const RegionPlaces& mine = all[static_cast<std::size_t>(rank)];
      for (int y = 0; y < 11; ++y) {
        for (int x = 0; x < 13; ++x) {
          const Rect pixel = {x, y, 1, 1};
          int hits = intersection(mine.region, pixel).empty() ? 0 : 1;
          for (const RegionPlaces::Neighbor& neighbor : mine.neighbors)
            hits += intersection(neighbor.from, pixel).empty() ? 0 : 1;
          EXPECT_EQ(hits, intersection(mine.halo, pixel).empty() ? 0 : 1)
              << "rank " << rank << " at (" << x << ", " << y << ")";
        }
      }
      for (const RegionPlaces::Neighbor& neighbor : mine.neighbors) {
        const RegionPlaces& other = all[static_cast<std::size_t>(neighbor.rank)];
        EXPECT_EQ(neighbor.halo, other.halo);
        const auto back =
            std::find_if(other.neighbors.begin(), other.neighbors.end(),
                         [rank](const RegionPlaces::Neighbor& n) { return n.rank == rank; });
        ASSERT_NE(back, other.neighbors.end());
        EXPECT_EQ(neighbor.from, back->border);
        EXPECT_EQ(neighbor.border, back->from);
      }
    }
  }
}

TEST(Regions, IntersectionAndBounds) {
  EXPECT_EQ(intersection({0, 0, 4, 4}, {3, 2, 5, 5}), (Rect{3, 2, 1, 2}));
  EXPECT_TRUE(intersection({0, 0, 4, 4}, {4, 0, 4, 4}).empty());
  const Rect rects[] = {{5, 5, 1, 1}, {0, 7, 2, 2}};
  EXPECT_EQ(bounding(rects), (Rect{0, 5, 6, 4}));
}

// Fails when a rank is not reached, is reached twice, or sends to more ranks than it may.
TEST(Tree, ReachesEveryRankOnce) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    for (int fan_out = 0; fan_out <= 6; ++fan_out) {
      std::vector<int> received(static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) {
        const TreeNode node = tree_node(rank, ranks, fan_out);
        const int most = fan_out == 0 ? ranks : fan_out;
        ASSERT_LE(node.children.size(), static_cast<std::size_t>(most));
        int end = rank + 1;  // the ranges of the children follow each other
        for (const int child : node.children) {
          ++received.at(static_cast<std::size_t>(child));
          ASSERT_EQ(child, end);
          const TreeNode below = tree_node(child, ranks, fan_out);
          ASSERT_EQ(below.parent, rank);
          end = below.end;
        }
        ASSERT_EQ(end, node.end);
      }
      for (int rank = 0; rank < ranks; ++rank)
        ASSERT_EQ(received[static_cast<std::size_t>(rank)], rank == 0 ? 0 : 1);
    }
  }
}

}  // namespace
}  // namespace ocellus::cluster
