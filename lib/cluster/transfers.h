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

/// Messages that are started and waited for together.
class Messages {
 public:
  Messages() = default;
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages();

  void add(Message message);
  bool empty() const { return requests_.empty(); }
  std::size_t bytes() const { return bytes_; }

  void start();
  /// True if all are done, or were not started.
  bool done();
  void wait();
  /// Takes back receives that were started and that no message will match.
  void cancel();

 private:
  std::vector<Message> messages_;  // they keep the data types
  std::vector<MPI_Request> requests_;
  std::size_t bytes_ = 0;
  bool started_ = false;
};

}  // namespace ocellus::cluster
