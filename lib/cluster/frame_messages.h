// The messages of a frame in flight, with the memory that is theirs alone.
//
// A slot is the memory of one frame in flight. MPI reads what is sent and writes what is received
// from the start of a message until it is done. So each part of a slot has one writer at a time:
//
//   part             written by                          MPI uses it            free again
//   header           root: set_header                    frame_out sends        frame_out done
//                    others: frame_in                    frame_out passes on    frame_out done
//   pixels           root: submit                        frame_out sends        frame_out done and
//                    others: frame_in                    frame_out passes on    derivatives done
//   own derivatives  the filter                          halo_out sends         halo_out done,
//                                                                               solution done,
//                                                                               copied_in done
//   halo             halo_in, or copies from peers       halo_in receives       solution done
//   staged border    a copy from the device              halo_out sends         halo_out done
//   staged halo      halo_in                             halo_in receives       solution done
//   own result       the solver                          result_out sends       result_out done;
//                                                                               root: release
//   results of the   result_in                           result_out passes on   result_out done;
//   children                                                                    root: release
//
// The parts do not overlap, so no receive overlaps another one. Several sends may read one part. A
// slot takes its next frame when all parts are free, but for those that copied_in guards: the
// filter waits for it. With HaloTransfer::kDirect the halo lies in device memory.
#pragma once

#include <cstdint>

#include "cluster/transfers.h"

namespace ocellus::cluster {

enum class Command : std::uint32_t { kFrame, kFinish };

/// Travels with the pixels of a frame, in one message.
struct FrameHeader {
  std::uint64_t frame = 0;
  std::uint64_t sequence = 0;
  std::int64_t timestamp_ns = 0;
  Command command = Command::kFrame;
};

class FrameMessages {
 public:
  Messages frame_in;
  Messages frame_out;
  Messages halo_in;
  Messages halo_out;
  // With peers: this rank has copied their halos, and they this rank's border.
  Messages copied_out;
  Messages copied_in;
  Messages result_in;
  Messages result_out;

  /// Valid while frame_in is not active.
  const FrameHeader& header() const { return header_; }
  /// Where messages read and write it.
  FrameHeader* header_memory() { return &header_; }
  /// Root only, while frame_out is not active.
  void set_header(const FrameHeader& header);

  /// Whether no message is active.
  bool done();
  void cancel_receives();

 private:
  FrameHeader header_;
};

}  // namespace ocellus::cluster
