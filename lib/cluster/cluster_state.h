// The state of a FlowCluster: the frames in flight on one rank.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/frame_messages.h"
#include "cluster/region_flow.h"
#include "ocellus/flow_cluster.h"

namespace ocellus {
namespace cluster {

enum class Progress {
  kFree,         // on the root: takes the next frame; on other ranks: no frame comes any more
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
  Progress progress = Progress::kFree;
  // Of the frame that the result describes.
  std::uint64_t sequence = 0;
  std::int64_t timestamp_ns = 0;
  bool warming_up = false;
  bool frame_out_open = false;  // for the trace
  std::int64_t frame_out_begin = 0;
  std::int64_t begin_ns = 0;  // of the present stage
};

using Slots = std::array<Slot, kMaxClusterFrames>;

std::int64_t now_ns() noexcept;
inline double seconds(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

/// Sleeps for a moment, so that the ranks of one host can share its CPUs.
void pause_briefly() noexcept;

}  // namespace cluster

struct FlowCluster::State {
  using Slot = cluster::Slot;

  FlowClusterConfig config;
  MPI_Comm communicator = MPI_COMM_NULL;
  // kCollective: all ranks start the operations of a communicator in one order, and a rank starts
  // to receive later frames before it returns earlier results.
  MPI_Comm frame_communicator = MPI_COMM_NULL;
  MPI_Comm result_communicator = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
  cluster::TreeNode node;
  std::vector<Rect> regions;
  std::unique_ptr<cluster::RegionFlow> flow;
  std::unique_ptr<cluster::Slots> slots;
  std::uint64_t next_frame = 0;        // root: to be submitted
  std::uint64_t oldest = 0;            // root: not released
  std::uint64_t next_derivatives = 0;  // whose derivatives begin next
  // kCollective: results are sent, and slots given back, in the order of the frames.
  std::uint64_t next_result = 0;
  std::uint64_t next_done = 0;
  /// Without split communication: a transfer that must end before this rank starts to compute a
  /// later frame. Earlier frames go on, because the transfer may need them on another rank. The
  /// transfers are polled and not waited for: a rank that ended would block this one for ever.
  struct Awaited {
    cluster::Messages* messages;
    std::uint64_t frame;
  };
  std::array<Awaited, 4 * kMaxClusterFrames> awaited{};
  std::size_t awaited_count = 0;
  bool transferred = false;  // transfers were started
  bool shared = false;       // other ranks have opened this rank's device memory
  bool finished = false;
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

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  /// Memory that MPI or another rank may still use is not freed: it stays until the process ends.
  ~State();

  bool is_root() const { return rank == 0; }
  Slot& slot_at(int index) { return (*slots)[static_cast<std::size_t>(index)]; }
  Slot& slot_of(std::uint64_t frame) {
    return slot_at(static_cast<int>(frame % static_cast<std::uint64_t>(config.frames_in_flight)));
  }
  int index_of(const Slot& slot) const { return static_cast<int>(&slot - slots->data()); }
  bool collective() const { return config.transfer == ClusterTransfer::kCollective; }

  Rect slab_of(int r) const {
    return cluster::grow(regions[static_cast<std::size_t>(r)],
                         cluster::Reach::of_kernel(config.flow.kernels.nx, config.flow.kernels.ny),
                         config.flow.size);
  }
  /// The pixels that the slab source gives. Without one, an image without data, which is refused.
  ImageView own_slab(const Slot& slot) const {
    if (slab_source == nullptr) return {};
    return slab_source(slab_user, slot.header().frame, slab_of(rank));
  }

  // Creation. Collective.
  Expected<void> make(MPI_Comm parent, const EngineConfig& engine);
  /// Finds the neighbors with which halos travel between the devices, without MPI, and opens their
  /// memory. Errors: Unsupported (the halo transfer is kPeer, and the halo of a neighbor cannot be
  /// copied so; the text says why).
  Expected<void> connect_peers();
  /// Makes the messages of a slot, which must not move afterwards.
  void make_messages(int slot);
  void make_frames(int slot);
  void make_halos(int slot);
  void make_results(int slot);
  void make_collectives(int slot);
  /// The end of the ranks that send and receive through `first`.
  int end_of(int first) const { return cluster::tree_node(first, ranks, config.fan_out).end; }
  /// Afterwards every rank may free its device memory, in which no other one reads any more.
  void disconnect();

  // Frames.
  void begin_receive(Slot& slot);
  void begin_frame(Slot& slot);
  /// Moves a slot on to its next stage. Returns true if it moved.
  bool advance(Slot& slot);
  bool advance_all();
  void idle();
  /// Whether no slot computes and no transfer is active.
  bool quiet();
  /// Errors: those of an operator.
  Expected<void> run_until_quiet();
  void add_event(ClusterStage stage, const Slot& slot, std::int64_t begin);
  void await(cluster::Messages& messages, const Slot& slot) {
    if (!config.split_communication) awaited[awaited_count++] = {&messages, slot.header().frame};
  }
  /// Whether the computation of a frame must wait for the transfers of an earlier one.
  bool held(std::uint64_t frame) const {
    return std::any_of(awaited.begin(), awaited.begin() + awaited_count,
                       [frame](const Awaited& a) { return a.frame < frame; });
  }
  /// Keeps the first error, other than that a stage has not ended yet.
  template <typename T>
  bool succeeded(const Expected<T>& done) {
    if (!done && done.error().status != Status::kDeadlineMissed && failure.status == Status::kOk)
      failure = done.error();
    return done.has_value();
  }
  /// Ends the transfers that end without other ranks. Returns false if some remain.
  bool end_transfers();

  // The end. Collective.
  /// What must be added to this rank's clock to give the root's.
  std::int64_t root_clock_ahead();
  Expected<void> collect();
};

}  // namespace ocellus
