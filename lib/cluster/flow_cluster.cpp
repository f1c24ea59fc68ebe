#include "ocellus/flow_cluster.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include "cluster/frame_messages.h"
#include "cluster/peers.h"
#include "cluster/region_flow.h"
#include "cluster/regions.h"
#include "core/failure.h"

namespace ocellus {
namespace {

using namespace cluster;
using detail::invalid_argument;

enum class Command : std::uint32_t { kFrame, kFinish };

/// Travels with the pixels of a frame, in one message.
struct FrameHeader {
  std::uint64_t frame = 0;
  std::uint64_t sequence = 0;
  std::int64_t timestamp_ns = 0;
  Command command = Command::kFrame;
};

enum class Progress {
  kFree,         // the root's slot takes the next frame
  kReceiving,    // the parent's message has not come
  kReady,        // earlier frames must begin before this one
  kDerivatives,  // the workers compute
  kExchange,     // halos travel
  kSolution,     // the workers compute
  kCollecting,   // results of the children, and frames to them, travel
  kSending,      // the result travels to the parent
  kDone,         // on the root: until `release`
};

/// A frame in flight on one rank.
struct Slot : FrameMessages {
  FrameHeader header;
  Progress progress = Progress::kFree;
  bool frame_out_open = false;
  std::int64_t frame_out_begin = 0;
  std::int64_t begin_ns = 0;  // of the present stage
  bool warming_up = false;
};

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

/// The checks that need no other rank.
Expected<void> check(const FlowClusterConfig& config, int ranks) noexcept {
  const OpticalFlowConfig& flow = config.flow;
  if (const Expected<OperatorInfo> info = OpticalFlow::info_for(flow); !info)
    return tl::unexpected(info.error());
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

/// Returns the error of the lowest rank that has one, on all ranks.
Expected<void> agree(MPI_Comm communicator, const Expected<void>& mine) noexcept {
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

/// For how long a rank with a device looks for news without sleeping, in nanoseconds.
constexpr std::int64_t kPatience = 300'000;

/// Sleeps for a moment, so that the ranks of one host can share its CPUs.
void pause_briefly() noexcept {
  const timespec time = {0, 20'000};
  nanosleep(&time, nullptr);
}

}  // namespace

struct FlowCluster::State {
  FlowClusterConfig config;
  MPI_Comm communicator = MPI_COMM_NULL;
  // kCollective: all ranks start the operations of a communicator in one order, and a rank starts
  // to receive later frames before it returns earlier results.
  MPI_Comm frame_communicator = MPI_COMM_NULL;
  MPI_Comm result_communicator = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
  TreeNode node;
  std::vector<Rect> regions;
  std::unique_ptr<RegionFlow> flow;
  std::array<Slot, kMaxClusterFrames> slots;
  std::uint64_t next_frame = 0;        // root: to be submitted
  std::uint64_t oldest = 0;            // root: not released
  std::uint64_t next_derivatives = 0;  // whose derivatives begin next
  // kCollective: results are sent, and slots given back, in the order of the frames.
  std::uint64_t next_result = 0;
  std::uint64_t next_done = 0;
  bool finishing = false;
  /// Without split communication: a transfer that must end before this rank starts to compute a
  /// later frame. Earlier frames go on, because the transfer may need them on another rank. The
  /// transfers are polled and not waited for: a rank that ended would block this one for ever.
  struct Awaited {
    Messages* messages;
    std::uint64_t frame;
  };
  std::array<Awaited, 4 * kMaxClusterFrames> awaited{};
  std::size_t awaited_count = 0;
  Error failure;  // status kOk: none
  std::int64_t began_ns = 0;
  std::int64_t moved_ns = 0;  // when a frame last moved on, for a rank with a device
  ClusterRankReport report;
  std::vector<ClusterEvent> events;
  std::vector<ClusterRankReport> reports;
  std::vector<ClusterEvent> all_events;
  RegionCallback callback = nullptr;
  void* callback_user = nullptr;
  SlabSource slab_source = nullptr;
  void* slab_user = nullptr;
  std::uint64_t peer_bytes = 0;  // of the border, for all peers

  ~State() {
    flow.reset();
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return;
    for (MPI_Comm* c : {&communicator, &frame_communicator, &result_communicator})
      if (*c != MPI_COMM_NULL) MPI_Comm_free(c);
  }

  bool is_root() const { return rank == 0; }
  Slot& slot_of(std::uint64_t frame) {
    return slots[static_cast<std::size_t>(frame) %
                 static_cast<std::size_t>(config.frames_in_flight)];
  }
  int index_of(const Slot& slot) const { return static_cast<int>(&slot - slots.data()); }
  bool collective() const { return config.transfer == ClusterTransfer::kCollective; }

  Rect slab_of(int r) const {
    return grow(regions[static_cast<std::size_t>(r)],
                Reach::of_kernel(config.flow.kernels.nx, config.flow.kernels.ny), config.flow.size);
  }
  /// The pixels that the slab source gives. Without one, an image without data, which is refused.
  ImageView own_slab(const Slot& slot) const {
    if (slab_source == nullptr) return {};
    return slab_source(slab_user, slot.header.frame, slab_of(rank));
  }
  /// Collective.
  Expected<void> connect();
  void begin_receive(Slot& slot);
  void begin_frame(Slot& slot);
  void add_event(ClusterStage stage, const Slot& slot, std::int64_t begin);
  void await(Messages& messages, const Slot& slot) {
    if (!config.split_communication) awaited[awaited_count++] = {&messages, slot.header.frame};
  }
  /// Whether the computation of a frame must wait for the transfers of an earlier one.
  bool held(std::uint64_t frame) const {
    return std::any_of(awaited.begin(), awaited.begin() + awaited_count,
                       [frame](const Awaited& a) { return a.frame < frame; });
  }
  /// Moves a slot on to its next stage. Returns true if it moved.
  bool advance(Slot& slot);
  bool advance_all();
  void idle();
  void fail(const Error& error);
  void finish_frames();
  /// What must be added to this rank's clock to give the root's. Collective.
  std::int64_t root_clock_ahead();
  Expected<void> collect();
};

Expected<void> FlowCluster::State::connect() {
  Expected<Peers> peers = connect_peers(*flow, config.halo_transfer, communicator);
  if (!peers) return tl::unexpected(peers.error());
  report.peers = peers->count;
  peer_bytes = peers->border_bytes;
  std::vector<Rect> slabs;
  slabs.reserve(regions.size());
  for (int r = 0; r < ranks; ++r) slabs.push_back(slab_of(r));
  const ClusterPlan plan{config,
                         *flow,
                         regions,
                         slabs,
                         peers->ranks,
                         node,
                         rank,
                         communicator,
                         frame_communicator,
                         result_communicator};
  for (int s = 0; s < config.frames_in_flight; ++s) {
    Slot& slot = slots[static_cast<std::size_t>(s)];
    slot.make(plan, s, std::as_writable_bytes(std::span(&slot.header, 1)));
  }
  return {};
}

void FlowCluster::State::add_event(ClusterStage stage, const Slot& slot, std::int64_t begin) {
  if (events.size() == static_cast<std::size_t>(config.trace_events)) return;
  events.push_back({begin, now_ns(), static_cast<std::uint32_t>(slot.header.frame), rank, stage});
}

void FlowCluster::State::begin_receive(Slot& slot) {
  slot.progress = Progress::kReceiving;
  slot.frame_in.start();
}

void FlowCluster::State::begin_frame(Slot& slot) {
  if (began_ns == 0) began_ns = now_ns();
  if (!node.children.empty()) {
    slot.frame_out_begin = now_ns();
    slot.frame_out_open = true;
    slot.frame_out.start();
    report.frame_bytes += slot.frame_out.bytes();
    await(slot.frame_out, slot);
  }
  report.frame_bytes += slot.frame_in.bytes();
  // Early, so that the messages of faster ranks need no buffer.
  slot.halo_in.start();
  slot.result_in.start();
  slot.progress = Progress::kReady;
}

bool FlowCluster::State::advance(Slot& slot) {
  const int index = index_of(slot);
  if (slot.frame_out_open && slot.frame_out.done()) {
    slot.frame_out_open = false;
    add_event(ClusterStage::kFrame, slot, slot.frame_out_begin);
  }
  switch (slot.progress) {
    case Progress::kFree:
    case Progress::kDone:
      return false;
    case Progress::kReceiving:
      if (!slot.frame_in.done()) return false;
      if (slot.header.command == Command::kFinish) {
        slot.frame_out.start();
        slot.frame_out.wait();
        slot.progress = Progress::kFree;
        finishing = true;
        return true;
      }
      begin_frame(slot);
      return true;
    case Progress::kReady:
      if (slot.header.frame != next_derivatives || held(slot.header.frame)) return false;
      // Peers still copy the derivatives of the slot's last frame.
      if (!slot.copied_in.done()) return false;
      if (Expected<void> done =
              flow->start_derivatives(index, config.scatter ? flow->slab(index) : own_slab(slot),
                                      slot.header.sequence, slot.header.timestamp_ns);
          !done) {
        fail(done.error());
        return false;
      }
      slot.copied_in.start();
      ++next_derivatives;
      slot.begin_ns = now_ns();
      slot.progress = Progress::kDerivatives;
      return true;
    case Progress::kDerivatives: {
      const Expected<FrameInfo> done = flow->wait_derivatives(index, Deadline::immediate());
      if (!done) {
        if (done.error().status != Status::kDeadlineMissed) fail(done.error());
        return false;
      }
      slot.header.sequence = done->described_sequence;
      slot.header.timestamp_ns = done->described_timestamp_ns;
      slot.warming_up = done->warming_up();
      report.derivative_seconds += seconds(done->compute_ns);
      add_event(ClusterStage::kDerivatives, slot, slot.begin_ns);
      slot.begin_ns = now_ns();
      slot.halo_out.start();
      report.halo_bytes += slot.halo_out.bytes() + peer_bytes;
      await(slot.halo_in, slot);
      await(slot.halo_out, slot);
      slot.progress = Progress::kExchange;
      return true;
    }
    case Progress::kExchange:
      if (!slot.halo_in.done() || !slot.halo_out.done() || held(slot.header.frame)) return false;
      report.exchange_seconds += seconds(now_ns() - slot.begin_ns);
      add_event(ClusterStage::kExchange, slot, slot.begin_ns);
      if (Expected<void> done = flow->start_solution(index); !done) {
        fail(done.error());
        return false;
      }
      slot.begin_ns = now_ns();
      slot.progress = Progress::kSolution;
      return true;
    case Progress::kSolution: {
      if (!slot.copied_out.done()) return false;  // of the slot's last frame
      const Expected<FrameInfo> done = flow->wait_solution(index, Deadline::immediate());
      if (!done) {
        if (done.error().status != Status::kDeadlineMissed) fail(done.error());
        return false;
      }
      slot.copied_out.start();
      report.solution_seconds += seconds(done->compute_ns);
      ++report.frames;
      add_event(ClusterStage::kSolution, slot, slot.begin_ns);
      if (callback != nullptr)
        callback(callback_user, slot.header.frame,
                 flow->field(index, regions[static_cast<std::size_t>(rank)]));
      slot.progress = Progress::kCollecting;
      return true;
    }
    case Progress::kCollecting:
      if (slot.frame_out_open || !slot.result_in.done()) return false;
      if (collective() && slot.header.frame != next_result) return false;
      ++next_result;
      slot.begin_ns = now_ns();
      slot.result_out.start();
      report.result_bytes += slot.result_out.bytes();
      await(slot.result_out, slot);
      slot.progress = Progress::kSending;
      return true;
    case Progress::kSending:
      if (!slot.result_out.done()) return false;
      if (collective() && slot.header.frame != next_done) return false;
      ++next_done;
      if (!slot.result_out.empty()) {
        report.result_seconds += seconds(now_ns() - slot.begin_ns);
        add_event(ClusterStage::kResult, slot, slot.begin_ns);
      }
      report.seconds = seconds(now_ns() - began_ns);
      if (is_root())
        slot.progress = Progress::kDone;
      else
        begin_receive(slot);
      return true;
  }
  return false;
}

bool FlowCluster::State::advance_all() {
  for (std::size_t i = awaited_count; i-- > 0;)
    if (awaited[i].messages->done()) awaited[i] = awaited[--awaited_count];
  bool moved = false;
  // Frames that are further on come first, so that a frame is not held up by later ones.
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(config.frames_in_flight); ++i) {
    const std::uint64_t frame = (is_root() ? oldest : next_derivatives) + i;
    moved |= advance(slot_of(frame));
  }
  if (moved && flow->engine().backend == BackendKind::kCuda) moved_ns = now_ns();
  return moved;
}

void FlowCluster::State::idle() {
  bool computes = false;
  bool travels = awaited_count > 0;
  for (int s = 0; s < config.frames_in_flight; ++s) {
    const Progress progress = slots[static_cast<std::size_t>(s)].progress;
    computes |= progress == Progress::kDerivatives || progress == Progress::kSolution;
    travels |= progress == Progress::kExchange || progress == Progress::kSending;
  }
  // The stages of a device can be shorter than the shortest sleep, and need no CPU.
  const std::int64_t begin = now_ns();
  const bool impatient =
      flow->engine().backend == BackendKind::kCuda && begin - moved_ns < kPatience;
  const auto pause = [impatient] {
    impatient ? static_cast<void>(sched_yield()) : pause_briefly();
  };
  // Waiting for a frame would spin, and often on the CPU of the worker that computes it.
  if (computes) return pause();
  pause();
  if (began_ns != 0)
    (travels ? report.exposed_seconds : report.receive_seconds) += seconds(now_ns() - begin);
}

void FlowCluster::State::fail(const Error& error) {
  if (failure.status == Status::kOk) failure = error;
}

void FlowCluster::State::finish_frames() {
  const auto busy = [this] {
    return std::any_of(slots.begin(), slots.begin() + config.frames_in_flight, [](Slot& s) {
      return (s.progress != Progress::kFree && s.progress != Progress::kReceiving &&
              s.progress != Progress::kDone) ||
             !s.copied_in.done() || !s.copied_out.done();
    });
  };
  while (busy() && failure.status == Status::kOk)
    if (!advance_all()) idle();
}

std::int64_t FlowCluster::State::root_clock_ahead() {
  constexpr int kTag = 48;
  constexpr int kRounds = 8;
  std::int64_t ahead = 0;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (int peer = 1; peer < ranks; ++peer) {
    for (int round = 0; round < kRounds; ++round) {
      std::int64_t there = 0;
      if (is_root()) {
        MPI_Recv(&there, 1, MPI_INT64_T, peer, kTag, communicator, MPI_STATUS_IGNORE);
        there = now_ns();
        MPI_Send(&there, 1, MPI_INT64_T, peer, kTag, communicator);
      } else if (peer == rank) {
        const std::int64_t sent = now_ns();
        MPI_Send(&sent, 1, MPI_INT64_T, 0, kTag, communicator);
        MPI_Recv(&there, 1, MPI_INT64_T, 0, kTag, communicator, MPI_STATUS_IGNORE);
        const std::int64_t trip = now_ns() - sent;
        if (trip < shortest) ahead = there - (sent + trip / 2);
        shortest = std::min(shortest, trip);
      }
    }
  }
  return ahead;
}

Expected<void> FlowCluster::State::collect() {
  std::int64_t root_began_ns = began_ns;
  MPI_Bcast(&root_began_ns, 1, MPI_INT64_T, 0, communicator);
  if (config.trace_events > 0) {
    const std::int64_t shift = root_clock_ahead() - root_began_ns;
    for (ClusterEvent& event : events) {
      event.begin_ns += shift;
      event.end_ns += shift;
    }
  }
  std::vector<int> counts(static_cast<std::size_t>(ranks)), places(static_cast<std::size_t>(ranks));
  const int bytes = static_cast<int>(events.size() * sizeof(ClusterEvent));
  MPI_Gather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, communicator);
  if (is_root()) {
    int total = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      places[r] = total;
      total += counts[r];
    }
    reports.resize(static_cast<std::size_t>(ranks));
    all_events.resize(static_cast<std::size_t>(total) / sizeof(ClusterEvent));
  }
  MPI_Gatherv(events.data(), bytes, MPI_BYTE, all_events.data(), counts.data(), places.data(),
              MPI_BYTE, 0, communicator);
  MPI_Gather(&report, sizeof(report), MPI_BYTE, reports.data(), sizeof(report), MPI_BYTE, 0,
             communicator);
  // No rank frees device memory that another one has opened.
  flow->close_peers();
  MPI_Barrier(communicator);
  return {};
}

Expected<FlowCluster> FlowCluster::create(MPI_Comm communicator, const EngineConfig& engine,
                                          const FlowClusterConfig& config) noexcept {
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return tl::unexpected(make_error(Status::kOutOfMemory, "the system gave no memory"));
  state->config = config;
  MPI_Comm_dup(communicator, &state->communicator);
  MPI_Comm_rank(state->communicator, &state->rank);
  MPI_Comm_size(state->communicator, &state->ranks);
  const int ranks = state->ranks;
  if (Expected<void> ok = agree(state->communicator, check(config, ranks)); !ok)
    return tl::unexpected(ok.error());

  const int columns = config.columns == 0 ? 1 : config.columns;
  std::vector<double> speeds(static_cast<std::size_t>(ranks), 1.0);
  state->regions = cut_regions(config.flow.size, columns, ranks / columns, speeds);
  if (config.measure_speed && ranks > 1) {
    MPI_Barrier(state->communicator);  // ranks of one host are measured together
    const Expected<double> speed = RegionFlow::measure_speed(
        engine, config, state->regions[static_cast<std::size_t>(state->rank)]);
    const Expected<void> ok =
        speed ? Expected<void>() : Expected<void>(tl::unexpected(speed.error()));
    if (Expected<void> all = agree(state->communicator, ok); !all)
      return tl::unexpected(all.error());
    state->report.speed = *speed;
    MPI_Allgather(&state->report.speed, 1, MPI_DOUBLE, speeds.data(), 1, MPI_DOUBLE,
                  state->communicator);
    state->regions = cut_regions(config.flow.size, columns, ranks / columns, speeds);
  }
  state->node = tree_node(state->rank, ranks, config.fan_out);
  auto flow = RegionFlow::create(
      engine, config, RegionPlaces::of(config, state->regions, state->rank, state->node));
  const Expected<void> ok = flow ? Expected<void>() : Expected<void>(tl::unexpected(flow.error()));
  if (Expected<void> all = agree(state->communicator, ok); !all) return tl::unexpected(all.error());
  state->flow = std::move(*flow);
  gethostname(state->report.host, sizeof(state->report.host) - 1);
  state->report.region = state->regions[static_cast<std::size_t>(state->rank)];
  state->report.backend = state->flow->engine().backend;
  state->report.halo_memory = state->flow->exchange_space();
  state->events.reserve(static_cast<std::size_t>(config.trace_events));
  if (state->collective()) {
    MPI_Comm_dup(communicator, &state->frame_communicator);
    MPI_Comm_dup(communicator, &state->result_communicator);
  }
  if (Expected<void> all = agree(state->communicator, state->connect()); !all)
    return tl::unexpected(all.error());
  if (!state->is_root())
    for (int s = 0; s < config.frames_in_flight; ++s)
      state->begin_receive(state->slots[static_cast<std::size_t>(s)]);
  return FlowCluster(std::move(state));
}

FlowCluster::FlowCluster(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
FlowCluster::FlowCluster(FlowCluster&&) noexcept = default;
FlowCluster& FlowCluster::operator=(FlowCluster&&) noexcept = default;
FlowCluster::~FlowCluster() = default;

int FlowCluster::rank() const noexcept {
  return state_->rank;
}
int FlowCluster::ranks() const noexcept {
  return state_->ranks;
}
const EngineInfo& FlowCluster::engine() const noexcept {
  return state_->flow->engine();
}
Rect FlowCluster::region(int rank) const noexcept {
  return state_->regions[static_cast<std::size_t>(rank)];
}
Rect FlowCluster::slab(int rank) const noexcept {
  return state_->slab_of(rank);
}

void FlowCluster::set_region_callback(RegionCallback callback, void* user) noexcept {
  state_->callback = callback;
  state_->callback_user = user;
}
void FlowCluster::set_slab_source(SlabSource source, void* user) noexcept {
  state_->slab_source = source;
  state_->slab_user = user;
}

Expected<void> FlowCluster::submit(const Frame& frame) noexcept {
  State& s = *state_;
  const OpticalFlowConfig& flow = s.config.flow;
  const std::ptrdiff_t row =
      static_cast<std::ptrdiff_t>(flow.size.width) * bytes_per_pixel(flow.format);
  if (s.config.scatter) {
    if (frame.data == nullptr) return invalid_argument("the frame's data is null");
    if (frame.size != flow.size) {
      return invalid_argument("the frame is %dx%d; it must be %dx%d", frame.size.width,
                              frame.size.height, flow.size.width, flow.size.height);
    }
    if (frame.format != flow.format || frame.space == MemorySpace::kCuda)
      return invalid_argument(
          "the frame must have the configured format and lie in the memory of the host");
    if (frame.stride < row) {
      return invalid_argument("the frame's stride is %lld bytes; a row has %lld",
                              static_cast<long long>(frame.stride), static_cast<long long>(row));
    }
  }
  Slot& slot = s.slot_of(s.next_frame);
  if (slot.progress != Progress::kFree) {
    return tl::unexpected(make_error(
        Status::kQueueFull, "%d frames are in flight or not released; wait for a field, release it",
        s.config.frames_in_flight));
  }
  const SlotPlanes& planes = s.flow->frames();
  for (int y = 0; s.config.scatter && y < flow.size.height; ++y) {
    std::memcpy(planes.at(s.index_of(slot), 0, 0, y),
                static_cast<const char*>(frame.data) + y * frame.stride,
                static_cast<std::size_t>(row));
  }
  slot.header = {s.next_frame++, frame.sequence, frame.timestamp_ns, Command::kFrame};
  s.begin_frame(slot);
  s.advance_all();
  if (s.failure.status != Status::kOk) return tl::unexpected(s.failure);
  return {};
}

Expected<ClusterField> FlowCluster::wait(Deadline deadline) noexcept {
  State& s = *state_;
  if (s.oldest == s.next_frame)
    return tl::unexpected(make_error(Status::kInvalidTicket, "no frame is in flight"));
  Slot& slot = s.slot_of(s.oldest);
  while (slot.progress != Progress::kDone) {
    if (s.failure.status != Status::kOk) return tl::unexpected(s.failure);
    if (s.advance_all()) continue;
    if (deadline.passed())
      return tl::unexpected(make_error(Status::kDeadlineMissed, "frame %llu is not done",
                                       static_cast<unsigned long long>(s.oldest)));
    s.idle();
  }
  ClusterField field;
  if (s.config.gather) {
    field.planes = s.flow->field(s.index_of(slot),
                                 {0, 0, s.config.flow.size.width, s.config.flow.size.height});
  }
  field.frame = slot.header.frame;
  field.sequence = slot.header.sequence;
  field.timestamp_ns = slot.header.timestamp_ns;
  field.warming_up = slot.warming_up;
  return field;
}

void FlowCluster::release() noexcept {
  State& s = *state_;
  if (s.oldest == s.next_frame) return;
  Slot& slot = s.slot_of(s.oldest);
  if (slot.progress != Progress::kDone) return;
  slot.progress = Progress::kFree;
  ++s.oldest;
}

Expected<void> FlowCluster::finish() noexcept {
  State& s = *state_;
  s.finish_frames();
  if (s.failure.status != Status::kOk) return tl::unexpected(s.failure);
  // Every frame is done, so the slot of the next one is free, and the children wait for it.
  // The ranks have started to receive into all slots, and collective operations cannot be canceled.
  const int last = s.collective() ? s.config.frames_in_flight : 1;
  for (int i = 0; i < last; ++i) {
    Slot& slot = s.slot_of(s.next_frame + static_cast<std::uint64_t>(i));
    slot.header.command = Command::kFinish;
    slot.frame_out.start();
    slot.frame_out.wait();
  }
  s.oldest = s.next_frame;
  return s.collect();
}

Expected<void> FlowCluster::serve() noexcept {
  State& s = *state_;
  while (!s.finishing && s.failure.status == Status::kOk)
    if (!s.advance_all()) s.idle();
  s.finish_frames();
  if (s.failure.status != Status::kOk) return tl::unexpected(s.failure);
  for (int i = 0; i < s.config.frames_in_flight; ++i) {
    Slot& slot = s.slots[static_cast<std::size_t>(i)];
    if (slot.progress != Progress::kReceiving) continue;
    if (s.collective())
      slot.frame_in.wait();
    else
      slot.frame_in.cancel();
  }
  return s.collect();
}

std::span<const ClusterRankReport> FlowCluster::reports() const noexcept {
  return state_->reports;
}
std::span<const ClusterEvent> FlowCluster::trace() const noexcept {
  return state_->all_events;
}

}  // namespace ocellus
