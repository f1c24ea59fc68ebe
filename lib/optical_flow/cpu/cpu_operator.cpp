#include "optical_flow/cpu/cpu_operator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "optical_flow/cpu/kernel_flow.h"
#include "optical_flow/cpu/pyramid_flow.h"

namespace ocellus::detail {

CpuOperator::CpuOperator(const OpticalFlowPlan& plan, int workers) noexcept
    : plan_(plan), workers_(workers), history_(plan.frames) {}

CpuOperator::~CpuOperator() {
  if (engine_ != nullptr) engine_->give_back_host(piece_);
}

CpuOperator* CpuOperator::make(const OpticalFlowPlan& plan, int workers) noexcept {
  if (plan.method == FlowMethod::kPyramid) return new (std::nothrow) PyramidFlow(plan, workers);
  return new (std::nothrow) KernelFlow(plan, workers);
}

void CpuOperator::place(Carver& carver) noexcept {
  const auto count = static_cast<std::size_t>(stage_count());
  for (int slot = 0; slot < plan_.depth; ++slot) {
    const auto i = static_cast<std::size_t>(slot);
    stages_[i] = carver.take<Stage>(count);
    contexts_[i] = carver.take<StageContext>(count);
  }
  layout(carver);
}

std::size_t CpuOperator::bytes() noexcept {
  Carver counting;
  place(counting);
  return counting.bytes();
}

Expected<void> CpuOperator::create(EngineState& engine, const KernelConfig& kernels) noexcept {
  const Expected<void*> piece = engine.take_host(bytes());
  if (!piece) return tl::unexpected(piece.error());
  engine_ = &engine;
  piece_ = *piece;
  Carver carver(piece_);
  place(carver);
  if (Expected<void> ready = prepare(kernels); !ready) return ready;
  for (int slot = 0; slot < plan_.depth; ++slot) {
    const auto i = static_cast<std::size_t>(slot);
    FrameJob& frame = frames_[i];
    frame.owner = this;
    for (int s = 0; s < stage_count(); ++s) {
      contexts_[i][s] = StageContext{&frame, 0, 0};
      stages_[i][s] = Stage{};
    }
    build_stages(stages_[i], contexts_[i]);
    frame.job.stages = stages_[i];
    frame.job.stage_count = stage_count();
    frame.job.finished = &CpuOperator::finished;
    frame.job.finished_context = &frame;
  }
  return {};
}

void CpuOperator::submit(int slot, const Frame& in, const FlowOutput& out) noexcept {
  FrameJob& frame = frames_[static_cast<std::size_t>(slot)];
  frame.in = in;
  frame.out = out;
  frame.bad.store(false, std::memory_order_relaxed);
  engine_->scheduler().submit(frame.job);
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
    return;
  }
  self.history_.begin(frame.in.sequence, frame.in.timestamp_ns);
  self.history_.describe(self.plan_.delay_frames, frame.result);
  self.history_.accept();
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

void CpuOperator::reset() noexcept {
  history_.forget();
}

float CpuOperator::invalid_value() const noexcept {
  return plan_.invalid == InvalidFlow::kNan ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
}

void CpuOperator::write_invalid(const FrameJob& frame) const noexcept {
  const int planes = plan_.filter_only ? plan_.convolutions : 3;
  for (int p = 0; p < planes; ++p) {
    float* plane = frame.out.planes[static_cast<std::size_t>(p)];
    if (plane == nullptr) continue;
    const float value = plan_.filter_only ? std::numeric_limits<float>::quiet_NaN()
                        : p == 2          ? 0.0f
                                          : invalid_value();
    for (int y = 0; y < plan_.roi.height; ++y) {
      float* row = reinterpret_cast<float*>(reinterpret_cast<char*>(plane) + y * frame.out.stride);
      std::fill(row, row + plan_.roi.width, value);
    }
  }
}

Bands Bands::cut(int rows, int workers, int per_worker, int least) noexcept {
  const int wanted = std::max(1, workers * per_worker);
  return {rows, std::max({1, least, (rows + wanted - 1) / wanted})};
}

namespace {

CpuOperator* self(void* instance) noexcept {
  return static_cast<CpuOperator*>(instance);
}

Expected<Footprint> flow_footprint(const EngineInfo& engine, const OpticalFlowPlan& plan) noexcept {
  CpuOperator* instance = CpuOperator::make(plan, engine.workers);
  if (instance == nullptr)
    return tl::unexpected(
        make_error(Status::kOutOfMemory, "the system gave no memory for the operator"));
  Footprint footprint;
  footprint.host = instance->bytes();
  delete instance;
  return footprint;
}

Expected<void*> flow_create(EngineState& engine, const OpticalFlowPlan& plan,
                            const KernelConfig& kernels) noexcept {
  CpuOperator* instance = CpuOperator::make(plan, engine.info().workers);
  if (instance == nullptr)
    return tl::unexpected(
        make_error(Status::kOutOfMemory, "the system gave no memory for the operator"));
  if (Expected<void> made = instance->create(engine, kernels); !made) {
    delete instance;
    return tl::unexpected(made.error());
  }
  return static_cast<void*>(instance);
}

}  // namespace

const OpticalFlowBackend kOpticalFlowCpu = {
    "cpu",
    false,
    flow_footprint,
    flow_create,
    [](void* instance) noexcept { delete self(instance); },
    [](void* instance, int slot, const Frame& in, const FlowOutput& out) noexcept {
      self(instance)->submit(slot, in, out);
      return Expected<void>();
    },
    [](void* instance, int slot, Deadline deadline, FrameResult& result) noexcept {
      const Status status = self(instance)->wait(slot, deadline, result);
      if (status == Status::kOk) return Expected<void>();
      return Expected<void>(tl::unexpected(make_error(status, "%s", status_message(status))));
    },
    [](void* instance, int slot) noexcept { self(instance)->cancel(slot); },
    [](void* instance) noexcept { self(instance)->reset(); },
};

}  // namespace ocellus::detail
