// Runs under mpirun. Every rank runs every test; the root compares with OpticalFlow in one process.
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "ocellus/flow_cluster.h"
#include "ocellus/ocellus.h"
#include "world.h"

namespace ocellus {
namespace {

using test::rank_of_world;
using test::ranks_of_world;

/// A texture that moves, with noise, so that no two pixels are the same.
std::vector<unsigned char> frame_pixels(const OpticalFlowConfig& flow, int frame) {
  const int bytes = bytes_per_pixel(flow.format);
  std::vector<unsigned char> pixels(static_cast<std::size_t>(flow.size.width) *
                                    static_cast<std::size_t>(flow.size.height * bytes));
  std::uint32_t noise = 12345u + static_cast<std::uint32_t>(frame);
  for (int y = 0; y < flow.size.height; ++y) {
    for (int x = 0; x < flow.size.width; ++x) {
      noise = noise * 1664525u + 1013904223u;
      const double value = 128.0 + 50.0 * std::sin(0.3 * (x - 0.8 * frame) + 0.1 * y) +
                           40.0 * std::sin(0.23 * (y + 0.5 * frame)) + (noise >> 28);
      const std::size_t at = static_cast<std::size_t>(y * flow.size.width + x);
      if (bytes == 1) {
        pixels[at] = static_cast<unsigned char>(value);
      } else {
        const auto wide = static_cast<std::uint16_t>(value * 257.0);
        std::memcpy(&pixels[2 * at], &wide, 2);
      }
    }
  }
  return pixels;
}

Frame frame_of(const OpticalFlowConfig& flow, const std::vector<unsigned char>& pixels, int frame) {
  Frame result;
  result.data = pixels.data();
  result.size = flow.size;
  result.stride = flow.size.width * bytes_per_pixel(flow.format);
  result.format = flow.format;
  result.sequence = static_cast<std::uint64_t>(frame);
  result.timestamp_ns = 1000 * frame;
  return result;
}

struct Field {
  std::vector<float> u, v, confidence;
  std::uint64_t sequence = 0;
  std::int64_t timestamp_ns = 0;
  bool warming_up = false;

  explicit Field(ImageSize size)
      : u(static_cast<std::size_t>(size.width * size.height)), v(u.size()), confidence(u.size()) {}
};

std::vector<Field> fields_of_one_process(OpticalFlowConfig flow, int frames) {
  std::vector<Field> fields;
  EngineConfig engine_config;
  engine_config.backend.choice = BackendChoice::kCpu;
  auto engine = create_engine(engine_config, {flow});
  EXPECT_TRUE(engine) << engine.error().text;
  auto op = OpticalFlow::create(*engine, flow);
  EXPECT_TRUE(op) << op.error().text;
  for (int n = 0; n < frames; ++n) {
    Field field(flow.size);
    const std::vector<unsigned char> pixels = frame_pixels(flow, n);
    const auto plane = [&](std::vector<float>& values) {
      return ImageView{values.data(), flow.size,
                       flow.size.width * static_cast<std::ptrdiff_t>(sizeof(float)),
                       PixelFormat::kFloat32};
    };
    auto ticket = op->submit(frame_of(flow, pixels, n),
                             FlowOutput{plane(field.u), plane(field.v), plane(field.confidence)});
    EXPECT_TRUE(ticket);
    const auto info = op->wait(*ticket, Deadline::never());
    EXPECT_TRUE(info);
    field.sequence = info->described_sequence;
    field.timestamp_ns = info->described_timestamp_ns;
    field.warming_up = info->warming_up();
    fields.push_back(std::move(field));
  }
  return fields;
}

/// The plane's rows, which are further apart, against values without gaps. NaN equals NaN.
bool same(const ImageView& plane, const std::vector<float>& values, ImageSize size) {
  for (int y = 0; y < size.height; ++y) {
    if (std::memcmp(plane.row<float>(y), &values[static_cast<std::size_t>(y * size.width)],
                    static_cast<std::size_t>(size.width) * sizeof(float)) != 0)
      return false;
  }
  return true;
}

FlowClusterConfig cluster_config(ImageSize size) {
  FlowClusterConfig config;
  config.flow = OpticalFlowConfig::with_kernels(size);
  config.flow.kernels.nt = 5;
  config.confidence = true;
  config.measure_speed = false;
  return config;
}

EngineConfig cpu_engine() {
  EngineConfig engine;
  engine.backend.choice = BackendChoice::kCpu;
  engine.workers = 1;
  return engine;
}

/// The pixels of a slab, for as many frames as are in flight.
class Slabs {
 public:
  explicit Slabs(const FlowClusterConfig& config)
      : config_(config), frames_(static_cast<std::size_t>(config.frames_in_flight)) {}

