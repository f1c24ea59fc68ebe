#include "core/cpu_operator.h"

#include <algorithm>

#include "core/failure.h"

namespace ocellus::detail {

CpuOperator::CpuOperator(const OperatorShape& shape, int workers) noexcept
    : shape_(shape), workers_(workers), history_(shape.frames) {}

CpuOperator::~CpuOperator() {
  if (engine_ != nullptr) engine_->give_back_host(piece_);
}

Expected<Footprint> CpuOperator::footprint(std::unique_ptr<CpuOperator> made) noexcept {
  if (made == nullptr) return no_memory_for_operator();
  Footprint footprint;
  footprint.host = made->bytes();
  return footprint;
}

Expected<void*> CpuOperator::create(EngineState& engine,
                                    std::unique_ptr<CpuOperator> made) noexcept {
  if (made == nullptr) return no_memory_for_operator();
  if (Expected<void> here = engine.check_process(); !here) return tl::unexpected(here.error());
  if (Expected<void> started = made->start(engine); !started)
    return tl::unexpected(started.error());
  return static_cast<void*>(made.release());
}

void CpuOperator::place(LayoutBuilder& builder) noexcept {
  const auto count = static_cast<std::size_t>(stage_count());
  for (int slot = 0; slot < shape_.depth; ++slot) {
    const auto i = static_cast<std::size_t>(slot);
    stages_[i] = builder.take<Stage>(count + 1);
    contexts_[i] = builder.take<StepContext>(count);
  }
  layout(builder);
}

std::size_t CpuOperator::bytes() noexcept {
  LayoutBuilder counting;
  place(counting);
  return counting.bytes();
}

Expected<void> CpuOperator::start(EngineState& engine) noexcept {
  const Expected<void*> piece = engine.take_host(bytes());
  if (!piece) return tl::unexpected(piece.error());
  engine_ = &engine;
  piece_ = *piece;
  LayoutBuilder builder(piece_);
  place(builder);
  if (Expected<void> ready = prepare(); !ready) return ready;
  const int count = stage_count();
  for (int slot = 0; slot < shape_.depth; ++slot) {
    const auto i = static_cast<std::size_t>(slot);
    FrameJob& frame = frames_[i];
    frame.owner = this;
    for (int s = 0; s < count; ++s) {
      contexts_[i][s] = StepContext{&frame, 0, 0, &stages_[i][s]};
      stages_[i][s] = Stage{};
    }
    build_steps(stages_[i], contexts_[i]);
    frame.bad_stage = &stages_[i][count];
    *frame.bad_stage = {&CpuOperator::run_bad, &frame, 0};
    frame.job.stages = stages_[i];
    frame.job.stage_count = count + 1;
    frame.job.finished = &CpuOperator::finished;
    frame.job.finished_context = &frame;
  }
  return {};
}

void CpuOperator::submit(int slot, const Frame& in, const OutputPlanes& out) noexcept {
  FrameJob& frame = frames_[static_cast<std::size_t>(slot)];
  frame.in = in;
  frame.out = out;
  frame.bad.store(false, std::memory_order_relaxed);
  frame.bad_stage->parts = 0;
  engine_->scheduler().submit(frame.job);
}

void CpuOperator::mark_bad(FrameJob& frame) noexcept {
  // Parts of one stage may find it at once; only one of them writes.
  if (!frame.bad.exchange(true, std::memory_order_relaxed)) frame.bad_stage->parts = 1;
}

void CpuOperator::run_bad(void* context, int, int) noexcept {
  const FrameJob& frame = *static_cast<const FrameJob*>(context);
  frame.owner->write_bad(frame);
}

void CpuOperator::finished(void* context) noexcept {
  FrameJob& frame = *static_cast<FrameJob*>(context);
  CpuOperator& self = *frame.owner;
  if (++self.frame_number_ == 0) self.frame_number_ = 1;
  frame.result = FrameResult{};
  if (self.history_.warming_up()) frame.result.flags |= kWarmingUp;
  if (frame.bad.load(std::memory_order_relaxed)) {
    frame.result.flags |= kBadPixels;
    frame.result.described_sequence = frame.in.sequence;
    frame.result.described_timestamp_ns = frame.in.timestamp_ns;
  } else {
    self.history_.begin(frame.in.sequence, frame.in.timestamp_ns);
    self.history_.describe(self.shape_.delay_frames, frame.result);
    self.history_.accept();
  }
  self.complete(frame.result);
}

Status CpuOperator::wait(int slot, Deadline deadline, FrameResult& result) noexcept {
  FrameJob& frame = frames_[static_cast<std::size_t>(slot)];
  const Status status = engine_->scheduler().wait(frame.job, deadline);
  if (status != Status::kOk) return status;
  result = frame.result;
  result.queue_ns = frame.job.started_ns() - frame.job.submitted_ns();
  result.compute_ns = frame.job.done_ns() - frame.job.started_ns();
  return Status::kOk;
}

void CpuOperator::cancel(int slot) noexcept {
  engine_->scheduler().cancel(frames_[static_cast<std::size_t>(slot)].job);
}

const OperatorCalls CpuOperator::kCalls = {
    .name = "cpu",
    .device_memory = false,
    .destroy = [](void* instance) noexcept { delete static_cast<CpuOperator*>(instance); },
    .submit =
        [](void* instance, int slot, const Frame& in, const OutputPlanes& out) noexcept {
          static_cast<CpuOperator*>(instance)->submit(slot, in, out);
          return Expected<void>();
        },
    .wait =
        [](void* instance, int slot, Deadline deadline, FrameResult& result) noexcept {
          const Status status = static_cast<CpuOperator*>(instance)->wait(slot, deadline, result);
          if (status == Status::kOk) return Expected<void>();
          return Expected<void>(tl::unexpected(make_error(status, "%s", status_message(status))));
        },
    .cancel = [](void* instance,
                 int slot) noexcept { static_cast<CpuOperator*>(instance)->cancel(slot); },
    .reset =
        [](void* instance) noexcept { static_cast<CpuOperator*>(instance)->history_.forget(); },
};

Bands Bands::cut(int rows, int workers, int per_worker, int least) noexcept {
  const int wanted = std::max(1, workers * per_worker);
  return {rows, std::max({1, least, (rows + wanted - 1) / wanted})};
}

}  // namespace ocellus::detail
