// FlowCluster: optical flow with kernels on the processes of an MPI communicator.
//
// Source: Ohmura et al. 2011, sections III.C to III.E. The frame is cut into regions, one for each
// rank. The root sends each rank its region and the pixels around it that its kernels read. Each
// rank computes the derivatives of its region, exchanges the halo of Ix, Iy and It with the ranks
// around it, and solves. The fields go back to the root. Several frames are on their way at once,
// and each transfer is started and waited for in separate stages.
//
// Each rank computes on the CPU or on one CUDA device. If all compute on the CPU, the result is the
// same bytes as that of OpticalFlow there, for any number of ranks and any grid. With CUDA devices
// it is within the tolerance of OpticalFlow.
//
// On a rank with a CUDA device, the pixels that it receives and the fields that it sends lie in
// page-locked memory. The device copies the pixels of the region and its field, as in OpticalFlow.
// The derivatives stay on the device. HaloTransfer tells how their halo travels.
//
// The pixels can also be on the ranks already, as those of a camera for each region: `scatter` and
// `set_slab_source`.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ocellus/deadline.h"
#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/optical_flow.h"
#include "ocellus/status.h"

namespace ocellus {

/// Most frames in flight of a cluster.
inline constexpr int kMaxClusterFrames = kMaxDepth;

/// How frames go from the root to the ranks, and results back.
enum class ClusterTransfer : std::uint8_t {
  kMessages,  ///< persistent requests along the tree of `fan_out`
  /// MPI_Iscatterv and MPI_Igatherv; regions in one column only. The root keeps the pixels that
  /// several ranks read once for each of them.
  kCollective,
};

/// How the halo of the derivatives travels to and from a rank with a CUDA device.
enum class HaloTransfer : std::uint8_t {
  kAuto,  ///< the first of kPeer, kDirect and kStaged that is possible with a neighbor
  /// The border of the region is copied to page-locked memory, and the halo from there. Only these
  /// pixels are copied.
  kStaged,
  /// MPI reads and writes device memory. It must be CUDA-aware (MPIX_Query_cuda_support), and the
  /// rank's device must be the current one of the thread in `create` and in all later calls.
  kDirect,
  /// A rank opens the device memory of its neighbors (CUDA IPC) and its device copies the halo from
  /// there. All neighbors must be on the same host, with CUDA devices that can access each other or
  /// the same device. MPI carries only the notice that derivatives are ready, or have been copied.
  kPeer,
};

/// All ranks must give the same configuration, except for `halo_transfer`. Kernels of a file are
/// compared by the name of the file, and those of a callback not at all.
struct FlowClusterConfig {
  /// `method` must be kKernels, `format` kGray8 or kGray16, `roi` empty, `deviation`
  /// false. `depth` has no effect.
  OpticalFlowConfig flow{};
  /// Regions side by side and below each other; their product is the number of ranks. 0 and 0: one
  /// column.
  int columns = 0;
  int rows = 0;
  /// True: `create` measures the speed of each rank, and the areas of the regions are in proportion
  /// to it. False: all regions have the same area, as far as pixels allow.
  bool measure_speed = true;
  int frames_in_flight = 4;  ///< 1 to kMaxClusterFrames
  ClusterTransfer transfer = ClusterTransfer::kMessages;
  /// kMessages: most ranks that a rank sends a frame to, 1 and more: the frames take a tree. 0: the
  /// root sends to every rank itself. Results take the same way back.
  int fan_out = 0;
  /// False: each transfer is waited for as soon as it is started, as in the paper's pipeline of
  /// five stages.
  bool split_communication = true;
  /// False: results stay on the ranks, where `set_region_callback` sees them.
  bool gather = true;
  /// gather == false: results of a rank with a CUDA device stay in its memory.
  bool results_on_device = false;
  /// False: the root sends no pixels. Each rank gets those of its slab from `set_slab_source`.
  bool scatter = true;
  HaloTransfer halo_transfer = HaloTransfer::kAuto;  ///< no effect on ranks without a CUDA device
  bool confidence = false;  ///< whether results have the plane of the confidence
  int trace_events = 0;     ///< room for the trace of each rank, in events; 0: no trace
};

/// One rank. Times are sums over all frames.
struct ClusterRankReport {
  char host[64] = {};
  BackendKind backend = BackendKind::kCpu;
  /// Where MPI reads and writes the halo: kHost on the CPU, kPinned with HaloTransfer::kStaged,
  /// kCuda with kDirect.
  MemorySpace halo_memory = MemorySpace::kHost;
  int peers = 0;  ///< neighbors with which halos travel between the devices, without MPI
  Rect region{};
  double speed = 0.0;  ///< measured, pixels per second; 0: not measured
  std::uint64_t frames = 0;
  double seconds = 0.0;  ///< from the first frame to the end
  double derivative_seconds = 0.0;
  double solution_seconds = 0.0;
  /// Waiting for frames of the parent or results of the children, with nothing to compute.
  double receive_seconds = 0.0;
  double exchange_seconds = 0.0;  ///< from the start to the end of the exchange of halos
  double result_seconds = 0.0;    ///< from the start to the end of sending results
  /// Time in which the rank computed nothing, because halos or its result were on their way.
  double exposed_seconds = 0.0;
  std::uint64_t frame_bytes = 0;   ///< received and passed on
  std::uint64_t halo_bytes = 0;    ///< sent, or read by peers
  std::uint64_t result_bytes = 0;  ///< sent
};

enum class ClusterStage : std::uint8_t {
  kFrame,  ///< sending the frame to the children in the tree
  kDerivatives,
  kExchange,
  kSolution,
  kResult,  ///< sending the result to the parent
};

/// From the start to the end of a stage, in nanoseconds after the first frame of the root. The
/// clocks of the ranks are compared by messages: the error is at most half of a round trip.
struct ClusterEvent {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t frame = 0;
  std::int32_t rank = 0;
  ClusterStage stage = ClusterStage::kFrame;
};

/// A result on the root. The planes belong to the cluster and are valid until `release`.
struct ClusterField {
  FlowOutput planes{};
  std::uint64_t frame = 0;  ///< counted from 0 in the order of `submit`
  /// As in FrameInfo.
  std::uint64_t sequence = 0;
  std::int64_t timestamp_ns = 0;
  bool warming_up = false;
};

/// One rank's part of the cluster. After an error, or without `finish`, other ranks still wait for
/// this one: call MPI_Abort. An object that is destroyed then keeps memory that MPI or another rank
/// may still use, until the process ends. Rank 0 of the communicator is the root; it submits frames
/// and waits for fields. The other ranks call `serve`. All calls of one object, and MPI's other
/// calls on this rank, are made by one thread (MPI_THREAD_FUNNELED). Nothing is allocated between
/// `create` and `finish`, except by MPI.
class FlowCluster {
 public:
  /// Collective: all ranks call it and get the same answer. `engine` is that of this rank; its
  /// `memory` is ignored. Errors: those of OpticalFlow::create; InvalidArgument (the text names the
  /// field, its value and its range); Unsupported (kDirect or kPeer is not possible; the text names
  /// what is missing). The text names the rank.
  static Expected<FlowCluster> create(MPI_Comm communicator, const EngineConfig& engine,
                                      const FlowClusterConfig& config) noexcept;

