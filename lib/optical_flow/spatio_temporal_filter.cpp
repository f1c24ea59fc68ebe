#include "ocellus/spatio_temporal_filter.h"

#include <new>
#include <utility>

#include "optical_flow/front.h"

namespace ocellus {
namespace detail {

class SpatioTemporalFilterState {
 public:
  SpatioTemporalFilterState(EngineRef engine, const OpticalFlowPlan& plan,
                            const SpatioTemporalFilterConfig& given) noexcept
      : front(std::move(engine), plan), config(given) {}

  FlowFront front;
  SpatioTemporalFilterConfig config;
};

}  // namespace detail

Expected<Footprint> SpatioTemporalFilter::footprint(
    const EngineInfo& engine, const SpatioTemporalFilterConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::FlowFront::footprint(engine, *plan);
}

Expected<SpatioTemporalFilter> SpatioTemporalFilter::create(
    Engine& engine, const SpatioTemporalFilterConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  std::unique_ptr<detail::SpatioTemporalFilterState> state(
      new (std::nothrow) detail::SpatioTemporalFilterState(engine.state(), *plan, config));
  if (!state)
    return tl::unexpected(
        make_error(Status::kOutOfMemory, "the system gave no memory for the operator"));
  if (Expected<void> made = state->front.create(config.kernels); !made)
    return tl::unexpected(made.error());
  return SpatioTemporalFilter(std::move(state));
}

SpatioTemporalFilter::SpatioTemporalFilter(
    std::unique_ptr<detail::SpatioTemporalFilterState> state) noexcept
    : state_(std::move(state)) {}
SpatioTemporalFilter::SpatioTemporalFilter(SpatioTemporalFilter&&) noexcept = default;
SpatioTemporalFilter& SpatioTemporalFilter::operator=(SpatioTemporalFilter&&) noexcept = default;
SpatioTemporalFilter::~SpatioTemporalFilter() = default;

const SpatioTemporalFilterConfig& SpatioTemporalFilter::config() const noexcept {
  return state_->config;
}
float SpatioTemporalFilter::delay_frames() const noexcept {
  return state_->front.plan().delay_frames;
}

Expected<Ticket> SpatioTemporalFilter::submit(const Frame& in, const FilterView& out) noexcept {
  const int convolutions = state_->front.plan().convolutions;
  detail::FlowOutput output;
  for (int c = 0; c < convolutions; ++c) {
    const auto i = static_cast<std::size_t>(c);
    if (out.planes[i] == nullptr) {
      return tl::unexpected(make_error(Status::kInvalidArgument,
                                       "output plane %d is null; the filter has %d convolutions", c,
                                       convolutions));
    }
    output.planes[i] = out.planes[i];
  }
  output.stride = out.stride;
  output.space = out.space;
  output.stream = out.stream;
  return state_->front.submit(in, output, out.size);
}

Expected<FrameInfo> SpatioTemporalFilter::wait(Ticket ticket, Deadline deadline) noexcept {
  return state_->front.wait(ticket, deadline);
}
void SpatioTemporalFilter::reset() noexcept {
  state_->front.reset();
}

}  // namespace ocellus