  static ImageView source(void* slabs, std::uint64_t frame, const Rect& slab) {
    return static_cast<Slabs*>(slabs)->view(frame, slab);
  }

 private:
  ImageView view(std::uint64_t frame, const Rect& slab) {
    EXPECT_EQ(frame, next_++) << "the order of the frames";
    std::vector<unsigned char>& pixels = frames_[frame % frames_.size()];
    pixels = frame_pixels(config_.flow, static_cast<int>(frame));
    const int pixel = bytes_per_pixel(config_.flow.format);
    const std::ptrdiff_t stride = config_.flow.size.width * pixel;
    return {pixels.data() + slab.y * stride + slab.x * pixel,
            {slab.width, slab.height},
            stride,
            config_.flow.format};
  }

  const FlowClusterConfig& config_;
  std::vector<std::vector<unsigned char>> frames_;
  std::uint64_t next_ = 0;
};

/// Sends frames through the cluster and compares the fields. Collective.
void expect_same_fields(const FlowClusterConfig& config, int frames) {
  Slabs slabs(config);
  auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
  ASSERT_TRUE(cluster) << cluster.error().text;
  if (!config.scatter) cluster->set_slab_source(Slabs::source, &slabs);
  if (cluster->rank() != 0) {
    const Expected<void> served = cluster->serve();
    ASSERT_TRUE(served) << served.error().text;
    return;
  }
  const std::vector<Field> expected = fields_of_one_process(config.flow, frames);
  int sent = 0;
  for (int n = 0; n < frames; ++n) {
    while (sent < frames && sent - n < config.frames_in_flight) {
      const std::vector<unsigned char> pixels = frame_pixels(config.flow, sent);
      const Expected<void> done = cluster->submit(frame_of(config.flow, pixels, sent));
      ASSERT_TRUE(done) << done.error().text;
      ++sent;
    }
    const auto field = cluster->wait(Deadline::never());
    ASSERT_TRUE(field) << field.error().text;
    const Field& wanted = expected[static_cast<std::size_t>(n)];
    EXPECT_EQ(field->frame, static_cast<std::uint64_t>(n));
    EXPECT_EQ(field->sequence, wanted.sequence);
    EXPECT_EQ(field->timestamp_ns, wanted.timestamp_ns);
    EXPECT_EQ(field->warming_up, wanted.warming_up);
    EXPECT_TRUE(same(field->planes.u, wanted.u, config.flow.size)) << "u of frame " << n;
    EXPECT_TRUE(same(field->planes.v, wanted.v, config.flow.size)) << "v of frame " << n;
    if (config.confidence) {
      EXPECT_TRUE(same(field->planes.confidence, wanted.confidence, config.flow.size))
          << "confidence of frame " << n;
    }
    cluster->release();
  }
  const Expected<void> finished = cluster->finish();
  ASSERT_TRUE(finished) << finished.error().text;
  EXPECT_EQ(cluster->reports().size(), static_cast<std::size_t>(cluster->ranks()));
  for (const ClusterRankReport& report : cluster->reports())
    EXPECT_EQ(report.frames, static_cast<std::uint64_t>(frames));
}

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
    for (const KernelOrigin origin : {KernelOrigin::kGaussian, KernelOrigin::kFoveated}) {
      FlowClusterConfig config = cluster_config({61, 47});
      config.flow.format = half ? PixelFormat::kGray16 : PixelFormat::kGray8;
      config.flow.kernels.form = KernelForm::kPerPixel;
      config.flow.kernels.origin = origin;
      config.flow.kernels.nx = 9;
      config.flow.kernels.ny = half ? 8 : 11;
      config.flow.kernels.fovea_radius = 20.0f;
      config.flow.storage = half ? CoefficientStorage::kHalf : CoefficientStorage::kFloat;
      config.flow.window = 9;
      config.flow.window_weight = WindowWeight::kBox;
      config.flow.confidence_threshold = 2.0f;
      SCOPED_TRACE(std::to_string(half) + " half, origin " +
                   std::to_string(static_cast<int>(origin)));
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

// Fails when a call with a wrong frame is taken, or does harm to later ones.
TEST(Cluster, RefusesWrongFrames) {
  const FlowClusterConfig config = cluster_config({64, 48});
  auto cluster = FlowCluster::create(MPI_COMM_WORLD, cpu_engine(), config);
  ASSERT_TRUE(cluster) << cluster.error().text;
  if (cluster->rank() != 0) {
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
  ASSERT_TRUE(cluster->finish());
}

}  // namespace
}  // namespace ocellus
