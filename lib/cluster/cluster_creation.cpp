// Creation of a cluster. Every rank makes its part, and all agree after each step, so that no rank
// goes on when another one cannot.
#include <unistd.h>

#include <array>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>

#include "cluster/cluster_state.h"
#include "core/failure.h"

namespace ocellus {
namespace {

using namespace cluster;
using detail::invalid_argument;

/// The checks that need no other rank.
Expected<void> check(const FlowClusterConfig& config, int ranks) noexcept {
  const OpticalFlowConfig& flow = config.flow;
  OCELLUS_TRY(OpticalFlow::info_for(flow));
  if (flow.method != FlowMethod::kKernels) {
    return invalid_argument(
        "flow.method is kPyramid; a cluster needs kKernels, because the coarse levels of a pyramid "
        "need the whole frame on every rank");
  }
  if (flow.format != PixelFormat::kGray8 && flow.format != PixelFormat::kGray16)
    return invalid_argument("flow.format is %d; it must be kGray8 or kGray16",
                            static_cast<int>(flow.format));
  if (!flow.roi.empty())
    return invalid_argument("flow.roi must be empty: a cluster computes whole frames");
  if (flow.deviation)
    return invalid_argument(
        "flow.deviation is true; it must be false: a cluster does not compute it");
  if (flow.objects > 0)
    return invalid_argument("flow.objects is %d; it must be 0: a cluster does not find them",
                            flow.objects);
  if (config.frames_in_flight < 1 || config.frames_in_flight > kMaxClusterFrames) {
    return invalid_argument("frames_in_flight is %d; it must be 1 to %d", config.frames_in_flight,
                            kMaxClusterFrames);
  }
  if (config.fan_out < 0)
    return invalid_argument("fan_out is %d; it must be 0 or more", config.fan_out);
  if (config.transfer == ClusterTransfer::kCollective &&
      (config.columns > 1 || config.fan_out > 0)) {
    return invalid_argument(
        "transfer is kCollective with %d columns and fan_out %d; it needs one column and fan_out 0",
        config.columns, config.fan_out);
  }
  if (config.gather && config.results_on_device) {
    return invalid_argument(
        "results_on_device is true, but gather too; results can stay on the device only if the "
        "root does not get them");
  }
  if (config.trace_events < 0)
    return invalid_argument("trace_events is %d; it must be 0 or more", config.trace_events);
  const bool given = config.columns != 0 || config.rows != 0;
  if (given && (config.columns < 1 || config.rows < 1 || config.columns > ranks ||
                config.rows != ranks / config.columns || ranks % config.columns != 0)) {
    return invalid_argument("%d columns and %d rows are not the %d ranks; their product must be",
                            config.columns, config.rows, ranks);
  }
  const int columns = given ? config.columns : 1;
  const int rows = ranks / columns;
  if (columns > flow.size.width || rows > flow.size.height) {
    return invalid_argument("%d x %d regions do not fit in %d x %d pixels; each needs a pixel",
                            columns, rows, flow.size.width, flow.size.height);
  }
  return {};
}

/// The check that needs rank 0. Collective, with a configuration that `check` accepts on all ranks.
Expected<void> check_same(MPI_Comm communicator, const FlowClusterConfig& config) noexcept {
  struct Value {
    const char* name;
    std::int64_t value;
  };
  const Value mine[] = {{"flow.size.width", config.flow.size.width},
                        {"flow.size.height", config.flow.size.height},
                        {"flow.format", static_cast<int>(config.flow.format)},
                        {"columns", config.columns},
                        {"rows", config.rows},
                        {"measure_speed", config.measure_speed},
                        {"frames_in_flight", config.frames_in_flight},
                        {"transfer", static_cast<int>(config.transfer)},
                        {"fan_out", config.fan_out},
                        {"split_communication", config.split_communication},
                        {"gather", config.gather},
                        {"results_on_device", config.results_on_device},
                        {"scatter", config.scatter},
                        {"confidence", config.confidence},
                        {"trace_events", config.trace_events}};
  std::array<std::int64_t, std::size(mine)> root{};
  for (std::size_t i = 0; i < root.size(); ++i) root[i] = mine[i].value;
  MPI_Bcast(root.data(), static_cast<int>(root.size()), MPI_INT64_T, 0, communicator);
  const OptionTable options = OpticalFlowConfig::options();
  std::vector<char> texts(options.size() * kMaxOptionText);
  const auto text_of = [&config](const Option& option, char* text) {
    if (option.means_something(&config.flow))
      detail::get_option(option, &config.flow, text, kMaxOptionText);
  };
  for (std::size_t i = 0; i < options.size(); ++i) text_of(options[i], &texts[i * kMaxOptionText]);
  MPI_Bcast(texts.data(), static_cast<int>(texts.size()), MPI_CHAR, 0, communicator);
  for (std::size_t i = 0; i < root.size(); ++i) {
    if (mine[i].value == root[i]) continue;
    return invalid_argument(
        "%s is %lld, and %lld on rank 0; all ranks must give the same configuration", mine[i].name,
        static_cast<long long>(mine[i].value), static_cast<long long>(root[i]));
  }
  for (std::size_t i = 0; i < options.size(); ++i) {
    char text[kMaxOptionText] = {};
    text_of(options[i], text);
    const std::string_view theirs = &texts[i * kMaxOptionText];
    if (theirs == text) continue;
    return invalid_argument(
        "flow.%s is '%.*s', and '%.*s' on rank 0; all ranks must give the same configuration",
        options[i].name, detail::shown(text), text, detail::shown(theirs), theirs.data());
  }
  return {};
}

/// Returns the error of the lowest rank that has one, on all ranks.
template <typename T>
Expected<void> agree(MPI_Comm communicator, const Expected<T>& mine) noexcept {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  int first = mine ? ranks : rank;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, communicator);
  if (first == ranks) return {};
  Error error;
  if (first == rank) {
    char host[64] = {};
    gethostname(host, sizeof(host) - 1);
    error = make_error(mine.error().status, "rank %d on %s: %s", rank, host, mine.error().text);
  }
  MPI_Bcast(&error, sizeof(error), MPI_BYTE, first, communicator);
  return tl::unexpected(error);
}

}  // namespace

