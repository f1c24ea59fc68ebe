// A step of a cortical network, level by level. As on the CPU (lib/cortex/hypercolumn.cpp), strong
// bits tell which minicolumns can respond.
#include "kernels/core/overlap.cuh"
#include "kernels/cortex/network_inputs.cuh"

namespace ocellus::cuda {
namespace {

/// Up to this number of inputs, a warp that learns has a bit for each of them.
constexpr int kPatternInputs = 1024;

/// Lists of a warp.
struct WarpMemory {
  std::uint16_t inputs[kListPoints];
  unsigned pattern[kPatternInputs / 32];  ///< bits of active inputs
};

/// Weights that a lane updates at once.
constexpr int kVector = 8;
static_assert(detail::kInputAlignment % kVector == 0);

__device__ detail::Minicolumn load(const detail::Minicolumn* from) {
  union {
    int4 words;
    detail::Minicolumn minicolumn;
  } loaded{*reinterpret_cast<const int4*>(from)};
  static_assert(sizeof(loaded.words) == sizeof(loaded.minicolumn));
  return loaded.minicolumn;
}

/// A hypercolumn that a warp computes.
class Hypercolumn {
 public:
  __device__ Hypercolumn(const NetworkArguments& a, const NetworkLevel& l, int hypercolumn,
                         WarpMemory& memory)
      : a_(a),
        l_(l),
        window_(a, l, a.winners, hypercolumn),
        memory_(memory),
        number_(l.first + hypercolumn),
        strong_(a.strong + l.strong_at + std::int64_t{hypercolumn} * l.inputs * l.words),
        weights_(a.weights + l.weights_at + std::int64_t{hypercolumn} * l.minicolumns * l.pitch),
        minicolumns_(a.minicolumns + l.minicolumns_at + std::int64_t{hypercolumn} * l.padded),
        wins_(a.wins + l.minicolumns_at + std::int64_t{hypercolumn} * l.padded) {
    while (lane_words_ < l.words) lane_words_ *= 2;
  }

  __device__ void step(std::uint64_t step, bool learns) {
    find_candidates();
    if (active_ == 0) {
      publish();
      return;
    }
    respond();
    const bool responded = winner_ != kSilent;
    if (learns && !responded) choose_fired(step);
    publish();
    if (!learns || winner_ == kSilent) return;
    if (responded) count_win();
    const detail::Minicolumn winner = load(minicolumns_ + winner_);
    if (!responded || !winner.settled || winner.strong != active_) learn();
  }

