// Sends frames through a cluster whose ranks compute on the CPU, and compares the fields with those
// of one process, for tests under mpirun.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "ocellus/flow_cluster.h"
#include "ocellus/ocellus.h"
#include "world.h"

namespace ocellus::test {

/// A texture that moves, with noise, so that no two pixels are the same.
inline std::vector<unsigned char> frame_pixels(const OpticalFlowConfig& flow, int frame) {
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

inline Frame frame_of(const OpticalFlowConfig& flow, const std::vector<unsigned char>& pixels,
                      int frame) {
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

inline std::vector<Field> fields_of_one_process(OpticalFlowConfig flow, int frames) {
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
inline bool same(const ImageView& plane, const std::vector<float>& values, ImageSize size) {
  for (int y = 0; y < size.height; ++y) {
    if (std::memcmp(plane.row<float>(y), &values[static_cast<std::size_t>(y * size.width)],
                    static_cast<std::size_t>(size.width) * sizeof(float)) != 0)
      return false;
  }
  return true;
}

inline FlowClusterConfig cluster_config(ImageSize size) {
  FlowClusterConfig config;
  config.flow = OpticalFlowConfig::with_kernels(size);
  config.flow.kernels.nt = 5;
  config.confidence = true;
  config.measure_speed = false;
  return config;
}

inline EngineConfig cpu_engine() {
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
inline void expect_same_fields(const FlowClusterConfig& config, int frames,
                               MPI_Comm communicator = MPI_COMM_WORLD) {
  Slabs slabs(config);
  auto cluster = FlowCluster::create(communicator, cpu_engine(), config);
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

}  // namespace ocellus::test
