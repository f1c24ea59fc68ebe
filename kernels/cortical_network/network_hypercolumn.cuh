// A hypercolumn of a cortical network that a warp computes. As on the CPU
// (lib/cortical_network/hypercolumn.cpp), strong bits tell which minicolumns can respond.
#pragma once

#include "kernels/cortical_network/network_inputs.cuh"

namespace ocellus::cuda {

/// Inputs whose weights a lane reads and updates at once: an octet.
inline constexpr int kOctet = 8;
static_assert(detail::kInputAlignment % kOctet == 0);

__device__ inline int lane_of_warp() {
  return static_cast<int>(threadIdx.x) % kWarp;
}

/// Of 32 bytes.
__device__ inline int sectors_of(int bytes) {
  return (bytes + 31) / 32;
}

/// Asks for a line of 128 bytes that will be read.
__device__ inline void prefetch([[maybe_unused]] const void* at) {
#if __CUDA_ARCH__ >= 700
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

__device__ inline detail::Minicolumn load(const detail::Minicolumn* from) {
  union {
    int4 words;
    detail::Minicolumn minicolumn;
  } loaded{*reinterpret_cast<const int4*>(from)};
  static_assert(sizeof(loaded.words) == sizeof(loaded.minicolumn));
  return loaded.minicolumn;
}
__device__ inline void store(detail::Minicolumn* to, const detail::Minicolumn& minicolumn) {
  union {
    detail::Minicolumn minicolumn;
    int4 words;
  } stored{minicolumn};
  *reinterpret_cast<int4*>(to) = stored.words;
}

/// The arrays of a hypercolumn.
struct ColumnArrays {
  const NetworkArguments& a;
  const detail::LevelPlan& l;
  int number;  ///< counted over all levels
  std::uint32_t* strong;
  std::uint16_t* weights;
  detail::Minicolumn* minicolumns;
  std::uint8_t* wins;
  std::uint8_t* patterns;  ///< of the lowest level; may be null

  __device__ ColumnArrays(const NetworkArguments& network, const detail::LevelPlan& level,
                          int hypercolumn)
      : a(network),
        l(level),
        number(l.first + hypercolumn),
        strong(a.strong + l.strong_at + std::int64_t{hypercolumn} * (l.inputs * l.words)),
        weights(a.weights + l.weights_at + std::int64_t{hypercolumn} * (l.minicolumns * l.pitch)),
        minicolumns(a.minicolumns + l.minicolumns_at + std::int64_t{hypercolumn} * l.padded),
        wins(a.wins + l.minicolumns_at + std::int64_t{hypercolumn} * l.padded),
        patterns(l.below_first < 0 && a.patterns != nullptr
                     ? a.patterns +
                           (l.weights_at + std::int64_t{hypercolumn} * (l.minicolumns * l.pitch)) /
                               kOctet
                     : nullptr) {}

  __device__ std::uint16_t* weights_of(int m) const { return weights + std::int64_t{m} * l.pitch; }
  /// Strong bits of the inputs of a minicolumn, in the order of the inputs.
  __device__ std::uint8_t* pattern_of(int m) const { return patterns + m * (l.pitch / kOctet); }
  /// Strong bits of an input.
  __device__ const std::uint32_t* row(int input) const { return strong + input * l.words; }
};

/// Active inputs with strong weights, and the sum of these.
struct ActiveSums {
  int sum = 0;
  int strong = 0;
};

// ---- inputs: which are active. Lane w of a warp has word w of the candidates, the minicolumns
// ---- whose weights of all active inputs are strong.

/// `kWords` words of a row.
template <int kWords>
struct Row {
  std::uint32_t words[kWords];

  static __device__ Row ones() {
    Row row;
#pragma unroll
    for (int w = 0; w < kWords; ++w) row.words[w] = ~0u;
    return row;
  }
  /// A step reads the rows of pixels once; what levels above read shall stay in the cache.
  static __device__ Row load(const std::uint32_t* from) {
    static_assert(kWords == 1 || kWords == 2 || kWords == 4);
    if constexpr (kWords == 1) return {{__ldcs(from)}};
    if constexpr (kWords == 2) {
      const uint2 loaded = __ldcs(reinterpret_cast<const uint2*>(from));
      return {{loaded.x, loaded.y}};
    }
    if constexpr (kWords == 4) {
      const uint4 loaded = __ldcs(reinterpret_cast<const uint4*>(from));
      return {{loaded.x, loaded.y, loaded.z, loaded.w}};
    }
  }
};
/// Lane w gets word w.
template <int kWords>
__device__ unsigned word_of_lane(const Row<kWords>& row) {
  unsigned word = 0;
#pragma unroll
  for (int w = 0; w < kWords; ++w)
    if (lane_of_warp() == w) word = row.words[w];
  return word;
}

/// At most 256 inputs: each lane knows its own eight.
class OctetInputs {
 public:
  static constexpr int kMost = kOctet * kWarp;
  static constexpr int kMostWords = 4;  ///< of a row

  __device__ int active() const { return active_; }
  /// Bits of the active inputs from `first` on.
  __device__ unsigned octet(int /*first*/) const { return octet_; }
  __device__ void prepare_octets() {}

  /// The candidates of the first `count` of kCount hypercolumns above pixels, from `first` on. Adds
  /// the sectors of 32 bytes that it reads to `sectors`.
  template <int kWords, int kCount>
  static __device__ void see_pixels(const NetworkArguments& a, const detail::LevelPlan& l,
                                    int first, int count, OctetInputs (&inputs)[kCount],
                                    Row<kWords> (&candidates)[kCount], int& sectors);
  /// The candidates of a hypercolumn above others.
  __device__ unsigned see_winners(const ColumnArrays& column, const Window& window);
  /// Without looking for candidates.
  __device__ void list(const ColumnArrays& column, const Window& window);

  /// Adds the winner of a point, or none. All lanes must call it.
  __device__ void add(int point, int winner, int cells) {
    if (winner < 0) return;
    ++active_;
    const int input = point * cells + winner;
    add_input(static_cast<unsigned>(input));
  }
  /// Adds a bit; none where the number is too large.
  __device__ void add_input(unsigned input) {
    if (input / kOctet == static_cast<unsigned>(lane_of_warp())) octet_ |= 1u << (input % kOctet);
  }

  __device__ ActiveSums sums_of(const ColumnArrays& column, int m) const {
    ActiveSums sums;
    const int first = kOctet * lane_of_warp();
    if (first < column.l.pitch && octet_ != 0) {
      const int4 at = *reinterpret_cast<const int4*>(column.weights_of(m) + first);
      const int words[4] = {at.x, at.y, at.z, at.w};
#pragma unroll
      for (int k = 0; k < kOctet; ++k) {
        const int weight = words[k / 2] >> (16 * (k % 2)) & 0xffff;
        if ((octet_ >> k & 1u) == 0 || weight < detail::kStrongWeight) continue;
        sums.sum += weight;
        ++sums.strong;
      }
    }
    return {sum_of_lanes(sums.sum), sum_of_lanes(sums.strong)};
  }

 private:
  /// Of a lane's points of pixels.
  static constexpr int kPoints = kOctet / kLgnCells;

  /// A lane of so many reads a row. If one minicolumn is left, its pattern decides.
  static constexpr int kProbes = 2;

  __device__ void see_cells(const Window& window);
  template <int kCount>
  static __device__ void see_cells(const NetworkArguments& a, const detail::LevelPlan& l, int first,
                                   int count, OctetInputs (&inputs)[kCount]);
  /// The row of the active cell of a point of the lane; ones if there is none.
  template <int kWords>
  __device__ Row<kWords> row_of_point(const ColumnArrays& column, int point) const {
    const unsigned cells = octet_ >> (kLgnCells * point) & 3u;
    if (cells == 0) return Row<kWords>::ones();
    return Row<kWords>::load(
        column.row(kOctet * lane_of_warp() + kLgnCells * point + static_cast<int>(cells >> 1)));
  }
  /// The candidates from the rows of all active inputs.
  template <int kWords>
  __device__ Row<kWords> see_rows(const ColumnArrays& column) const;

  unsigned octet_ = 0;
  int active_ = 0;
};

__device__ inline void OctetInputs::see_cells(const Window& window) {
  octet_ = 0;
#pragma unroll
  for (int k = 0; k < kPoints; ++k) {
    const int point = kPoints * lane_of_warp() + k;
    const int cell = point < window.points() ? window.active_cell(point) : -1;
    if (cell >= 0) octet_ |= 1u << (kLgnCells * k + cell);
  }
  active_ = sum_of_lanes(__popc(octet_));
}

template <int kCount>
__device__ void OctetInputs::see_cells(const NetworkArguments& a, const detail::LevelPlan& l,
                                       int first, int count, OctetInputs (&inputs)[kCount]) {
  const int point = kPoints * lane_of_warp();
  // The image is aligned, and a row is a multiple of a word.
  const bool words = a.lgn == LgnTransform::kLevel && l.columns == l.hypercolumns &&
                     l.window_height == 1 && l.window_width % kPoints == 0 &&
                     l.stride_x % kPoints == 0;
  if (!words) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (i < count) inputs[i].see_cells(Window(a, l, a.winners, first + i));
    return;
  }
  std::uint32_t pixels[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    pixels[i] = 0;
    if (i < count && point < l.window_width)
      pixels[i] =
          *reinterpret_cast<const std::uint32_t*>(a.image + (first + i) * l.stride_x + point);
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    inputs[i].octet_ = 0;
    inputs[i].active_ = l.window_width;
    if (point >= l.window_width) continue;
#pragma unroll
    for (int k = 0; k < kPoints; ++k)
      inputs[i].octet_ |= (static_cast<int>(pixels[i] >> 8 * k & 0xff) >= a.lgn_threshold ? 1u : 2u)
                          << (kLgnCells * k);
  }
}

template <int kWords>
__device__ Row<kWords> OctetInputs::see_rows(const ColumnArrays& column) const {
  Row<kWords> rows[kPoints];
#pragma unroll
  for (int k = 0; k < kPoints; ++k) rows[k] = row_of_point<kWords>(column, k);
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
#pragma unroll
    for (int k = 1; k < kPoints; ++k) rows[0].words[w] &= rows[k].words[w];
    rows[0].words[w] = and_of_lanes(rows[0].words[w]);
  }
  return rows[0];
}

