#include "mpi_checker.h"

#include <malloc.h>
#include <mpi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace ocellus::test {
namespace {

constexpr char kPattern = static_cast<char>(0xA5);

struct Range {
  char* at;
  std::size_t bytes;
};

struct Operation {
  const char* call = "";
  bool receives = false;
  bool collective = false;
  bool active = false;
  bool given_up = false;
  std::vector<Range> ranges;
  std::uint64_t sum = 0;     // of what is sent
  std::vector<char> shadow;  // into which MPI receives
  std::vector<int> counts;   // of the ranks' parts in `shadow`
  std::vector<int> places;
  int late = 0;  // tests after MPI is done, until the program is told

  std::size_t bytes() const {
    std::size_t sum_of_bytes = 0;
    for (const Range& range : ranges) sum_of_bytes += range.bytes;
    return sum_of_bytes;
  }
};

/// Never destroyed: memory is freed until the process ends.
struct Checker {
  std::recursive_mutex mutex;
  std::map<MPI_Request, std::unique_ptr<Operation>> operations;
  std::vector<std::string> faults;
  std::uint32_t random = 1;
};
Checker& checker() {
  static Checker* const made = new Checker;
  return *made;
}

/// Of active operations. Without one, freed memory needs no look.
std::atomic<int> active_operations{0};
/// This thread is in the checker, which frees memory of its own.
thread_local int inside __attribute__((tls_model("initial-exec"))) = 0;

class Inside {
 public:
  Inside() {
    ++inside;
    checker().mutex.lock();
  }
  ~Inside() {
    checker().mutex.unlock();
    --inside;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

void fault(const Operation& operation, const std::string& what) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string text = std::string(operation.call) + ": " + what;
  std::fprintf(stderr, "MPI checker, rank %d: %s\n", rank, text.c_str());
  checker().faults.push_back(text);
  const char* const action = std::getenv("OCELLUS_MPI_CHECKER");
  if (action != nullptr && std::strcmp(action, "abort") == 0) std::abort();
}

/// Adds the bytes of `count` elements of a type. Ranges that follow each other become one.
void add_ranges(std::vector<Range>& ranges, char* at, MPI_Datatype type, int count = 1) {
  int n_integers = 0, n_addresses = 0, n_types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner);
  if (combiner == MPI_COMBINER_NAMED) {
    int size = 0;
    PMPI_Type_size(type, &size);
    const std::size_t bytes = static_cast<std::size_t>(size) * static_cast<std::size_t>(count);
    if (bytes == 0) return;
    if (!ranges.empty() && ranges.back().at + ranges.back().bytes == at)
      ranges.back().bytes += bytes;
    else
      ranges.push_back({at, bytes});
    return;
  }
  std::vector<int> integers(static_cast<std::size_t>(n_integers));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(n_addresses));
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(n_types));
  PMPI_Type_get_contents(type, n_integers, n_addresses, n_types, integers.data(), addresses.data(),
                         types.data());
  MPI_Aint lower = 0, extent = 0, inner_lower = 0, inner = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  if (!types.empty()) PMPI_Type_get_extent(types.front(), &inner_lower, &inner);
  for (int i = 0; i < count; ++i, at += extent) {
    switch (combiner) {
      case MPI_COMBINER_CONTIGUOUS:
        for (int n = 0; n < integers[0]; ++n) add_ranges(ranges, at + n * inner, types[0]);
        break;
      case MPI_COMBINER_HVECTOR:
        for (int n = 0; n < integers[0]; ++n)
          for (int m = 0; m < integers[1]; ++m)
            add_ranges(ranges, at + n * addresses[0] + m * inner, types[0]);
        break;
      case MPI_COMBINER_STRUCT:
        for (std::size_t n = 0; n < types.size(); ++n)
          add_ranges(ranges, at + addresses[n], types[n], integers[n + 1]);
        break;
      case MPI_COMBINER_RESIZED:
      case MPI_COMBINER_DUP:
        add_ranges(ranges, at, types[0]);
        break;
      default:
        std::fprintf(stderr, "MPI checker: unknown combiner %d of a data type\n", combiner);
        std::abort();
    }
  }
  for (MPI_Datatype& one : types) {
    int i = 0, a = 0, t = 0, kind = 0;
    PMPI_Type_get_envelope(one, &i, &a, &t, &kind);
    if (kind != MPI_COMBINER_NAMED) PMPI_Type_free(&one);
  }
}

