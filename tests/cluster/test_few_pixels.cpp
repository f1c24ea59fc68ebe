// Up to 16 ranks on images with a few rows or columns. Runs under mpirun; every part of the ranks
// is a cluster of its own.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <string>

#include "cpu_cluster.h"

namespace ocellus::test {
namespace {

/// The first ranks of the world. Null on the others.
class FirstRanks {
 public:
  explicit FirstRanks(int ranks) {
    const bool in = rank_of_world() < ranks;
    MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, 0, &communicator_);
  }
  ~FirstRanks() {
    if (communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
  }
  FirstRanks(const FirstRanks&) = delete;
  FirstRanks& operator=(const FirstRanks&) = delete;

  MPI_Comm get() const { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

/// 1 rank to all, with a grid that has `ranks` pieces along a side of `pixels` pixels. `configure`
/// makes the configuration.
template <typename Configure>
void expect_fields_or_an_error(const Configure& configure) {
  for (const int pixels : {1, 2, 3, 5}) {
    for (int ranks = 1; ranks <= ranks_of_world(); ++ranks) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(pixels) + " pixels");
      const FirstRanks part(ranks);
      if (part.get() == MPI_COMM_NULL) continue;
      const FlowClusterConfig config = configure(pixels, ranks);
      if (ranks <= pixels) {
        expect_same_fields(config, 6, part.get());
        continue;
      }
      const auto cluster = FlowCluster::create(part.get(), cpu_engine(), config);
      ASSERT_FALSE(cluster);
      EXPECT_EQ(cluster.error().status, Status::kInvalidArgument);
      const std::string image = std::to_string(config.flow.size.width) + " x " +
                                std::to_string(config.flow.size.height) + " pixels";
      EXPECT_NE(std::strstr(cluster.error().text, image.c_str()), nullptr) << cluster.error().text;
      EXPECT_NE(std::strstr(cluster.error().text, std::to_string(ranks).c_str()), nullptr)
          << cluster.error().text;
    }
  }
}

// Fails when a rank without rows computes, hangs or is not refused on all ranks, or when a region
// of one row gives another field than one process.
TEST(FewPixels, Rows) {
  for (const ClusterTransfer transfer :
       {ClusterTransfer::kMessages, ClusterTransfer::kCollective}) {
    expect_fields_or_an_error([transfer](int pixels, int) {
      FlowClusterConfig config = cluster_config({40, pixels});
      config.measure_speed = true;
      config.transfer = transfer;
      return config;
    });
  }
}

// Fails as `Rows` does, for regions of one column in a tree of ranks.
TEST(FewPixels, Columns) {
  expect_fields_or_an_error([](int pixels, int ranks) {
    FlowClusterConfig config = cluster_config({pixels, 30});
    config.columns = ranks;
    config.rows = 1;
    config.fan_out = 2;
    return config;
  });
}

}  // namespace
}  // namespace ocellus::test
