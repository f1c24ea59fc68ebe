// Transfers of rectangles between ranks: data types and persistent requests of MPI.
#pragma once

#include <mpi.h>

#include <span>
#include <utility>
#include <vector>

#include "cluster/region_flow.h"

namespace ocellus::cluster {

/// A message of rectangles in memory that never moves, described by one data type. The data are
/// sent from where they lie.
class Message {
 public:
  Message() = default;
  Message(Message&& other) noexcept { *this = std::move(other); }
  Message& operator=(Message&& other) noexcept;
  ~Message();

  void add(void* bytes, std::size_t count);
  /// A part of all planes of a frame in flight.
  void add(const SlotPlanes& planes, int slot, const Rect& part);
  std::size_t bytes() const { return bytes_; }

  /// Makes a persistent request. Called once, after the last `add`.
  void make_send(int to, int tag, MPI_Comm communicator);
  void make_receive(int from, int tag, MPI_Comm communicator);

  MPI_Request& request() { return request_; }

 private:
  void make_type();
  /// What the addresses of the type are relative to. A message with one block names it, because MPI
  /// recognizes device memory by this address. Device memory needs a message of its own.
  void* base() const;

  struct Block {
    void* bytes;
    MPI_Datatype type;
  };
  std::vector<Block> blocks_;
  std::size_t bytes_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// A collective operation with rank 0 as its root, on rows of planes.
struct Collective {
  enum class Kind { kBroadcast, kScatter, kGather };

  Kind kind = Kind::kBroadcast;
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  void* data = nullptr;  ///< on the root the first row of all parts, else of the own part
  MPI_Datatype row = MPI_DATATYPE_NULL;
  /// Of each rank's part. The root's own part has no row, because the root uses it while the
  /// operation is active.
  std::vector<int> rows;
  std::vector<int> first;  ///< row of each rank's part, counted from that of `data` on the root
};

/// Messages that are started and waited for together. From `start` until `done` returns true they
/// are active. Meanwhile nobody writes what they send, nobody reads or writes what they receive,
/// and neither this memory nor the object may be destroyed.
class Messages {
 public:
  Messages() = default;
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages();

  void add(Message message);
  /// Collective operations have no persistent requests in MPI 3. Each `start` makes new ones, so
  /// all ranks must start them in the same order.
  void add_broadcast(void* bytes, int count, int rank, MPI_Comm communicator);
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
  void add(Collective collective, std::size_t bytes);

  std::vector<Message> messages_;  // they keep the data types
  std::vector<Collective> collectives_;
  std::vector<MPI_Request> requests_;  // of the messages, then of the collective operations
  std::size_t bytes_ = 0;
  bool active_ = false;
};

}  // namespace ocellus::cluster
