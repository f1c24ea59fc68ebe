// CpuOperator: what operators share on the CPU - frames in flight, their jobs, memory, records.
#pragma once

#include <array>
#include <atomic>

#include "core/frame_history.h"
#include "core/layout_builder.h"
#include "core/operator_instance.h"
#include "core/scheduler.h"

namespace ocellus::detail {

class CpuOperator : public OperatorInstance {
 public:
  ~CpuOperator() override;

  const char* backend() const noexcept final { return "cpu"; }
  bool takes_device_memory() const noexcept final { return false; }
  Footprint footprint() noexcept final;
  Expected<void> start(EngineState& engine) noexcept final;
  Expected<void> submit(int slot, const Frame& in, const OperatorOutput& out) noexcept final;
  Expected<void> wait(int slot, Deadline deadline, FrameResult& result) noexcept final;
  void cancel(int slot) noexcept final;
  void reset() noexcept final { history_.forget(); }

 protected:
  /// A frame in flight.
  struct FrameJob {
    CpuOperator* owner = nullptr;
    Job job;
    Frame in;
    OperatorOutput out;
    FrameResult result;
    void* record = nullptr;  // the operator's, until the frame is waited for
    std::atomic<bool> bad{false};
    JobStep* bad_step = nullptr;  // the last one; skipped unless the frame is bad

    /// The beginning of a row of an output plane.
    template <typename T>
    T* out_row(int plane, int y) const noexcept {
      return out.planes[static_cast<std::size_t>(plane)].template row<T>(y);
    }
    /// False: the user wants no such plane.
    bool wants(int plane) const noexcept {
      return out.planes[static_cast<std::size_t>(plane)].data != nullptr;
    }
  };
  /// What a step's function gets.
  struct StepContext {
    FrameJob* frame = nullptr;
    int level = 0;
    int index = 0;
    JobStep* step = nullptr;  ///< itself, which it may rewrite
  };

  CpuOperator(const OperatorInfo& info, int workers) noexcept;

  /// Places all arrays; called once to count the bytes and once with the memory.
  virtual void layout(LayoutBuilder& builder) noexcept = 0;
  /// After `layout` with memory.
  virtual Expected<void> prepare() noexcept = 0;
  virtual int step_count() const noexcept = 0;
  /// Fills in step_count() steps of one frame; contexts have `frame` set.
  virtual void build_steps(JobStep* steps, StepContext* contexts) noexcept = 0;
  /// Writes the result of a bad frame to the user's planes.
  virtual void write_bad(const FrameJob& frame) noexcept = 0;
  /// The frame's last step has ended, and the flags say whether the frame was bad. Fills in
  /// `frame.record`, if the operator has one. Short: other threads wait meanwhile.
  virtual void complete(const FrameJob& /*frame*/) noexcept {}

  /// For a step that finds bad pixels. Later steps look at `frame.bad` and leave the frame and the
  /// temporal state alone.
  static void mark_bad(FrameJob& frame) noexcept;
  /// Counts the frames that have been computed, the present one included; never 0 while one is.
  std::uint32_t frame_number() const noexcept { return frame_number_; }

  OperatorInfo info_;
  int workers_;
  FrameHistory history_;

 private:
  static void run_bad(void* context, int part, int worker) noexcept;
  static void finished(void* context) noexcept;
  void place(LayoutBuilder& builder) noexcept;
  std::size_t bytes() noexcept;

  std::uint32_t frame_number_ = 1;
  EngineState* engine_ = nullptr;
  void* piece_ = nullptr;
  std::array<FrameJob, kMaxDepth> frames_;
  std::array<JobStep*, kMaxDepth> steps_{};
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
