// CpuOperator: what operators share on the CPU - frames in flight, their jobs, memory, time.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "core/engine_state.h"
#include "core/frame_history.h"
#include "core/operator.h"

namespace ocellus::detail {

class CpuOperator {
 public:
  virtual ~CpuOperator();
  CpuOperator(const CpuOperator&) = delete;
  CpuOperator& operator=(const CpuOperator&) = delete;

  /// The functions of an instance, which is a CpuOperator*.
  static const OperatorCalls kCalls;

  /// Bytes that an operator needs, of which one without memory has been made to ask for them. Null:
  /// the system had none for it, which is the error.
  static Expected<Footprint> footprint(std::unique_ptr<CpuOperator> made) noexcept;
  /// Takes the memory and prepares the operator: an instance for kCalls. Null as above.
  static Expected<void*> create(EngineState& engine, std::unique_ptr<CpuOperator> made) noexcept;

 protected:
  /// A frame in flight.
  struct FrameJob {
    CpuOperator* owner = nullptr;
    Job job;
    Frame in;
    OutputPlanes out;
    FrameResult result;
    std::atomic<bool> bad{false};
    Stage* bad_stage = nullptr;  // the last one; skipped unless the frame is bad
  };
  /// What a stage's function gets.
  struct StepContext {
    FrameJob* frame = nullptr;
    int level = 0;
    int step = 0;
    Stage* stage = nullptr;  ///< itself, which it may rewrite
  };

  CpuOperator(const OperatorShape& shape, int workers) noexcept;

  /// Places all arrays; called once with a counting builder and once with the memory.
  virtual void layout(LayoutBuilder& builder) noexcept = 0;
  /// After `layout` with memory.
  virtual Expected<void> prepare() noexcept = 0;
  virtual int stage_count() const noexcept = 0;
  /// Fills in stage_count() stages of one frame; contexts have `frame` set.
  virtual void build_steps(Stage* stages, StepContext* contexts) noexcept = 0;
  /// Writes the result of a bad frame to the user's planes.
  virtual void write_bad(const FrameJob& frame) noexcept = 0;
  /// The frame's last stage has ended. May add to `result`, whose flags say whether the frame was
  /// bad. Short: other threads wait meanwhile.
  virtual void complete(FrameResult& /*result*/) noexcept {}

  /// For a stage that finds bad pixels. Later stages look at `frame.bad` and leave the frame and
  /// the temporal state alone.
  static void mark_bad(FrameJob& frame) noexcept;
  /// Counts the frames that have been computed, the present one included; never 0 while one is.
  std::uint32_t frame_number() const noexcept { return frame_number_; }

  OperatorShape shape_;
  int workers_;
  FrameHistory history_;

 private:
  static void run_bad(void* context, int part, int worker) noexcept;
  static void finished(void* context) noexcept;
  void place(LayoutBuilder& builder) noexcept;
  std::size_t bytes() noexcept;
  Expected<void> start(EngineState& engine) noexcept;

  void submit(int slot, const Frame& in, const OutputPlanes& out) noexcept;
  Status wait(int slot, Deadline deadline, FrameResult& result) noexcept;
  void cancel(int slot) noexcept;

  std::uint32_t frame_number_ = 1;
  EngineState* engine_ = nullptr;
  void* piece_ = nullptr;
  std::array<FrameJob, kMaxDepth> frames_;
  std::array<Stage*, kMaxDepth> stages_{};
  std::array<StepContext*, kMaxDepth> contexts_{};
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
