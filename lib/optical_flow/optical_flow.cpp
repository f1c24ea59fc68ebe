#include "ocellus/optical_flow.h"

#include <new>
#include <utility>

#include "core/failure.h"
#include "core/operator_handle.h"
#include "optical_flow/backend.h"

namespace ocellus {
namespace detail {

class OpticalFlowState {
 public:
  OpticalFlowState(EngineRef engine, const OpticalFlowPlan& plan,
                   const OpticalFlowConfig& given) noexcept
      : handle(std::move(engine), shape_of(plan)), config(given) {}

  OperatorHandle handle;
  OpticalFlowConfig config;
};

}  // namespace detail

Expected<Footprint> OpticalFlow::footprint(const EngineInfo& engine,
                                           const OpticalFlowConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::flow_footprint(engine, *plan);
}

Expected<OpticalFlow> OpticalFlow::create(Engine& engine,
                                          const OpticalFlowConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  std::unique_ptr<detail::OpticalFlowState> state(
      new (std::nothrow) detail::OpticalFlowState(engine.state(), *plan, config));
  if (!state) return detail::no_memory_for_operator();
  if (Expected<void> made = detail::create_flow(state->handle, *plan, config.kernels); !made)
    return tl::unexpected(made.error());
  return OpticalFlow(std::move(state));
}

OpticalFlow::OpticalFlow(std::unique_ptr<detail::OpticalFlowState> state) noexcept
    : state_(std::move(state)) {}
OpticalFlow::OpticalFlow(OpticalFlow&&) noexcept = default;
OpticalFlow& OpticalFlow::operator=(OpticalFlow&&) noexcept = default;
OpticalFlow::~OpticalFlow() = default;

const OpticalFlowConfig& OpticalFlow::config() const noexcept {
  return state_->config;
}
float OpticalFlow::delay_frames() const noexcept {
  return state_->handle.shape().delay_frames;
}

Expected<Ticket> OpticalFlow::submit(const Frame& in, const FlowView& out) noexcept {
  if (out.u == nullptr || out.v == nullptr) {
    return tl::unexpected(
        make_error(Status::kInvalidArgument, "output planes u and v must not be null"));
  }
  detail::OutputPlanes output = detail::output_of(out, 3, sizeof(float));
  output.planes = {out.u, out.v, out.confidence};
  return state_->handle.submit(in, output);
}

Expected<FrameInfo> OpticalFlow::wait(Ticket ticket, Deadline deadline) noexcept {
  return state_->handle.wait(ticket, deadline);
}
void OpticalFlow::reset() noexcept {
  state_->handle.reset();
}

}  // namespace ocellus
