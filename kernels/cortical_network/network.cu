// A step of a cortical network, level by level or subtree by subtree.
#include "kernels/core/overlap.cuh"
#include "kernels/cortical_network/network_hypercolumn.cuh"

namespace ocellus::cuda {
namespace {

__device__ void start_hypercolumn(const NetworkArguments& a, const detail::LevelPlan& l,
                                  int hypercolumn) {
  const int number = l.first + hypercolumn;
  const std::int64_t h = hypercolumn;
  const int thread = static_cast<int>(threadIdx.x);
  for (int m = thread; m < l.padded; m += kNetworkThreads) {
    // Initial weights are at most 0.2, which does not count.
    a.minicolumns[l.minicolumns_at + h * l.padded + m] = detail::Minicolumn{};
    a.wins[l.minicolumns_at + h * l.padded + m] = 0;
  }
  std::uint32_t* const strong = a.strong + l.strong_at + h * l.inputs * l.words;
  for (int i = thread; i < l.inputs * l.words; i += kNetworkThreads) strong[i] = 0;
  const std::int64_t weights_at = l.weights_at + h * l.minicolumns * l.pitch;
  if (l.below_first < 0)
    for (int i = thread; i < l.minicolumns * l.pitch / kOctet; i += kNetworkThreads)
      a.patterns[weights_at / kOctet + i] = 0;
  if (thread == 0) {
    a.winners[number] = kSilent;
    a.winner_responses[number] = 0;
  }
  std::uint16_t* const weights = a.weights + weights_at;
  for_each_initial_weight(a, l, number, [&](int input, int m, int weight) {
    weights[std::int64_t{m} * l.pitch + input] = static_cast<std::uint16_t>(weight);
  });
}

__global__ void __launch_bounds__(kNetworkThreads)
    start_network(const __grid_constant__ NetworkArguments a) {
  const int number = static_cast<int>(blockIdx.x);
  const detail::LevelPlan& l = a.levels[level_of(a, number)];
  start_hypercolumn(a, l, number - l.first);
}
__global__ void __launch_bounds__(kNetworkThreads)
    start_range(const __grid_constant__ LevelRange a) {
  start_hypercolumn(a.network, a.network.levels[a.level], a.begin + static_cast<int>(blockIdx.x));
}

/// A hypercolumn with any number of inputs.
__device__ void step_hypercolumn(const NetworkArguments& a, const detail::LevelPlan& l,
                                 int hypercolumn, ListedInputs::Memory& memory) {
  const ColumnArrays column(a, l, hypercolumn);
  const Window window(a, l, a.winners, hypercolumn);
  ListedInputs inputs(window, memory);
  const Candidates candidates(column, inputs.see(column));
  const bool learns = a.step->learn != 0;
  const Outcome out =
      Decision<ListedInputs>(column, inputs, candidates).decide(a.step->number, learns);
  publish(column, out);
  if (!learns || out.winner == kSilent) return;
  const detail::Minicolumn state = load(column.minicolumns + out.winner);
  const bool changes = weights_change(out, state, inputs.active());
  Learning learning(column, out.winner, state);
  if (changes) {
    inputs.prepare_octets();
    // Padded inputs keep the weight 0.
    for (int first = kOctet * lane_of_warp(); first < l.inputs; first += kOctet * kWarp)
      learning.update(first, *Learning::weights_at(column, out.winner, first), inputs.octet(first));
  }
  learning.finish(out.responded, changes);
}

__global__ void __launch_bounds__(kNetworkThreads)
    step_level(const __grid_constant__ LevelRange a) {
  __shared__ ListedInputs::Memory memory[kBlockHypercolumns];
  wait_for_kernels_before();
  let_next_begin();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int hypercolumn = a.begin + static_cast<int>(blockIdx.x) * kBlockHypercolumns + warp;
  if (hypercolumn >= a.end) return;
  step_hypercolumn(a.network, a.network.levels[a.level], hypercolumn, memory[warp]);
}

// A barrier of the block makes the winners of a level visible to the next one.
__global__ void __launch_bounds__(kTopThreads)
    step_top(const __grid_constant__ OfLevel<NetworkArguments> a) {
  __shared__ ListedInputs::Memory memory[kTopThreads / kWarp];
  wait_for_kernels_before();
  let_next_begin();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int level = a.level; level < a.network.level_count; ++level) {
    const detail::LevelPlan& l = a.network.levels[level];
    for (int h = warp; h < l.hypercolumns; h += kTopThreads / kWarp)
      step_hypercolumn(a.network, l, h, memory[warp]);
    __syncthreads();
  }
}

// ---- subtrees

constexpr int kRowWords = OctetInputs::kMostWords;
using WideRow = Row<kRowWords>;
/// Hypercolumns above pixels whose loads a warp has under way at the same time.
constexpr int kBatch = 2;

/// A winner that learns.
struct LearningTask {
  int hypercolumn;
  std::uint16_t winner;
  std::uint8_t level;
  std::uint8_t flags;
  unsigned active;  ///< see ActivePair
};
/// The active inputs of a hypercolumn above at most two others, 16 bits for each, or all of them 1.
struct ActivePair {
  static constexpr unsigned kNone = 0xffffu;
  unsigned inputs = kNone | kNone << 16;