 private:
  __device__ int lane() const { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ int chunks() const { return (window_.points() + kListPoints - 1) / kListPoints; }
  /// Lists the active inputs of kListPoints grid points in any order.
  __device__ void list(int chunk) {
    const int first = chunk * kListPoints;
    const int end = min(window_.points(), first + kListPoints);
    listed_ = 0;
    for (int base = first; base < end; base += kWarp) {
      const int point = base + lane();
      const int cell = point < end ? window_.active_cell(point) : -1;
      const unsigned mask = __ballot_sync(kAllLanes, cell >= 0);
      if (cell >= 0)
        memory_.inputs[listed_ + __popc(mask & lanes_before())] =
            static_cast<std::uint16_t>(point * l_.below_cells + cell);
      listed_ += __popc(mask);
    }
    __syncwarp();
  }

  /// A lane computes the word lane % lane_words_ of some of the rows.
  __device__ void find_candidates() {
    const int word = lane() % lane_words_;
    const int rows = kWarp / lane_words_;
    unsigned mask = word < l_.words ? ~0u : 0u;
    for (int chunk = 0; chunk < chunks(); ++chunk) {
      list(chunk);
      active_ += listed_;
      if (mask != 0) {
        const std::uint32_t* const column = strong_ + word;
#pragma unroll 8
        for (int i = lane() / lane_words_; i < listed_; i += rows)
          mask &= column[memory_.inputs[i] * l_.words];
      }
      __syncwarp();
    }
    for (int offset = lane_words_; offset < kWarp; offset *= 2)
      mask &= __shfl_xor_sync(kAllLanes, mask, offset);
    candidates_ = mask;
  }

  /// S and N of a minicolumn from its weights.
  __device__ std::int64_t response_of(int m) {
    const std::uint16_t* const of = weights_ + std::int64_t{m} * l_.pitch;
    int sum = 0;
    int strong = 0;
    for (int chunk = 0; chunk < chunks(); ++chunk) {
      if (chunks() > 1) list(chunk);
      for (int i = lane(); i < listed_; i += kWarp) {
        const int weight = of[memory_.inputs[i]];
        sum += weight >= detail::kStrongWeight ? weight : 0;
        strong += weight >= detail::kStrongWeight ? 1 : 0;
      }
      __syncwarp();
    }
    sum = WarpTeam().combine(sum, Total());
    strong = WarpTeam().combine(strong, Total());
    return detail::response(sum, active_ - strong, minicolumns_[m].omega, a_.threshold);
  }

  /// Calls use(m) for the bits of the words that lanes hold, in ascending order; by all lanes.
  template <typename Use>
  __device__ void for_each_bit(unsigned bits, const Use& use) {
    for (int w = 0; w < l_.words; ++w)
      for (unsigned left = __shfl_sync(kAllLanes, bits, w); left != 0; left &= left - 1)
        use(w * kWarp + __ffs(static_cast<int>(left)) - 1);
  }

  // The score and, for equal scores, the lower index decide. g of a winner is below 2^46.
  static __device__ std::int64_t key(std::int64_t g, int m) {
    return g > 0 ? g * kMaxMinicolumns + (kMaxMinicolumns - 1 - m) : 0;
  }

  __device__ void respond() {
    unsigned open = 0;
    std::int64_t best = 0;
    const int word = lane();
    for (unsigned left = lane() < lane_words_ ? candidates_ : 0; left != 0; left &= left - 1) {
      const int bit = __ffs(static_cast<int>(left)) - 1;
      const int m = word * kWarp + bit;
      const detail::Minicolumn of = load(minicolumns_ + m);
      if (of.strong == active_)  // all strong weights belong to active inputs
        best = max(best, key(detail::response(of.strong_sum, 0, of.omega, a_.threshold), m));
      else
        open |= 1u << bit;
    }
    if (__any_sync(kAllLanes, open != 0))
      for_each_bit(open, [&](int m) { best = max(best, key(response_of(m), m)); });
    const unsigned found = __ballot_sync(kAllLanes, best != 0);
    if (found == 0) return;
    // In most steps, one minicolumn responds.
    if ((found & (found - 1)) == 0)
      best = __shfl_sync(kAllLanes, best, __ffs(static_cast<int>(found)) - 1);
    else
      best = WarpTeam().combine(best, Largest());
    winner_ = kMaxMinicolumns - 1 - static_cast<int>(best % kMaxMinicolumns);
    response_ = best / kMaxMinicolumns;
  }

  /// The minicolumn with the largest g of those that fire at random. No minicolumn has g > 0.
  __device__ void choose_fired(std::uint64_t step) {
    for (int w = 0; w < l_.words; ++w) {
      const int m = w * kWarp + lane();
      const bool fired = m < l_.minicolumns && fires(a_, number_, step, m, wins_[m]);
      const bool zero = fired && minicolumns_[m].omega == 0;
      const unsigned candidates = __shfl_sync(kAllLanes, candidates_, w);
      const unsigned zeros = __ballot_sync(kAllLanes, zero);
      for (unsigned left = __ballot_sync(kAllLanes, fired); left != 0; left &= left - 1) {
        const int bit = __ffs(static_cast<int>(left)) - 1;
        const bool is_zero = (zeros >> bit & 1u) != 0;
        // Below 0, unless it is a candidate or has no weight that counts.
        const bool negative = !is_zero && (candidates >> bit & 1u) == 0;
        if (winner_ != kSilent && (response_ == 0 || (negative && zeros != 0))) continue;
        const std::int64_t g = is_zero ? 0 : response_of(w * kWarp + bit);
        if (winner_ != kSilent && g <= response_) continue;
        winner_ = w * kWarp + bit;
        response_ = g;
      }
    }
  }

  __device__ void publish() {
    if (lane() != 0) return;
    a_.winners[number_] = winner_;
    a_.winner_responses[number_] = response_;
  }

  __device__ void count_win() {
    if (lane() == 0 && !minicolumns_[winner_].stable) {
      const int wins = wins_[winner_] + 1;
      wins_[winner_] = static_cast<std::uint8_t>(wins);
      minicolumns_[winner_].stable = wins == a_.stable_wins;
    }
    __syncwarp();
  }

  /// Sums over the weights of the winner.
  struct Sums {
    int omega = 0;
    int strong_sum = 0;
    int strong = 0;
    int moving = 0;
  };

  /// The weight of an input after learning.
  __device__ int learned(int input, int old, bool active, Sums& sums) {
    const int weight =
        active ? detail::potentiated(old, a_.potentiation) : detail::depressed(old, a_.depression);
    const bool is_strong = weight >= detail::kStrongWeight;
    if (is_strong != (old >= detail::kStrongWeight))
      strong_[input * l_.words + winner_ / kWarp] ^= 1u << (winner_ % kWarp);
    const int empty = detail::largest_unchanged(a_.depression);
    const int full = detail::largest_unchanged(a_.potentiation);
    sums.omega += detail::counted(weight);
    sums.strong_sum += is_strong ? weight : 0;
    sums.strong += is_strong ? 1 : 0;
    sums.moving += (is_strong ? kCorticalWeightOne - weight > full : weight > empty) ? 1 : 0;
    return weight;
  }

  __device__ void learn_inputs(std::uint16_t* weights, Sums& sums) {
    for (int i = lane(); i < l_.inputs; i += kWarp)
      weights[i] = static_cast<std::uint16_t>(learned(i, weights[i], window_.is_active(i), sums));
  }

  /// The same with a bit for each input.
  __device__ void learn_pattern(std::uint16_t* weights, Sums& sums) {
    for (int w = lane(); w < kPatternInputs / 32; w += kWarp) memory_.pattern[w] = 0;
    __syncwarp();
    for (int i = lane(); i < listed_; i += kWarp)
      atomicOr(&memory_.pattern[memory_.inputs[i] / 32], 1u << (memory_.inputs[i] % 32));
    __syncwarp();
    // Padded inputs keep the weight 0.
    for (int i = kVector * lane(); i < l_.inputs; i += kVector * kWarp) {
      auto& at = *reinterpret_cast<int4*>(weights + i);
      int words[4] = {at.x, at.y, at.z, at.w};
      const unsigned active = memory_.pattern[i / 32] >> (i % 32);
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        const int shift = 16 * (k % 2);
        const int old = words[k / 2] >> shift & 0xffff;
        const int weight = learned(i + k, old, (active >> k & 1u) != 0, sums);
        words[k / 2] ^= (old ^ weight) << shift;
      }
      at = {words[0], words[1], words[2], words[3]};
    }
  }