FlowCluster::State::~State() {
  if (shared || (transferred && !end_transfers())) {
    static_cast<void>(slots.release());
    static_cast<void>(flow.release());
    return;
  }
  slots.reset();  // the requests before the memory that they name
  flow.reset();
  int finalized = 0;
  MPI_Finalized(&finalized);
  // A message of an unfinished cluster may still come, and must not reach another communicator.
  if (finalized != 0 || transferred) return;
  for (MPI_Comm* c : {&communicator, &frame_communicator, &result_communicator})
    if (*c != MPI_COMM_NULL) MPI_Comm_free(c);
}

void FlowCluster::State::disconnect() {
  flow->close_peers();
  MPI_Barrier(communicator);
  shared = false;
  transferred = false;
}

Expected<void> FlowCluster::State::make(MPI_Comm parent, const EngineConfig& engine) {
  MPI_Comm_dup(parent, &communicator);
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  OCELLUS_TRY(agree(communicator, check_same(communicator, config)));
  const int columns = config.columns == 0 ? 1 : config.columns;
  std::vector<double> speeds(static_cast<std::size_t>(ranks), 1.0);
  regions = cut_regions(config.flow.size, columns, ranks / columns, speeds);
  if (config.measure_speed && ranks > 1) {
    MPI_Barrier(communicator);  // ranks of one host are measured together
    const Expected<double> speed =
        RegionFlow::measure_speed(engine, config, regions[static_cast<std::size_t>(rank)]);
    OCELLUS_TRY(agree(communicator, speed));
    report.speed = *speed;
    MPI_Allgather(&report.speed, 1, MPI_DOUBLE, speeds.data(), 1, MPI_DOUBLE, communicator);
    regions = cut_regions(config.flow.size, columns, ranks / columns, speeds);
  }
  node = tree_node(rank, ranks, config.fan_out);
  auto made = RegionFlow::create(engine, config, RegionPlaces::of(config, regions, rank, node));
  OCELLUS_TRY(agree(communicator, made));
  flow = std::move(*made);
  gethostname(report.host, sizeof(report.host) - 1);
  report.region = regions[static_cast<std::size_t>(rank)];
  report.backend = flow->engine().backend;
  report.halo_memory = flow->exchange_space();
  events.reserve(static_cast<std::size_t>(config.trace_events));
  if (collective()) {
    MPI_Comm_dup(parent, &frame_communicator);
    MPI_Comm_dup(parent, &result_communicator);
  }
  const Expected<void> all = agree(communicator, connect_peers());
  if (!all) {
    disconnect();  // some ranks may have opened the memory of others
    return all;
  }
  for (int s = 0; s < config.frames_in_flight; ++s) make_messages(s);
  return {};
}

Expected<FlowCluster> FlowCluster::create(MPI_Comm communicator, const EngineConfig& engine,
                                          const FlowClusterConfig& config) noexcept {
  int ranks = 1;
  MPI_Comm_size(communicator, &ranks);
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (state) state->slots.reset(new (std::nothrow) Slots);
  const Expected<void> mine =
      state && state->slots
          ? check(config, ranks)
          : tl::unexpected(make_error(Status::kOutOfMemory, "the system gave no memory"));
  OCELLUS_TRY(agree(communicator, mine));
  state->config = config;
  OCELLUS_TRY(state->make(communicator, engine));
  return FlowCluster(std::move(state));
}

}  // namespace ocellus