  __device__ void set(int k, unsigned input) {
    inputs = k == 0 ? (inputs & ~kNone) | input : (inputs & kNone) | input << 16;
  }
};
constexpr unsigned kResponded = 1;
constexpr unsigned kChanges = 2;  ///< weights
constexpr unsigned kPair = 4;     ///< `active` has the active inputs

struct LearningTasks {
  int count;
  int next;  ///< that no warp has taken
  /// In a subtree, fewer hypercolumns than in its lowest level are above that one.
  LearningTask tasks[kMostTiers * kSubtreeHypercolumns];

  __device__ void clear() { count = next = 0; }
};

/// What the warps of a block share.
struct SubtreeMemory {
  static constexpr int kPlaces = 2 * kSubtreeHypercolumns;

  /// Of the hypercolumns of a tier, level by level: the winner, and its row of strong bits in the
  /// hypercolumn above.
  WideRow rows[kPlaces];
  int winners[kPlaces];
  LearningTasks first;  ///< of the lowest level
  LearningTasks above;
};

/// Reads `words` words; the others are 0.
__device__ WideRow load_row(const std::uint32_t* from, int words) {
  if (words == kRowWords) {
    const uint4 loaded = *reinterpret_cast<const uint4*>(from);
    return {{loaded.x, loaded.y, loaded.z, loaded.w}};
  }
  WideRow row;
#pragma unroll
  for (int w = 0; w < kRowWords; ++w) row.words[w] = w < words ? from[w] : 0;
  return row;
}

__device__ unsigned flags_of(const Outcome& out, const detail::Minicolumn& state, int active) {
  const bool changes = weights_change(out, state, active);
  return (changes ? kChanges : 0) | (out.responded && (changes || !state.stable) ? kResponded : 0);
}

/// Asks for the weights of a winner.
__device__ void prefetch_weights(const ColumnArrays& column, int winner) {
  constexpr int kLine = 128 / static_cast<int>(sizeof(std::uint16_t));
  const std::uint16_t* const weights = column.weights_of(winner);
  for (int i = 0; i < column.l.pitch; i += kLine) prefetch(weights + i);
}

/// `kCounts`: counts the bytes.
template <bool kCounts>
class Subtree {
 public:
  __device__ Subtree(const SubtreeArguments& a, SubtreeMemory& memory)
      : s_(a),
        a_(a.network),
        memory_(memory),
        number_(a.network.step->number),
        learns_(a.network.step->learn != 0) {}

