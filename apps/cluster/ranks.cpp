#include "apps/cluster/ranks.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <string>
#include <thread>

#include "apps/common/input_error.h"
#include "apps/common/threads.h"
#include "ocellus/cpus.h"

namespace ocellus::app {
namespace {

/// The ranks of this rank's host.
class HostRanks {
 public:
  explicit HostRanks(MPI_Comm communicator) {
    MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &ranks_);
  }
  ~HostRanks() { MPI_Comm_free(&ranks_); }
  HostRanks(const HostRanks&) = delete;
  HostRanks& operator=(const HostRanks&) = delete;

  MPI_Comm get() const { return ranks_; }

 private:
  MPI_Comm ranks_ = MPI_COMM_NULL;
};

}  // namespace

HostCpus host_cpus(MPI_Comm communicator) {
  const HostRanks host(communicator);
  HostCpus cpus;
  CPU_ZERO(&cpus.mine);
  sched_getaffinity(0, sizeof(cpus.mine), &cpus.mine);
  cpus.all = cpus.mine;
  MPI_Allreduce(MPI_IN_PLACE, &cpus.all, sizeof(cpus.all), MPI_BYTE, MPI_BOR, host.get());
  return cpus;
}

void meet(MPI_Comm communicator) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(communicator, &request);
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), done == 0)
    std::this_thread::sleep_for(std::chrono::microseconds(500));
}

bool prepared_by_all(MPI_Comm communicator, const std::function<void()>& prepare) {
  std::array<char, 1024> text{};
  int first = ranks_of(communicator);
  std::exception_ptr mine;
  try {
    prepare();
  } catch (const std::exception& error) {
    mine = std::current_exception();
    first = rank_of(communicator);
    fmt::format_to_n(text.data(), text.size() - 1, "{}", error.what());
  }
  // The others sleep while a rank prepares.
  meet(communicator);
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, communicator);
  if (first == ranks_of(communicator)) return true;
  MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, communicator);
  if (rank_of(communicator) != 0) return false;
  if (mine) std::rethrow_exception(mine);
  throw InputError(fmt::format("rank {}: {}", first, text.data()));
}

EngineConfig rank_engine(MPI_Comm communicator, const CommonOptions& options) {
  EngineConfig config = engine_config(options);
  const HostRanks host(communicator);
  const HostCpus cpus = host_cpus(communicator);
  const UsableCpus own = usable_cpus();
  double all = CPU_COUNT(&cpus.all);
  // The ranks of a host are in one container, or in none.
  if (own.quota > 0.0) all = std::min(all, own.quota);
  const int share = static_cast<int>(all / ranks_of(host.get()));
  if (options.threads == 0) config.workers = std::clamp(std::min(share, own.count), 1, kMaxWorkers);
  // A number in --backend cuda:N is obeyed, on all ranks.
  if (options.backend == "cuda" || options.backend == "auto") {
    int devices = 0;
    EngineConfig probed = config;
    probed.backend.choice = BackendChoice::kCuda;
    for (; Engine::probe(probed); probed.backend.device = ++devices) {
    }
    // With more ranks than devices, ranks share them.
    if (devices > 0) config.backend = {BackendChoice::kCuda, rank_of(host.get()) % devices};
  }
  return config;
}

EndsAfterRoot::EndsAfterRoot()
    : watch_(start_thread("the thread that watches for signals", [this] {
        constexpr std::chrono::milliseconds kStep{50};
        std::chrono::milliseconds left{3000};
        while (!over_ && left.count() > 0) {
          std::this_thread::sleep_for(kStep);
          if (stop_signal() != 0) left -= kStep;
        }
        if (!over_) end_by_signal(stop_signal());
      })) {}

EndsAfterRoot::~EndsAfterRoot() {
  over_ = true;
  watch_.join();
}

int ranks_on_host(MPI_Comm communicator) {
  const HostRanks host(communicator);
  return ranks_of(host.get());
}

}  // namespace ocellus::app
