// The work of a rank on a device over the fake driver: each CUDA call of creation and of a frame
// fails in turn, and copies that are done as late as CUDA allows. Needs no GPU and no mpirun.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "cluster/mpi_support.h"
#include "cluster/region_flow.h"
#include "kernels/fake_driver.h"
#include "kernels/optical_flow/kernels.h"
#include "support/failing_calls.h"
#include "support/run.h"

namespace ocellus::cluster {

// In place of the library's, which asks MPI.
bool mpi_takes_device_memory() noexcept {
  return false;
}

}  // namespace ocellus::cluster

namespace ocellus::test {
namespace {

using cluster::RegionFlow;
using cluster::RegionPlaces;
using cluster::SlotPlanes;

FlowClusterConfig small_config() {
  FlowClusterConfig config;
  config.flow = OpticalFlowConfig::with_kernels({24, 20});
  config.flow.kernels.nx = config.flow.kernels.ny = 5;
  config.flow.kernels.nt = 3;
  config.flow.window = 5;
  config.frames_in_flight = 2;
  return config;
}

/// The middle one of three regions below each other.
RegionPlaces middle(const FlowClusterConfig& config) {
  const std::vector<Rect> regions = {{0, 0, 24, 6}, {0, 6, 24, 8}, {0, 14, 24, 6}};
  return RegionPlaces::of(config, regions, 1, {0, 2, {}});
}

/// One frame in each slot.
Expected<void> run_frames(RegionFlow& flow) {
  for (int slot = 0; slot < 2; ++slot) {
    if (Expected<void> done = flow.start_derivatives(slot, flow.slab(slot), 0, 0); !done)
      return done;
    if (auto done = flow.wait_derivatives(slot, Deadline::never()); !done)
      return tl::unexpected(done.error());
    if (Expected<void> done = flow.start_solution(slot); !done) return done;
    if (auto done = flow.wait_solution(slot, Deadline::never()); !done)
      return tl::unexpected(done.error());
  }
  return {};
}

Expected<void> run_once() {
  const FlowClusterConfig config = small_config();
  const RegionPlaces places = middle(config);
  auto flow = RegionFlow::create(engine_config(1, BackendChoice::kCuda), config, places);
  if (!flow) return tl::unexpected(flow.error());
  // It is its own neighbor above.
  const auto shared = (*flow)->share_derivatives();
  if (!shared) return tl::unexpected(shared.error());
  RegionPlaces::Neighbor itself = places.neighbors.front();
  itself.halo = places.halo;
  if (Expected<void> added = (*flow)->add_peer(itself, *shared); !added) return added;
  return run_frames(**flow);
}

// Fails when a failed call is ignored or named wrongly, or when something made before it leaks.
// Promises: ERR-002.
TEST(RegionFaults, EveryCallFailsInTurn) {
  expect_every_failure_reported(
      100, [] { fake_driver().shares_memory = true; }, run_once);
}

/// The value of a derivative: unequal for all pixels and planes.
float value_at(int plane, int x, int y) {
  return static_cast<float>(1000 * plane + 24 * y + x);
}

/// Stands in for the kernels: writes these values to the region, and looks for them in the halo.
class RegionKernels {
 public:
  explicit RegionKernels(const RegionPlaces& places) : places_(places) {
    fake_driver().kernel = [this](const cudaLaunchConfig_t&, const void* kernel,
                                  void** arguments) -> std::function<void()> {
      if (kernel == reinterpret_cast<const void*>(cuda::spatial_sums_kernel())) {
        const cuda::FrameParams* const frame =
            static_cast<const cuda::SpatialArguments*>(arguments[0])->frame;
        return [this, frame] { write(*frame); };
      }
      const auto* const window = static_cast<const cuda::WindowArguments*>(arguments[0]);
      if (kernel != reinterpret_cast<const void*>(cuda::window_kernel(
                        cuda::kLowWindow, window->radius, cuda::WindowSource::kFrame)))
        return {};
      const cuda::FrameParams* const frame = window->frame;
      return [this, frame] { read(*frame); };
    };
  }
  int solved = 0;  ///< frames that have all values
  int failed = 0;  ///< other frames

