// The schedules of Nere, Franey, Hashmi and Lipasti (2012).
#include "bench/papers/core/paper_work_queue.cuh"
#include "bench/papers/cortical_network/paper_network_kernels.h"
#include "kernels/core/shared_memory.cuh"
#include "kernels/cortical_network/network_inputs.cuh"

namespace ocellus::paper {
namespace {

/// Does a minicolumn fire at random? `hypercolumn`: counted over all levels.
__device__ inline bool fires(const cuda::NetworkBase& a, int hypercolumn, std::uint64_t step, int m,
                             int wins) {
  const std::uint32_t probability = a.firing[static_cast<std::size_t>(wins)];
  if (probability == 0) return false;
  const auto words = ocellus::detail::firing_words(
      a.seed, step, static_cast<std::uint32_t>(hypercolumn), static_cast<std::uint32_t>(m / 4));
  return words[static_cast<std::size_t>(m % 4)] < probability;
}

using cuda::kWarp;
using cuda::Window;

/// kSharedBytes of each thread.
__device__ inline std::int64_t* shared_words() {
  OCELLUS_DYNAMIC_SHARED(std::int64_t, words);
  return words;
}

/// What a thread knows of its minicolumn.
template <ColumnMemory kMemory>
struct Column {
  std::int32_t strong;
  std::int32_t weak;
  std::int64_t g;
};
// Volatile: otherwise, the compiler keeps them in registers between barriers.
template <>
struct Column<ColumnMemory::kShared> {
  volatile std::int32_t& strong;
  volatile std::int32_t& weak;
  volatile std::int64_t& g;

  // Behind the values that ColumnTeam combines: those of 64 bits, then those of 32.
  __device__ Column()
      : strong(reinterpret_cast<std::int32_t*>(shared_words() + 2 * blockDim.x)[threadIdx.x]),
        weak(reinterpret_cast<std::int32_t*>(shared_words() +
                                             2 * blockDim.x)[blockDim.x + threadIdx.x]),
        g(shared_words()[blockDim.x + threadIdx.x]) {}
};

/// The threads of a block, a multiple of 32.
template <ColumnMemory kMemory>
struct ColumnTeam {
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ void sync() const { __syncthreads(); }
  template <typename T, typename Combine>
  __device__ T combine(T value, const Combine& with) const {
    if constexpr (kMemory == ColumnMemory::kShared)
      return combine_in_shared(value, with);
    else
      return combine_warps(value, with);
  }