// All loads of a stage are under way before the first is used.
template <int kWords, int kCount>
__device__ void OctetInputs::see_pixels(const NetworkArguments& a, const detail::LevelPlan& l,
                                        int first, int count, OctetInputs (&inputs)[kCount],
                                        Row<kWords> (&candidates)[kCount], int& sectors) {
  const int lane = lane_of_warp();
  see_cells(a, l, first, count, inputs);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    candidates[i] = Row<kWords>::ones();
    if (i < count && lane % kProbes == 0)
      candidates[i] = inputs[i].template row_of_point<kWords>(ColumnArrays(a, l, first + i), 0);
  }
  int numbers[kCount];
  int firsts[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    numbers[i] = 0;
    firsts[i] = -1;
#pragma unroll
    for (int w = kWords - 1; w >= 0; --w) {
      unsigned& word = candidates[i].words[w];
      word = and_of_lanes(word);
      if (i >= count || inputs[i].active_ == 0) word = 0;
      numbers[i] += __popc(word);
      if (word != 0) firsts[i] = w * kWarp + __ffs(static_cast<int>(word)) - 1;
    }
  }
  const bool has_pattern = lane < l.pitch / kOctet;
  unsigned patterns[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    patterns[i] = 0;
    if (firsts[i] >= 0 && has_pattern)
      patterns[i] = ColumnArrays(a, l, first + i).pattern_of(firsts[i])[lane];
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i < count) {
      const int lanes = (l.window_width * l.window_height + kPoints - 1) / kPoints;
      sectors += l.window_height * sectors_of(l.window_width) + (lanes + kProbes - 1) / kProbes;
    }
    if (firsts[i] < 0) continue;
    const ColumnArrays column(a, l, first + i);
    if (numbers[i] > 1) {
      sectors += min(inputs[i].active_, sectors_of(l.inputs * l.words * 4));
      candidates[i] = inputs[i].template see_rows<kWords>(column);
      continue;
    }
    sectors += sectors_of(l.pitch / kOctet);
    if (!__any_sync(kAllLanes, (inputs[i].octet_ & ~patterns[i]) != 0)) continue;
