// Optical flow as an operator of the program, FlowRun with a field that it writes to, and the
// choice of frames for a moment.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "apps/common/operator_run.h"
#include "apps/io/flow_file.h"
#include "apps/io/frames.h"
#include "apps/optical_flow/options.h"

namespace ocellus::app {

/// Optical flow of this configuration, whose kernel file's path must live as long.
class FlowPlan : public OperatorPlan {
 public:
  explicit FlowPlan(const OpticalFlowConfig& config) : config_(config) {}

  Footprint footprint(const EngineInfo& engine, MemorySpace results) const override;
  std::unique_ptr<RunningOperator> create(Engine& engine, MemorySpace results) const override;
  std::string describe() const override { return app::describe(config_); }
  nlohmann::ordered_json json() const override { return config_json(config_); }
  Workload least_work() const override { return app::least_work(config_); }

 private:
  OpticalFlowConfig config_;
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
  std::optional<ResultPlanes> planes_;
  FlowView view_;
};

class RunningFlow : public RunningOperator {
 public:
  RunningFlow(Engine& engine, MemorySpace results, const OpticalFlowConfig& config);

  FrameInfo step(const Frame& frame) override;
  float delay_frames() const override { return flow_.delay_frames(); }
  FlowField& field() { return results_.field(); }

 private:
  FlowResults results_;
  OpticalFlow flow_;
};

/// An engine with optical flow on it, and results in ordinary memory.
class FlowRun {
 public:
  /// Throws InputError with the library's reason.
  FlowRun(const EngineConfig& engine, const OpticalFlowConfig& config)
      : run_(engine, FlowPlan(config)) {}

  /// Submits, waits; the result lies in field().
  FrameInfo step(const Frame& frame) { return flow().step(frame); }

  FlowField& field() { return flow().field(); }
  const EngineInfo& engine() const { return run_.engine(); }
  float delay_frames() { return flow().delay_frames(); }
  const Footprint& footprint() const { return run_.footprint(); }

 private:
  RunningFlow& flow() { return static_cast<RunningFlow&>(run_.op()); }

  OperatorRun run_;
};

/// The frames that a result for frame N is made of: N - before to N + after. An odd number lies
/// centerd on N, an even one on the middle between N and N+1.
struct Support {
  int frames = 0;
  int before() const { return (frames - 1) / 2; }
  int after() const { return frames / 2; }
};

/// The largest support of at most `wanted` frames, at least two, around `number` inside
/// first..last; nothing when there is none.
std::optional<Support> choose_support(int wanted, long number, long first, long last);

}  // namespace ocellus::app
