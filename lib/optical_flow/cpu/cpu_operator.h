// CpuOperator: what the methods of optical flow on the CPU share - frames in flight, their jobs,
// memory, time.
#pragma once

#include <array>
#include <atomic>

#include "core/engine_state.h"
#include "optical_flow/backend.h"
#include "optical_flow/cpu/frame_history.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

class CpuOperator {
 public:
  virtual ~CpuOperator();
  CpuOperator(const CpuOperator&) = delete;
  CpuOperator& operator=(const CpuOperator&) = delete;

  /// The method that the plan asks for, without memory. Null when the system has none.
  static CpuOperator* make(const OpticalFlowPlan& plan, int workers) noexcept;

  /// Bytes that the operator needs; takes nothing.
  std::size_t bytes() noexcept;
  /// Takes the memory and reads the kernels.
  Expected<void> create(EngineState& engine, const KernelConfig& kernels) noexcept;

  void submit(int slot, const Frame& in, const FlowOutput& out) noexcept;
  Status wait(int slot, Deadline deadline, FrameResult& result) noexcept;
  void cancel(int slot) noexcept;
  void reset() noexcept;

 protected:
  /// A frame in flight.
  struct FrameJob {
    CpuOperator* owner = nullptr;
    Job job;
    Frame in;
    FlowOutput out;
    FrameResult result;
    std::atomic<bool> bad{false};
  };
  /// What a stage's function gets.
  struct StageContext {
    FrameJob* frame = nullptr;
    int level = 0;
    int step = 0;
  };

  CpuOperator(const OpticalFlowPlan& plan, int workers) noexcept;

  /// Places all arrays; called once with a counting carver and once with the memory.
  virtual void layout(Carver& carver) noexcept = 0;
  /// After `layout` with memory.
  virtual Expected<void> prepare(const KernelConfig& kernels) noexcept = 0;
  virtual int stage_count() const noexcept = 0;
  /// Fills in stage_count() stages of one frame; contexts have `frame` set.
  virtual void build_stages(Stage* stages, StageContext* contexts) noexcept = 0;

  /// Writes "invalid" to all of the user's planes: the result of a bad frame.
  void write_invalid(const FrameJob& frame) const noexcept;
  float invalid_value() const noexcept;
  /// Counts the frames that have been computed, the present one included; never 0 while one is.
  std::uint32_t frame_number() const noexcept { return frame_number_; }

  OpticalFlowPlan plan_;
  int workers_;
  FrameHistory history_;

 private:
  static void finished(void* context) noexcept;
  void place(Carver& carver) noexcept;

  std::uint32_t frame_number_ = 1;
  EngineState* engine_ = nullptr;
  void* piece_ = nullptr;
  std::array<FrameJob, kMaxDepth> frames_;
  std::array<Stage*, kMaxDepth> stages_{};
  std::array<StageContext*, kMaxDepth> contexts_{};
};

/// Cuts `rows` rows into bands.
struct Bands {
  int rows = 0;
  int band = 1;

  /// About `per_worker` bands for each worker, none below `least` rows but the last.
  static Bands cut(int rows, int workers, int per_worker, int least) noexcept;

  int count() const noexcept { return (rows + band - 1) / band; }
  int begin(int part) const noexcept { return part * band; }
  int end(int part) const noexcept { return begin(part) + band < rows ? begin(part) + band : rows; }
};

}  // namespace ocellus::detail