#pragma unroll
    for (int w = 0; w < kWords; ++w) candidates[i].words[w] = 0;
  }
}

__device__ inline unsigned OctetInputs::see_winners(const ColumnArrays& column,
                                                    const Window& window) {
  const int lane = lane_of_warp();
  unsigned candidates = lane < column.l.words ? ~0u : 0u;
  for (int first = 0; first < window.points(); first += kWarp) {
    const int own = first + lane < window.points() ? window.active_cell(first + lane) : -1;
    const int end = min(kWarp, window.points() - first);
#pragma unroll 2
    for (int k = 0; k < end; ++k) {
      const int winner = __shfl_sync(kAllLanes, own, k);
      add(first + k, winner, column.l.below_cells);
      if (winner >= 0 && lane < column.l.words)
        candidates &= column.row((first + k) * column.l.below_cells + winner)[lane];
    }
  }
  return active_ == 0 ? 0 : candidates;
}

__device__ inline void OctetInputs::list(const ColumnArrays& column, const Window& window) {
  if (column.l.below_first < 0) {
    OctetInputs inputs[1];
    see_cells(column.a, column.l, column.number - column.l.first, 1, inputs);
    *this = inputs[0];
    return;
  }
#pragma unroll 2
  for (int k = 0; k < window.points(); ++k) add(k, window.active_cell(k), column.l.below_cells);
}

