#include "cluster/frame_messages.h"

#include <cassert>
#include <utility>

namespace ocellus::cluster {
namespace {

// The number of the slot is added.
enum Tag { kFrameTag = 0, kHaloTag = 16, kResultTag = 32, kCopiedTag = 64 };
static_assert(kMaxClusterFrames <= 16);

/// The end of the ranks that send and receive through `first`.
int end_of(const ClusterPlan& plan, int first) {
  return tree_node(first, plan.ranks(), plan.config.fan_out).end;
}

}  // namespace

void FrameMessages::make(const ClusterPlan& plan, int slot) {
  if (plan.collective()) {
    make_collectives(plan, slot);
  } else {
    make_frames(plan, slot);
    if (plan.config.gather) make_results(plan, slot);
  }
  make_halos(plan, slot);
}

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

void FrameMessages::make_frames(const ClusterPlan& plan, int slot) {
  // The pixels of all ranks that receive through `first`.
  const auto frame = [&](int first) {
    Message message;
    message.add(&header_, sizeof(header_));
    if (!plan.config.scatter) return message;
    const auto count = static_cast<std::size_t>(end_of(plan, first) - first);
    message.add(plan.flow.frames(), slot,
                bounding(plan.slabs.subspan(static_cast<std::size_t>(first), count)));
    return message;
  };
  if (plan.node.parent >= 0) {
    Message message = frame(plan.rank);
    message.make_receive(plan.node.parent, kFrameTag + slot, plan.communicator);
    frame_in.add(std::move(message));
  }
  for (const int child : plan.node.children) {
    Message message = frame(child);
    message.make_send(child, kFrameTag + slot, plan.communicator);
    frame_out.add(std::move(message));
  }
}

void FrameMessages::make_halos(const ClusterPlan& plan, int slot) {
  for (const RegionPlaces::Neighbor& neighbor : plan.flow.places().neighbors) {
    const bool is_peer = plan.peers[static_cast<std::size_t>(neighbor.rank)];
    const auto message = [&](const Rect& part) {
      Message made;
      // Between peers, a message without data tells that the derivatives are ready or copied.
      if (!is_peer) made.add(plan.flow.exchanged(part), slot, part);
      return made;
    };
    const auto receive = [&](const Rect& part, int tag, Messages& to) {
      Message made = message(part);
      made.make_receive(neighbor.rank, tag + slot, plan.communicator);
      to.add(std::move(made));
    };
    const auto send = [&](const Rect& part, int tag, Messages& to) {
      Message made = message(part);
      made.make_send(neighbor.rank, tag + slot, plan.communicator);
      to.add(std::move(made));
    };
    receive(neighbor.from, kHaloTag, halo_in);
    send(neighbor.border, kHaloTag, halo_out);
    if (!is_peer) continue;
    send({}, kCopiedTag, copied_out);
    receive({}, kCopiedTag, copied_in);
  }
}

void FrameMessages::make_results(const ClusterPlan& plan, int slot) {
  const auto results = [&](int first) {
    Message message;
    for (int r = first; r < end_of(plan, first); ++r)
      message.add(plan.flow.results(), slot, plan.regions[static_cast<std::size_t>(r)]);
    return message;
  };
  for (const int child : plan.node.children) {
    Message message = results(child);
    message.make_receive(child, kResultTag + slot, plan.communicator);
    result_in.add(std::move(message));
  }
  if (plan.node.parent >= 0) {
    Message message = results(plan.rank);
    message.make_send(plan.node.parent, kResultTag + slot, plan.communicator);
    result_out.add(std::move(message));
  }
}

void FrameMessages::make_collectives(const ClusterPlan& plan, int slot) {
  if (plan.ranks() == 1) return;
  Messages& frame = plan.rank == 0 ? frame_out : frame_in;
  frame.add_broadcast(&header_, sizeof(header_), plan.rank, plan.frame_communicator);
  if (plan.config.scatter)
    frame.add_scatter(plan.flow.frames(), slot, plan.slabs, plan.rank, plan.frame_communicator);
  if (!plan.config.gather) return;
  Messages& result = plan.rank == 0 ? result_in : result_out;
  result.add_gather(plan.flow.results(), slot, plan.regions, plan.rank, plan.result_communicator);
}

}  // namespace ocellus::cluster
