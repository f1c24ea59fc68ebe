// The S-layers and the C-layers. S-cells add up the inputs that are not 0.
#include <cuda_fp16.h>

#include "kernels/neocognitron/block.cuh"

namespace ocellus::cuda {
namespace {

/// Weights that a thread loads at once.
constexpr int kOctet = 8;

/// (2) as scale * max(0, (bias + e) * factor - 1), with factor = 1 / (bias + theta v).
struct Response {
  float bias;
  float factor;
  float scale;

  __device__ Response(const SimpleArguments& a, float v)
      : bias(a.bias),
        factor(1.0f / (a.bias + a.threshold * v)),
        scale(a.threshold / (1.0f - a.threshold)) {}
  __device__ float operator()(float e) const {
    return fmaxf((e + bias) * factor - 1.0f, 0.0f) * scale;
  }
};

// ---- US1

// The planes of a position are half a warp. Its threads read an input each, and share those that
// are not 0, which most positions have none of.
__device__ void write_edges(const SimpleArguments& a, const WindowTap* taps, int candidate) {
  static_assert(kEdgePlanes == kWarp / 2);
  const int thread = static_cast<int>(threadIdx.x);
  const int plane = thread % kEdgePlanes;
  const int position = static_cast<int>(blockIdx.x) * kEdgeBlockPositions + thread / kEdgePlanes;
  const bool inside = position < a.side_out * a.side_out;
  const float* const in =
      a.candidates.contrast + static_cast<std::size_t>(candidate) * kContrastCells;
  const auto* const weights = reinterpret_cast<const __half*>(a.weights) + plane;
  const int x = a.first + position % a.side_out;
  const int y = a.first + position / a.side_out;
  float e = 0.0f;
  float energy = 0.0f;
  for (int first = 0; first < a.tap_count; first += kEdgePlanes) {
    float own = 0.0f;
    if (inside && first + plane < a.tap_count) {
      const WindowTap tap = taps[first + plane];
      const int column = x + tap.dx;
      const int row = y + tap.dy;
      if (column >= 0 && row >= 0 && column < a.side_in && row < a.side_in)
        own = in[row * a.side_in + column];
      energy = fmaf(tap.weight, own * own, energy);
    }
    const unsigned used = __ballot_sync(kAllLanes, own != 0.0f);
    for (unsigned left = (used | used >> kEdgePlanes) & 0xffffu; left != 0; left &= left - 1) {
      const int t = __ffs(static_cast<int>(left)) - 1;
      const float value = __shfl_sync(kAllLanes, own, t, kEdgePlanes);
      if (value == 0.0f) continue;
      const int kappa = value > 0.0f ? 1 : 0;
      const int row = (first + t) * kContrastPlanes + kappa;
      e = fmaf(fabsf(value), __half2float(weights[row * kEdgePlanes]), e);
    }
  }
#pragma unroll
  for (int offset = kEdgePlanes / 2; offset > 0; offset /= 2)
    energy += __shfl_xor_sync(kAllLanes, energy, offset);
  const float v = sqrtf(energy);
  const float u = v > 0.0f ? Response(a, v)(e) : 0.0f;
  const unsigned active = __ballot_sync(kAllLanes, u > 0.0f);
  const unsigned shift = threadIdx.x % kWarp / kEdgePlanes * kEdgePlanes;
  const bool any = (active >> shift & ((1u << kEdgePlanes) - 1u)) != 0;
  if (!inside) return;
  if (plane == 0)
    a.candidates.any[static_cast<std::size_t>(candidate) * kMostPositions + position] = any ? 1 : 0;
  if (any)
    a.candidates.simple[candidate * a.candidates.simple_stride +
                        static_cast<std::size_t>(position) * kEdgePlanes + plane] = u;
}

// ---- US2 to US4

struct Input {
  int row;  ///< of weights
  float value;
};

/// The inputs of the S-cells at a position.
struct InputList {
  /// Where the inputs of each tap begin, in the order of all inputs.
  int begin[kMaxSimpleTaps + 1];
  int position[kMaxSimpleTaps];  ///< that a tap reads
  float energy[kMaxSimpleTaps];  ///< c u^2 of the tap
  float v;
  int total;
};

/// Fills in the list, without the inputs themselves. All threads must call it.
template <int kThreads>
__device__ void find_inputs(const SimpleArguments& a, const WindowTap* taps, int candidate,
                            int position, InputList& list) {
  const int thread = static_cast<int>(threadIdx.x);
  const int* const counts =
      a.candidates.counts + static_cast<std::size_t>(candidate) * kMostPositions;
  const float* const energies =
      a.candidates.energies + static_cast<std::size_t>(candidate) * kMostPositions;
  const int x = a.first + position % a.side_out;
  const int y = a.first + position / a.side_out;
  for (int t = thread; t < a.tap_count; t += kThreads) {
    const WindowTap tap = taps[t];
    const int column = x + tap.dx;
    const int row = y + tap.dy;
    const bool inside = column >= 0 && row >= 0 && column < a.side_in && row < a.side_in;
    const int at = inside ? row * a.side_in + column : 0;
    list.position[t] = at;
    list.begin[t + 1] = inside ? counts[at] : 0;
    list.energy[t] = inside ? tap.weight * energies[at] : 0.0f;
  }
  __syncthreads();
  if (thread < kWarp) {
    // Counts become sums, 32 taps at a time.
    int before = 0;
    float energy = 0.0f;
    for (int first = 0; first < a.tap_count; first += kWarp) {
      const int t = first + thread;
      int sum = t < a.tap_count ? list.begin[t + 1] : 0;
      energy += t < a.tap_count ? list.energy[t] : 0.0f;
#pragma unroll
      for (int offset = 1; offset < kWarp; offset *= 2) {
        const int lower = __shfl_up_sync(kAllLanes, sum, static_cast<unsigned>(offset));
        if (thread >= offset) sum += lower;
      }
      sum += before;
      if (t < a.tap_count) list.begin[t + 1] = sum;
      before = __shfl_sync(kAllLanes, sum, kWarp - 1);
    }
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
      energy += __shfl_xor_sync(kAllLanes, energy, offset);
    if (thread == 0) {
      list.begin[0] = 0;
      list.total = before;
      list.v = sqrtf(energy);
    }
  }
  __syncthreads();
}

/// The tap of input i: the last one that begins at or before it.
__device__ inline int tap_of(const InputList& list, int taps, int i) {
  int low = 0;
  int high = taps;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (list.begin[middle] <= i)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// Adds the products of inputs `begin`, `begin + step` and so on with the octet of their rows that
/// `weights` points to. Rows follow each other in steps of `stride` octets.
__device__ inline void add_rows(const Input* inputs, int begin, int end, int step,
                                const uint4* weights, int stride, float (&sum)[kOctet]) {
#pragma unroll 4
  for (int i = begin; i < end; i += step) {
    const Input input = inputs[i];
    const uint4 packed = __ldg(weights + static_cast<std::size_t>(input.row) * stride);
    const unsigned words[kOctet / 2] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
    for (int j = 0; j < kOctet / 2; ++j) {
      const __half2_raw raw{static_cast<unsigned short>(words[j] & 0xffffu),
                            static_cast<unsigned short>(words[j] >> 16u)};
      const float2 pair = __half22float2(__half2(raw));
      sum[2 * j] = fmaf(input.value, pair.x, sum[2 * j]);
      sum[2 * j + 1] = fmaf(input.value, pair.y, sum[2 * j + 1]);
    }
  }
}

/// e of `octets` octets of planes from octet `first` on. Calls `use(k, e)` for each plane k of the
/// block, in turn by all threads. Groups of threads share the inputs; their sums are added in the
/// order of the groups, so that the result does not depend on the timing.
template <int kThreads, typename Use>
__device__ void add_inputs(const SimpleArguments& a, int candidate, const InputList& list,
                           int first, int octets, const Use& use) {
  // As many as most positions have. The first-level cache, which has weights, gets the memory that
  // is left.
  constexpr int kListInputs = kThreads == kSimpleThreads ? 256 : 1024;
  __shared__ __align__(16) Input inputs[kListInputs];
  __shared__ __align__(16) float partial[kThreads * kOctet];
  const int thread = static_cast<int>(threadIdx.x);
  const int groups = kThreads / octets;
  const int group = thread / octets;
  const int octet = thread % octets;
  const ActiveCell* const cells = a.candidates.cells + candidate * a.candidates.cell_stride;
  const auto* const weights = reinterpret_cast<const uint4*>(a.weights) + first + octet;
  float sum[kOctet] = {};
  for (int begin = 0; begin < list.total; begin += kListInputs) {
    const int count = min(list.total - begin, kListInputs);
    if (begin > 0) __syncthreads();
    for (int i = thread; i < count; i += kThreads) {
      const int tap = tap_of(list, a.tap_count, begin + i);
      const ActiveCell cell = cells[static_cast<std::size_t>(list.position[tap]) * a.in_planes +
                                    (begin + i - list.begin[tap])];
      inputs[i] = {tap * a.in_planes + cell.plane, cell.value};
    }
    __syncthreads();
    if (group >= groups) continue;
    add_rows(inputs, group, count, groups, weights, a.octets, sum);
  }
  const int planes = octets * kOctet;
  if (group < groups)
    for (int j = 0; j < kOctet; ++j) partial[group * planes + octet * kOctet + j] = sum[j];
  __syncthreads();
  for (int k = thread; k < planes; k += kThreads) {
    float e = partial[k];
    for (int g = 1; g < groups; ++g) e += partial[g * planes + k];
    use(k, e);
  }
}

constexpr int kNarrowInputs = 128;
constexpr int kCellLoads = 4;

/// The taps of a position that a lane of a warp reads: where their inputs are, and their places in
/// the order of all inputs.
struct LaneTaps {
  static constexpr int kCount = kMaxSimpleTaps / kWarp;
  int at[kCount];
  int begin[kCount];
  int count[kCount];
};

/// Finds the taps of a lane, without their places. Returns the sum of c u^2 of all taps. The loop
/// issues all of its loads before the first of them arrives.
__device__ inline float find_taps(const SimpleArguments& a, const WindowTap* taps, std::size_t base,
                                  int position, LaneTaps& lane_taps) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int* const counts = a.candidates.counts + base;
  const float* const energies = a.candidates.energies + base;
  const int x = a.first + position % a.side_out;
  const int y = a.first + position / a.side_out;
  float energy = 0.0f;
#pragma unroll
  for (int r = 0; r < LaneTaps::kCount; ++r) {
    const int t = r * kWarp + lane;
    const WindowTap tap = taps[min(t, a.tap_count - 1)];
    const int column = x + tap.dx;
    const int row = y + tap.dy;
    const bool inside =
        t < a.tap_count && column >= 0 && row >= 0 && column < a.side_in && row < a.side_in;
    const int at = inside ? row * a.side_in + column : 0;
    lane_taps.at[r] = at;
    lane_taps.count[r] = inside ? counts[at] : 0;
    energy = fmaf(tap.weight, inside ? energies[at] : 0.0f, energy);
  }
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    energy += __shfl_xor_sync(kAllLanes, energy, offset);
  return energy;
}

/// Finds the places of the inputs. Returns the number of all inputs.
__device__ inline int place_inputs(const SimpleArguments& a, LaneTaps& taps) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  int total = 0;
#pragma unroll
  for (int r = 0; r < LaneTaps::kCount; ++r) {
    taps.begin[r] = total;
    if (r * kWarp >= a.tap_count) continue;
    int sum = taps.count[r];
#pragma unroll
    for (int offset = 1; offset < kWarp; offset *= 2) {
      const int lower = __shfl_up_sync(kAllLanes, sum, static_cast<unsigned>(offset));
      if (lane >= offset) sum += lower;
    }
    taps.begin[r] += sum - taps.count[r];
    total += __shfl_sync(kAllLanes, sum, kWarp - 1);
  }
  return total;
}

/// Copies the inputs from `first` on, of which there are `end`, to the list of the warp.
__device__ inline void copy_inputs(const SimpleArguments& a, const ActiveCell* cells,
                                   const LaneTaps& taps, int first, int end, Input* list) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int r = 0; r < LaneTaps::kCount; ++r) {
    const int shift = taps.begin[r] - first;
    const ActiveCell* const from = cells + static_cast<std::size_t>(taps.at[r]) * a.in_planes;
    const int last = min(taps.count[r], end - shift);
    for (int i = max(-shift, 0); i < last; i += kCellLoads) {
      ActiveCell cell[kCellLoads];
#pragma unroll
      for (int k = 0; k < kCellLoads; ++k)
        if (i + k < last) cell[k] = from[i + k];
#pragma unroll
      for (int k = 0; k < kCellLoads; ++k)
        if (i + k < last)
          list[shift + i + k] = {(r * kWarp + lane) * a.in_planes + cell[k].plane, cell[k].value};
    }
  }
}

