#include "ocellus/cellular_network.h"

#include <new>
#include <utility>

#include "core/failure.h"
#include "core/operator_handle.h"
#include "halftone/backend.h"
#include "halftone/plan.h"

namespace ocellus {
namespace detail {

class CellularNetworkState {
 public:
  CellularNetworkState(EngineRef engine, const CellularNetworkPlan& made,
                       const CellularNetworkConfig& given) noexcept
      : handle(std::move(engine), shape_of(made)), plan(made), config(given) {
    for (CellStage& stage : config.stages) stage.start_plane = stage.threshold_plane = nullptr;
  }

  OperatorHandle handle;
  CellularNetworkPlan plan;
  CellularNetworkConfig config;
};

}  // namespace detail

Expected<Footprint> CellularNetwork::footprint(const EngineInfo& engine,
                                               const CellularNetworkConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  return detail::cell_footprint(engine, *plan);
}

Expected<CellularNetwork> CellularNetwork::create(Engine& engine,
                                                  const CellularNetworkConfig& config) noexcept {
  const auto plan = detail::make_plan(config);
  if (!plan) return tl::unexpected(plan.error());
  std::unique_ptr<detail::CellularNetworkState> state(
      new (std::nothrow) detail::CellularNetworkState(engine.state(), *plan, config));
  if (!state) return detail::no_memory_for_operator();
  if (Expected<void> made = detail::create_cells(state->handle, *plan, detail::sources_of(config));
      !made)
    return tl::unexpected(made.error());
  return CellularNetwork(std::move(state));
}

CellularNetwork::CellularNetwork(std::unique_ptr<detail::CellularNetworkState> state) noexcept
    : state_(std::move(state)) {}
CellularNetwork::CellularNetwork(CellularNetwork&&) noexcept = default;
CellularNetwork& CellularNetwork::operator=(CellularNetwork&&) noexcept = default;
CellularNetwork::~CellularNetwork() = default;

const CellularNetworkConfig& CellularNetwork::config() const noexcept {
  return state_->config;
}

int CellularNetwork::fraction_bits(int stage) const noexcept {
  if (stage < 0 || stage >= state_->plan.stage_count) return 0;
  return state_->plan.stages[static_cast<std::size_t>(stage)].fraction_bits;
}

Expected<Ticket> CellularNetwork::submit(const Frame& in, const CellView& out) noexcept {
  if (out.data == nullptr)
    return tl::unexpected(make_error(Status::kInvalidArgument, "output data must not be null"));
  detail::OutputPlanes output =
      detail::output_of(out, 1, bytes_per_pixel(state_->plan.output_format));
  output.planes[0] = out.data;
  return state_->handle.submit(in, output);
}

Expected<FrameInfo> CellularNetwork::wait(Ticket ticket, Deadline deadline,
                                          CellInfo* info) noexcept {
  detail::ExtraWords words{};
  Expected<FrameInfo> done = state_->handle.wait(ticket, deadline, &words);
  if (done && info != nullptr) {
    info->sweeps = static_cast<int>(words[detail::kSweepsWord]);
    info->changed = words[detail::kChangedWord];
    info->converged = words[detail::kConvergedWord] != 0;
  }
  return done;
}

void CellularNetwork::reset() noexcept {
  state_->handle.reset();
}

}  // namespace ocellus
