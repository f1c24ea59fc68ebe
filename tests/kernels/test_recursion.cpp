// The tiles and the table of the recursion on CUDA.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/restoration/recursion.h"
#include "support/restoration_filters.h"

namespace ocellus::test {
namespace {

using cuda::RecursionTask;
using cuda::RecursionTiles;
using cuda::ResidentBlocks;

// Fails when tiles leave a part of the image out, have no room for the margin, or overlap more than
// they must.
TEST(RecursionTiles, CoverTheImage) {
  for (const int width : {4, 40, 640, 2048, 16384}) {
    for (const int height : {1, 30, 480, 2048, 16384}) {
      for (const int margin : {0, 4, 64, 200, 512}) {
        for (const int support : {3, 9, 31}) {
          for (const int at_once : {1, 4}) {
            ResidentBlocks resident{};
            resident.fill(at_once);
            const RecursionTiles tiles = cuda::choose_recursion_tiles(
                {width, height, margin, margin, support, 132}, resident);
            ASSERT_GT(tiles.threads, 0);
            EXPECT_EQ(tiles.threads % 32, 0);
            EXPECT_EQ(tiles.width % cuda::kRecursionColumns, 0);
            EXPECT_LE(tiles.width + margin, tiles.threads * cuda::kRecursionColumns);
            EXPECT_GE(tiles.width * tiles.across, width);
            EXPECT_LT(tiles.width * (tiles.across - 1), width);
            EXPECT_GE(tiles.height * tiles.down, height);
            EXPECT_LT(tiles.height * (tiles.down - 1), height);
          }
        }
      }
    }
  }
}

// Fails when tiles are chosen although no block fits on the device, or the margin has no room.
TEST(RecursionTiles, NeedRoom) {
  ResidentBlocks resident{};
  EXPECT_EQ(cuda::choose_recursion_tiles({640, 480, 64, 64, 5, 132}, resident).threads, 0);
  resident[1] = 1;
  EXPECT_EQ(cuda::choose_recursion_tiles({640, 480, 64, 64, 5, 132}, resident).threads, 64);
  EXPECT_EQ(cuda::choose_recursion_tiles({640, 480, 256, 256, 5, 132}, resident).threads, 0);
}

// Fails when a coefficient is at a wrong place of the table, or what fills it up is not 0.
TEST(RecursionTable, HoldsTheCoefficients) {
  for (int support = 1; support <= kMaxFilterSupport; ++support) {
    const RestorationFilter filter = random_filter(support, 0.5, 1);
    const cuda::RecursionVariant variant = cuda::recursion_variant(support);
    ASSERT_GE(variant.support, support);
    ASSERT_LT(variant.support, support + 4);
    const int side = cuda::round_up_to_columns(variant.support);
    const auto floats = static_cast<std::size_t>(cuda::recursion_table_floats(variant.support));
    std::vector<float> table(kFilterQuadrants * floats, -1.0f);
    cuda::write_recursion_table(filter, variant.support, table.data());
    for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
      for (int r2 = 0; r2 < side; ++r2) {
        for (int r1 = 0; r1 < side; ++r1) {
          const bool inside = r1 < support && r2 < support;
          const auto tap = static_cast<std::size_t>(r1 * support + r2);
          const auto at = q * floats + static_cast<std::size_t>(r2 * side + r1);
          ASSERT_EQ(table[at], inside ? filter.feedforward[q][tap] : 0.0f);
          ASSERT_EQ(table[at + floats / 2], inside ? filter.feedback[q][tap] : 0.0f);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ocellus::test