char* address(const void* buffer) {
  return static_cast<char*>(const_cast<void*>(buffer));
}

std::unique_ptr<Operation> make(const char* call, bool receives) {
  auto made = std::make_unique<Operation>();
  made->call = call;
  made->receives = receives;
  return made;
}

/// MPI receives into the shadow. One byte, if there is nothing to receive.
char* shadow_of(Operation& operation) {
  operation.shadow.resize(std::max<std::size_t>(1, operation.bytes()));
  return operation.shadow.data();
}

std::uint64_t sum_of(const Operation& operation) {
  std::uint64_t sum = 14695981039346656037u;
  for (const Range& range : operation.ranges) {
    std::size_t i = 0;
    for (; i + 8 <= range.bytes; i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, range.at + i, 8);
      sum = (sum ^ word) * 1099511628211u;
      sum ^= sum >> 29;
    }
    for (; i < range.bytes; ++i)
      sum = (sum ^ static_cast<unsigned char>(range.at[i])) * 1099511628211u;
  }
  return sum;
}

bool overlap(const Range& a, const Range& b) {
  return a.at < b.at + b.bytes && b.at < a.at + a.bytes;
}

/// Whether two ranges of an operation overlap.
bool overlaps_itself(const Operation& operation) {
  std::vector<Range> sorted = operation.ranges;
  std::sort(sorted.begin(), sorted.end(),
            [](const Range& a, const Range& b) { return a.at < b.at; });
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (overlap(sorted[i - 1], sorted[i])) return true;
  return false;
}

bool overlap(const Operation& a, const Operation& b) {
  for (const Range& one : a.ranges)
    for (const Range& other : b.ranges)
      if (overlap(one, other)) return true;
  return false;
}

void start(Operation& operation) {
  if (operation.active) fault(operation, "started while it is active");
  if ((operation.receives || operation.collective) && overlaps_itself(operation))
    fault(operation, operation.receives ? "writes a byte twice" : "reads a byte twice");
  for (const auto& [request, other] : checker().operations) {
    if (other.get() == &operation || !other->active) continue;
    if ((operation.receives || other->receives) && overlap(operation, *other)) {
      fault(operation, std::string("overlaps the active operation ") + other->call +
                           (other->receives ? ", which receives" : ", which sends"));
    }
  }
  for (const Range& range : operation.ranges)
    if (operation.receives) std::memset(range.at, kPattern, range.bytes);
  if (!operation.receives) operation.sum = sum_of(operation);
  if (!operation.active) ++active_operations;
  operation.active = true;
  checker().random = checker().random * 1664525u + 1013904223u;
  const auto late = static_cast<int>(checker().random >> 26);
  operation.late = late < 32 ? late / 8 : late - 32;
}

/// Looks whether the program has written to the memory of an active operation.
void look_at(Operation& operation) {
  if (!operation.receives) {
    const std::uint64_t sum = sum_of(operation);
    if (sum != operation.sum) fault(operation, "its memory was written while it is sent");
    operation.sum = sum;
    return;
  }
  bool written = false;
  for (const Range& range : operation.ranges) {
    written |=
        std::any_of(range.at, range.at + range.bytes, [](char value) { return value != kPattern; });
    std::memset(range.at, kPattern, range.bytes);
  }
  if (written) fault(operation, "its memory was written while it is received");
}

void complete(Operation& operation, MPI_Status& status) {
  operation.active = false;
  --active_operations;
  if (!operation.receives) return;
  int canceled = 0;
  PMPI_Test_cancelled(&status, &canceled);
  if (canceled != 0) return;
  int bytes = 0;
  PMPI_Get_count(&status, MPI_BYTE, &bytes);
  if (!operation.collective && static_cast<std::size_t>(bytes) != operation.bytes()) {
    fault(operation, "received " + std::to_string(bytes) + " of " +
                         std::to_string(operation.bytes()) + " bytes");
  }
  const char* from = operation.shadow.data();
  for (const Range& range : operation.ranges) {
    std::memcpy(range.at, from, range.bytes);
    from += range.bytes;
  }
}

Operation* find(MPI_Request request) {
  const auto found = checker().operations.find(request);
  return found == checker().operations.end() ? nullptr : found->second.get();
}

