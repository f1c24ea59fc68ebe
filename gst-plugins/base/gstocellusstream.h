// The stream of an element: the processing of a frame from its arrival until a buffer is pushed,
// and the negotiation with the neighbors.
//
// The streaming thread calls everything here, or another thread while the stream is stopped, unless
// a comment says otherwise.
#pragma once

#include <vector>

#include "base/gstocellusoperator.h"
#include "base/gstocelluspoolset.h"
#include "base/gstocellusresults.h"
#include "base/gstocellusstate.h"
#include "base/gstocellustime.h"
#include "base/gstocellusvideo.h"

namespace gst_ocellus {

/// Removes all pools from an allocation query.
void remove_pools(GstQuery* query);

class Stream {
 public:
  Stream(GstOcellusBase* element, const ocellus::OperatorDescription& description);

  State state;  ///< any thread

  // ---- any thread

  /// Makes the frames in flight end early. No frame is taken until `go_on` and `reset`.
  void interrupt() { op_.stop(); }
  void go_on() { op_.go_on(); }
  /// Writes what the operator has learned. Returns whether the file is complete; otherwise a
  /// warning with the reason was posted.
  bool save_model(const gchar* path);

  // ---- negotiation

  /// Creates what pictures of these caps need. Returns FALSE after posting an error.
  gboolean set_caps(GstCaps* incaps);
  /// Called before new caps: if the caps differ, pushes the frames that are held back or in flight.
  void prepare_for_caps(GstCaps* caps);
  /// Adds the latency of this element to the latency of upstream. Any thread.
  gboolean answer_latency(GstQuery* query);
  gboolean propose_allocation(GstQuery* query);

  // ---- frames

  /// Processes a picture. Appends the buffers to push to `ready`.
  /// `skipped`: downstream would drop the picture. Returns GST_BASE_TRANSFORM_FLOW_DROPPED if a
  /// picture was dropped and no buffer is to be pushed.
  GstFlowReturn take_picture(OwnedBuffer picture, bool skipped, Clock::time_point arrival);
  /// The next buffer to push, or null.
  GstBuffer* take_ready();

  /// Resets the temporal state, and drops the frames in flight or held back and the result for
  /// reuse.
  void reset();
  /// The same, where what is lost is not a gap in the stream.
  void flush();
  /// Releases all that `set_caps` has created.
  void stop();
  /// Called before a serialized event. Finishes the frames in flight and pushes their buffers.
  void finish_before_event();
  /// Called before a discontinuity or the end of the stream. Finishes the frames in flight. The
  /// results of pictures that are held back are computed with the last frame repeated. Resets the
  /// temporal state.
  GstFlowReturn drain();
  /// Called when upstream or downstream needs the buffers, but the stream continues. Finishes the
  /// frames in flight. Pictures that are held back are pushed with the newest result. Keeps the
  /// temporal state.
  GstFlowReturn release_pictures();
  /// Saves to the file of the property `save-location`, if one is set and frames have taught the
  /// operator since the last file. Called at the end of the stream, when its frames have been
  /// pushed, and before the operator is destroyed.
  void save_learned();

 private:
  /// A picture that is held back until the result that describes it is ready.
  struct HeldFrame {
    GstBuffer* picture;
    guint64 sequence;
  };
  /// A finished frame. The receiver owns picture and data.
  struct FinishedFrame {
    FrameTask task;
    GstOcellusResult result;

    void clear() {
      gst_clear_buffer(&task.picture);
      gst_clear_buffer(&result.data);
    }
  };

  ocellus::Expected<void> create_operator(const VideoCaps& caps);
  void begin_operator();
  GstFlowReturn take_options();
  gboolean propose_cuda_pool(GstQuery* query, GstCaps* caps, guint extra);
  /// The maximum number of frames that the element keeps, in flight or held back.
  guint frames_kept() const { return hold_ + op_.depth() - 1; }

  Outcome finish_oldest(ocellus::Deadline deadline, FinishedFrame* frame);
  bool is_too_late(GstBuffer* picture, GstClockTimeDiff* jitter) const;
  OwnedBuffer take_oldest_held();
  void measure_latency(GstBuffer* picture);
  GstFlowReturn deliver(const FrameSettings& settings, const FrameTask& task,
                        GstOcellusResult* result, bool missed, bool* dropped);
  GstFlowReturn abandon(const FrameSettings& settings, FrameTask* task, bool* dropped);
  bool is_full() const { return op_.in_flight() == op_.depth(); }
  GstFlowReturn collect(bool all, bool* dropped);
  GstFlowReturn collect_done(bool dropped);
  GstFlowReturn make_room();
  void drop_held();
  GstFlowReturn push_ready();
  GstFlowReturn finish_frames();
  GstFlowReturn push_oldest_held(const GstOcellusResult* result, Clock::time_point begin);
  GstOcellusResult stand_in() const;
  GstFlowReturn repeat_frame(GstBuffer* picture, GstOcellusResult* result);
  GstFlowReturn push_held();
  bool is_idle();

  /// Makes an output buffer. `result` may be null. Returns null after posting an error.
  GstBuffer* wrap_output(OwnedBuffer picture, const GstOcellusResult* result);
  OwnedBuffer make_drawable(OwnedBuffer picture);
  OwnedBuffer draw_result(OwnedBuffer picture, GstBuffer* buffer);
  /// For a frame that missed its budget or that downstream would drop.
  void post_qos(GstBuffer* buffer, GstClockTimeDiff jitter, gdouble proportion);
  /// Posts the element message of a frame with a result, if the property `post-messages` or
  /// `messages` asks for it.
  void post_frame(GstBuffer* buffer, Clock::time_point arrival, GstClockTime arrival_to_result);

  GstOcellusBase* element_;
  VideoCaps caps_;
  PoolSet pools_{caps_, state.context};
  Results results_;
  ElementOperator op_{state, caps_, pools_, results_};
  Timeline timeline_;
  guint hold_ = 0;                 // number of pictures that are held back: whole frames of delay
  guint64 sequence_ = 0;           // number of the next frame since the last reset
  std::vector<HeldFrame> held_;    // oldest first
  std::vector<GstBuffer*> ready_;  // buffers to push, oldest first
  bool mark_discont_ = false;      // a picture before the next one was dropped
};

}  // namespace gst_ocellus
