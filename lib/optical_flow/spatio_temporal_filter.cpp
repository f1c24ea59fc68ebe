#include "ocellus/spatio_temporal_filter.h"

#include <new>
#include <utility>

#include "core/failure.h"
#include "core/operator_handle.h"
#include "optical_flow/backend.h"

namespace ocellus {
namespace detail {

class SpatioTemporalFilterState {
 public:
  SpatioTemporalFilterState(EngineRef engine, const OpticalFlowPlan& plan,
                            const SpatioTemporalFilterConfig& given) noexcept
      : handle(std::move(engine), shape_of(plan)), config(given) {}

  OperatorHandle handle;
  SpatioTemporalFilterConfig config;
};

}  // namespace detail

Expected<Footprint> SpatioTemporalFilter::footprint(
    const EngineInfo& engine, const SpatioTemporalFilterConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::flow_footprint(engine, *plan);
}

Expected<SpatioTemporalFilter> SpatioTemporalFilter::create(
    Engine& engine, const SpatioTemporalFilterConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  std::unique_ptr<detail::SpatioTemporalFilterState> state(
      new (std::nothrow) detail::SpatioTemporalFilterState(engine.state(), *plan, config));
  if (!state) return detail::no_memory_for_operator();
  if (Expected<void> made = detail::create_flow(state->handle, *plan, config.kernels); !made)
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
  return state_->handle.shape().delay_frames;
}

Expected<Ticket> SpatioTemporalFilter::submit(const Frame& in, const FilterView& out) noexcept {
  const int convolutions = state_->handle.shape().planes;
  detail::OutputPlanes output = detail::output_of(out, convolutions, sizeof(float));
  for (int c = 0; c < convolutions; ++c) {
    const auto i = static_cast<std::size_t>(c);
    if (out.planes[i] == nullptr) {
      return tl::unexpected(make_error(Status::kInvalidArgument,
                                       "output plane %d is null; the filter has %d convolutions", c,
                                       convolutions));
    }
    output.planes[i] = out.planes[i];
  }
  return state_->handle.submit(in, output);
}

Expected<FrameInfo> SpatioTemporalFilter::wait(Ticket ticket, Deadline deadline) noexcept {
  return state_->handle.wait(ticket, deadline);
}
void SpatioTemporalFilter::reset() noexcept {
  state_->handle.reset();
}

}  // namespace ocellus