  /// Winners of the lowest level. A warp finds the candidates of some hypercolumns, one after
  /// another; then a lane computes a hypercolumn.
  template <int kWarps, int kWords>
  __device__ void start(int subtree) {
    const int level = s_.tiers[0].level;
    const detail::LevelPlan& l = a_.levels[level];
    const Range range = range_of(level, subtree);
    static_assert(kSubtreeHypercolumns <= kWarps * kWarp);
    const int each = (s_.levels[level].each + kWarps - 1) / kWarps;
    const int base = each * static_cast<int>(threadIdx.x / kWarp);
    const int end = min(base + each, range.count);
    WideRow row = {};
    int active = 0;
    int sectors = 0;
    for (int place = base; place < end; place += kBatch) {
      const int count = min(kBatch, end - place);
      OctetInputs inputs[kBatch];
      WideRow candidates[kBatch];
      if (l.below_first < 0) {
        Row<kWords> words[kBatch];
        OctetInputs::see_pixels(a_, l, range.begin + place, count, inputs, words, sectors);
#pragma unroll
        for (int i = 0; i < kBatch; ++i)
#pragma unroll
          for (int w = 0; w < kRowWords; ++w)
            candidates[i].words[w] = w < kWords ? words[i].words[w < kWords ? w : 0] : 0;
      } else {
#pragma unroll
        for (int i = 0; i < kBatch; ++i) {
          if (i >= count) continue;
          const int hypercolumn = range.begin + place + i;
          const unsigned word = inputs[i].see_winners(ColumnArrays(a_, l, hypercolumn),
                                                      Window(a_, l, a_.winners, hypercolumn));
#pragma unroll
          for (int w = 0; w < kRowWords; ++w)
            candidates[i].words[w] = __shfl_sync(kAllLanes, word, w);
        }
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (place + i >= end || lane_of_warp() != place - base + i) continue;
        row = candidates[i];
        active = inputs[i].active();
      }
    }
    if (lane_of_warp() == 0) count_bytes(32 * sectors, 0);
    if (base < end) decide(0, level, subtree, base, end, row, active, {}, 0, memory_.first);
  }

  /// Winners of the levels above, by one warp: a lane computes a hypercolumn. While the subtree is
  /// the last one below another of the next tier, the warp goes on with that one.
  __device__ void climb(int subtree) {
    for (int tier = 0; subtree >= 0; ++tier) {
      const SubtreeTier& t = s_.tiers[tier];
      int first = 0;  // of the level in the memory of the block
      int below = -1;
      for (int level = t.level; level < t.end_level; ++level) {
        if (tier > 0 || level > t.level) step_lanes(tier, level, subtree, below, first);
        below = first;
        first += s_.levels[level].each;
      }
      subtree = arrive_above(tier, subtree);
    }
  }

  /// The tasks that no other warp has taken.
  __device__ void learn_tasks(LearningTasks& tasks) {
    const int count = tasks.count;
    for (;;) {
      int i = 0;
      if (lane_of_warp() == 0) i = atomicAdd(&tasks.next, 1);
      i = __shfl_sync(kAllLanes, i, 0);
      if (i >= count) return;
      const LearningTask task = tasks.tasks[i];
      const detail::LevelPlan& l = a_.levels[task.level];
      const ColumnArrays column(a_, l, task.hypercolumn);
      const bool responded = (task.flags & kResponded) != 0;
      const bool changes = (task.flags & kChanges) != 0;
      const int first = kOctet * lane_of_warp();
      const bool own = changes && first < l.inputs;
      // All loads are under way before the first is used.
      int4 weights{};
      if (own) weights = __ldcs(Learning::weights_at(column, task.winner, first));
      const detail::Minicolumn state = load(column.minicolumns + task.winner);
      OctetInputs inputs;
      if ((task.flags & kPair) != 0) {
        inputs.add_input(task.active & ActivePair::kNone);
        inputs.add_input(task.active >> 16);
      } else if (changes) {
        inputs.list(column, Window(a_, l, a_.winners, task.hypercolumn));
      }
      Learning learning(column, task.winner, state);
      if (own) learning.update(first, weights, inputs.octet(first));
      __syncwarp();
      learning.finish(responded, changes);
      if constexpr (kCounts) {
        const int bits = sum_of_lanes(learning.changed());
        const int wins = responded && !state.stable ? 32 : 0;
        const int row = changes ? l.pitch * static_cast<int>(sizeof(std::uint16_t)) : 0;
        const int pattern = bits > 0 && l.below_first < 0 ? l.pitch / kOctet : 0;
        if (lane_of_warp() == 0)
          count_bytes(row + 32 * bits + wins,
                      row + 32 * bits + wins + pattern + (changes ? 32 : 0));
      }
    }
  }

