// How a frame moves from stage to stage on one rank.
#include <sched.h>
#include <time.h>

#include <chrono>

#include "cluster/cluster_state.h"

namespace ocellus {
namespace cluster {

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void pause_briefly() noexcept {
  const timespec time = {0, 20'000};
  nanosleep(&time, nullptr);
}

}  // namespace cluster

namespace {

using namespace cluster;

/// For how long a rank with a device looks for news without sleeping, in nanoseconds.
constexpr std::int64_t kPatience = 300'000;
/// How often an unfinished cluster looks for the end of its last transfers.
constexpr int kEndOfTransfers = 500;

}  // namespace

void FlowCluster::State::add_event(ClusterStage stage, const Slot& slot, std::int64_t begin) {
  if (events.size() == static_cast<std::size_t>(config.trace_events)) return;
  events.push_back({begin, now_ns(), static_cast<std::uint32_t>(slot.header().frame), rank, stage});
}

void FlowCluster::State::begin_receive(Slot& slot) {
  transferred = true;
  slot.progress = Progress::kReceiving;
  slot.frame_in.start();
}

void FlowCluster::State::begin_frame(Slot& slot) {
  transferred = true;
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
  const FrameHeader& header = slot.header();
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
      if (header.command == Command::kFinish) {
        slot.frame_out.start();
        slot.progress = Progress::kFree;
      } else {
        begin_frame(slot);
      }
      return true;
    case Progress::kReady:
      if (header.frame != next_derivatives || held(header.frame)) return false;
      // Peers still copy the derivatives of the slot's last frame.
      if (!slot.copied_in.done()) return false;
      if (!succeeded(flow->start_derivatives(index,
                                             config.scatter ? flow->slab(index) : own_slab(slot),
                                             header.sequence, header.timestamp_ns)))
        return false;
      slot.copied_in.start();
      ++next_derivatives;
      slot.begin_ns = now_ns();
      slot.progress = Progress::kDerivatives;
      return true;
    case Progress::kDerivatives: {
      const Expected<FrameInfo> done = flow->wait_derivatives(index, Deadline::immediate());
      if (!succeeded(done)) return false;
      slot.sequence = done->described_sequence;
      slot.timestamp_ns = done->described_timestamp_ns;
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
      if (!slot.halo_in.done() || !slot.halo_out.done() || held(header.frame)) return false;
      report.exchange_seconds += seconds(now_ns() - slot.begin_ns);
      add_event(ClusterStage::kExchange, slot, slot.begin_ns);
      if (!succeeded(flow->start_solution(index))) return false;
      slot.begin_ns = now_ns();
      slot.progress = Progress::kSolution;
      return true;
    case Progress::kSolution: {
      if (!slot.copied_out.done()) return false;  // of the slot's last frame
      const Expected<FrameInfo> done = flow->wait_solution(index, Deadline::immediate());
      if (!succeeded(done)) return false;
      slot.copied_out.start();
      report.solution_seconds += seconds(done->compute_ns);
      ++report.frames;
      add_event(ClusterStage::kSolution, slot, slot.begin_ns);
      if (callback != nullptr)
        callback(callback_user, header.frame,
                 flow->field(index, regions[static_cast<std::size_t>(rank)]));
      slot.progress = Progress::kCollecting;
      return true;
    }
    case Progress::kCollecting:
      if (slot.frame_out_open || !slot.result_in.done()) return false;
      if (collective() && header.frame != next_result) return false;
      ++next_result;
      slot.begin_ns = now_ns();
      slot.result_out.start();
      report.result_bytes += slot.result_out.bytes();
      await(slot.result_out, slot);
      slot.progress = Progress::kSending;
      return true;
    case Progress::kSending:
      if (!slot.result_out.done()) return false;
      if (collective() && header.frame != next_done) return false;
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
  for (const Slot& slot : *slots) {
    computes |= slot.progress == Progress::kDerivatives || slot.progress == Progress::kSolution;
    travels |= slot.progress == Progress::kExchange || slot.progress == Progress::kSending;
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

bool FlowCluster::State::quiet() {
  return std::all_of(slots->begin(), slots->end(), [](Slot& slot) {
    return (slot.progress == Progress::kFree || slot.progress == Progress::kDone) && slot.done();
  });
}

Expected<void> FlowCluster::State::run_until_quiet() {
  while (failure.status == Status::kOk && !quiet())
    if (!advance_all()) idle();
  if (failure.status != Status::kOk) return tl::unexpected(failure);
  return {};
}

bool FlowCluster::State::end_transfers() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return true;
  for (Slot& slot : *slots) slot.cancel_receives();
  for (int i = 0; i < kEndOfTransfers; ++i) {
    if (std::all_of(slots->begin(), slots->end(), [](Slot& slot) { return slot.done(); }))
      return true;
    pause_briefly();
  }
  return false;
}

}  // namespace ocellus