  __device__ void learn() {
    std::uint16_t* const weights = weights_ + std::int64_t{winner_} * l_.pitch;
    Sums sums;
    if (chunks() == 1 && l_.inputs <= kPatternInputs)
      learn_pattern(weights, sums);
    else
      learn_inputs(weights, sums);
    const WarpTeam team;
    sums.omega = team.combine(sums.omega, Total());
    sums.strong_sum = team.combine(sums.strong_sum, Total());
    sums.strong = team.combine(sums.strong, Total());
    sums.moving = team.combine(sums.moving, Total());
    if (lane() != 0) return;
    detail::Minicolumn& winner = minicolumns_[winner_];
    winner.omega = sums.omega;
    winner.strong_sum = sums.strong_sum;
    winner.strong = static_cast<std::uint16_t>(sums.strong);
    winner.settled = sums.moving == 0;
  }

  const NetworkArguments& a_;
  const NetworkLevel& l_;
  Window window_;
  WarpMemory& memory_;
  int number_;  ///< counted over all levels
  std::uint32_t* strong_;
  std::uint16_t* weights_;
  detail::Minicolumn* minicolumns_;
  std::uint8_t* wins_;
  int lane_words_ = 1;  ///< words of a row, rounded up to a power of 2
  int listed_ = 0;      ///< inputs in the memory of the warp
  int active_ = 0;      ///< inputs
  unsigned candidates_ = 0;
  int winner_ = kSilent;
  std::int64_t response_ = 0;
};

__global__ void __launch_bounds__(kNetworkThreads)
    start_network(const __grid_constant__ NetworkArguments a) {
  const int number = static_cast<int>(blockIdx.x);
  const NetworkLevel& l = a.levels[level_of(a, number)];
  const std::int64_t h = number - l.first;
  const int thread = static_cast<int>(threadIdx.x);
  for (int m = thread; m < l.padded; m += kNetworkThreads) {
    // Initial weights are at most 0.2, which does not count.
    a.minicolumns[l.minicolumns_at + h * l.padded + m] = detail::Minicolumn{};
    a.wins[l.minicolumns_at + h * l.padded + m] = 0;
  }
  std::uint32_t* const strong = a.strong + l.strong_at + h * l.inputs * l.words;
  for (int i = thread; i < l.inputs * l.words; i += kNetworkThreads) strong[i] = 0;
  if (thread == 0) {
    a.winners[number] = kSilent;
    a.winner_responses[number] = 0;
  }
  std::uint16_t* const weights = a.weights + l.weights_at + h * l.minicolumns * l.pitch;
  for_each_initial_weight(a, l, number, [&](int input, int m, int weight) {
    weights[std::int64_t{m} * l.pitch + input] = static_cast<std::uint16_t>(weight);
  });
}

__global__ void __launch_bounds__(kNetworkThreads)
    step_level(const __grid_constant__ OfLevel<NetworkArguments> a) {
  __shared__ WarpMemory memory[kBlockHypercolumns];
  wait_for_kernels_before();
  let_next_begin();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int hypercolumn = static_cast<int>(blockIdx.x) * kBlockHypercolumns + warp;
  const NetworkLevel& l = a.network.levels[a.level];
  if (hypercolumn >= l.hypercolumns) return;
  Hypercolumn(a.network, l, hypercolumn, memory[warp])
      .step(a.network.step->number, a.network.step->learn != 0);
}

// A barrier of the block makes the winners of a level visible to the next one.
template <int kThreads>
__device__ void step_levels(const NetworkArguments& a, int level, int end, int begin_hypercolumn,
                            int end_hypercolumn, std::uint64_t number, bool learns) {
  __shared__ WarpMemory memory[kThreads / kWarp];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (;;) {
    const NetworkLevel& l = a.levels[level];
    for (int h = begin_hypercolumn + warp; h < min(end_hypercolumn, l.hypercolumns);
         h += kThreads / kWarp)
      Hypercolumn(a, l, h, memory[warp]).step(number, learns);
    if (++level == end) return;
    __syncthreads();
    begin_hypercolumn /= a.levels[level].window_width;
    end_hypercolumn /= a.levels[level].window_width;
  }
}

__global__ void __launch_bounds__(kSubtreeThreads)
    step_subtrees(const __grid_constant__ SubtreeArguments a) {
  wait_for_kernels_before();
  let_next_begin();
  const int begin = static_cast<int>(blockIdx.x) * a.each;
  step_levels<kSubtreeThreads>(a.network, a.level, a.end, begin, begin + a.each,
                               a.network.step->number, a.network.step->learn != 0);
}

__global__ void __launch_bounds__(kTopThreads)
    step_top(const __grid_constant__ OfLevel<NetworkArguments> a) {
  wait_for_kernels_before();
  const std::uint64_t number = a.network.step->number;
  const bool learns = a.network.step->learn != 0;
  for (int level = a.level; level < a.network.level_count; ++level) {
    step_levels<kTopThreads>(a.network, level, level + 1, 0, a.network.levels[level].hypercolumns,
                             number, learns);
    __syncthreads();
  }
  if (threadIdx.x == 0 && learns) a.network.step->number = number + 1;
}

}  // namespace

Kernel<NetworkArguments> network_start_kernel() noexcept {
  return start_network;
}
Kernel<OfLevel<NetworkArguments>> network_level_kernel() noexcept {
  return step_level;
}
Kernel<SubtreeArguments> network_subtree_kernel() noexcept {
  return step_subtrees;
}
Kernel<OfLevel<NetworkArguments>> network_top_kernel() noexcept {
  return step_top;
}

}  // namespace ocellus::cuda
