// Runs under mpirun. Every rank runs every test; the root compares with OpticalFlow in one process.
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cpu_cluster.h"
#include "mpi_checker.h"

namespace ocellus::test {
namespace {

// Fails when a halo, a slab or an order of frames is wrong, for any grid of regions.
TEST(Cluster, EveryGridGivesTheFieldOfOneProcess) {
  const int ranks = ranks_of_world();
  for (int columns = 1; columns <= ranks; ++columns) {
    if (ranks % columns != 0) continue;
    FlowClusterConfig config = cluster_config({67, 53});
    config.columns = columns;
    config.rows = ranks / columns;
    SCOPED_TRACE(std::to_string(columns) + " columns");
    expect_same_fields(config, 9);
  }
}

// Fails when the kernels of a region are not those of the image, or when a path rounds differently.
TEST(Cluster, EveryPathGivesTheFieldOfOneProcess) {
  for (const bool half : {false, true}) {
    for (const auto& [form, origin] : {std::pair{KernelForm::kPerPixel, KernelOrigin::kGaussian},
                                       {KernelForm::kPerPixel, KernelOrigin::kFoveated},
                                       {KernelForm::kFull, KernelOrigin::kFoveated}}) {
      FlowClusterConfig config = cluster_config({61, 47});
      config.flow.format = half ? PixelFormat::kGray16 : PixelFormat::kGray8;
      config.flow.kernels.form = form;
      config.flow.kernels.origin = origin;
      config.flow.kernels.nx = 9;
      config.flow.kernels.ny = half ? 8 : 11;
      config.flow.kernels.fovea_radius = 20.0f;
      config.flow.storage = half ? CoefficientStorage::kHalf : CoefficientStorage::kFloat;
      config.flow.window = 9;
      config.flow.window_weight = WindowWeight::kBox;
      config.flow.confidence_threshold = 2.0f;
      SCOPED_TRACE(std::to_string(half) + " half, form " + std::to_string(static_cast<int>(form)) +
                   ", origin " + std::to_string(static_cast<int>(origin)));
      expect_same_fields(config, 8);
    }
  }
}

// Fails when the regions are thinner than the window, so that halos come from ranks further away.
TEST(Cluster, ThinRegions) {
  FlowClusterConfig config = cluster_config({40, 2 * ranks_of_world()});
  config.flow.window = 31;
  expect_same_fields(config, 6);
}

// Fails when frames in flight are mixed up, in trees and without split communication.
TEST(Cluster, TreesAndFramesInFlight) {
  for (const int fan_out : {0, 1, 2}) {
    for (const int in_flight : {1, 2, kMaxClusterFrames}) {
      for (const bool split : {true, false}) {
        FlowClusterConfig config = cluster_config({64, 48});
        config.fan_out = fan_out;
        config.frames_in_flight = in_flight;
        config.split_communication = split;
        SCOPED_TRACE(std::to_string(fan_out) + " fan-out, " + std::to_string(in_flight) +
                     " in flight, split " + std::to_string(split));
        expect_same_fields(config, 12);
      }
    }
  }
}

// Fails when the collective operations of the ranks are started in different orders, which ends in
// wrong pixels or never.
TEST(Cluster, CollectiveTransfers) {
  for (const int in_flight : {1, 3, kMaxClusterFrames}) {
    for (const bool split : {true, false}) {
      FlowClusterConfig config = cluster_config({67, 53});
      config.transfer = ClusterTransfer::kCollective;
      config.frames_in_flight = in_flight;
      config.split_communication = split;
      SCOPED_TRACE(std::to_string(in_flight) + " in flight, split " + std::to_string(split));
      expect_same_fields(config, 2 * in_flight + 5);
      config.flow.format = PixelFormat::kGray16;
      config.confidence = false;
      expect_same_fields(config, 6);
    }
  }
}

// Fails when a rank computes with other pixels than those of its own slab source, or the root sends
// pixels that nobody needs.
TEST(Cluster, FramesOnTheRanks) {
  for (const ClusterTransfer transfer :
       {ClusterTransfer::kMessages, ClusterTransfer::kCollective}) {
    FlowClusterConfig config = cluster_config({67, 53});
    config.scatter = false;
    config.transfer = transfer;
    config.frames_in_flight = 3;
    expect_same_fields(config, 9);
  }
}

// Fails when a missing slab source, or one whose slab has another size, is not reported.
TEST(Cluster, RefusesWrongSlabs) {
  if (ranks_of_world() > 1) GTEST_SKIP() << "one rank: an error on others ends the job";
  FlowClusterConfig config = cluster_config({24, 20});
  config.scatter = false;
  {
    auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
    ASSERT_TRUE(cluster) << cluster.error().text;
    const Expected<void> none = cluster->submit(Frame{});
    ASSERT_FALSE(none);
    EXPECT_NE(std::strstr(none.error().text, "data"), nullptr) << none.error().text;
  }
  auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
  ASSERT_TRUE(cluster) << cluster.error().text;
  cluster->set_slab_source(
      [](void*, std::uint64_t, const Rect& slab) {
        static unsigned char pixels[24 * 20] = {};
        return ImageView{pixels, {slab.width, slab.height - 1}, 24, PixelFormat::kGray8};
      },
      nullptr);
  const Expected<void> wrong = cluster->submit(Frame{});
  ASSERT_FALSE(wrong);
  EXPECT_NE(std::strstr(wrong.error().text, "24x19"), nullptr) << wrong.error().text;
}

// Fails when measured speeds, which differ in every run, change the field.
TEST(Cluster, MeasuredSpeeds) {
  FlowClusterConfig config = cluster_config({160, 120});
  config.measure_speed = true;
  expect_same_fields(config, 6);
}

// Fails when more than the three derivatives of the halo travel. The products of equation (3) would
// be five planes.
TEST(Cluster, HaloHasThreePlanes) {
  const int ranks = ranks_of_world();
  FlowClusterConfig config = cluster_config({80, 40 * ranks});
  config.flow.window = 15;
  config.gather = false;
  constexpr int kFrames = 7;
  auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
  ASSERT_TRUE(cluster) << cluster.error().text;
  std::uint64_t called = 0;  // a bit for each frame; their order is not fixed
  cluster->set_region_callback(
      [](void* user, std::uint64_t frame, const FlowOutput& field) {
        auto& seen = *static_cast<std::uint64_t*>(user);
        EXPECT_LT(frame, static_cast<std::uint64_t>(kFrames));
        EXPECT_EQ(seen >> frame & 1, 0u) << "frame " << frame << " twice";
        EXPECT_EQ(field.u.size, (ImageSize{80, 40}));
        seen |= std::uint64_t{1} << frame;
      },
      &called);
  if (cluster->rank() != 0) {
    ASSERT_TRUE(cluster->serve());
    EXPECT_EQ(called, (std::uint64_t{1} << kFrames) - 1);
    return;
  }
  for (int n = 0; n < kFrames; ++n) {
    const std::vector<unsigned char> pixels = frame_pixels(config.flow, n);
    ASSERT_TRUE(cluster->submit(frame_of(config.flow, pixels, n)));
    const auto field = cluster->wait(Deadline::never());
    ASSERT_TRUE(field);
    EXPECT_EQ(field->planes.u.data, nullptr);
    cluster->release();
  }
  ASSERT_TRUE(cluster->finish());
  EXPECT_EQ(called, (std::uint64_t{1} << kFrames) - 1);
  for (int r = 0; r < ranks; ++r) {
    const int neighbors = (r > 0 ? 1 : 0) + (r + 1 < ranks ? 1 : 0);
    const std::uint64_t bytes = static_cast<std::uint64_t>(neighbors) * 3 * 7 * 80 * sizeof(float);
    EXPECT_EQ(cluster->reports()[static_cast<std::size_t>(r)].halo_bytes, kFrames * bytes);
  }
}

// Fails when a rank that is much slower than the others loses frames, or mixes them up.
TEST(Cluster, ASlowRank) {
  FlowClusterConfig config = cluster_config({64, 48});
  auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
  ASSERT_TRUE(cluster) << cluster.error().text;
  if (cluster->rank() == cluster->ranks() - 1) {
    cluster->set_region_callback(
        [](void*, std::uint64_t, const FlowOutput&) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        },
        nullptr);
  }
  constexpr int kFrames = 20;
  if (cluster->rank() != 0) {
    ASSERT_TRUE(cluster->serve());
    return;
  }
  const std::vector<Field> expected = fields_of_one_process(config.flow, kFrames);
  for (int n = 0, sent = 0; n < kFrames; ++n) {
    for (; sent < kFrames && sent - n < config.frames_in_flight; ++sent)
      ASSERT_TRUE(cluster->submit(frame_of(config.flow, frame_pixels(config.flow, sent), sent)));
    const auto field = cluster->wait(Deadline::never());
    ASSERT_TRUE(field);
    EXPECT_TRUE(same(field->planes.u, expected[static_cast<std::size_t>(n)].u, config.flow.size));
    cluster->release();
  }
  ASSERT_TRUE(cluster->finish());
}

// Fails when two ranks wait for each other: the root for a slow rank that takes the next frame, and
// that rank for a halo that the root computes later. The messages are too large to be buffered.
TEST(Cluster, ASlowRankWithoutSplitCommunication) {
  for (const bool gather : {false, true}) {
    FlowClusterConfig config = cluster_config({320, 240});
    config.gather = gather;
    config.split_communication = false;
    auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
    ASSERT_TRUE(cluster) << cluster.error().text;
    if (cluster->rank() == cluster->ranks() - 1) {
      cluster->set_region_callback(
          [](void*, std::uint64_t, const FlowOutput&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          },
          nullptr);
    }
    if (cluster->rank() != 0) {
      ASSERT_TRUE(cluster->serve());
      continue;
    }
    const std::vector<unsigned char> pixels = frame_pixels(config.flow, 0);
    const Frame frame = frame_of(config.flow, pixels, 0);
    constexpr int kFrames = 40;
    for (int n = 0, sent = 0; n < kFrames; ++n) {
      for (; sent < kFrames && sent - n < config.frames_in_flight; ++sent)
        ASSERT_TRUE(cluster->submit(frame));
      ASSERT_TRUE(cluster->wait(Deadline::after(std::chrono::seconds(30)))) << "frame " << n;
      cluster->release();
    }
    ASSERT_TRUE(cluster->finish());
  }
}

// Fails when a slow rank loses a frame, because the message that ends its work overtakes the frame.
// Without results at the root nothing makes the root wait for that rank. From three ranks on.
TEST(Cluster, TheLastFramesOfASlowRank) {
  FlowClusterConfig config = cluster_config({64, 16 * ranks_of_world()});
  config.gather = false;
  for (int round = 0; round < 20; ++round) {
    auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
    ASSERT_TRUE(cluster) << cluster.error().text;
    if (cluster->rank() == cluster->ranks() - 1) {
      cluster->set_region_callback(
          [](void*, std::uint64_t frame, const FlowOutput&) {
            if (frame == 0) std::this_thread::sleep_for(std::chrono::milliseconds(30));
          },
          nullptr);
    }
    if (cluster->rank() != 0) {
      ASSERT_TRUE(cluster->serve());
      continue;
    }
    const std::vector<unsigned char> pixels = frame_pixels(config.flow, 0);
    const Frame frame = frame_of(config.flow, pixels, 0);
    ASSERT_TRUE(cluster->submit(frame));
    ASSERT_TRUE(cluster->wait(Deadline::never()));
    // The slow rank is in its callback when the next frames and the last message come.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(cluster->submit(frame));
    ASSERT_TRUE(cluster->submit(frame));
    ASSERT_TRUE(cluster->finish());
    for (const ClusterRankReport& report : cluster->reports()) EXPECT_EQ(report.frames, 3u);
  }
}

// Fails when a cluster that is destroyed without `finish` frees memory that MPI still uses, leaves
// a receive active that could be taken back, or does harm to a later cluster.
TEST(Cluster, UnfinishedClusters) {
  enum class Case { kNothingSent, kShortMessages, kLongMessages };
  for (const Case one : {Case::kNothingSent, Case::kShortMessages, Case::kLongMessages}) {
    SCOPED_TRACE(static_cast<int>(one));
    // MPI sends short messages at once, and long ones when the other rank receives, which it does
    // not do here.
    FlowClusterConfig config = cluster_config({24, 4 * ranks_of_world()});
    if (one == Case::kLongMessages) config.flow.size = {640, 480};
    {
      auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
      ASSERT_TRUE(cluster) << cluster.error().text;
      if (cluster->rank() == 0 && one != Case::kNothingSent) {
        const std::vector<unsigned char> pixels = frame_pixels(config.flow, 0);
        ASSERT_TRUE(cluster->submit(frame_of(config.flow, pixels, 0)));
      }
    }
    const int active = give_up_mpi_operations();
    if (one == Case::kLongMessages && rank_of_world() == 0 && ranks_of_world() > 1)
      EXPECT_GT(active, 0) << "the frame could not be sent";
    else
      EXPECT_EQ(active, 0);
    expect_same_fields(config, 3);
  }
}

// Fails when an event is lost or has no duration.
TEST(Cluster, Trace) {
  FlowClusterConfig config = cluster_config({64, 48});
  config.trace_events = 1000;
  constexpr int kFrames = 5;
  auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
  ASSERT_TRUE(cluster) << cluster.error().text;
  if (cluster->rank() != 0) {
    ASSERT_TRUE(cluster->serve());
    return;
  }
  for (int n = 0; n < kFrames; ++n) {
    const std::vector<unsigned char> pixels = frame_pixels(config.flow, n);
    ASSERT_TRUE(cluster->submit(frame_of(config.flow, pixels, n)));
    ASSERT_TRUE(cluster->wait(Deadline::never()));
    cluster->release();
  }
  ASSERT_TRUE(cluster->finish());
  std::vector<int> derivatives(static_cast<std::size_t>(cluster->ranks()));
  for (const ClusterEvent& event : cluster->trace()) {
    EXPECT_LE(event.begin_ns, event.end_ns);
    EXPECT_LT(event.frame, static_cast<std::uint32_t>(kFrames));
    if (event.stage == ClusterStage::kDerivatives)
      ++derivatives.at(static_cast<std::size_t>(event.rank));
  }
  for (const int count : derivatives) EXPECT_EQ(count, kFrames);
}

void expect_refused(const FlowClusterConfig& config, const char* text) {
  const auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
  ASSERT_FALSE(cluster);
  EXPECT_NE(std::strstr(cluster.error().text, text), nullptr) << cluster.error().text;
}

// Fails when a configuration that cannot work is accepted, on any rank.
TEST(Cluster, RefusesWhatItCannotDo) {
  const int ranks = ranks_of_world();
  FlowClusterConfig config = cluster_config({64, 48});
  config.flow.method = FlowMethod::kPyramid;
  expect_refused(config, "kPyramid; a cluster needs kKernels");
  config = cluster_config({64, 48});
  config.flow.format = PixelFormat::kFloat32;
  expect_refused(config, "kGray8 or kGray16");
  config = cluster_config({64, 48});
  config.flow.roi = {1, 1, 8, 8};
  expect_refused(config, "flow.roi");
  config = cluster_config({64, 48});
  config.columns = ranks + 1;
  config.rows = 1;
  expect_refused(config, "their product must be");
  config = cluster_config({64, 48});
  config.frames_in_flight = 9;
  expect_refused(config, "frames_in_flight is 9; it must be 1 to 8");
  config = cluster_config({64, 48});
  config.transfer = ClusterTransfer::kCollective;
  config.fan_out = 2;
  expect_refused(config, "kCollective with 0 columns and fan_out 2");
  config = cluster_config({0, 48});
  expect_refused(config, "0x48");
  // One rank alone fails: all get its text.
  config = cluster_config({64, 48});
  EngineConfig engine = cpu_engine();
  if (rank_of_world() == ranks - 1) engine.workers = 1000;
  const auto cluster = FlowCluster::create(MPI_COMM_WORLD, engine, config);
  ASSERT_FALSE(cluster);
  EXPECT_NE(std::strstr(cluster.error().text, ("rank " + std::to_string(ranks - 1)).c_str()),
            nullptr)
      << cluster.error().text;
}

// Fails when a rank with another configuration makes the others hang or compute something else.
TEST(Cluster, RefusesConfigurationsThatDiffer) {
  if (ranks_of_world() == 1) GTEST_SKIP() << "one rank differs from no other";
  const bool differs = rank_of_world() == ranks_of_world() - 1;
  FlowClusterConfig config = cluster_config({64, 48});
  if (differs) config.frames_in_flight = 3;
  expect_refused(config, "frames_in_flight is 3, and 4 on rank 0");
  config = cluster_config({64, 48});
  config.measure_speed = differs;
  expect_refused(config, "measure_speed is 1, and 0 on rank 0");
  config = cluster_config({64, 48});
  config.flow.window = differs ? 9 : 7;
  expect_refused(config, "flow.window is '9', and '7' on rank 0");
}

// Fails when a call with a wrong frame is taken, or does harm to later ones.
TEST(Cluster, RefusesWrongFrames) {
  const FlowClusterConfig config = cluster_config({64, 48});
  auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
  ASSERT_TRUE(cluster) << cluster.error().text;
  if (cluster->rank() != 0) {
    const std::vector<unsigned char> pixels = frame_pixels(config.flow, 0);
    EXPECT_EQ(cluster->submit(frame_of(config.flow, pixels, 0)).error().status,
              Status::kInvalidArgument);
    EXPECT_EQ(cluster->finish().error().status, Status::kInvalidArgument);
    ASSERT_TRUE(cluster->serve());
    return;
  }
  EXPECT_EQ(cluster->wait(Deadline::never()).error().status, Status::kInvalidTicket);
  const std::vector<unsigned char> pixels = frame_pixels(config.flow, 0);
  Frame frame = frame_of(config.flow, pixels, 0);
  frame.size.width = 63;
  EXPECT_EQ(cluster->submit(frame).error().status, Status::kInvalidArgument);
  frame = frame_of(config.flow, pixels, 0);
  frame.stride = 10;
  EXPECT_EQ(cluster->submit(frame).error().status, Status::kInvalidArgument);
  frame = frame_of(config.flow, pixels, 0);
  frame.data = nullptr;
  EXPECT_EQ(cluster->submit(frame).error().status, Status::kInvalidArgument);
  frame = frame_of(config.flow, pixels, 0);
  for (int n = 0; n < config.frames_in_flight; ++n) ASSERT_TRUE(cluster->submit(frame));
  EXPECT_EQ(cluster->submit(frame).error().status, Status::kQueueFull);
  ASSERT_TRUE(cluster->wait(Deadline::never()));
  cluster->release();
  ASSERT_TRUE(cluster->submit(frame));
  EXPECT_EQ(cluster->serve().error().status, Status::kInvalidArgument);
  ASSERT_TRUE(cluster->finish());
  // Nobody serves any more.
  EXPECT_EQ(cluster->submit(frame).error().status, Status::kInvalidArgument);
  EXPECT_EQ(cluster->finish().error().status, Status::kInvalidArgument);
}

}  // namespace
}  // namespace ocellus::test