  FlowCluster(FlowCluster&&) noexcept;
  FlowCluster& operator=(FlowCluster&&) noexcept;
  ~FlowCluster();

  int rank() const noexcept;
  int ranks() const noexcept;
  const EngineInfo& engine() const noexcept;
  /// The region of a rank.
  Rect region(int rank) const noexcept;
  /// The pixels that the kernels of a rank's region read.
  Rect slab(int rank) const noexcept;

  /// Root only. Copies the frame and starts it. With scatter == false, only sequence and timestamp
  /// of the frame count. Errors: InvalidArgument (size, format, stride, null data, another rank, a
  /// finished cluster), QueueFull (as many frames are in flight, or not released, as
  /// `frames_in_flight`).
  Expected<void> submit(const Frame& frame) noexcept;
  /// Root only. The oldest field that has not been released; with gather == false its planes are
  /// empty. Errors: DeadlineMissed, InvalidTicket (no frame is in flight).
  Expected<ClusterField> wait(Deadline deadline) noexcept;
  /// Root only. Gives back the oldest field, after `wait` has returned it.
  void release() noexcept;
  /// Root only, once. Ends the ranks' `serve` and collects reports and traces. Fields that have not
  /// been waited for are dropped. Errors: those of `wait`; InvalidArgument (another rank, again).
  Expected<void> finish() noexcept;

  /// Called for each frame of a rank, when its region is solved. A frame whose halo comes late is
  /// overtaken by the next ones. The planes are valid during the call.
  using RegionCallback = void (*)(void* user, std::uint64_t frame, const FlowOutput& field);
  void set_region_callback(RegionCallback callback, void* user) noexcept;

  /// With scatter == false: called for each frame, in order, for the pixels of this rank's slab, in
  /// the memory of the host or of the rank's device. They must stay until the frame's region is
  /// solved: `frames_in_flight` calls later they may change. Every rank, before the first frame.
  using SlabSource = ImageView (*)(void* user, std::uint64_t frame, const Rect& slab);
  void set_slab_source(SlabSource source, void* user) noexcept;

  /// Every rank but the root, once: computes until the root calls `finish`. Errors: those of an
  /// operator, after which the caller should call MPI_Abort; InvalidArgument (the root, again).
  Expected<void> serve() noexcept;

  /// On the root after `finish`: one for each rank, in order.
  std::span<const ClusterRankReport> reports() const noexcept;
  /// On the root after `finish`: the events of all ranks.
  std::span<const ClusterEvent> trace() const noexcept;

 private:
  struct State;
  explicit FlowCluster(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace ocellus