// A warp computes the planes of a position. It needs no barrier of the block, which most positions
// would wait at for longer than they compute.
__device__ void write_narrow(const SimpleArguments& a, const WindowTap* taps, int candidate) {
  // Small, because the first-level cache, which has most weights, gets what shared memory leaves.
  union Memory {
    Input list[kNarrowInputs];
    float partial[kWarp * kOctet];
  };
  __shared__ __align__(16) Memory memories[kNarrowBlockPositions];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int position = static_cast<int>(blockIdx.x) * kNarrowBlockPositions + warp;
  if (position >= a.side_out * a.side_out) return;
  const std::size_t base = static_cast<std::size_t>(candidate) * kMostPositions;
  std::uint8_t* const any = a.candidates.any + base + position;
  LaneTaps lane_taps;
  const float energy = find_taps(a, taps, base, position, lane_taps);
  if (!(energy > 0.0f)) {
    if (lane == 0) *any = 0;
    return;
  }
  const int total = place_inputs(a, lane_taps);

  const int groups = kWarp / a.octets;
  const int group = lane / a.octets;
  const int octet = lane % a.octets;
  const ActiveCell* const cells = a.candidates.cells + candidate * a.candidates.cell_stride;
  const auto* const weights = reinterpret_cast<const uint4*>(a.weights) + octet;
  Input* const list = memories[warp].list;
  float sum[kOctet] = {};
  for (int first = 0; first < total; first += kNarrowInputs) {
    const int end = min(total - first, kNarrowInputs);
    copy_inputs(a, cells, lane_taps, first, end, list);
    __syncwarp();
    if (group < groups) add_rows(list, group, end, groups, weights, a.octets, sum);
    __syncwarp();
  }
  float* const partial = memories[warp].partial;
  const int planes = a.octets * kOctet;
  if (group < groups)
    for (int j = 0; j < kOctet; ++j) partial[group * planes + octet * kOctet + j] = sum[j];
  __syncwarp();
  const Response response(a, sqrtf(energy));
  float* const out = a.candidates.simple + candidate * a.candidates.simple_stride +
                     static_cast<std::size_t>(position) * planes;
  bool active = false;
  for (int k = lane; k < planes; k += kWarp) {
    float e = partial[k];
    for (int g = 1; g < groups; ++g) e += partial[g * planes + k];
    const float u = response(e);
    active = active || u > 0.0f;
    out[k] = u;
  }
  active = __any_sync(kAllLanes, active);
  if (lane == 0) *any = active ? 1 : 0;
}