/// The active operations of these requests.
std::vector<std::pair<int, Operation*>> active_of(int count, const MPI_Request* requests) {
  std::vector<std::pair<int, Operation*>> found;
  for (int i = 0; i < count; ++i) {
    Operation* const operation = find(requests[i]);
    if (operation != nullptr && operation->active) found.emplace_back(i, operation);
  }
  return found;
}

/// After MPI says that all are done.
void complete_all(const std::vector<std::pair<int, Operation*>>& active,
                  const std::vector<MPI_Request>& before, std::vector<MPI_Status>& statuses) {
  for (const auto& [i, operation] : active) {
    complete(*operation, statuses[static_cast<std::size_t>(i)]);
    // Requests of collective operations exist once.
    if (operation->collective) checker().operations.erase(before[static_cast<std::size_t>(i)]);
  }
}

int keep(int result, MPI_Request request, std::unique_ptr<Operation> operation) {
  Operation& kept = *operation;
  checker().operations[request] = std::move(operation);
  if (kept.collective) start(kept);
  return result;
}

/// The part of each rank of a collective operation on the root.
void add_parts(Operation& operation, const void* buffer, const int counts[], const int places[],
               MPI_Datatype type, MPI_Comm communicator, bool without_root) {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(communicator, &rank);
  PMPI_Comm_size(communicator, &ranks);
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  for (int r = 0; r < ranks; ++r) {
    const std::size_t before = operation.bytes();
    // Each part begins a range of its own, so that bytes can be counted.
    std::vector<Range> part;
    if (r != rank || !without_root)
      add_ranges(part, address(buffer) + places[r] * extent, type, counts[r]);
    operation.ranges.insert(operation.ranges.end(), part.begin(), part.end());
    operation.places.push_back(static_cast<int>(before));
    operation.counts.push_back(static_cast<int>(operation.bytes() - before));
  }
}

void freed(const void* memory, std::size_t bytes) {
  if (active_operations == 0 || memory == nullptr || inside > 0) return;
  const Inside here;
  const Range range = {address(memory), bytes};
  for (const auto& [request, operation] : checker().operations) {
    if (!operation->active) continue;
    const auto& ranges = operation->ranges;
    if (std::any_of(ranges.begin(), ranges.end(),
                    [&range](const Range& one) { return overlap(one, range); }))
      fault(*operation, "its memory is freed while it is active");
  }
}

}  // namespace

std::vector<std::string> take_mpi_faults() {
  const Inside here;
  return std::exchange(checker().faults, {});
}

int give_up_mpi_operations() {
  const Inside here;
  int active = 0;
  for (const auto& [request, operation] : checker().operations) {
    if (!operation->active || operation->given_up) continue;
    operation->given_up = true;
    ++active;
  }
  return active;
}

}  // namespace ocellus::test

using namespace ocellus::test;

extern "C" {

int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int to, int tag,
                  MPI_Comm communicator, MPI_Request* request) {
  const Inside here;
  auto operation = make("MPI_Send_init", false);
  add_ranges(operation->ranges, address(buffer), type, count);
  const int result = PMPI_Send_init(buffer, count, type, to, tag, communicator, request);
  return keep(result, *request, std::move(operation));
}

int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int from, int tag,
                  MPI_Comm communicator, MPI_Request* request) {
  const Inside here;
  auto operation = make("MPI_Recv_init", true);
  add_ranges(operation->ranges, address(buffer), type, count);
  char* const shadow = shadow_of(*operation);
  const int result = PMPI_Recv_init(shadow, static_cast<int>(operation->bytes()), MPI_BYTE, from,
                                    tag, communicator, request);
  return keep(result, *request, std::move(operation));
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm communicator,
               MPI_Request* request) {
  const Inside here;
  int rank = 0;
  PMPI_Comm_rank(communicator, &rank);
  auto operation = make("MPI_Ibcast", rank != root);
  operation->collective = true;
  add_ranges(operation->ranges, address(buffer), type, count);
  const int result = rank == root
                         ? PMPI_Ibcast(buffer, count, type, root, communicator, request)
                         : PMPI_Ibcast(shadow_of(*operation), static_cast<int>(operation->bytes()),
                                       MPI_BYTE, root, communicator, request);
  return keep(result, *request, std::move(operation));
}