 private:
  void write(const cuda::FrameParams& frame) const {
    const Rect& region = places_.region;
    for (int p = 0; p < 3; ++p) {
      for (int y = 0; y < region.height; ++y) {
        auto* const row =
            reinterpret_cast<float*>(static_cast<char*>(frame.out[p]) + y * frame.out_stride[p]);
        for (int x = 0; x < region.width; ++x) row[x] = value_at(p, region.x + x, region.y + y);
      }
    }
  }
  void read(const cuda::FrameParams& frame) {
    const Rect& halo = places_.halo;
    bool all = true;
    for (int p = 0; p < 3; ++p) {
      for (int y = 0; y < halo.height; ++y) {
        const auto* const row = reinterpret_cast<const float*>(
            static_cast<const char*>(frame.image) + (p * halo.height + y) * frame.image_stride);
        for (int x = 0; x < halo.width; ++x)
          all = all && row[x] == value_at(p, halo.x + x, halo.y + y);
      }
    }
    ++(all ? solved : failed);
  }

  RegionPlaces places_;
};

/// Lets the driver do all work that does not need the streams that `holds` chooses.
template <typename Holds>
void run_without(const Holds& holds) {
  for (auto& [stream, queue] : fake_driver().queues) queue.held = holds(queue);
  run_all();
  for (auto& [stream, queue] : fake_driver().queues) queue.held = false;
}

// Fails when the border reaches the exchange planes before the kernels have written it, when the
// solution begins before the halo is on the device, or when other pixels are copied.
TEST(RegionFaults, CopiesWaitForTheKernels) {
  const FlowClusterConfig config = small_config();
  const RegionPlaces places = middle(config);
  reset_fake_driver();
  FakeDriver& driver = fake_driver();
  {
    RegionKernels kernels(places);
    auto flow = must(RegionFlow::create(engine_config(1, BackendChoice::kCuda), config, places));
    driver.lazy = true;
    kernels.solved = kernels.failed = 0;  // after the frames that warm up
    ASSERT_EQ(flow->exchange_space(), MemorySpace::kPinned);
    // All pixels that MPI sends and receives.
    const auto for_each = [&](int slot, const auto& visit) {
      for (const RegionPlaces::Neighbor& neighbor : places.neighbors) {
        for (const Rect& part : {neighbor.from, neighbor.border}) {
          const SlotPlanes& exchange = flow->exchanged(part);
          for (int p = 0; p < 3; ++p)
            for (int y = part.y; y < part.y + part.height; ++y)
              for (int x = part.x; x < part.x + part.width; ++x)
                visit(p, x, y, *reinterpret_cast<float*>(exchange.at(slot, p, x, y)));
        }
      }
    };
    constexpr float kUntouched = -1.0f;
    for (int slot = 0; slot < 2; ++slot) {
      for_each(slot, [&](int, int, int, float& value) { value = kUntouched; });
      must(flow->start_derivatives(slot, flow->slab(slot), 0, 0));
      EXPECT_EQ(flow->wait_derivatives(slot, Deadline::immediate()).error().status,
                Status::kDeadlineMissed);
    }
    run_without([](const FakeStream& stream) {
      return std::any_of(stream.work.begin(), stream.work.end(),
                         [](const FakeWork& work) { return work.what == "graph"; });
    });
    for (int slot = 0; slot < 2; ++slot) {
      for_each(slot, [&](int, int, int, float& value) { ASSERT_EQ(value, kUntouched); });
      must(flow->wait_derivatives(slot, Deadline::never()));
      int border = 0;
      for_each(slot, [&](int p, int x, int y, float& value) {
        // The region has the rows 6 to 13.
        const bool own = y >= 6 && y < 14;
        border += own;
        ASSERT_EQ(value, own ? value_at(p, x, y) : kUntouched)
            << "plane " << p << " at (" << x << ", " << y << ")";
      });
      // The window has a radius of 2.
      EXPECT_EQ(border, 3 * 24 * (2 + 2));
      // What other ranks send.
      for_each(slot, [&](int p, int x, int y, float& value) {
        if (y < 6 || y >= 14) value = value_at(p, x, y);
      });
      must(flow->start_solution(slot));
    }
    // The halo is on its way.
    run_without([](const FakeStream& stream) {
      return !stream.work.empty() && stream.work.front().what == "copy of rows";
    });
    EXPECT_EQ(kernels.solved + kernels.failed, 0);
    for (int slot = 0; slot < 2; ++slot) must(flow->wait_solution(slot, Deadline::never()));
    EXPECT_EQ(kernels.solved, 2);
    EXPECT_EQ(kernels.failed, 0);
  }
  EXPECT_TRUE(driver.empty()) << "leaks";
  reset_fake_driver();
}

}  // namespace
}  // namespace ocellus::test
