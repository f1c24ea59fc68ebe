// Optical flow as an operator of the program, FlowRun with a field that it writes, and the choice
// of frames for a moment.
#pragma once

#include <optional>
#include <string>

#include "apps/common/operator_run.h"
#include "apps/io/flow_file.h"
#include "apps/io/frames.h"
#include "apps/optical_flow/options.h"

namespace ocellus::app {

/// Optical flow of this configuration, whose kernel file's path must live as long.
class FlowPlan : public OperatorPlan {
 public:
  explicit FlowPlan(const OpticalFlowConfig& config) : config_(config) {}

  OperatorMaker maker() const override { return maker_of<OpticalFlow>(config_); }
  std::string error_text(const Error& error) const override;
  std::string describe() const override { return app::describe(config_); }
  nlohmann::ordered_json json() const override { return config_json(config_); }
  Workload least_work() const override { return app::least_work(config_); }

 private:
  OpticalFlowConfig config_;
};

/// An engine with optical flow on it, and the field that it writes.
class FlowRun {
 public:
  /// Throws InputError with the library's reason.
  FlowRun(const EngineConfig& engine, const OpticalFlowConfig& config)
      : field_(output_size(config), true),
        output_(field_.output()),
        run_(engine, FlowPlan(config), &output_) {}

  /// Submits, waits; the result lies in field().
  FrameInfo step(const Frame& frame) { return run_.op().step(frame); }

  FlowField& field() { return field_; }
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