/// Any number of inputs: lists of them in the memory of the warp.
class ListedInputs {
 public:
  /// Up to this number of inputs, a warp that learns has a bit for each of them.
  static constexpr int kPatternInputs = 1024;
  struct Memory {
    std::uint16_t inputs[kListPoints];
    unsigned pattern[kPatternInputs / 32];  ///< bits of active inputs
  };

  __device__ ListedInputs(const Window& window, Memory& memory)
      : window_(window), memory_(memory) {}

  __device__ int active() const { return active_; }

  __device__ unsigned see(const ColumnArrays& column) {
    const int words = column.l.words;
    // A lane computes the word lane % lane_words of some of the rows.
    int lane_words = 1;
    while (lane_words < words) lane_words *= 2;
    const int lane = lane_of_warp();
    const int word = lane % lane_words;
    const int rows = kWarp / lane_words;
    unsigned mask = word < words ? ~0u : 0u;
    for (int chunk = 0; chunk < chunks(); ++chunk) {
      list(chunk);
      active_ += listed_;
      if (mask != 0) {
#pragma unroll 8
        for (int i = lane / lane_words; i < listed_; i += rows)
          mask &= column.row(memory_.inputs[i])[word];
      }
      __syncwarp();
    }
    for (int offset = lane_words; offset < kWarp; offset *= 2)
      mask &= __shfl_xor_sync(kAllLanes, mask, offset);
    return lane < words && active_ > 0 ? mask : 0u;
  }

  __device__ ActiveSums sums_of(const ColumnArrays& column, int m) {
    const std::uint16_t* const of = column.weights_of(m);
    ActiveSums sums;
    for (int chunk = 0; chunk < chunks(); ++chunk) {
      if (chunks() > 1) list(chunk);
      for (int i = lane_of_warp(); i < listed_; i += kWarp) {
        const int weight = of[memory_.inputs[i]];
        sums.sum += weight >= detail::kStrongWeight ? weight : 0;
        sums.strong += weight >= detail::kStrongWeight ? 1 : 0;
      }
      __syncwarp();
    }
    return {sum_of_lanes(sums.sum), sum_of_lanes(sums.strong)};
  }

  __device__ void prepare_octets() {
    has_pattern_ = chunks() == 1 && window_.l.inputs <= kPatternInputs;
    if (!has_pattern_) return;
    for (int w = lane_of_warp(); w < kPatternInputs / 32; w += kWarp) memory_.pattern[w] = 0;
    __syncwarp();
    for (int i = lane_of_warp(); i < listed_; i += kWarp)
      atomicOr(&memory_.pattern[memory_.inputs[i] / 32], 1u << (memory_.inputs[i] % 32));
    __syncwarp();
  }
  __device__ unsigned octet(int first) const {
    if (has_pattern_) return memory_.pattern[first / 32] >> (first % 32) & 0xffu;
    unsigned bits = 0;
    for (int k = 0; k < kOctet && first + k < window_.l.inputs; ++k)
      bits |= window_.is_active(first + k) ? 1u << k : 0u;
    return bits;
  }

