// Optical flow at work with a field that it writes, and the choice of frames for a moment.
#pragma once

#include <optional>
#include <string>

#include "apps/common/operator_run.h"
#include "apps/io/flow_file.h"
#include "apps/io/frames.h"
#include "ocellus/optical_flow.h"

namespace ocellus::app {

/// A way to change the number of frames that a result is computed from.
void set_temporal_support(OpticalFlowConfig& config, int frames);
/// A kernel file has the number that it has.
bool temporal_support_is_fixed(const OpticalFlowConfig& config);

/// An engine with optical flow on it, and the field that it writes.
class FlowRun {
 public:
  /// Throws InputError with the library's reason.
  FlowRun(const EngineConfig& engine, const OpticalFlowConfig& config)
      : field_(info_of(OperatorConfig(config)).planes[0].size, true),
        output_(field_.output()),
        run_(engine, OperatorConfig(config), &output_) {}

  /// Submits, waits; the result lies in field().
  FrameInfo step(const Frame& frame) { return run_.op().step(frame); }

  FlowField& field() { return field_; }
  const OperatorInfo& info() { return run_.op().info(); }
  const EngineInfo& engine() const { return run_.engine(); }
  const Footprint& footprint() const { return run_.footprint(); }

 private:
  FlowField field_;
  OperatorOutput output_;
  OperatorRun run_;
};

/// The frames that a result for frame N is made of: N - before to N + after. An odd number lies
/// centered on N, an even one on the middle between N and N+1.
struct Support {
  int frames = 0;
  int before() const { return (frames - 1) / 2; }
  int after() const { return frames / 2; }
};

/// The largest support of at most `wanted` frames, at least two, around `number` inside
/// first..last; nothing when there is none.
std::optional<Support> choose_support(int wanted, long number, long first, long last);

}  // namespace ocellus::app