__device__ void write_simple(const SimpleArguments& a, const WindowTap* taps, int candidate) {
  __shared__ InputList list;
  const int position = static_cast<int>(blockIdx.x);
  find_inputs<kSimpleThreads>(a, taps, candidate, position, list);
  bool active = false;
  if (list.v > 0.0f) {
    const Response response(a, list.v);
    float* const out = a.candidates.simple + candidate * a.candidates.simple_stride +
                       static_cast<std::size_t>(position) * a.octets * kOctet;
    add_inputs<kSimpleThreads>(a, candidate, list, 0, a.octets, [&](int k, float e) {
      const float u = response(e);
      active = active || u > 0.0f;
      out[k] = u;
    });
  }
  const bool any = __syncthreads_or(active ? 1 : 0) != 0;
  if (threadIdx.x == 0)
    a.candidates.any[static_cast<std::size_t>(candidate) * kMostPositions + position] = any ? 1 : 0;
}

__device__ void write_similarities(const SimpleArguments& a, const WindowTap* taps, int candidate) {
  __shared__ InputList list;
  const int position = static_cast<int>(blockIdx.x);
  const int first = static_cast<int>(blockIdx.z) * a.block_octets;
  const int octets = min(a.block_octets, a.octets - first);
  find_inputs<kReferenceThreads>(a, taps, candidate, position, list);
  float* const out =
      a.candidates.simple + candidate * a.candidates.simple_stride +
      (static_cast<std::size_t>(position) * a.octets + static_cast<std::size_t>(first)) * kOctet;
  const float factor = list.v > 0.0f ? 1.0f / list.v : 0.0f;
  add_inputs<kReferenceThreads>(a, candidate, list, first, octets,
                                [&](int k, float e) { out[k] = e * factor; });
}

