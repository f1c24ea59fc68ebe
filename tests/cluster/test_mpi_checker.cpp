// The checker of MPI's buffers finds each fault that it names, and no fault in correct programs.
// Two ranks.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mpi_checker.h"
#include "world.h"

namespace ocellus::test {
namespace {

/// A message of this rank to itself.
class Loop {
 public:
  Loop(const char* from, char* to, int bytes) {
    MPI_Send_init(from, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Recv_init(to, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &requests[1]);
  }
  ~Loop() {
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void start() { MPI_Startall(2, requests.data()); }
  void wait() { MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE); }

  std::array<MPI_Request, 2> requests{};
};

/// The checker must have found this, and nothing else. Without a text: nothing.
void expect_fault(const std::string& text) {
  const std::vector<std::string> faults = take_mpi_faults();
  if (text.empty()) {
    for (const std::string& fault : faults) ADD_FAILURE() << fault;
    return;
  }
  EXPECT_FALSE(faults.empty()) << "not found: " << text;
  for (const std::string& fault : faults) EXPECT_NE(fault.find(text), std::string::npos) << fault;
}

// Fails when correct messages are faults, or data are lost on their way through the checker.
TEST(MpiChecker, FindsNothingInCorrectPrograms) {
  char from[64] = {}, to[64] = {};
  Loop loop(from, to, 64);
  for (char round = 0; round < 20; ++round) {
    std::memset(from, round, 64);
    loop.start();
    loop.wait();
    EXPECT_EQ(std::memcmp(from, to, 64), 0);
  }
  expect_fault("");
}

// Fails when a write to memory that is being sent goes unnoticed.
TEST(MpiChecker, FindsWritesWhileMemoryIsSent) {
  char from[64] = {}, to[64] = {};
  Loop loop(from, to, 64);
  loop.start();
  from[63] = 1;
  loop.wait();
  expect_fault("MPI_Send_init: its memory was written while it is sent");
}

// Fails when a write to memory that is being received goes unnoticed.
TEST(MpiChecker, FindsWritesWhileMemoryIsReceived) {
  char from[64] = {}, to[64] = {};
  Loop loop(from, to, 64);
  loop.start();
  to[5] = 1;
  loop.wait();
  expect_fault("MPI_Recv_init: its memory was written while it is received");
}

// Fails when overlapping parts of data types are not found, or when rows between each other are.
TEST(MpiChecker, FindsOverlaps) {
  char from[64] = {}, to[64] = {};
  MPI_Datatype rows = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(4, 2, 8, MPI_BYTE, &rows);
  MPI_Type_commit(&rows);
  for (const int apart : {2, 1}) {
    std::array<MPI_Request, 4> requests{};
    for (int i = 0; i < 2; ++i) {
      MPI_Send_init(from, 1, rows, 0, i, MPI_COMM_SELF, &requests[static_cast<std::size_t>(i)]);
      MPI_Recv_init(to + i * apart, 1, rows, 0, i, MPI_COMM_SELF,
                    &requests[static_cast<std::size_t>(2 + i)]);
    }
    MPI_Startall(4, requests.data());
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    for (MPI_Request& request : requests) MPI_Request_free(&request);
    if (apart == 2) {
      expect_fault("");
    } else {
      EXPECT_NE(take_mpi_faults().front().find("overlaps the active operation MPI_Recv_init"),
                std::string::npos);
    }
  }
  MPI_Type_free(&rows);
  // A receive into memory that is sent.
  Loop loop(from, from, 64);
  loop.start();
  loop.wait();
  EXPECT_NE(take_mpi_faults().front().find("which sends"), std::string::npos);
}

// Fails when a request that is used while it is active goes unnoticed.
TEST(MpiChecker, FindsActiveRequests) {
  static char from[64] = {}, to[64] = {};
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Recv_init(to, 64, MPI_BYTE, 0, 0, MPI_COMM_SELF, &receive);
  MPI_Startall(1, &receive);
  MPI_Request_free(&receive);
  expect_fault("its request is freed while it is active");
  MPI_Send(from, 64, MPI_BYTE, 0, 0, MPI_COMM_SELF);
  expect_fault("");
}

// Fails when a message that fills only a part of its receive goes unnoticed.
TEST(MpiChecker, FindsShortMessages) {
  char from[64] = {}, to[64] = {};
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Recv_init(to, 64, MPI_BYTE, 0, 0, MPI_COMM_SELF, &receive);
  MPI_Startall(1, &receive);
  MPI_Send(from, 63, MPI_BYTE, 0, 0, MPI_COMM_SELF);
  MPI_Waitall(1, &receive, MPI_STATUSES_IGNORE);
  MPI_Request_free(&receive);
  expect_fault("received 63 of 64 bytes");
}

// Fails when memory of an active operation is freed without notice.
TEST(MpiChecker, FindsFreedMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer has its own free";
#else
  char to[64] = {};
  char* const block = static_cast<char*>(std::calloc(1, 1 << 20));
  {
    // A part of a block, as slots are parts of an engine's memory. The message is so short that MPI
    // has read it before `start` returns.
    Loop loop(block + 4096, to, 64);
    loop.start();
    std::free(block);
    const std::vector<std::string> faults = take_mpi_faults();
    ASSERT_FALSE(faults.empty());
    EXPECT_EQ(faults.front(), "MPI_Send_init: its memory is freed while it is active");
  }
  take_mpi_faults();
#endif
}

// Fails when parts that overlap on the root, or that the root writes while they are gathered, go
// unnoticed.
TEST(MpiChecker, FindsFaultsOfCollectives) {
  if (ranks_of_world() != 2) GTEST_SKIP() << "for two ranks";
  const int rank = rank_of_world();
  for (const int second : {4, 3}) {
    char all[8] = {0, 1, 2, 3, 4, 5, 6, 7}, own[4] = {};
    const int counts[] = {4, 4}, places[] = {0, second};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iscatterv(all, counts, places, MPI_BYTE, own, 4, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    EXPECT_EQ(own[0], rank == 0 ? 0 : second);
    expect_fault(rank == 0 && second == 3 ? "MPI_Iscatterv: reads a byte twice" : "");
  }
  for (const bool writes : {false, true}) {
    char all[8] = {}, own[4] = {7, 7, 7, 7};
    const int counts[] = {0, 4}, in_place[] = {4, 4}, places[] = {0, 4};
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0)
      MPI_Igatherv(writes ? MPI_IN_PLACE : nullptr, 0, MPI_BYTE, all, writes ? in_place : counts,
                   places, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    else
      MPI_Igatherv(own, 4, MPI_BYTE, nullptr, nullptr, nullptr, MPI_BYTE, 0, MPI_COMM_WORLD,
                   &request);
    if (rank == 0) std::memset(all, 3, 4);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    if (rank == 0) {
      EXPECT_EQ(all[4], 7);
    }
    expect_fault(rank == 0 && writes ? "MPI_Igatherv: its memory was written" : "");
  }
}

}  // namespace
}  // namespace ocellus::test
