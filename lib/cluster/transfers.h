// Transfers of rectangles between ranks: data types and persistent requests of MPI.
#pragma once

#include <mpi.h>

#include <functional>
#include <span>
#include <vector>

#include "cluster/region_flow.h"

namespace ocellus::cluster {

/// Rectangles in memory that never moves, which one data type describes. The data are sent from
/// where they lie. A message is added to Messages once.
class Message {
 public:
  void add(void* bytes, std::size_t count);
  /// A part of all planes of a frame in flight.
  void add(const SlotPlanes& planes, int slot, const Rect& part);

 private:
  friend class Messages;
  struct Block {
    void* bytes;
    MPI_Datatype type;
  };
  std::vector<Block> blocks_;
  std::size_t bytes_ = 0;
};

/// Messages that are started and waited for together, or collective operations with rank 0 as their
/// root, but not both. From `start` until `done` returns true they are active. Meanwhile nobody
/// writes what they send, nobody reads or writes what they receive, and neither this memory nor the
/// object may be destroyed.
class Messages {
 public:
  Messages() = default;
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages();

  void add_send(const Message& message, int to, int tag, MPI_Comm communicator);
  void add_receive(const Message& message, int from, int tag, MPI_Comm communicator);
  /// Collective operations have no persistent requests in MPI 3. Each `start` makes new ones, so
  /// all ranks must start them in the same order.
  void add_broadcast(void* bytes, int count, MPI_Comm communicator);
  /// Parts of the first plane, which are as wide as the planes. The root has all of them one below
  /// the other, because MPI_Iscatterv must read no byte twice and the parts overlap.
  void add_scatter(const SlotPlanes& planes, int slot, std::span<const Rect> parts, int rank,
                   MPI_Comm communicator);
  /// Parts of all planes, which the root gets.
  void add_gather(const SlotPlanes& planes, int slot, std::span<const Rect> parts, int rank,
                  MPI_Comm communicator);
  bool empty() const { return requests_.empty(); }
  std::size_t bytes() const { return bytes_; }

  /// Only if they are not active.
  void start();
  /// True if all are done, or were not started.
  bool done();
  bool active() const { return active_; }
  /// Asks MPI to take back receives that no message has matched yet. Those then become done.
  /// Collective operations cannot be taken back.
  void cancel_receives();

 private:
  void* make_type(const Message& message);
  void add_collective(std::size_t bytes, std::function<void(MPI_Request& request)> start);

  std::vector<MPI_Datatype> types_;
  std::vector<MPI_Request> requests_;
  std::vector<std::function<void(MPI_Request& request)>> collectives_;
  std::size_t bytes_ = 0;
  bool active_ = false;
};

}  // namespace ocellus::cluster