// ---- C-cells

/// A position of the S-layer that is not silent, and the tap that reads it.
struct BlurInput {
  std::uint16_t position;
  std::uint16_t tap;
};
static_assert(kMostPositions <= 1 << 16);

constexpr int kTapLoads = 4;

/// Appends the inputs of the taps from `begin` to `end` - 1 around (x, y) to the list of a warp,
/// which has `n`. Returns how many it then has.
__device__ inline int collect_inputs(const ComplexArguments& a, const WindowTap* taps,
                                     const std::uint8_t* any, int x, int y, int begin, int end,
                                     int n, BlurInput* list) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int first = begin; first < end; first += kTapLoads * kWarp) {
    BlurInput input[kTapLoads];
    bool used[kTapLoads];
#pragma unroll
    for (int k = 0; k < kTapLoads; ++k) {
      const int t = first + k * kWarp + lane;
      const WindowTap tap = taps[min(t, end - 1)];
      const int column = x + tap.dx;
      const int row = y + tap.dy;
      used[k] = t < end && column >= 0 && row >= 0 && column < a.side_in && row < a.side_in;
      input[k] = {static_cast<std::uint16_t>(row * a.side_in + column),
                  static_cast<std::uint16_t>(t)};
      if (used[k]) used[k] = any[input[k].position] != 0;
    }
#pragma unroll
    for (int k = 0; k < kTapLoads; ++k) {
      const unsigned mask = __ballot_sync(kAllLanes, used[k]);
      if (used[k]) list[n + __popc(mask & lanes_before())] = input[k];
      n += __popc(mask);
    }
  }
  __syncwarp();
  return n;
}

