// The threads beside the one that calls MPI on the root: one reads frames, one writes fields. Both
// have a bounded queue.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "apps/common/threads.h"
#include "apps/io/flow_file.h"
#include "apps/io/frame_output.h"

namespace ocellus::app {

/// A queue of limited length between two threads.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Waits for room. Returns false if the queue is closed.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }
  /// Removes the oldest item if the queue is full, and returns whether it was.
  bool drop_if_full() {
    const std::lock_guard lock(mutex_);
    if (items_.size() < capacity_) return false;
    items_.pop_front();
    return true;
  }
  /// Waits for an item. Returns nothing if the queue is closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !items_.empty(); });
    return take();
  }
  /// Returns nothing if the queue is empty.
  std::optional<T> try_pop() {
    const std::lock_guard lock(mutex_);
    return take();
  }
  /// Nothing can be pushed any more.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    items_.clear();
  }
  bool empty() {
    const std::lock_guard lock(mutex_);
    return items_.empty();
  }

 private:
  std::optional<T> take() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item = std::move(items_.front());
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;
  bool closed_ = false;
};

/// A thread that keeps the exception that ends it. The destructor waits for it.
class QueueThread {
 public:
  /// `what`: as for start_thread().
  QueueThread(const char* what, std::function<void()> run) {
    const auto task = std::make_shared<std::packaged_task<void()>>(std::move(run));
    result_ = task->get_future().share();
    thread_ = start_thread(what, [task] { (*task)(); });
  }
  ~QueueThread() { thread_.join(); }
  QueueThread(const QueueThread&) = delete;
  QueueThread& operator=(const QueueThread&) = delete;

  bool ended() const {
    return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// Waits for the end. Throws the exception.
  void wait() const { result_.get(); }

 private:
  std::shared_future<void> result_;
  std::thread thread_;
};

using FramePointer = std::shared_ptr<InputFrame>;

/// Reads frames ahead. If the source is live and the queue is full, the oldest frame in it is
/// dropped and counted. A source that is not live waits.
class FrameReader {
 public:
  /// `first` was read before. `input` must outlive the object.
  FrameReader(FrameInput& input, FramePointer first, std::size_t capacity) : queue_(capacity) {
    queue_.push(std::move(first));
    thread_.emplace("the thread that reads frames", [this, &input] {
      const bool live = input.source().live();
      for (auto frame = std::make_shared<InputFrame>(); input.next(*frame);
           frame = std::make_shared<InputFrame>()) {
        if (live && queue_.drop_if_full()) ++dropped_;
        if (!queue_.push(std::move(frame))) return;
      }
    });
  }
  /// Waits for the frame that is being read.
  ~FrameReader() { queue_.close(); }

  /// The next frame, or null if none has been read yet.
  FramePointer take() { return queue_.try_pop().value_or(nullptr); }
  /// Whether all frames were taken and no other comes.
  bool ended() { return thread_->ended() && queue_.empty(); }
  std::uint64_t dropped() const { return dropped_; }
  /// Throws what ended the reading, if it was an error.
  void rethrow() const {
    if (thread_->ended()) thread_->wait();
  }

 private:
  BoundedQueue<FramePointer> queue_;
  std::atomic<std::uint64_t> dropped_{0};
  std::optional<QueueThread> thread_;  // it ends before what it uses
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
  FieldWriter(const std::function<void(FrameField&)>& write, std::size_t fields)
      : capacity_(fields), queue_(fields), written_(fields) {
    thread_.emplace("the thread that writes fields", [this, write] {
      while (std::optional<FrameField> field = queue_.pop()) {
        write(*field);
        field->frame.reset();
        // Before there is room for another one, so that there are never more than `fields`.
        written_.push(std::move(*field));
        --pending_;
      }
    });
  }
  /// Waits for the field that is being written.
  ~FieldWriter() {
    queue_.clear();
    queue_.close();
  }

  /// Whether `push` may be called now.
  bool room() const { return pending_ < capacity_; }
  /// A field whose memory can be used again, or an empty one.
  FrameField reuse() { return written_.try_pop().value_or(FrameField()); }
  void push(FrameField field) {
    ++pending_;
    queue_.push(std::move(field));
  }
  /// Before `drain`, only an error ends the thread.
  bool failed() const { return thread_->ended(); }
  /// Waits until everything is written. Throws what ended the writing, if it was an error.
  void drain() {
    queue_.close();
    thread_->wait();
  }

 private:
  const std::size_t capacity_;
  BoundedQueue<FrameField> queue_;
  BoundedQueue<FrameField> written_;
  std::atomic<std::size_t> pending_{0};
  std::optional<QueueThread> thread_;  // it ends before what it uses
};

}  // namespace ocellus::app