 private:
  /// Section 5.2: half of the threads combine two values, then half of these.
  template <typename T, typename Combine>
  __device__ T combine_in_shared(T value, const Combine& with) const {
    volatile T* const values = reinterpret_cast<T*>(shared_words());
    values[rank()] = value;
    __syncthreads();
    for (int count = size(); count > 1;) {
      const int kept = (count + 1) / 2;
      if (rank() < count - kept) {
        const T own = values[rank()];
        const T other = values[rank() + kept];
        values[rank()] = with(own, other);
      }
      __syncthreads();
      count = kept;
    }
    value = values[0];
    // The next call uses the same memory.
    __syncthreads();
    return value;
  }
  template <typename T, typename Combine>
  __device__ T combine_warps(T value, const Combine& with) const {
    __shared__ T of_warps[kMostThreads / kWarp];
    value = cuda::WarpTeam().combine(value, with);
    if (rank() % kWarp == 0) of_warps[rank() / kWarp] = value;
    __syncthreads();
    value = of_warps[0];
    for (int w = 1; w < size() / kWarp; ++w) value = with(value, of_warps[w]);
    // The next call uses the same memory.
    __syncthreads();
    return value;
  }
};

struct Memory {
  std::uint16_t inputs[cuda::kListPoints];
  int count;
};

/// Writes the active inputs of cuda::kListPoints grid points, from `first` on, to `inputs`, in any
/// order. `count`, in shared memory: their number. All threads of the block must call it.
template <typename Team>
__device__ void list_inputs(const Team& team, const Window& window, int first,
                            std::uint16_t* inputs, int& count) {
  if (team.rank() == 0) count = 0;
  team.sync();
  const int end = min(window.points(), first + cuda::kListPoints);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int base = first; base < end; base += team.size()) {
    const int point = base + team.rank();
    const int cell = point < end ? window.active_cell(point) : -1;
    const unsigned mask = __ballot_sync(cuda::kAllLanes, cell >= 0);
    int at = 0;
    if (lane == 0 && mask != 0) at = atomicAdd(&count, __popc(mask));
    at = __shfl_sync(cuda::kAllLanes, at, 0) + __popc(mask & cuda::lanes_before());
    if (cell >= 0) inputs[at] = static_cast<std::uint16_t>(point * window.l.below_cells + cell);
  }
  team.sync();
}

template <typename Team>
__device__ void learn(const Team& team, const PaperArguments& a, const Window& window,
                      std::uint16_t* weights, std::int32_t& omega) {
  const detail::LevelPlan& l = window.l;
  int sum = 0;
  for (int i = team.rank(); i < l.inputs; i += team.size()) {
    std::uint16_t& at = weights[std::int64_t{i} * l.padded];
    const std::int32_t weight = window.is_active(i) ? detail::potentiated(at, a.potentiation)
                                                    : detail::depressed(at, a.depression);
    at = static_cast<std::uint16_t>(weight);
    sum += detail::counted(weight);
  }
  sum = team.combine(sum, cuda::Total());
  if (team.rank() == 0) omega = sum;
}

/// Adds up the weights of active inputs of the thread's minicolumn. Returns the number of active
/// inputs. `weights`: of the hypercolumn. All threads of the block must call it.
template <typename Team, typename Columns>
__device__ int add_up(const Team& team, const Window& window, const std::uint16_t* weights,
                      Memory& memory, Columns& column) {
  const detail::LevelPlan& l = window.l;
  column.strong = 0;
  column.weak = 0;
  int count = 0;
  for (int begin = 0; begin < window.points(); begin += cuda::kListPoints) {
    list_inputs(team, window, begin, memory.inputs, memory.count);
    const int listed = memory.count;
    count += listed;
    if (team.rank() < l.minicolumns) {
      for (int i = 0; i < listed; ++i) {
        const int weight = weights[std::int64_t{memory.inputs[i]} * l.padded + team.rank()];
        if (weight >= detail::kStrongWeight)
          column.strong = column.strong + weight;
        else
          column.weak = column.weak + 1;
      }
    }
    __syncthreads();
  }
  return count;
}

constexpr std::int64_t kNone = INT64_MIN;

/// The minicolumn with the largest g of those that count, the lowest one of several; kSilent: none
/// counts. All threads of the block must call it.
template <typename Team>
__device__ int winner_of(const Team& team, std::int64_t g, bool counts) {
  const std::int64_t most = team.combine(counts ? g : kNone, cuda::Largest());
  if (most == kNone) return kSilent;
  const std::int64_t lowest =
      team.combine(counts && g == most ? std::int64_t{-team.rank()} : kNone, cuda::Largest());
  return static_cast<int>(-lowest);
}

/// One step of a hypercolumn: a thread computes a minicolumn. `publish(winner)` is called by one
/// thread before weights change.
template <ColumnMemory kMemory = ColumnMemory::kRegisters, typename Publish>
__device__ void step_hypercolumn(const PaperArguments& a, int level, int hypercolumn,
                                 std::uint64_t step, const std::int32_t* winners_below,
                                 Memory& memory, const Publish& publish) {
  const ColumnTeam<kMemory> team;
  const detail::LevelPlan& l = a.levels[level];
  const Window window(a, l, winners_below, hypercolumn);
  const bool learns = a.step->learn != 0;
  const int m = team.rank();
  const std::int64_t first = l.minicolumns_at + std::int64_t{hypercolumn} * l.padded;
  std::uint16_t* const weights =
      a.weights + a.striped_at[level] + std::int64_t{hypercolumn} * l.inputs * l.padded;
  Column<kMemory> column;
  const int count = add_up(team, window, weights, memory, column);
  const bool takes_part = count > 0 && m < l.minicolumns;
  column.g = takes_part
                 ? detail::response(column.strong, column.weak, a.omega[first + m], a.threshold)
                 : kNone;
  int winner = winner_of(team, column.g, takes_part && column.g > 0);
  const bool responded = winner != kSilent;
  if (learns && !responded && count > 0)
    winner = winner_of(team, column.g,
                       takes_part && fires(a, l.first + hypercolumn, step, m, a.wins[first + m]));
  if (m == 0) {
    publish(winner);
    if (learns && responded)
      a.wins[first + winner] =
          static_cast<std::uint8_t>(min(a.wins[first + winner] + 1, a.stable_wins));
  }
  if (learns && winner != kSilent)
    learn(team, a, window, weights + winner, a.omega[first + winner]);
}

__global__ void __launch_bounds__(cuda::kNetworkThreads)
    start_network(const __grid_constant__ PaperArguments a) {
  const int number = static_cast<int>(blockIdx.x);
  const int level = cuda::level_of(a, number);
  const detail::LevelPlan& l = a.levels[level];
  const std::int64_t h = number - l.first;
  const int thread = static_cast<int>(threadIdx.x);
  for (int m = thread; m < l.padded; m += cuda::kNetworkThreads) {
    // Initial weights are at most 0.2, which does not count.
    a.omega[l.minicolumns_at + h * l.padded + m] = 0;
    a.wins[l.minicolumns_at + h * l.padded + m] = 0;
  }
  if (thread == 0) {
    a.winners[number] = kSilent;
    a.other_winners[number] = kSilent;
    a.done[number] = 0;
  }
  std::uint16_t* const weights = a.weights + a.striped_at[level] + h * l.inputs * l.padded;
  cuda::for_each_initial_weight(a, l, number, [&](int input, int m, int weight) {
    weights[std::int64_t{input} * l.padded + m] = static_cast<std::uint16_t>(weight);
  });
}

__global__ void __launch_bounds__(kMostThreads)
    step_level(const __grid_constant__ OfLevel<PaperArguments> a) {
  __shared__ Memory memory;
  const int h = static_cast<int>(blockIdx.x);
  std::int32_t* const winner = a.network.winners + a.network.levels[a.level].first + h;
  step_hypercolumn(a.network, a.level, h, a.network.step->number, a.network.winners, memory,
                   [&](int m) { *winner = m; });
}

__global__ void empty_level(const __grid_constant__ OfLevel<PaperArguments>) {}

// Each launch reads the winners of the launch before, and writes to the other array.
template <ColumnMemory kMemory>
__global__ void __launch_bounds__(kMostThreads)
    step_pipeline(const __grid_constant__ PipelineArguments a) {
  __shared__ Memory memory;
  const PaperArguments& n = a.network;
  const bool even = a.launch % 2 == 0;
  const std::int32_t* const below = even ? n.other_winners : n.winners;
  std::int32_t* const own = even ? n.winners : n.other_winners;
  for (int i = static_cast<int>(blockIdx.x); i < n.hypercolumns; i += static_cast<int>(gridDim.x)) {
    const int level = cuda::level_of(n, i);
    // Before its first step, a level has no input.
    if (a.launch < static_cast<std::uint64_t>(level)) continue;
    const std::uint64_t step = a.launch - static_cast<std::uint64_t>(level);
    if (step >= a.fed) {
      // Levels above still need the winner of the last step.
      if (threadIdx.x == 0) own[i] = below[i];
      continue;
    }
    step_hypercolumn<kMemory>(n, level, i - n.levels[level].first, step, below, memory,
                              [&](int m) { own[i] = m; });
    __syncthreads();
  }
}

/// Calls body(hypercolumn, counted over all levels; the place in its window) for those of the next
/// level that read a hypercolumn.
template <typename Body>
__device__ void for_each_above(const PaperArguments& a, int level, int hypercolumn,
                               const Body& body) {
  if (level + 1 == a.level_count) return;
  const detail::LevelPlan& l = a.levels[level + 1];
  const int x = hypercolumn % l.below_columns;
  const int y = hypercolumn / l.below_columns;
  // The first window that ends behind the place.
  const int left = max(x - l.window_width + l.stride_x, 0) / l.stride_x;
  const int top = max(y - l.window_height + l.stride_y, 0) / l.stride_y;
  for (int v = top; v < l.rows && v * l.stride_y <= y; ++v)
    for (int u = left; u < l.columns && u * l.stride_x <= x; ++u)
      body(l.first + v * l.columns + u, (y - v * l.stride_y) * l.window_width + x - u * l.stride_x);
}

/// (a) of ocellus/cortical_network.h for a minicolumn.
__device__ int expectation(const PaperArguments& a, int level, int hypercolumn, int m) {
  int expected = 0;
  for_each_above(a, level, hypercolumn, [&](int above, int point) {
    const int hypothesis = *static_cast<const volatile std::int32_t*>(a.hypotheses + above);
    if (hypothesis == kSilent) return;
    const detail::LevelPlan& l = a.levels[level + 1];
    const std::int64_t input =
        std::int64_t{above - l.first} * l.inputs + point * a.levels[level].minicolumns + m;
    expected =
        max(expected,
            static_cast<int>(a.weights[a.striped_at[level + 1] + input * l.padded + hypothesis]));
  });
  return expected;
}

/// Feedback of a hypercolumn: (b). Returns its hypothesis if it `chooses`, otherwise its winner.
__device__ int feed_back(const PaperArguments& a, int level, int hypercolumn, bool chooses,
                         Memory& memory) {
  const ColumnTeam<ColumnMemory::kRegisters> team;
  const detail::LevelPlan& l = a.levels[level];
  const Window window(a, l, a.winners, hypercolumn);
  const int m = team.rank();
  Column<ColumnMemory::kRegisters> column;
  column.g = kNone;
  const int count =
      add_up(team, window,
             a.weights + a.striped_at[level] + std::int64_t{hypercolumn} * l.inputs * l.padded,
             memory, column);
  bool fits = m < l.minicolumns;
  if (fits) {
    const int omega = a.omega[l.minicolumns_at + std::int64_t{hypercolumn} * l.padded + m];
    const int expected = expectation(a, level, hypercolumn, m);
    column.g =
        detail::expected_response(detail::response(column.strong, column.weak, omega, a.threshold),
                                  omega, a.feedback_tolerance, expected);
    const bool excused = std::int64_t{column.weak} * kCorticalWeightOne <=
                         std::int64_t{a.feedback_tolerance} * expected;
    fits = chooses ? omega != 0 && excused && (column.strong != 0 || expected != 0)
                   : count > 0 && column.g > 0;
  }
  return winner_of(team, column.g, fits);
}

/// A task of the work queue. Without feedback, there is one for each hypercolumn. The others are
/// hypercolumns that are queued again: in each round all of them down, then all of them up.
template <bool kFeeds>
struct QueueTask {
  int hypercolumn;  ///< counted over all levels
  int evaluation;   ///< of the hypercolumn in this step, from 1 on

