#include "cluster/frame_messages.h"

#include <cassert>

#include "cluster/cluster_state.h"

namespace ocellus {
namespace cluster {

void FrameMessages::set_header(const FrameHeader& header) {
  assert(!frame_in.active() && !frame_out.active());
  header_ = header;
}

bool FrameMessages::done() {
  return frame_in.done() && frame_out.done() && halo_in.done() && halo_out.done() &&
         copied_in.done() && copied_out.done() && result_in.done() && result_out.done();
}

void FrameMessages::cancel_receives() {
  for (Messages* const receives : {&frame_in, &halo_in, &copied_in, &result_in})
    receives->cancel_receives();
}

}  // namespace cluster

namespace {

using namespace cluster;

// The number of the slot is added.
enum Tag { kFrameTag = 0, kHaloTag = 16, kResultTag = 32, kCopiedTag = 64 };
static_assert(kMaxClusterFrames <= 16);

}  // namespace

void FlowCluster::State::make_messages(int slot) {
  if (collective()) {
    make_collectives(slot);
  } else {
    make_frames(slot);
    if (config.gather) make_results(slot);
  }
  make_halos(slot);
}

void FlowCluster::State::make_frames(int slot) {
  Slot& to = slot_at(slot);
  // The pixels of all ranks that receive through `first`.
  const auto frame = [&](int first) {
    Message message;
    message.add(to.header_memory(), sizeof(FrameHeader));
    if (!config.scatter) return message;
    std::vector<Rect> slabs;
    for (int r = first; r < end_of(first); ++r) slabs.push_back(slab_of(r));
    message.add(flow->frames(), slot, bounding(slabs));
    return message;
  };
  if (node.parent >= 0)
    to.frame_in.add_receive(frame(rank), node.parent, kFrameTag + slot, communicator);
  for (const int child : node.children)
    to.frame_out.add_send(frame(child), child, kFrameTag + slot, communicator);
}

void FlowCluster::State::make_halos(int slot) {
  Slot& to = slot_at(slot);
  for (const RegionPlaces::Neighbor& neighbor : flow->places().neighbors) {
    const int other = neighbor.rank;
    const auto message = [&](const Rect& part) {
      Message made;
      // Between peers, a message without data tells that the derivatives are ready.
      if (!flow->is_peer(other)) made.add(flow->exchanged(part), slot, part);
      return made;
    };
    to.halo_in.add_receive(message(neighbor.from), other, kHaloTag + slot, communicator);
    to.halo_out.add_send(message(neighbor.border), other, kHaloTag + slot, communicator);
    if (!flow->is_peer(other)) continue;
    // Another one tells that they have been copied.
    to.copied_out.add_send({}, other, kCopiedTag + slot, communicator);
    to.copied_in.add_receive({}, other, kCopiedTag + slot, communicator);
  }
}

void FlowCluster::State::make_results(int slot) {
  Slot& to = slot_at(slot);
  const auto results = [&](int first) {
    Message message;
    for (int r = first; r < end_of(first); ++r)
      message.add(flow->results(), slot, regions[static_cast<std::size_t>(r)]);
    return message;
  };
  for (const int child : node.children)
    to.result_in.add_receive(results(child), child, kResultTag + slot, communicator);
  if (node.parent >= 0)
    to.result_out.add_send(results(rank), node.parent, kResultTag + slot, communicator);
}

void FlowCluster::State::make_collectives(int slot) {
  if (ranks == 1) return;
  Slot& to = slot_at(slot);
  Messages& frame = is_root() ? to.frame_out : to.frame_in;
  frame.add_broadcast(to.header_memory(), sizeof(FrameHeader), frame_communicator);
  if (config.scatter) {
    std::vector<Rect> slabs;
    for (int r = 0; r < ranks; ++r) slabs.push_back(slab_of(r));
    frame.add_scatter(flow->frames(), slot, slabs, rank, frame_communicator);
  }
  if (!config.gather) return;
  Messages& result = is_root() ? to.result_in : to.result_out;
  result.add_gather(flow->results(), slot, regions, rank, result_communicator);
}

}  // namespace ocellus
