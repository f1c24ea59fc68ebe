// FlowRun: an engine with one optical-flow operator on it and the field it writes to; and the
// choice of frames for a moment.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "common.h"
#include "flow_file.h"
#include "flow_options.h"
#include "frames.h"

namespace ocellus::app {

class FlowRun {
 public:
  /// With results in ordinary memory. Throws InputError with the library's reason.
  FlowRun(const EngineConfig& engine, const OpticalFlowConfig& config);
  /// For frames and results in memory of that kind: ordinary memory, where `frames` must live as
  /// long as this, or the engine's, into which they are copied.
  FlowRun(const EngineConfig& engine, const OpticalFlowConfig& config, MemorySpace space,
          const std::vector<GrayImage>& frames);

  /// One of those frames.
  Frame stored(std::size_t index, std::uint64_t sequence, std::int64_t timestamp_ns) const;

  /// Submits, waits; the result lies in field(), unless it lies in memory of the engine.
  FrameInfo step(const Frame& frame);
  void reset() { flow_.reset(); }

  FlowField& field() { return field_; }
  const EngineInfo& engine() const { return engine_.info(); }
  const OpticalFlowConfig& config() const { return flow_.config(); }
  float delay_frames() const { return flow_.delay_frames(); }
  const Footprint& footprint() const { return footprint_; }

 private:
  Footprint footprint_;
  Engine engine_;
  OpticalFlow flow_;
  FlowField field_;
  FlowView view_;
  const std::vector<GrayImage>* frames_ = nullptr;
  // In memory of the engine.
  std::optional<Buffer> results_;
  std::optional<Buffer> stored_;
};

/// The frames that a result for frame N is made of: N - before to N + after. An odd number lies
/// centred on N, an even one on the middle between N and N+1.
struct Support {
  int frames = 0;
  int before() const { return (frames - 1) / 2; }
  int after() const { return frames / 2; }
};

/// The largest support of at most `wanted` frames, at least two, around `number` inside
/// first..last; nothing when there is none.
std::optional<Support> choose_support(int wanted, long number, long first, long last);

}  // namespace ocellus::app