  __device__ QueueTask(const PaperArguments& a, int number) : hypercolumn(number), evaluation(1) {
    // Divisions are slow.
    if (!kFeeds || number < a.hypercolumns) return;
    hypercolumn = number % a.hypercolumns;
    evaluation = number / a.hypercolumns + 1;
    if (chooses()) hypercolumn = a.hypercolumns - 1 - hypercolumn;
  }
  __device__ bool chooses() const { return kFeeds && evaluation % 2 == 0; }
};

/// Evaluations of a hypercolumn in this step.
__device__ inline int evaluations_of(const PaperArguments& a) {
  return a.step->learn != 0 ? 1 : 1 + 2 * a.feedback_rounds;
}

template <QueueSync kSync, ColumnMemory kMemory>
__global__ void __launch_bounds__(kMostThreads)
    step_queue(const __grid_constant__ PaperArguments a) {
  __shared__ Memory memory;
  constexpr bool kFeeds = kSync == QueueSync::kFeedback;
  constexpr bool kFlagged = kFeeds || kSync == QueueSync::kFlags;
  const int tasks = kFeeds ? a.hypercolumns * evaluations_of(a) : a.hypercolumns;
  const WorkQueue queue{&a.queue->next, &a.queue->left, a.done, tasks};
  const unsigned before = a.queue->run;
  const auto wait = [&](int number) {
    const QueueTask<kFeeds> task(a, number);
    const int level = cuda::level_of(a, task.hypercolumn);
    const detail::LevelPlan& l = a.levels[level];
    if constexpr (kSync == QueueSync::kCounters) {
      const int points = l.window_width * l.window_height;
      if (l.below_first >= 0)
        wait_for_task(queue, task.hypercolumn, (before + 1) * static_cast<unsigned>(points));
    } else if constexpr (kFlagged) {
      const unsigned evaluation = before + static_cast<unsigned>(task.evaluation);
      const int h = task.hypercolumn - l.first;
      if (kFeeds && task.evaluation > 1) {
        // The expectation, which hypercolumns above have chosen in this round; those that have not
        // may still read what this task writes.
        for_each_above(a, level, h, [&](int above, int) {
          wait_for_task(queue, above, task.chooses() ? evaluation : evaluation - 1);
        });
        wait_for_task(queue, task.hypercolumn, evaluation - 1);
      }
      if (l.below_first < 0) return;
      const Window window(a, l, a.winners, h);
      for (int y = 0; y < l.window_height; ++y)
        for (int x = 0; x < l.window_width; ++x)
          wait_for_task(queue, l.below_first + (window.top + y) * l.below_columns + window.left + x,
                        task.chooses() ? evaluation - 1 : evaluation);
    }
  };
  run_tasks(queue, wait, [&](int number) {
    const QueueTask<kFeeds> task(a, number);
    const int level = cuda::level_of(a, task.hypercolumn);
    const int h = task.hypercolumn - a.levels[level].first;
    if constexpr (kFeeds) {
      if (task.evaluation > 1) {
        const int winner = feed_back(a, level, h, task.chooses(), memory);
        if (threadIdx.x != 0) return;
        (task.chooses() ? a.hypotheses : a.winners)[task.hypercolumn] = winner;
        publish_task(queue, task.hypercolumn, before + static_cast<unsigned>(task.evaluation));
        return;
      }
    }
    step_hypercolumn<kMemory>(a, level, h, a.step->number, a.winners, memory, [&](int m) {
      a.winners[task.hypercolumn] = m;
      // Before the weights change, as in algorithm 1.
      if constexpr (kFlagged) {
        publish_task(queue, task.hypercolumn, before + 1);
      } else {
        for_each_above(a, level, h, [&](int above, int) {
          publish_in_group<kSync != QueueSync::kNoAtomics>(queue, above);
        });
      }
    });
  });
}

// A kernel of its own: other blocks may still read the numbers.
__global__ void end_step(const __grid_constant__ PaperArguments a) {
  if (threadIdx.x == 0) a.queue->run += static_cast<unsigned>(evaluations_of(a));
}

}  // namespace