 private:
  __device__ int chunks() const {
    return (window_.points() + kListPoints - 1) / kListPoints;
  }
  /// Lists the active inputs of kListPoints grid points in any order.
  __device__ void list(int chunk) {
    const int first = chunk * kListPoints;
    const int end = min(window_.points(), first + kListPoints);
    listed_ = 0;
    for (int base = first; base < end; base += kWarp) {
      const int point = base + lane_of_warp();
      const int cell = point < end ? window_.active_cell(point) : -1;
      const unsigned mask = __ballot_sync(kAllLanes, cell >= 0);
      if (cell >= 0)
        memory_.inputs[listed_ + __popc(mask & lanes_before())] =
            static_cast<std::uint16_t>(point * window_.l.below_cells + cell);
      listed_ += __popc(mask);
    }
    __syncwarp();
  }

  const Window& window_;
  Memory& memory_;
  int active_ = 0;
  int listed_ = 0;  ///< inputs in the memory of the warp
  bool has_pattern_ = false;
};

// ---- the step of a hypercolumn

/// What a step decides.
struct Outcome {
  int winner = kSilent;
  std::int64_t response = 0;
  bool responded = false;  ///< by g > 0
};

/// Candidates, the first of them and its state: a step needs it first in most cases.
struct Candidates {
  unsigned word;  ///< lane w: of the minicolumns from 32 w on
  int first = -1;
  bool single = false;
  detail::Minicolumn state;

  __device__ Candidates(const ColumnArrays& column, unsigned of_lane) : word(of_lane) {
    const unsigned found = __ballot_sync(kAllLanes, word != 0);
    if (found == 0) return;
    const int from = __ffs(static_cast<int>(found)) - 1;
    const unsigned bits = __shfl_sync(kAllLanes, word, from);
    first = from * kWarp + __ffs(static_cast<int>(bits)) - 1;
    single = (found & (found - 1)) == 0 && (bits & (bits - 1)) == 0;
    state = load(column.minicolumns + first);
  }
};

template <typename Inputs>
class Decision {
 public:
  __device__ Decision(const ColumnArrays& column, Inputs& inputs, const Candidates& candidates)
      : column_(column), inputs_(inputs), candidates_(candidates) {}

  __device__ Outcome decide(std::uint64_t step, bool learns) {
    if (candidates_.single)
      respond_alone();
    else if (candidates_.first >= 0)
      respond();
    out_.responded = out_.winner != kSilent;
    if (!out_.responded && learns && inputs_.active() > 0) choose_fired(step);
    return out_;
  }
  /// Sectors of 32 bytes of weights and wins that were read.
  __device__ int sectors() const { return sectors_; }

 private:
  __device__ std::int64_t response_of(int m, int omega) {
    sectors_ += 1 + sectors_of(column_.l.pitch * 2);
    const ActiveSums sums = inputs_.sums_of(column_, m);
    return detail::response(sums.sum, inputs_.active() - sums.strong, omega, column_.a.threshold);
  }
  /// g of a candidate whose strong weights all belong to active inputs.
  __device__ std::int64_t response_of(const detail::Minicolumn& of) const {
    return detail::response(of.strong_sum, 0, of.omega, column_.a.threshold);
  }

  __device__ void respond_alone() {
    const detail::Minicolumn& of = candidates_.state;
    const std::int64_t g =
        of.strong == inputs_.active() ? response_of(of) : response_of(candidates_.first, of.omega);
    if (g <= 0) return;
    out_.winner = candidates_.first;
    out_.response = g;
  }

  /// Calls use(m) for the bits of the words that lanes hold, in ascending order; by all lanes.
  template <typename Use>
  __device__ void for_each_bit(unsigned bits, const Use& use) {
    for (int w = 0; w < column_.l.words; ++w)
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
    for (unsigned left = candidates_.word; left != 0; left &= left - 1) {
      const int bit = __ffs(static_cast<int>(left)) - 1;
      const int m = lane_of_warp() * kWarp + bit;
      const detail::Minicolumn of = load(column_.minicolumns + m);
      if (of.strong == inputs_.active())
        best = max(best, key(response_of(of), m));
      else
        open |= 1u << bit;
    }
    if (__any_sync(kAllLanes, open != 0))
      for_each_bit(open, [&](int m) {
        best = max(best, key(response_of(m, column_.minicolumns[m].omega), m));
      });
    best = WarpTeam().combine(best, Largest());
    if (best == 0) return;
    out_.winner = kMaxMinicolumns - 1 - static_cast<int>(best % kMaxMinicolumns);
    out_.response = best / kMaxMinicolumns;
  }

