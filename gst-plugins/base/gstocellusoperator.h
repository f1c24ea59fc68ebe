// The operator of an element, its engine, and the frames in flight.
//
// After a device loss, if `on-device-loss` allows it, the operator is created again on the CPU and
// computes the frames in flight again.
//
// Called by the streaming thread, or while the stream is stopped, except `save_model`, `stop` and
// `go_on`.
#pragma once

#include <gst/video/video.h>

#include <array>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/gstocelluspicture.h"
#include "base/gstocelluspoolset.h"
#include "base/gstocellusresults.h"
#include "base/gstocellusstate.h"
#include "base/gstocellustime.h"
#include "ocellus/buffer.h"
#include "ocellus/engine.h"
#include "ocellus/operators.h"

namespace gst_ocellus {

/// A frame of the stream.
struct FrameTask {
  GstBuffer* picture = nullptr;
  guint64 sequence = 0;  ///< number of the frame since the last reset
  Clock::time_point arrival;
  bool skipped = false;    ///< downstream drops it; it is computed only for the temporal state
  bool abandoned = false;  ///< its picture was pushed or dropped; the result is not used
};

/// A frame that the operator has, and its memory.
struct FrameInFlight {
  FrameTask task;  // holds a reference to the picture
  ocellus::Ticket ticket;
  GstBuffer* result = nullptr;    // null if the operator does not have the frame
  GstOcellusPicture input;        // its first plane; also chroma planes, if the result keeps them
  GstMapInfo result_map{};        // for a result that is not a picture
  GstOcellusPicture target;       // for a result that is a picture
  bool chroma_on_device = false;  // the device may still write its chroma
  GstOcellusRecord record{};
};

enum class Outcome {
  kDone,
  kNotYet,   // not ready by the deadline
  kStopped,  // `stop` was called
  kFailed,   // an error has been posted
};

class ElementOperator {
 public:
  /// `results`: of the operator that exists.
  ElementOperator(State& state, const VideoCaps& caps, PoolSet& pools, Results& results)
      : element_(state.element()), state_(state), caps_(caps), pools_(pools), results_(results) {}
  ~ElementOperator() { destroy(); }
  ElementOperator(const ElementOperator&) = delete;
  ElementOperator& operator=(const ElementOperator&) = delete;

  /// Creates the engine, the operator and the pools for pictures of these caps. Drops the frames in
  /// flight. An operator that learns remains until the new one has what it has learned; after an
  /// error it goes on, as any operator does with `keep_old`. Otherwise it gives its memory back
  /// first. Errors: those of the options, of Engine::create, of the creation of the operator, of
  /// the pools, of `prepare` of the class, and of OperatorHandle::take_learned.
  ocellus::Expected<void> create(ocellus::EngineConfig config, const VideoCaps& caps,
                                 bool keep_old = false);
  void destroy();
  bool exists() const { return engine_.has_value(); }

  /// Those of the operator.
  const Options& options() const { return options_; }
  /// Description of the operator, or of the last one if it was destroyed.
  const ocellus::OperatorInfo& info() const { return info_; }
  /// Whether the result is a picture with the caps of the input, which is pushed in its place.
  bool produces_video() const { return info_.planes[0].follows_frame; }
  guint depth() const { return static_cast<guint>(info_.depth); }

  /// Drops the frames in flight and the temporal state.
  void reset();

  /// Makes the frames in flight end early, so that the streaming thread does not wait for them. No
  /// frame is taken until `go_on` and `reset` have been called. Any thread.
  void stop();
  void go_on();

  /// OperatorHandle::save_model: all frames that have been submitted. Any thread. The streaming
  /// thread waits until the file is written. Errors: those of OperatorHandle::save_model,
  /// Unsupported (there is no operator before the caps are known).
  ocellus::Expected<void> save_model(const char* path);
  /// Whether frames have taught the operator since its creation or the last call of `set_saved`.
  bool is_changed() const { return changed_; }
  void set_saved() { changed_ = false; }

  /// Submits a frame. Fewer than `depth` frames may be in flight. Takes a reference to the picture.
  /// Returns GST_FLOW_ERROR after posting an error, and GST_FLOW_FLUSHING where downstream takes no
  /// buffers or `stop` was called. The picture then does not go out.
  GstFlowReturn submit(const FrameTask& task);

  guint in_flight() const { return count_; }
  /// Index 0 is the oldest frame in flight.
  FrameInFlight& frame(guint index) { return slots_[(first_ + index) % depth()]; }

  /// Waits for the oldest frame.
  Outcome wait_oldest(ocellus::Deadline deadline, ocellus::FrameInfo* info);
  /// Releases the oldest frame after `wait_oldest` has returned kDone.
  void release_oldest();

 private:
  ocellus::Expected<void> begin(guint index, bool* bad_picture);
  ocellus::Expected<void> map_input(GstBuffer* picture, int planes, guint slot,
                                    ocellus::Frame* frame, bool* copied);
  ocellus::Expected<void> map_result(FrameInFlight* frame, ocellus::OperatorOutput* output);
  ocellus::Expected<void> write_chroma(FrameInFlight* frame, bool keep);
  void unmap(FrameInFlight* frame);
  void release(FrameInFlight* frame);
  void drop_frames();
  ocellus::Expected<bool> move_learned(ocellus::OperatorHandle& to);
  void set_operator(std::optional<ocellus::OperatorHandle> op);
  GstFlowReturn submit_newest();
  enum class Recovery { kNotAllowed, kFailed, kStopped, kDone };
  Recovery recover(const ocellus::Error& error);
  ocellus::Expected<ocellus::FrameInfo> look(const FrameInFlight& frame,
                                             ocellus::Deadline deadline);
  int looks_at(const FrameInFlight& frame, ocellus::Deadline deadline) const;
  bool is_on_device() const;
  void post_bad_picture(const ocellus::Error& error);

  /// Lets one thread call the operator. A thread that waits for it is the next one, also if the
  /// other thread asks again at once.
  class Turn {
   public:
    explicit Turn(ElementOperator& op) : lock_(op.mutex_, std::defer_lock) {
      const std::lock_guard<std::mutex> next(op.next_);
      lock_.lock();
    }

   private:
    std::unique_lock<std::mutex> lock_;
  };

  GstOcellusBase* element_;
  State& state_;
  const VideoCaps& caps_;
  PoolSet& pools_;
  Results& results_;
  std::optional<ocellus::Engine> engine_;
  std::mutex next_;   // of the thread that takes `mutex_` next
  std::mutex mutex_;  // guards op_ and its calls
  // Only the streaming thread changes it, and holds `stop_mutex_`, too, which is never held long.
  std::optional<ocellus::OperatorHandle> op_;
  std::mutex stop_mutex_;
  bool stopping_ = false;  // guarded by stop_mutex_
  ocellus::OperatorInfo info_;
  Options options_ = state_.options;
  // CUDA memory for the first plane of pictures from another context, one buffer per slot.
  std::vector<ocellus::Buffer> fetched_;
  gsize fetched_stride_ = 0;
  std::array<FrameInFlight, ocellus::kMaxDepth> slots_;
  guint first_ = 0;
  guint count_ = 0;
  bool changed_ = false;
};

}  // namespace gst_ocellus