const Kernel<PaperArguments> kPaperStartKernel = start_network;
const Kernel<OfLevel<PaperArguments>> kPaperLevelKernel = step_level;
const Kernel<OfLevel<PaperArguments>> kPaperEmptyKernel = empty_level;
const Kernel<PaperArguments> kPaperEndKernel = end_step;

Kernel<PipelineArguments> paper_pipeline_kernel(ColumnMemory memory) noexcept {
  return memory == ColumnMemory::kShared ? step_pipeline<ColumnMemory::kShared>
                                         : step_pipeline<ColumnMemory::kRegisters>;
}
Kernel<PaperArguments> paper_queue_kernel(QueueSync sync, ColumnMemory memory) noexcept {
  if (memory == ColumnMemory::kShared)
    return step_queue<QueueSync::kCounters, ColumnMemory::kShared>;
  switch (sync) {
    case QueueSync::kFlags:
      return step_queue<QueueSync::kFlags, ColumnMemory::kRegisters>;
    case QueueSync::kCounters:
      return step_queue<QueueSync::kCounters, ColumnMemory::kRegisters>;
    case QueueSync::kNoSpin:
      return step_queue<QueueSync::kNoSpin, ColumnMemory::kRegisters>;
    case QueueSync::kFeedback:
      return step_queue<QueueSync::kFeedback, ColumnMemory::kRegisters>;
    case QueueSync::kNoAtomics:
      break;
  }
  return step_queue<QueueSync::kNoAtomics, ColumnMemory::kRegisters>;
}

}  // namespace ocellus::paper