 private:
  __device__ void count_bytes([[maybe_unused]] int read, [[maybe_unused]] int written) const {
    if constexpr (kCounts) {
      atomicAdd(&a_.bytes->read, static_cast<unsigned long long>(read));
      atomicAdd(&a_.bytes->written, static_cast<unsigned long long>(written));
    }
  }

  /// Hypercolumns of a level that belong to a subtree.
  struct Range {
    int begin;
    int count;
  };
  __device__ Range range_of(int level, int subtree) const {
    const SubtreeLevel& of = s_.levels[level];
    const int begin = of.begin + subtree * of.each;
    return {begin, min(of.each, of.end - begin)};
  }

  /// The hypercolumn above another one, and the row of a winner there.
  struct Above {
    const std::uint32_t* rows = nullptr;  ///< of winner 0
    int words = 0;
    bool in_tier = false;
    int reads = 0;
    WideRow row = {};

    __device__ Above(const Subtree& s, const SubtreeTier& t, int level, int subtree, int place) {
      in_tier = level + 1 < t.end_level;
      if (!in_tier && &t == &s.s_.tiers[s.s_.tier_count - 1]) return;
      const detail::LevelPlan& l = s.a_.levels[level + 1];
      const SubtreeLevel& of = s.s_.levels[level + 1];
      const int number = in_tier ? place : subtree;  // the root of the subtree has its number
      const int parent = in_tier ? of.divide(number) : number / l.window_width;
      if (of.end <= of.begin) return;
      // Of hypercolumns that nothing reads, the row of another one is read in vain.
      const int hypercolumn =
          min(of.begin + (in_tier ? subtree * of.each : 0) + parent, of.end - 1);
      words = l.words;
      const int input = (number - parent * l.window_width) * l.below_cells;
      rows = s.a_.strong + l.strong_at + std::int64_t{hypercolumn} * (l.inputs * l.words) +
             input * words;
    }
    /// Reads the row of a winner, or asks for it where another tier needs it.
    __device__ void read(int m) {
      if (rows == nullptr) return;
      ++reads;
      const std::uint32_t* const at = rows + m * words;
      if (in_tier)
        row = load_row(at, words);
      else
        prefetch(at);
    }
  };

  /// Winners of a level above the first one. `first`, `below`: of the level and of the level below
  /// in the memory of the block; `below` is -1 if other blocks have computed that one.
  __device__ void step_lanes(int tier, int level, int subtree, int below, int first) {
    const detail::LevelPlan& l = a_.levels[level];
    const Range range = range_of(level, subtree);
    const int lane = lane_of_warp();
    if (range.count <= 0) return;
    // Other lanes do the same as the last one.
    const int own = min(lane, range.count - 1);
    const ColumnArrays column(a_, l, range.begin + own);
    int active = 0;
    ActivePair pair;
    WideRow row = WideRow::ones();
#pragma unroll 1
    for (int k = 0; k < l.window_width; ++k) {
      const int place = own * l.window_width + k;
      const int winner =
          below >= 0 ? memory_.winners[below + place]
                     : __ldcg(a_.winners + l.below_first + range.begin * l.window_width + place);
      const bool is_active = winner >= 0;
      const WideRow of = below >= 0
                             ? memory_.rows[below + place]
                             : load_row(column.row(k * l.below_cells + max(winner, 0)), l.words);
      active += is_active ? 1 : 0;
      if (is_active) pair.set(k, static_cast<unsigned>(k * l.below_cells + winner));
#pragma unroll
      for (int w = 0; w < kRowWords; ++w) row.words[w] &= is_active ? of.words[w] : ~0u;
      if (below < 0 && lane < range.count) count_bytes(sizeof(winner) + (is_active ? 32 : 0), 0);
    }
#pragma unroll
    for (int w = 0; w < kRowWords; ++w) row.words[w] = active == 0 ? 0 : row.words[w];
    decide(tier, level, subtree, 0, range.count, row, active, pair, first, memory_.above);
  }

