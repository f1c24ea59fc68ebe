#include "ocellus/flow_cluster.h"

#include <cstring>
#include <utility>

#include "cluster/cluster_state.h"
#include "core/failure.h"

namespace ocellus {
namespace {

using namespace cluster;
using detail::invalid_argument;

/// Copies a frame of the caller to the pixels of a slot.
void copy_frame(const FlowCluster& cluster, const FlowClusterConfig& config, const Frame& frame,
                const SlotPlanes& to, int slot) {
  const ImageSize size = config.flow.size;
  const bool collective = config.transfer == ClusterTransfer::kCollective;
  int row = to.rect.y;
  for (int r = 0; r < (collective ? cluster.ranks() : 1); ++r) {
    const Rect part = collective ? cluster.slab(r) : Rect{0, 0, size.width, size.height};
    for (int y = part.y; y < part.y + part.height; ++y, ++row) {
      std::memcpy(to.at(slot, 0, 0, row), static_cast<const char*>(frame.data) + y * frame.stride,
                  static_cast<std::size_t>(size.width) *
                      static_cast<std::size_t>(bytes_per_pixel(config.flow.format)));
    }
  }
}

}  // namespace

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
  if (!s.is_root()) return invalid_argument("this is rank %d; only rank 0 submits frames", s.rank);
  if (s.finished)
    return invalid_argument("the cluster is finished and takes no frame; create another one");
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
  if (s.config.scatter) copy_frame(*this, s.config, frame, s.flow->frames(), s.index_of(slot));
  slot.set_header({s.next_frame++, frame.sequence, frame.timestamp_ns, Command::kFrame});
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
  field.frame = slot.header().frame;
  field.sequence = slot.sequence;
  field.timestamp_ns = slot.timestamp_ns;
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
  if (!s.is_root() || s.finished)
    return invalid_argument("finish is called once, on rank 0; this is rank %d", s.rank);
  OCELLUS_TRY(s.run_until_quiet());
  // The other ranks receive into all slots.
  for (int i = 0; i < s.config.frames_in_flight; ++i) {
    const std::uint64_t frame = s.next_frame + static_cast<std::uint64_t>(i);
    Slot& slot = s.slot_of(frame);
    slot.set_header({frame, 0, 0, Command::kFinish});
    slot.frame_out.start();
    slot.progress = Progress::kFree;
  }
  s.oldest = s.next_frame;
  OCELLUS_TRY(s.run_until_quiet());
  return s.collect();
}

Expected<void> FlowCluster::serve() noexcept {
  State& s = *state_;
  if (s.is_root() || s.finished)
    return invalid_argument("serve is called once, on every rank but 0; this is rank %d", s.rank);
  for (int i = 0; i < s.config.frames_in_flight; ++i) s.begin_receive(s.slot_at(i));
  OCELLUS_TRY(s.run_until_quiet());
  return s.collect();
}

std::span<const ClusterRankReport> FlowCluster::reports() const noexcept {
  return state_->reports;
}
std::span<const ClusterEvent> FlowCluster::trace() const noexcept {
  return state_->all_events;
}

}  // namespace ocellus
