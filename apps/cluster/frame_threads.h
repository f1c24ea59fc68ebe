// The threads beside the one that calls MPI on the root: one reads frames, one writes fields. Both
// have a bounded queue.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "apps/io/flow_file.h"
#include "apps/io/frame_output.h"

namespace ocellus::app {

using FramePointer = std::shared_ptr<InputFrame>;

/// Reads frames ahead. If the source is live and the queue is full, the oldest frame in it is
/// dropped and counted. A source that is not live waits.
class FrameReader {
 public:
  /// `first` was read before. `input` must outlive the object.
  FrameReader(FrameInput& input, FramePointer first, std::size_t capacity);
  /// Waits for the frame that is being read.
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  /// The next frame, or null if none has been read yet.
  FramePointer take();
  /// Whether all frames were taken and no other comes.
  bool ended();
  std::uint64_t dropped();
  /// Throws what ended the reading, if it was an error.
  void rethrow();

 private:
  void run();

  FrameInput& input_;
  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FramePointer> queue_;
  bool stop_ = false;
  bool ended_ = false;
  std::uint64_t dropped_ = 0;
  std::exception_ptr error_;
  std::thread thread_;
};

/// A field with the frame that it describes.
struct FrameField {
  FramePointer frame;
  FlowField field;
};

/// Writes fields in order.
class FieldWriter {
 public:
  /// `write` is called on the thread of the writer. `fields`: most that are queued or written.
  FieldWriter(std::function<void(FrameField&)> write, std::size_t fields);
  ~FieldWriter();
  FieldWriter(const FieldWriter&) = delete;
  FieldWriter& operator=(const FieldWriter&) = delete;

  /// Whether `push` may be called now.
  bool room();
  /// A field whose memory can be used again, or an empty one.
  FrameField reuse();
  void push(FrameField field);
  bool failed();
  /// Waits until everything is written. Throws what ended the writing, if it was an error.
  void drain();

 private:
  void run();

  const std::function<void(FrameField&)> write_;
  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FrameField> queue_;
  std::deque<FrameField> written_;
  bool stop_ = false;
  bool writing_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace ocellus::app