  /// The outcomes of hypercolumns `base` to `end` - 1 of a level of the subtree, one for a lane.
  /// `row`: the candidates; `active`: the number of active inputs; `first`: of the level in the
  /// memory of the block.
  __device__ void decide(int tier, int level, int subtree, int base, int end, const WideRow& row,
                         int active, const ActivePair& pair, int first, LearningTasks& tasks) {
    const detail::LevelPlan& l = a_.levels[level];
    const int begin = range_of(level, subtree).begin;
    const int lane = lane_of_warp();
    const bool has_pair = &tasks == &memory_.above && l.window_width <= 2;
    const bool own = base + lane < end;
    // Other lanes do the same as the last one.
    const int place = min(base + lane, end - 1);
    const ColumnArrays column(a_, l, begin + place);
    int count = 0;
    int candidate = -1;
#pragma unroll
    for (int w = kRowWords - 1; w >= 0; --w) {
      count += __popc(row.words[w]);
      if (row.words[w] != 0) candidate = w * kWarp + __ffs(static_cast<int>(row.words[w])) - 1;
    }
    // Without a candidate, the state and the row of another minicolumn are read in vain.
    const int likely = max(candidate, 0);
    detail::Minicolumn state = load(column.minicolumns + likely);
    // While the state is under way, the row of the candidate in the hypercolumn above is read.
    Above above(*this, s_.tiers[tier], level, subtree, place);
    above.read(likely);
    Outcome out;
    // In most steps there is one candidate, and all of its strong weights belong to active inputs.
    if (count == 1 && state.strong == active) {
      const std::int64_t g = detail::response(state.strong_sum, 0, state.omega, a_.threshold);
      if (g > 0) out = {candidate, g, true};
    }
    const bool simple = out.responded || active == 0 || (count == 0 && !learns_);
    for (unsigned left = __ballot_sync(kAllLanes, own && !simple); left != 0; left &= left - 1) {
      const int owner = __ffs(static_cast<int>(left)) - 1;
      const Outcome decided = decide_together(l, begin + base + owner, owner, row);
      if (lane == owner) out = decided;
    }
    if (__any_sync(kAllLanes, own && out.winner > kSilent && out.winner != likely)) {
      above.read(max(out.winner, 0));
      state = load(column.minicolumns + max(out.winner, 0));
      if (own) count_bytes(32, 0);
    }
    unsigned flags = 0;
    if (own) {
      a_.winners[column.number] = out.winner;
      a_.winner_responses[column.number] = out.response;
      memory_.winners[first + place] = out.winner;
      memory_.rows[first + place] = above.row;
      count_bytes(32 * (above.reads + 1), sizeof(out.winner) + sizeof(out.response));
      if (learns_ && out.winner != kSilent) flags = flags_of(out, state, active);
      if ((flags & kChanges) != 0) prefetch_weights(column, out.winner);
    }
    const unsigned learning = __ballot_sync(kAllLanes, flags != 0);
    int task = 0;
    if (lane == 0 && learning != 0) task = atomicAdd(&tasks.count, __popc(learning));
    task = __shfl_sync(kAllLanes, task, 0) + __popc(learning & lanes_before());
    if (flags != 0)
      tasks.tasks[task] = {begin + place, static_cast<std::uint16_t>(out.winner),
                           static_cast<std::uint8_t>(level),
                           static_cast<std::uint8_t>(flags | (has_pair ? kPair : 0)), pair.inputs};
    __syncwarp();
  }

