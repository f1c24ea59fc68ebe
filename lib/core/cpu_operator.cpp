#include "core/cpu_operator.h"

#include <algorithm>
#include <cstring>

#include "core/failure.h"
#include "core/piece_map.h"
#include "ocellus/luma.h"

namespace ocellus::detail {
namespace {

/// Bands of rows in which the luma of a frame with color is taken out and put back.
Bands luma_bands(ImageSize size, int workers) noexcept {
  constexpr int kLeastPixels = 32768;  // about 10 us
  return Bands::cut(size.height, workers, 2, std::max(1, kLeastPixels / size.width));
}

}  // namespace

CpuOperator::CpuOperator(const OperatorInfo& info, int workers) noexcept
    : info_(info), workers_(workers), history_(info.support_frames) {}

CpuOperator::~CpuOperator() {
  if (engine_ != nullptr) engine_->give_back(MemorySpace::kHost, piece_);
}

void CpuOperator::place(LayoutBuilder& builder) noexcept {
  const auto count = static_cast<std::size_t>(step_count());
  for (int slot = 0; slot < info_.depth; ++slot) {
    const auto i = static_cast<std::size_t>(slot);
    steps_[i] = builder.take<JobStep>(luma_steps() + count + 1 + put_luma_steps());
    contexts_[i] = builder.take<StepContext>(count);
    if (info_.record != nullptr) frames_[i].record = builder.take<char>(info_.record->bytes);
    const std::size_t stride =
        align_up(static_cast<std::size_t>(info_.size.width), kMemoryAlignment);
    const std::size_t luma_bytes = stride * static_cast<std::size_t>(info_.size.height);
    luma_stride_ = static_cast<std::ptrdiff_t>(stride);
    if (luma_steps() > 0) luma_[i] = builder.take<std::uint8_t>(luma_bytes);
    if (put_luma_steps() > 0) picture_luma_[i] = builder.take<std::uint8_t>(luma_bytes);
  }
  layout(builder);
}

std::size_t CpuOperator::bytes() noexcept {
  LayoutBuilder counting;
  place(counting);
  return counting.bytes();
}

Footprint CpuOperator::footprint() noexcept {
  return {.host = bytes()};
}

Expected<void> CpuOperator::start(EngineState& engine) noexcept {
  OCELLUS_TRY_ASSIGN(piece, engine.take(MemorySpace::kHost, bytes()));
  engine_ = &engine;
  piece_ = *piece;
  LayoutBuilder builder(piece_);
  place(builder);
  OCELLUS_TRY(prepare());
  const int count = step_count();
  for (int slot = 0; slot < info_.depth; ++slot) {
    const auto i = static_cast<std::size_t>(slot);
    FrameJob& frame = frames_[i];
    frame.owner = this;
    if (luma_steps() > 0)
      steps_[i][0] = {&CpuOperator::run_luma, &frame, luma_bands(info_.size, workers_).count()};
    JobStep* const own = steps_[i] + luma_steps();
    for (int s = 0; s < count; ++s) {
      contexts_[i][s] = StepContext{&frame, 0, 0, &own[s]};
      own[s] = JobStep{};
    }
    build_steps(own, contexts_[i]);
    frame.bad_step = &own[count];
    *frame.bad_step = {&CpuOperator::run_bad, &frame, 0};
    if (put_luma_steps() > 0) frame.bad_step[1] = {&CpuOperator::run_put_luma, &frame, 0};
    frame.job.priority = priority_;
    frame.job.name = info_.name;
    frame.job.steps = steps_[i];
    frame.job.step_count = static_cast<int>(luma_steps() + put_luma_steps()) + count + 1;
    // What an operator has learned must not hold a part of a frame.
    if (!info_.learns) frame.job.stop = &stop_;
    frame.job.finished = &CpuOperator::finished;
    frame.job.finished_context = &frame;
  }
  return {};
}

Expected<void> CpuOperator::submit(int slot, const Frame& in, const OperatorOutput& out) noexcept {
  FrameJob& frame = frames_[static_cast<std::size_t>(slot)];
  frame.in = in;
  if (luma_steps() > 0) {
    frame.color = in;
    frame.in.data = luma_[static_cast<std::size_t>(slot)];
    frame.in.stride = luma_stride_;
    frame.in.format = luma_format(in.format);
  }
  frame.out = out;
  if (put_luma_steps() > 0) {
    const bool colored = has_color(out.planes[0].format);
    frame.bad_step[1].parts = colored ? luma_bands(info_.size, workers_).count() : 0;
    if (colored) {
      frame.picture = out.planes[0];
      frame.out.planes[0].data = picture_luma_[static_cast<std::size_t>(slot)];
      frame.out.planes[0].stride = luma_stride_;
      frame.out.planes[0].format = info_.planes[0].format;
    }
  }
  clear_record(frame);
  frame.bad.store(false, std::memory_order_relaxed);
  frame.bad_step->parts = 0;
  frame.job.sequence = in.sequence;
  engine_->scheduler().submit(frame.job);
  return {};
}

void CpuOperator::clear_record(FrameJob& frame) const noexcept {
  if (frame.record != nullptr) std::memset(frame.record, 0, info_.record->bytes);
}

void CpuOperator::mark_bad(FrameJob& frame) noexcept {
  // Several parts of one step may find bad pixels at the same time; only the first one writes.
  if (!frame.bad.exchange(true, std::memory_order_relaxed)) frame.bad_step->parts = 1;
}

void CpuOperator::run_luma(void* context, int part, int) noexcept {
  const FrameJob& frame = *static_cast<const FrameJob*>(context);
  const CpuOperator& self = *frame.owner;
  const Bands bands = luma_bands(self.info_.size, self.workers_);
  std::uint8_t* const luma = self.luma_[static_cast<std::size_t>(&frame - self.frames_.data())];
  for (int y = bands.begin(part); y < bands.end(part); ++y) {
    luma_of_row(static_cast<const char*>(frame.color.data) + y * frame.color.stride,
                frame.color.format, luma + y * self.luma_stride_, self.info_.size.width);
  }
}

void CpuOperator::run_put_luma(void* context, int part, int) noexcept {
  const FrameJob& frame = *static_cast<const FrameJob*>(context);
  const CpuOperator& self = *frame.owner;
  const Bands bands = luma_bands(self.info_.size, self.workers_);
  for (int y = bands.begin(part); y < bands.end(part); ++y) {
    replace_luma_row(static_cast<const char*>(frame.color.data) + y * frame.color.stride,
                     frame.color.format, frame.out_row<std::uint8_t>(0, y),
                     self.info_.planes[0].color, frame.picture.row<void>(y), self.info_.size.width);
  }
}

void CpuOperator::run_bad(void* context, int, int) noexcept {
  const FrameJob& frame = *static_cast<const FrameJob*>(context);
  frame.owner->write_bad(frame);
}

void CpuOperator::finished(void* context) noexcept {
  FrameJob& frame = *static_cast<FrameJob*>(context);
  CpuOperator& self = *frame.owner;
  if (++self.frame_number_ == 0) self.frame_number_ = 1;
  // The scheduler's lock is held until the job is done, so `wait` cannot come too early.
  self.done_event_.add();
  if (frame.job.is_cut_short()) return;
  const bool bad = frame.bad.load(std::memory_order_relaxed);
  frame.result = self.history_.add(frame.in, self.info_.delay_frames, bad);
  if (bad)
    self.clear_record(frame);
  else
    self.complete(frame);
}

Expected<void> CpuOperator::wait(int slot, Deadline deadline, FrameInfo& result) noexcept {
  FrameJob& frame = frames_[static_cast<std::size_t>(slot)];
  const Status status = engine_->scheduler().wait(frame.job, deadline);
  if (status != Status::kOk) return failure(status, "%s", status_message(status));
  done_event_.remove();
  if (frame.job.is_cut_short())
    return failure(Status::kStopped, "%s", status_message(Status::kStopped));
  result = frame.result;
  result.queue_ns = frame.job.started_ns() - frame.job.submitted_ns();
  result.compute_ns = frame.job.done_ns() - frame.job.started_ns();
  if (frame.out.record != nullptr) std::memcpy(frame.out.record, frame.record, info_.record->bytes);
  return {};
}

Expected<CancelOutcome> CpuOperator::try_cancel(int slot) noexcept {
  const auto outcome = engine_->scheduler().withdraw(frames_[static_cast<std::size_t>(slot)].job);
  if (outcome) return *outcome;
  return failure(Status::kInvalidTicket, "%s", status_message(Status::kInvalidTicket));
}

void CpuOperator::reset() noexcept {
  stop_.store(false, std::memory_order_relaxed);
  history_.forget();
  forget();
}

void CpuOperator::cancel(int slot) noexcept {
  if (engine_->scheduler().cancel(frames_[static_cast<std::size_t>(slot)].job))
    done_event_.remove();
}

Expected<void> CpuOperator::finish_frames() noexcept {
  for (int slot = 0; slot < info_.depth; ++slot)
    engine_->scheduler().finish(frames_[static_cast<std::size_t>(slot)].job);
  return {};
}

Bands Bands::cut(int rows, int workers, int per_worker, int least) noexcept {
  const int wanted = std::max(1, workers * per_worker);
  return {rows, std::max({1, least, (rows + wanted - 1) / wanted})};
}

}  // namespace ocellus::detail
