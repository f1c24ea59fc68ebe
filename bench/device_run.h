// DeviceRun: measures an operator on a CUDA device with frames and results in the engine's memory.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/image_io.h"
#include "apps/io/operator_run.h"

namespace ocellus::app {

/// A row without figures, because the device has too little memory for it.
class RowRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceTimes {
  std::vector<double> rates;      ///< frames per second of each run with frames in flight
  std::vector<double> alone_ms;   ///< from `submit` to the return of `wait`, one frame at a time
  std::vector<double> device_ms;  ///< the part of it measured by the device's own clock
  int frames_in_run = 0;

  double rate() const;  ///< the median of the rates
  double frame_ms() const { return 1e3 / rate(); }
};

/// Adds the times to a row of a report.
void add_times(nlohmann::ordered_json& row, const DeviceTimes& times);

/// The memory of frames and of results. A single MemorySpace selects the same memory for both.
struct RunMemory {
  RunMemory(MemorySpace both) : frames(both), results(both) {}
  RunMemory(MemorySpace of_frames, MemorySpace of_results)
      : frames(of_frames), results(of_results) {}

  MemorySpace frames;
  MemorySpace results;
};

class DeviceRun {
 public:
  /// Computes `frames` in a cycle. Each frame in flight has a buffer of its own, as in the driver
  /// of a camera. So only as many of `frames` are used as are in flight. `planes`: only the first
  /// `planes` planes of the result are written; 0: all. Throws RowRefused or InputError.
  DeviceRun(const EngineConfig& engine, const OperatorMaker& maker, const RunMemory& memory,
            const std::vector<const GrayImage*>& frames, int planes = 0);

  DeviceTimes measure(int most_frames);

  /// The first planes (floats) of the result after these frames, computed from a reset state.
  std::vector<std::vector<float>> planes_after(const std::vector<const GrayImage*>& frames,
                                               int planes);

  const OperatorInfo& info() const { return info_; }
  /// The method of computation on this engine.
  std::string summary() const { return op_.info().summary; }
  const Footprint& footprint() const { return footprint_; }

 private:
  using Clock = std::chrono::steady_clock;

  Footprint footprint_of(const EngineConfig& engine, const OperatorMaker& maker,
                         const RunMemory& memory);

  std::size_t depth() const { return static_cast<std::size_t>(info_.depth); }
  void submit();
  FrameInfo wait();
  /// The seconds that `frames` frames take with `depth` in flight.
  double run(int frames);

  OperatorInfo info_;
  ResultLayout layout_;
  std::size_t image_bytes_;
  Footprint footprint_;
  Engine engine_;
  OperatorHandle op_;
  Buffer images_;
  Buffer results_;
  std::array<Ticket, kMaxDepth> tickets_{};
  std::uint64_t submitted_ = 0;
  std::uint64_t waited_ = 0;
};

}  // namespace ocellus::app