  /// Of the minicolumns of a lane's words, a bit for each that fires.
  __device__ unsigned fired_words(std::uint64_t step) const {
    unsigned fired = 0;
    const int quarters = column_.l.padded / 4;
    for (int base = 0; base < quarters; base += kWarp) {
      const int quarter = base + lane_of_warp();
      unsigned bits = 0;
      if (quarter < quarters) bits = fired_quarter(column_, step, quarter);
        // Eight quarters make a word.
#pragma unroll
      for (int k = 0; k < kWarp / 8; ++k) {
        const unsigned word =
            or_of_lanes(lane_of_warp() / 8 == k ? bits << (4 * (lane_of_warp() % 8)) : 0u);
        if (lane_of_warp() == base / 8 + k) fired = word;
      }
    }
    return fired;
  }
  static __device__ unsigned fired_quarter(const ColumnArrays& column, std::uint64_t step,
                                           int quarter) {
    const std::uint32_t wins = reinterpret_cast<const std::uint32_t*>(column.wins)[quarter];
    const auto words =
        detail::firing_words(column.a.seed, step, static_cast<std::uint32_t>(column.number),
                             static_cast<std::uint32_t>(quarter));
    unsigned bits = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      // A probability of 0 is no larger than any word.
      const bool fires = words[static_cast<std::size_t>(k)] < column.a.firing[wins >> 8 * k & 0xff];
      bits |= fires && 4 * quarter + k < column.l.minicolumns ? 1u << k : 0u;
    }
    return bits;
  }

  /// The minicolumn with the largest g of those that fire at random. No minicolumn has g > 0.
  __device__ void choose_fired(std::uint64_t step) {
    sectors_ += sectors_of(column_.l.padded);
    const unsigned all = fired_words(step);
    for (int w = 0; w < column_.l.words; ++w) {
      const unsigned fired = __shfl_sync(kAllLanes, all, w);
      if (fired == 0) continue;
      const bool zero = (fired >> lane_of_warp() & 1u) != 0 &&
                        column_.minicolumns[w * kWarp + lane_of_warp()].omega == 0;
      const unsigned candidates = __shfl_sync(kAllLanes, candidates_.word, w);
      const unsigned zeros = __ballot_sync(kAllLanes, zero);
      for (unsigned left = fired; left != 0; left &= left - 1) {
        const int bit = __ffs(static_cast<int>(left)) - 1;
        const int m = w * kWarp + bit;
        const bool is_zero = (zeros >> bit & 1u) != 0;
        // Below 0, unless it is a candidate or has no weight that counts.
        const bool negative = !is_zero && (candidates >> bit & 1u) == 0;
        if (out_.winner != kSilent && (out_.response == 0 || (negative && zeros != 0))) continue;
        const std::int64_t g = is_zero ? 0 : response_of(m, column_.minicolumns[m].omega);
        if (out_.winner != kSilent && g <= out_.response) continue;
        out_.winner = m;
        out_.response = g;
      }
    }
  }

  const ColumnArrays& column_;
  Inputs& inputs_;
  const Candidates& candidates_;
  Outcome out_;
  int sectors_ = 0;
};

/// Writes the outcome for the hypercolumns that read it.
__device__ inline void publish(const ColumnArrays& column, const Outcome& out) {
  if (lane_of_warp() != 0) return;
  column.a.winners[column.number] = out.winner;
  column.a.winner_responses[column.number] = out.response;
}

/// Does the winner change? `state`: of the winner; `active`: inputs.
__device__ inline bool weights_change(const Outcome& out, const detail::Minicolumn& state,
                                      int active) {
  return !out.responded || !state.settled || state.strong != active;
}

/// What the weights of a winner imply, and the bits of the octet that are strong.
struct Learned {
  int omega = 0;
  int strong_sum = 0;
  unsigned before = 0;
  unsigned after = 0;
  bool moving = false;

