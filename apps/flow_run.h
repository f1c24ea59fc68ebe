// FlowRun: an engine with one optical-flow operator on it and the field it writes to; FlowChain:
// one engine with several; and the choice of frames for a moment.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "common.h"
#include "flow_file.h"
#include "flow_options.h"
#include "frames.h"

namespace ocellus::app {

/// Frames in memory of one kind: ordinary memory, where the images must live as long as this, or
/// the engine's, into which they are copied.
class StoredFrames {
 public:
  static Footprint footprint(MemorySpace space, const std::vector<GrayImage>& frames);
  StoredFrames(Engine& engine, MemorySpace space, const std::vector<GrayImage>& frames);

  Frame at(std::size_t index, std::uint64_t sequence, std::int64_t timestamp_ns) const;

 private:
  const std::vector<GrayImage>* frames_;
  std::optional<Buffer> memory_;  // of the engine
};

/// Flow and confidence in memory of one kind.
class FlowResults {
 public:
  static Footprint footprint(MemorySpace space, ImageSize size);
  FlowResults(Engine& engine, MemorySpace space, ImageSize size);

  const FlowView& view() const { return view_; }
  FlowField& field() { return field_; }  ///< empty unless in ordinary memory

 private:
  FlowField field_;
  std::optional<Buffer> memory_;  // of the engine
  FlowView view_;
};

class FlowRun {
 public:
  /// With results in ordinary memory. Throws InputError with the library's reason.
  FlowRun(const EngineConfig& engine, const OpticalFlowConfig& config);

  /// Submits, waits; the result lies in field().
  FrameInfo step(const Frame& frame);
  void reset() { flow_.reset(); }

  FlowField& field() { return results_.field(); }
  const EngineInfo& engine() const { return engine_.info(); }
  const OpticalFlowConfig& config() const { return flow_.config(); }
  float delay_frames() const { return flow_.delay_frames(); }
  const Footprint& footprint() const { return footprint_; }

 private:
  Footprint footprint_;
  Engine engine_;
  FlowResults results_;
  OpticalFlow flow_;
};

/// Operators on one engine, each of which reads the camera's frame, one after the other. Frames and
/// results lie in memory of one kind.
class FlowChain {
 public:
  /// Throws InputError with the library's reason.
  FlowChain(const EngineConfig& engine, const std::vector<OpticalFlowConfig>& configs,
            MemorySpace space, const std::vector<GrayImage>& frames);

  /// One of the frames through operator number `op`.
  FrameInfo step(std::size_t op, std::size_t index, std::uint64_t sequence,
                 std::int64_t timestamp_ns);

  std::size_t size() const { return links_.size(); }
  const EngineInfo& engine() const { return engine_.info(); }
  float delay_frames(std::size_t op) const { return links_[op]->flow.delay_frames(); }
  const Footprint& footprint() const { return footprint_; }

 private:
  struct Link {
    FlowResults results;
    OpticalFlow flow;
  };
  Footprint footprint_;
  Engine engine_;
  StoredFrames frames_;
  std::vector<std::unique_ptr<Link>> links_;
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