/// Planes that a lane adds at once. kParts parts of a warp share the inputs.
constexpr int kQuad = 4;

/// The sum of the inputs `begin` to `end` - 1 of the list for the plane `first` + lane, if the warp
/// has it and `own` is true; otherwise 0. `in` are the S-cells of the candidate.
template <int kParts>
__device__ float sum_inputs(const ComplexArguments& a, const float* in, const BlurInput* list,
                            const WindowTap* taps, int first, int begin, int end, bool own) {
  constexpr int kQuads = kWarp / kParts;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int quad = first + lane % kQuads * kQuad;
  float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
  if (quad < a.stride) {
#pragma unroll 4
    for (int i = begin + lane / kQuads; i < end; i += kParts) {
      const BlurInput input = list[i];
      const float weight = taps[input.tap].weight;
      const float4 cells_in = *reinterpret_cast<const float4*>(
          in + static_cast<std::size_t>(input.position) * a.stride + quad);
      sum.x = fmaf(weight, cells_in.x, sum.x);
      sum.y = fmaf(weight, cells_in.y, sum.y);
      sum.z = fmaf(weight, cells_in.z, sum.z);
      sum.w = fmaf(weight, cells_in.w, sum.w);
    }
  }
#pragma unroll
  for (int offset = kQuads; offset < kWarp; offset *= 2) {
    sum.x += __shfl_xor_sync(kAllLanes, sum.x, offset);
    sum.y += __shfl_xor_sync(kAllLanes, sum.y, offset);
    sum.z += __shfl_xor_sync(kAllLanes, sum.z, offset);
    sum.w += __shfl_xor_sync(kAllLanes, sum.w, offset);
  }
  const int from = lane / kQuad % kQuads;
  const float x_sum = __shfl_sync(kAllLanes, sum.x, from);
  const float y_sum = __shfl_sync(kAllLanes, sum.y, from);
  const float z_sum = __shfl_sync(kAllLanes, sum.z, from);
  const float w_sum = __shfl_sync(kAllLanes, sum.w, from);
  const float low = lane % 2 == 0 ? x_sum : y_sum;
  const float high = lane % 2 == 0 ? z_sum : w_sum;
  return own ? (lane % kQuad < 2 ? low : high) : 0.0f;
}