int MPI_Iscatterv(const void* from, const int counts[], const int places[], MPI_Datatype type,
                  void* to, int count, MPI_Datatype to_type, int root, MPI_Comm communicator,
                  MPI_Request* request) {
  const Inside here;
  int rank = 0;
  PMPI_Comm_rank(communicator, &rank);
  auto operation = make("MPI_Iscatterv", rank != root);
  operation->collective = true;
  int result = MPI_SUCCESS;
  if (rank == root) {
    add_parts(*operation, from, counts, places, type, communicator, to == MPI_IN_PLACE);
    result =
        PMPI_Iscatterv(from, counts, places, type, to, count, to_type, root, communicator, request);
  } else {
    add_ranges(operation->ranges, address(to), to_type, count);
    char* const shadow = shadow_of(*operation);
    result =
        PMPI_Iscatterv(nullptr, nullptr, nullptr, MPI_BYTE, shadow,
                       static_cast<int>(operation->bytes()), MPI_BYTE, root, communicator, request);
  }
  return keep(result, *request, std::move(operation));
}

int MPI_Igatherv(const void* from, int count, MPI_Datatype type, void* to, const int counts[],
                 const int places[], MPI_Datatype to_type, int root, MPI_Comm communicator,
                 MPI_Request* request) {
  const Inside here;
  int rank = 0;
  PMPI_Comm_rank(communicator, &rank);
  auto operation = make("MPI_Igatherv", rank == root);
  operation->collective = true;
  int result = MPI_SUCCESS;
  if (rank == root) {
    // What is in its place also belongs to the operation.
    add_parts(*operation, to, counts, places, to_type, communicator, false);
    char* const shadow = shadow_of(*operation);
    result = PMPI_Igatherv(from, count, type, shadow, operation->counts.data(),
                           operation->places.data(), MPI_BYTE, root, communicator, request);
  } else {
    add_ranges(operation->ranges, address(from), type, count);
    result =
        PMPI_Igatherv(from, count, type, to, counts, places, to_type, root, communicator, request);
  }
  return keep(result, *request, std::move(operation));
}

int MPI_Startall(int count, MPI_Request requests[]) {
  const Inside here;
  for (int i = 0; i < count; ++i)
    if (Operation* const operation = find(requests[i])) start(*operation);
  return PMPI_Startall(count, requests);
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status given[]) {
  const Inside here;
  const auto active = active_of(count, requests);
  *flag = 0;
  for (const auto& [i, operation] : active) {
    look_at(*operation);
    int done = 0;
    PMPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
    if (done == 0) return MPI_SUCCESS;
  }
  for (const auto& [i, operation] : active)
    if (operation->late-- > 0) return MPI_SUCCESS;
  const std::vector<MPI_Request> before(requests, requests + count);
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(count));
  const int result = PMPI_Testall(count, requests, flag, statuses.data());
  if (*flag != 0) complete_all(active, before, statuses);
  if (given != MPI_STATUSES_IGNORE) std::copy(statuses.begin(), statuses.end(), given);
  return result;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status given[]) {
  int flag = 0;
  while (flag == 0) {
    const int result = MPI_Testall(count, requests, &flag, given);
    if (result != MPI_SUCCESS) return result;
  }
  return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request* request) {
  const Inside here;
  if (Operation* const operation = find(*request)) {
    if (operation->active) fault(*operation, "its request is freed while it is active");
    active_operations -= operation->active;
    // MPI may still write to the shadow of an active operation.
    if (operation->active) static_cast<void>(checker().operations[*request].release());
    checker().operations.erase(*request);
  }
  return PMPI_Request_free(request);
}

int MPI_Finalize() {
  {
    const Inside here;
    for (const auto& [request, operation] : checker().operations)
      if (operation->active && !operation->given_up)
        fault(*operation, "still active at MPI_Finalize");
  }
  return PMPI_Finalize();
}

#ifndef __SANITIZE_ADDRESS__

void __libc_free(void* memory);

void free(void* memory) {
  freed(memory, malloc_usable_size(memory));
  __libc_free(memory);
}

int munmap(void* memory, std::size_t bytes) {
  freed(memory, bytes);
  return static_cast<int>(syscall(SYS_munmap, memory, bytes));
}

#endif

}  // extern "C"
