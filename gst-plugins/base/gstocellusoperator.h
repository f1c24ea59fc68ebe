// The operator of an element with its engine, and the frames that it has not finished.
//
// After a lost device the operator is made again on the CPU, where the property `on-device-loss`
// allows it, and computes the frames in flight once more.
//
// Streaming thread, or while no stream runs.
#pragma once

#include <gst/video/video.h>

#include <array>
#include <optional>
#include <vector>

#include "base/gstocellusbase.h"
#include "base/gstocelluscontext.h"
#include "base/gstocelluspicture.h"
#include "base/gstocelluspoolset.h"
#include "base/gstocellustime.h"
#include "ocellus/buffer.h"
#include "ocellus/engine.h"
#include "ocellus/operators.h"

namespace gst_ocellus {

/// What the stream knows of a frame.
struct FrameTask {
  GstBuffer* picture = nullptr;
  guint64 sequence = 0;  ///< since the last reset
  Clock::time_point arrival;
  bool skipped = false;    ///< downstream does not want it: it is computed for the temporal state
  bool abandoned = false;  ///< its picture has been dealt with, and the result is not waited for
};

/// A frame that belongs to the operator, with its memory.
struct FrameInFlight {
  FrameTask task;  // holds a reference to the picture
  ocellus::Ticket ticket;
  GstBuffer* result = nullptr;    // null: the operator does not have the frame
  GstOcellusPicture luma;         // with chroma, when the result takes it over
  GstMapInfo result_map{};        // of a result that is no picture
  GstOcellusPicture target;       // of one that is
  bool chroma_on_device = false;  // its chroma may still be written there
  GstOcellusRecord record{};
};

enum class Outcome {
  kDone,
  kNotYet,  // not within the deadline
  kFailed,  // an error has been posted
};

class ElementOperator {
 public:
  ElementOperator(GstOcellusBase* element, const VideoCaps& caps, CudaContext& context,
                  PoolSet& pools)
      : element_(element), caps_(caps), context_(context), pools_(pools) {}
  ~ElementOperator() { destroy(); }
  ElementOperator(const ElementOperator&) = delete;
  ElementOperator& operator=(const ElementOperator&) = delete;

  /// Makes the engine, the operator and the pools of results. Nothing is in flight.
  /// Errors: those of the options, of Engine::create, of the operator's creation, of the pools.
  ocellus::Expected<void> create(ocellus::EngineConfig config, GstCaps* caps);
  void destroy();
  bool exists() const { return engine_.has_value(); }

  /// Of the operator, or of the last one there was.
  const ocellus::OperatorInfo& info() const { return info_; }
  const ocellus::EngineInfo& engine() const { return engine_->info(); }
  guint depth() const { return static_cast<guint>(info_.depth); }

  /// Where plane `index` of a result lies, which starts at `data`.
  ocellus::ImageView plane(guint8* data, int index) const;

  /// Drops the frames in flight and the temporal state.
  void reset();

  /// Gives the operator a frame, of which fewer than `depth` are in flight. Takes a reference to
  /// the picture. False: an error has been posted, and the frame is not in flight.
  bool submit(const FrameTask& task);

  guint in_flight() const { return count_; }
  /// Index 0 is the oldest frame in flight.
  FrameInFlight& frame(guint index) { return slots_[(first_ + index) % depth()]; }

  /// Waits for the oldest frame.
  Outcome wait_oldest(ocellus::Deadline deadline, ocellus::FrameInfo* info);
  /// Lets go of the oldest frame, once `wait_oldest` has said done.
  void release_oldest();

 private:
  ocellus::Expected<void> begin(guint index, bool* bad_picture);
  ocellus::Expected<void> map_luma(GstBuffer* picture, int planes, guint slot,
                                   ocellus::Frame* frame, bool* copied);
  ocellus::Expected<void> map_result(FrameInFlight* frame, ocellus::OperatorOutput* output);
  ocellus::Expected<void> write_chroma(FrameInFlight* frame, bool keep);
  void unmap(FrameInFlight* frame);
  void release(FrameInFlight* frame);
  void take_back(FrameInFlight* frame);
  void drop_frames();
  bool submit_newest();
  bool recover(const ocellus::Error& error);
  gsize plane_stride(int index) const;
  gsize plane_bytes(int index) const;
  bool produces_video() const;
  bool is_on_device() const;

  GstOcellusBase* element_;
  const VideoCaps& caps_;
  CudaContext& context_;
  PoolSet& pools_;
  std::optional<ocellus::Engine> engine_;
  std::optional<ocellus::OperatorHandle> op_;
  ocellus::OperatorInfo info_;
  // CUDA memory, one for each slot: luma of pictures from another context.
  std::vector<ocellus::Buffer> fetched_;
  gsize fetched_stride_ = 0;
  std::array<FrameInFlight, ocellus::kMaxDepth> slots_;
  guint first_ = 0;
  guint count_ = 0;
};

}  // namespace gst_ocellus
