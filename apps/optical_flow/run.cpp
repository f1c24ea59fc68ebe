#include "apps/optical_flow/run.h"

namespace ocellus::app {
namespace {

constexpr int kPlanes = 3;  // u, v, confidence
constexpr int kValueBytes = static_cast<int>(sizeof(float));
constexpr const char* kContext = "optical flow";

}  // namespace

Footprint FlowPlan::footprint(const EngineInfo& engine, MemorySpace results) const {
  return take_options(OpticalFlow::footprint(engine, config_), kContext) +
         FlowResults::footprint(results, output_size(config_));
}

std::unique_ptr<RunningOperator> FlowPlan::create(Engine& engine, MemorySpace results) const {
  return std::make_unique<RunningFlow>(engine, results, config_);
}

Footprint FlowResults::footprint(MemorySpace space, ImageSize size) {
  if (space == MemorySpace::kHost) return {};
  return ResultPlanes::footprint(space, size, kPlanes, kValueBytes);
}

FlowResults::FlowResults(Engine& engine, MemorySpace space, ImageSize size) {
  if (space == MemorySpace::kHost) {
    field_ = FlowField(size, true);
    view_ = field_.view();
    return;
  }
  planes_.emplace(engine, space, size, kPlanes, kValueBytes);
  view_.u = static_cast<float*>(planes_->plane(0));
  view_.v = static_cast<float*>(planes_->plane(1));
  view_.confidence = static_cast<float*>(planes_->plane(2));
  view_.size = size;
  view_.stride = planes_->stride();
  view_.space = space;
}

RunningFlow::RunningFlow(Engine& engine, MemorySpace results, const OpticalFlowConfig& config)
    : results_(engine, results, output_size(config)),
      flow_(take(OpticalFlow::create(engine, config), kContext)) {}

FrameInfo RunningFlow::step(const Frame& frame) {
  const Ticket ticket = take(flow_.submit(frame, results_.view()), kContext);
  return take(flow_.wait(ticket, Deadline::never()), kContext);
}

std::optional<Support> choose_support(int wanted, long number, long first, long last) {
  for (Support support{wanted}; support.frames >= 2; --support.frames) {
    if (number - support.before() >= first && number + support.after() <= last) return support;
  }
  return std::nullopt;
}

}  // namespace ocellus::app
