#include "apps/cluster/frame_threads.h"

#include <utility>

#include "apps/common/threads.h"

namespace ocellus::app {

FrameReader::FrameReader(FrameInput& input, FramePointer first, std::size_t capacity)
    : input_(input), capacity_(capacity) {
  queue_.push_back(std::move(first));
  thread_ = start_thread("the thread that reads frames", [this] { run(); });
}

FrameReader::~FrameReader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void FrameReader::run() {
  const bool live = input_.source().live();
  try {
    while (true) {
      auto frame = std::make_shared<InputFrame>();
      if (!input_.next(*frame)) break;
      std::unique_lock<std::mutex> lock(mutex_);
      if (live && queue_.size() >= capacity_) {
        queue_.pop_front();
        ++dropped_;
      }
      changed_.wait(lock, [this] { return stop_ || queue_.size() < capacity_; });
      if (stop_) return;
      queue_.push_back(std::move(frame));
    }
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    error_ = std::current_exception();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
}

FramePointer FrameReader::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (queue_.empty()) return nullptr;
  FramePointer frame = std::move(queue_.front());
  queue_.pop_front();
  changed_.notify_all();
  return frame;
}

bool FrameReader::ended() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ended_ && queue_.empty();
}

std::uint64_t FrameReader::dropped() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return dropped_;
}

void FrameReader::rethrow() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

FieldWriter::FieldWriter(std::function<void(FrameField&)> write, std::size_t fields)
    : write_(std::move(write)), capacity_(fields) {
  thread_ = start_thread("the thread that writes fields", [this] { run(); });
}

FieldWriter::~FieldWriter() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void FieldWriter::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    FrameField field = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      write_(field);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    writing_ = false;
    if (error) {
      error_ = error;
      queue_.clear();
    }
    field.frame.reset();
    written_.push_back(std::move(field));
    changed_.notify_all();
    if (error_) return;
  }
}

bool FieldWriter::room() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return queue_.size() + (writing_ ? 1 : 0) < capacity_;
}

FrameField FieldWriter::reuse() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (written_.empty()) return {};
  FrameField field = std::move(written_.front());
  written_.pop_front();
  return field;
}

void FieldWriter::push(FrameField field) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (error_) return;
  queue_.push_back(std::move(field));
  changed_.notify_all();
}

bool FieldWriter::failed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return error_ != nullptr;
}

void FieldWriter::drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return error_ || (queue_.empty() && !writing_); });
  if (error_) std::rethrow_exception(error_);
}

}  // namespace ocellus::app