/// Computes the cells of a position by a warp. Returns how many are active.
template <int kParts>
__device__ int blur_position(const ComplexArguments& a, int candidate, int position,
                             BlurInput* list, const WindowTap* taps) {
  constexpr int kPlanes = kWarp / kParts * kQuad;
  static_assert(kPlanes <= kWarp);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::size_t base = static_cast<std::size_t>(candidate) * kMostPositions;
  const std::uint8_t* const any = a.candidates.any + base;
  const float* const in = a.candidates.simple + candidate * a.candidates.simple_stride;
  ActiveCell* const out = a.candidates.cells + candidate * a.candidates.cell_stride +
                          static_cast<std::size_t>(position) * a.planes;
  const int x = a.first + 2 * (position % a.side_out);
  const int y = a.first + 2 * (position / a.side_out);
  const int center = collect_inputs(a, taps, any, x, y, 0, a.center_taps, 0, list);
  int all = 0;  // inputs with the surround; 0: not collected
  int cells = 0;
  float energy = 0.0f;
  for (int first = 0; center > 0 && first < a.planes; first += kPlanes) {
    const int plane = first + lane;
    const bool own = lane < kPlanes && plane < a.planes;
    float sum = sum_inputs<kParts>(a, in, list, taps, first, 0, center, own);
    if (a.center_taps < a.tap_count && __any_sync(kAllLanes, sum > 0.0f)) {
      // Inhibition needs excitation: most positions have none.
      if (all == 0)
        all = collect_inputs(a, taps, any, x, y, a.center_taps, a.tap_count, center, list);
      const float inhibition = sum_inputs<kParts>(a, in, list, taps, first, center, all, own);
      if (sum > 0.0f) sum += inhibition;
    }
    const bool active = sum > 0.0f;
    const unsigned mask = __ballot_sync(kAllLanes, active);
    if (active) {
      const float value = sum / (1.0f + sum);
      out[cells + __popc(mask & lanes_before())] = {value, plane};
      energy = fmaf(value, value, energy);
    }
    cells += __popc(mask);
  }
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    energy += __shfl_xor_sync(kAllLanes, energy, offset);
  if (lane == 0) {
    a.candidates.counts[base + position] = cells;
    a.candidates.energies[base + position] = energy;
  }
  return cells;
}

/// Leaves out the cells of a candidate beyond the capacity.
__device__ inline void limit_cells(const ComplexArguments& a, int candidate) {
  const std::size_t base = static_cast<std::size_t>(candidate) * kMostPositions;
  int* const counts = a.candidates.counts + base;
  if (threadIdx.x == 0) a.candidates.capped[candidate] = 1;
  cut_cells<kComplexThreads>(
      a.side_out * a.side_out, a.capacity,
      [&](int i) { return static_cast<unsigned>(__ldcg(counts + i)); },
      [&](int i, unsigned kept) {
        const ActiveCell* const of_position = a.candidates.cells +
                                              candidate * a.candidates.cell_stride +
                                              static_cast<std::size_t>(i) * a.planes;
        float energy = 0.0f;
        for (unsigned c = 0; c < kept; ++c) {
          const float value = __ldcg(&of_position[c].value);
          energy = fmaf(value, value, energy);
        }
        counts[i] = static_cast<int>(kept);
        a.candidates.energies[base + i] = energy;
      });
}