  /// The outcome of a hypercolumn by all lanes. `row`: of the lane `owner`, the candidates.
  __device__ Outcome decide_together(const detail::LevelPlan& l, int hypercolumn, int owner,
                                     const WideRow& row) const {
    const ColumnArrays column(a_, l, hypercolumn);
    OctetInputs inputs;
    inputs.list(column, Window(a_, l, a_.winners, hypercolumn));
    WideRow of;
#pragma unroll
    for (int w = 0; w < kRowWords; ++w) of.words[w] = __shfl_sync(kAllLanes, row.words[w], owner);
    const Candidates candidates(column, word_of_lane(of));
    Decision<OctetInputs> decision(column, inputs, candidates);
    const Outcome out = decision.decide(number_, learns_);
    if (lane_of_warp() == 0) count_bytes(32 * decision.sectors(), 0);
    return out;
  }

  /// The root of a subtree is known: returns the subtree of the next tier that reads it if all
  /// others that this one reads are known, too; otherwise -1. Lane 0 has written the winner.
  __device__ int arrive_above(int tier, int subtree) {
    const SubtreeTier& t = s_.tiers[tier];
    if (tier + 1 == s_.tier_count || range_of(t.end_level - 1, subtree).count <= 0) return -1;
    const SubtreeTier& next = s_.tiers[tier + 1];
    const int above = subtree / next.below;
    if (range_of(next.level, above).count <= 0) return -1;
    const auto expected =
        static_cast<unsigned>(min((above + 1) * next.below, next.roots) - above * next.below);
    unsigned before = 0;
    if (lane_of_warp() == 0) {
      __threadfence();
      before = atomicInc(a_.arrived + next.arrived_at + above, expected - 1);
      __threadfence();
    }
    return __shfl_sync(kAllLanes, before, 0) == expected - 1 ? above : -1;
  }

  const SubtreeArguments& s_;
  const NetworkArguments& a_;
  SubtreeMemory& memory_;
  std::uint64_t number_;
  bool learns_;
};

template <int kWords, bool kCounts>
__global__ void __launch_bounds__(kSubtreeThreads, 4)
    step_subtrees(const __grid_constant__ SubtreeArguments a) {
  __shared__ SubtreeMemory memory;
  if (threadIdx.x == 0) {
    memory.first.clear();
    memory.above.clear();
  }
  __syncthreads();
  wait_for_kernels_before();
  let_next_begin();
  Subtree<kCounts> subtree(a, memory);
  subtree.template start<kSubtreeThreads / kWarp, kWords>(static_cast<int>(blockIdx.x));
  __syncthreads();
  // Other warps begin to learn.
  if (threadIdx.x < kWarp) subtree.climb(static_cast<int>(blockIdx.x));
  subtree.learn_tasks(memory.first);
  __syncthreads();
  subtree.learn_tasks(memory.above);
}

}  // namespace

const Kernel<NetworkArguments> kNetworkStartKernel = start_network;
const Kernel<LevelRange> kNetworkStartRangeKernel = start_range;
const Kernel<LevelRange> kNetworkLevelKernel = step_level;
const Kernel<OfLevel<NetworkArguments>> kNetworkTopKernel = step_top;
Kernel<SubtreeArguments> network_subtree_kernel(int words, bool counts) noexcept {
  switch (words) {
    case 1:
      return counts ? step_subtrees<1, true> : step_subtrees<1, false>;
    case 2:
      return counts ? step_subtrees<2, true> : step_subtrees<2, false>;
    default:
      return counts ? step_subtrees<4, true> : step_subtrees<4, false>;
  }
}

}  // namespace ocellus::cuda
