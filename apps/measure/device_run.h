// DeviceRun: an operator on a CUDA device with frames and results in the engine's memory, and the
// time that its frames take.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/operator_run.h"
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

/// Where frames and results lie. One kind of memory stands for both.
struct RunMemory {
  RunMemory(MemorySpace both) : frames(both), results(both) {}
  RunMemory(MemorySpace of_frames, MemorySpace of_results)
      : frames(of_frames), results(of_results) {}

  MemorySpace frames;
  MemorySpace results;
};

class DeviceRun {
 public:
  /// As many of `frames` as are in flight are what is computed, again and again: each frame in
  /// flight has a buffer of its own, as a camera's driver has them. The first `planes` planes of
  /// the result are written; 0 = all. Throws RowRefused, or InputError.
  DeviceRun(const EngineConfig& engine, const OperatorMaker& maker, const RunMemory& memory,
            const std::vector<const GrayImage*>& frames, int planes = 0);

  DeviceTimes measure(int most_frames);

  /// The first planes, floats, after these frames with nothing before them.
  std::vector<std::vector<float>> planes_after(const std::vector<const GrayImage*>& frames,
                                               int planes);

  const OperatorInfo& info() const { return info_; }
  const Footprint& footprint() const { return footprint_; }

 private:
  using Clock = std::chrono::steady_clock;

  Footprint footprint_of(const EngineConfig& engine, const OperatorMaker& maker,
                         const RunMemory& memory);

  std::size_t depth() const { return static_cast<std::size_t>(info_.depth); }
  void submit();
  FrameInfo wait();
  /// Seconds of so many frames with `depth` in flight.
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
