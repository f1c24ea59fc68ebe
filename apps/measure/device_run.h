// DeviceRun: an operator on a CUDA device with frames and results in the engine's memory, and the
// time that its frames take.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/flow_file.h"
#include "apps/io/image_io.h"

namespace ocellus::app {

/// Why a row has no figures: the device has not the memory for it.
class RowRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceTimes {
  std::vector<double> rates;      ///< frames a second of each run with frames in flight
  std::vector<double> alone_ms;   ///< from `submit` until `wait` has returned, one frame at a time
  std::vector<double> device_ms;  ///< of those, what the device's own clock says
  int frames_in_run = 0;

  double rate() const;  ///< the median
  double frame_ms() const { return 1e3 / rate(); }
};

template <typename Operator>
concept GivesFlow =
    std::is_base_of_v<OpticalFlowConfig,
                      std::decay_t<decltype(std::declval<const Operator&>().config())>>;

/// Operator: OpticalFlow, SpatioTemporalFilter, CellularNetwork or one of a paper's with their
/// calls.
template <typename Operator>
class DeviceRun {
 public:
  using Config = std::decay_t<decltype(std::declval<const Operator&>().config())>;

  /// The first `config.depth` of `frames` are what is computed, again and again: each frame in
  /// flight has a buffer of its own, as a camera's driver has them. `planes` results of each are
  /// written. Throws RowRefused, or InputError.
  DeviceRun(const EngineConfig& engine, const Config& config, MemorySpace space, int planes,
            const std::vector<const GrayImage*>& frames);

  DeviceTimes measure(int most_frames);

  /// The flow after these frames, with nothing before them.
  FlowField flow_after(const std::vector<const GrayImage*>& frames) requires GivesFlow<Operator>;

  const Footprint& footprint() const { return footprint_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostInFlight = 8;

  struct Place {
    std::size_t image_bytes;
    std::size_t stride;  ///< of results
    std::size_t plane;
  };
  static Place place_of(const Config& config);
  static Footprint footprint_of(const EngineConfig& engine, const Config& config, MemorySpace space,
                                int planes);
  static Engine make_engine(EngineConfig engine, const Footprint& memory);

  std::size_t depth() const { return static_cast<std::size_t>(config().depth); }
  const Config& config() const { return op_.config(); }
  void submit();
  FrameInfo wait();
  /// Seconds of so many frames with `depth` in flight.
  double run(int frames);

  Footprint footprint_;
  Place place_;
  int planes_;
  Engine engine_;
  Operator op_;
  Buffer images_;
  Buffer results_;
  std::array<Ticket, kMostInFlight> tickets_{};
  std::uint64_t submitted_ = 0;
  std::uint64_t waited_ = 0;
};

}  // namespace ocellus::app