  /// The update of the weight of input `k` of the octet.
  __device__ unsigned update(const NetworkArguments& a, unsigned old, bool active, int k) {
    // potentiated() and depressed() of lib/cortical_network/network_arithmetic.h: the distance from
    // the limit decreases by a share of it.
    constexpr unsigned kOne = kCorticalWeightOne;
    unsigned distance = active ? kOne - old : old;
    const auto rate = static_cast<unsigned>(active ? a.potentiation : a.depression);
    distance -= (distance * rate + kOne / 2) / kOne;
    const unsigned weight = active ? kOne - distance : distance;
    const bool is_strong = weight >= detail::kStrongWeight;
    omega += weight > detail::kOmegaWeight ? weight : 0;
    strong_sum += is_strong ? weight : 0;
    before |= old >= detail::kStrongWeight ? 1u << k : 0u;
    after |= is_strong ? 1u << k : 0u;
    moving |= weight - a.moving_from < a.moving_count;
    return weight;
  }
};

/// What a winner learns.
class Learning {
 public:
  /// `state`: of the winner.
  __device__ Learning(const ColumnArrays& column, int winner, const detail::Minicolumn& state)
      : column_(column), winner_(winner), state_(state) {}

  static __device__ int4* weights_at(const ColumnArrays& column, int winner, int first) {
    return reinterpret_cast<int4*>(column.weights_of(winner) + first);
  }

  /// The weights of the inputs from `first` on. Bits of `active`: inputs.
  __device__ void update(int first, const int4& old, unsigned active) {
    const NetworkArguments& a = column_.a;
    unsigned words[4] = {static_cast<unsigned>(old.x), static_cast<unsigned>(old.y),
                         static_cast<unsigned>(old.z), static_cast<unsigned>(old.w)};
    sums_.before = 0;
    sums_.after = 0;
#pragma unroll
    for (int k = 0; k < kOctet; k += 2) {
      const unsigned low = sums_.update(a, words[k / 2] & 0xffffu, (active >> k & 1u) != 0, k);
      const unsigned high =
          sums_.update(a, words[k / 2] >> 16, (active >> (k + 1) & 1u) != 0, k + 1);
      words[k / 2] = low | high << 16;
    }
    __stcs(weights_at(column_, winner_, first),
           int4{static_cast<int>(words[0]), static_cast<int>(words[1]), static_cast<int>(words[2]),
                static_cast<int>(words[3])});
    strong_ += __popc(sums_.after);
    changed_ += __popc(sums_.before ^ sums_.after);
    if (sums_.before == sums_.after) return;
    if (column_.patterns != nullptr)
      column_.pattern_of(winner_)[first / kOctet] = static_cast<std::uint8_t>(sums_.after);
    for (unsigned left = sums_.before ^ sums_.after; left != 0; left &= left - 1)
      column_
          .strong[(first + __ffs(static_cast<int>(left)) - 1) * column_.l.words + winner_ / 32] ^=
          1u << (winner_ % 32);
  }

  /// Writes the state. Counts the win if the winner has `responded`.
  __device__ void finish(bool responded, bool changes) {
    const bool writes = lane_of_warp() == 0;
    bool write = changes;
    if (writes && responded && !state_.stable) {
      const int wins = column_.wins[winner_] + 1;
      column_.wins[winner_] = static_cast<std::uint8_t>(wins);
      state_.stable = wins == column_.a.stable_wins;
      write |= state_.stable;
    }
    if (changes) {
      state_.omega = sum_of_lanes(sums_.omega);
      state_.strong_sum = sum_of_lanes(sums_.strong_sum);
      state_.strong = static_cast<std::uint16_t>(sum_of_lanes(strong_));
      state_.settled = !__any_sync(kAllLanes, sums_.moving);
    }
    if (write && writes) store(column_.minicolumns + winner_, state_);
  }

  /// Strong bits that the lane has changed.
  __device__ int changed() const {
    return changed_;
  }

 private:
  const ColumnArrays& column_;
  int winner_;
  detail::Minicolumn state_;
  Learned sums_;
  int strong_ = 0;
  int changed_ = 0;
};

}  // namespace ocellus::cuda