// A warp computes the cells of a position.
template <int kParts>
__device__ void write_complex(const ComplexArguments& a, const WindowTap* taps, int candidate) {
  __shared__ BlurInput lists[kComplexBlockPositions][detail::kMaxWindowTaps];
  __shared__ unsigned found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int position = static_cast<int>(blockIdx.x) * kComplexBlockPositions + warp;
  if (position < a.side_out * a.side_out) {
    const int cells = blur_position<kParts>(a, candidate, position, lists[warp], taps);
    if (threadIdx.x % kWarp == 0 && cells > 0) atomicAdd(&found, static_cast<unsigned>(cells));
  }
  unsigned total = 0;
  if (is_last_block(a.candidates.progress + candidate, found, total) && total > a.capacity)
    limit_cells(a, candidate);
}

// ---- kernels

// Taps are those of the model, so that they are loaded while previous kernels run.

/// Copies taps to shared memory. All threads must call it.
template <int kThreads, typename Arguments>
__device__ void load_taps(const Arguments& a, WindowTap* taps) {
  for (int t = static_cast<int>(threadIdx.x); t < a.tap_count; t += kThreads) taps[t] = a.taps[t];
  __syncthreads();
}

__global__ void __launch_bounds__(kEdgeThreads)
    edge_cells(const __grid_constant__ SimpleArguments a) {
  __shared__ WindowTap taps[kMaxSimpleTaps];
  load_taps<kEdgeThreads>(a, taps);
  for_each_candidate(a.candidates, [&](int candidate) { write_edges(a, taps, candidate); });
}

__global__ void __launch_bounds__(kNarrowThreads)
    narrow_cells(const __grid_constant__ SimpleArguments a) {
  __shared__ WindowTap taps[kMaxSimpleTaps];
  load_taps<kNarrowThreads>(a, taps);
  for_each_candidate(a.candidates, [&](int candidate) { write_narrow(a, taps, candidate); });
}

__global__ void __launch_bounds__(kSimpleThreads)
    simple_cells(const __grid_constant__ SimpleArguments a) {
  __shared__ WindowTap taps[kMaxSimpleTaps];
  load_taps<kSimpleThreads>(a, taps);
  for_each_candidate(a.candidates, [&](int candidate) { write_simple(a, taps, candidate); });
}

__global__ void __launch_bounds__(kReferenceThreads)
    reference_similarities(const __grid_constant__ SimpleArguments a) {
  __shared__ WindowTap taps[kMaxSimpleTaps];
  load_taps<kReferenceThreads>(a, taps);
  for_each_candidate(a.candidates, [&](int candidate) { write_similarities(a, taps, candidate); });
}

template <int kParts>
__global__ void __launch_bounds__(kComplexThreads)
    complex_cells(const __grid_constant__ ComplexArguments a) {
  __shared__ WindowTap taps[detail::kMaxWindowTaps];
  load_taps<kComplexThreads>(a, taps);
  for_each_candidate(a.candidates,
                     [&](int candidate) { write_complex<kParts>(a, taps, candidate); });
}

}  // namespace

const Kernel<SimpleArguments> kEdgeKernel = edge_cells;
const Kernel<SimpleArguments> kNarrowKernel = narrow_cells;
const Kernel<SimpleArguments> kSimpleKernel = simple_cells;
const Kernel<SimpleArguments> kReferenceKernel = reference_similarities;

Kernel<ComplexArguments> complex_kernel(int planes) noexcept {
  return planes <= kWarp / 2 ? complex_cells<8> : complex_cells<4>;
}

}  // namespace ocellus::cuda
