// CpuOperator: the base class of CPU instances: frames in flight, jobs, memory and records.
#pragma once

#include <array>
#include <atomic>

#include "core/frame_history.h"
#include "core/layout_builder.h"
#include "core/operator_instance.h"
#include "core/scheduler.h"

namespace ocellus::detail {

/// A frame with color becomes its luma in the first step, so the operators see frames without
/// color. For a picture with color, the operators write its luma to memory of this class. The last
/// step puts it into the pixels of the frame.
class CpuOperator : public OperatorInstance {
 public:
  ~CpuOperator() override;

  Footprint footprint() noexcept final;
  Expected<void> start(EngineState& engine) noexcept final;
  Expected<void> submit(int slot, const Frame& in, const OperatorOutput& out) noexcept final;
  Expected<void> wait(int slot, Deadline deadline, FrameInfo& result) noexcept final;
  Expected<CancelOutcome> try_cancel(int slot) noexcept final;
  void stop() noexcept final { stop_.store(true, std::memory_order_relaxed); }
  bool is_stopped() const noexcept final { return stop_.load(std::memory_order_relaxed); }
  void cancel(int slot) noexcept final;
  void reset() noexcept final;
  Expected<void> finish_frames() noexcept final;

 protected:
  /// A frame in flight and its job.
  struct FrameJob {
    CpuOperator* owner = nullptr;
    Job job;
    Frame in;            // without color: the luma of a frame that has it
    Frame color;         // the frame as it came, if it has color
    OperatorOutput out;  // without color: its first plane is the luma of `picture`
    ImageView picture;   // the caller's picture with color, or null
    FrameInfo result;
    // Owned by the operator, and zero before the first step; `wait` copies it to the output.
    void* record = nullptr;
    std::atomic<bool> bad{false};
    JobStep* bad_step = nullptr;  // after those of the operator; no parts unless the frame is bad

    /// Pointer to the first element of a row of an output plane.
    template <typename T>
    T* out_row(int plane, int y) const noexcept {
      return out.planes[static_cast<std::size_t>(plane)].template row<T>(y);
    }
    /// True if the caller wants this plane.
    bool wants(int plane) const noexcept {
      return out.planes[static_cast<std::size_t>(plane)].data != nullptr;
    }
  };
  /// Argument of a step's function.
  struct StepContext {
    FrameJob* frame = nullptr;
    int level = 0;
    int index = 0;
    JobStep* step = nullptr;  ///< the step itself; its function may change `next`
  };

  CpuOperator(const OperatorInfo& info, int workers) noexcept;

  /// Places all arrays. Called once to count the bytes and once with the memory.
  virtual void layout(LayoutBuilder& builder) noexcept = 0;
  /// Called after `layout` with the memory.
  virtual Expected<void> prepare() noexcept = 0;
  virtual int step_count() const noexcept = 0;
  /// Fills in the step_count() steps of one frame. `frame` is set in all contexts.
  virtual void build_steps(JobStep* steps, StepContext* contexts) noexcept = 0;
  /// Writes the result of a bad frame to the output planes. Its record is cleared afterwards.
  virtual void write_bad(const FrameJob& frame) noexcept = 0;
  /// Called when the last step of a frame that is not bad has ended. May fill in `frame.record`.
  /// Must be short, because other threads wait meanwhile.
  virtual void complete(const FrameJob& /*frame*/) noexcept {}

  /// Called by `reset`. The last frame may have ended between any two steps, so what an operator
  /// keeps from step to step must begin anew.
  virtual void forget() noexcept {}

  /// Called by a step that finds bad pixels. Later steps check `frame.bad` and then leave the frame
  /// and the temporal state unchanged.
  static void mark_bad(FrameJob& frame) noexcept;
  /// Number of the present frame, counted from 1 and never 0. It is increased when a frame is
  /// finished.
  std::uint32_t frame_number() const noexcept { return frame_number_; }

  OperatorInfo info_;
  int workers_;
  FrameHistory history_;

 private:
  static void run_bad(void* context, int part, int worker) noexcept;
  static void run_luma(void* context, int part, int worker) noexcept;
  static void run_put_luma(void* context, int part, int worker) noexcept;
  static void finished(void* context) noexcept;
  void place(LayoutBuilder& builder) noexcept;
  /// Also the bytes between the members, so that equal records have equal bytes.
  void clear_record(FrameJob& frame) const noexcept;
  std::size_t bytes() noexcept;
  /// Steps before those of the operator.
  std::size_t luma_steps() const noexcept { return has_color(info_.format) ? 1 : 0; }
  /// Steps after those of the operator and that of bad frames.
  std::size_t put_luma_steps() const noexcept {
    return has_color(info_.format) && info_.planes[0].follows_frame ? 1 : 0;
  }

  std::atomic<bool> stop_{false};
  std::uint32_t frame_number_ = 1;
  EngineState* engine_ = nullptr;
  void* piece_ = nullptr;
  std::array<FrameJob, kMaxDepth> frames_;
  std::array<JobStep*, kMaxDepth> steps_{};
  std::array<StepContext*, kMaxDepth> contexts_{};
  // The luma of frames with color, and that of pictures with color.
  std::array<std::uint8_t*, kMaxDepth> luma_{};
  std::array<std::uint8_t*, kMaxDepth> picture_luma_{};
  std::ptrdiff_t luma_stride_ = 0;
};

/// Divides `rows` rows into bands.
struct Bands {
  int rows = 0;
  int band = 1;

  /// Makes about `per_worker` bands for each worker. No band has fewer than `least` rows, except
  /// the last one.
  static Bands cut(int rows, int workers, int per_worker, int least) noexcept;

  int count() const noexcept { return (rows + band - 1) / band; }
  int begin(int part) const noexcept { return part * band; }
  int end(int part) const noexcept { return begin(part) + band < rows ? begin(part) + band : rows; }
};

}  // namespace ocellus::detail
