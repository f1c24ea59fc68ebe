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
__device__ void write_edges(const SimpleArguments& a, int candidate) {
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
      const WindowTap tap = a.taps[first + plane];
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
constexpr int kListInputs = 1024;

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
__device__ void find_inputs(const SimpleArguments& a, int candidate, int position,
                            InputList& list) {
  const int thread = static_cast<int>(threadIdx.x);
  const int* const counts =
      a.candidates.counts + static_cast<std::size_t>(candidate) * kMostPositions;
  const float* const energies =
      a.candidates.energies + static_cast<std::size_t>(candidate) * kMostPositions;
  const int x = a.first + position % a.side_out;
  const int y = a.first + position / a.side_out;
  for (int t = thread; t < a.tap_count; t += kThreads) {
    const WindowTap tap = a.taps[t];
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

/// e of `octets` octets of planes from octet `first` on. Calls `use(k, e)` for each plane k of the
/// block, in turn by all threads. Groups of threads share the inputs; their sums are added in the
/// order of the groups, so that the result does not depend on the timing.
template <int kThreads, typename Use>
__device__ void add_inputs(const SimpleArguments& a, int candidate, const InputList& list,
                           int first, int octets, const Use& use) {
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
#pragma unroll 4
    for (int i = group; i < count; i += groups) {
      const Input input = inputs[i];
      const uint4 packed = __ldg(weights + static_cast<std::size_t>(input.row) * a.octets);
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

__device__ void write_simple(const SimpleArguments& a, int candidate) {
  __shared__ InputList list;
  const int position = static_cast<int>(blockIdx.x);
  find_inputs<kSimpleThreads>(a, candidate, position, list);
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

__device__ void write_similarities(const SimpleArguments& a, int candidate) {
  __shared__ InputList list;
  const int position = static_cast<int>(blockIdx.x);
  const int first = static_cast<int>(blockIdx.z) * a.block_octets;
  const int octets = min(a.block_octets, a.octets - first);
  find_inputs<kReferenceThreads>(a, candidate, position, list);
  float* const out =
      a.candidates.simple + candidate * a.candidates.simple_stride +
      (static_cast<std::size_t>(position) * a.octets + static_cast<std::size_t>(first)) * kOctet;
  const float factor = list.v > 0.0f ? 1.0f / list.v : 0.0f;
  add_inputs<kReferenceThreads>(a, candidate, list, first, octets,
                                [&](int k, float e) { out[k] = e * factor; });
}

// ---- C-cells

/// A position of the S-layer that is not silent.
struct BlurInput {
  int position;
  float weight;
};

// A warp computes the cells of a position. With kParts = 2, its halves share the inputs of 16
// planes.
template <int kParts>
__device__ void write_complex(const ComplexArguments& a, int candidate) {
  constexpr int kPlanes = kWarp / kParts;
  __shared__ BlurInput lists[kComplexBlockPositions][detail::kMaxWindowTaps];
  __shared__ unsigned found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int position = static_cast<int>(blockIdx.x) * kComplexBlockPositions + warp;
  const int positions = a.side_out * a.side_out;
  const std::size_t base = static_cast<std::size_t>(candidate) * kMostPositions;
  ActiveCell* const all_cells = a.candidates.cells + candidate * a.candidates.cell_stride;
  int* const counts = a.candidates.counts + base;
  float* const energies = a.candidates.energies + base;
  if (position < positions) {
    BlurInput* const list = lists[warp];
    const std::uint8_t* const any = a.candidates.any + base;
    const float* const in = a.candidates.simple + candidate * a.candidates.simple_stride;
    const int x = a.first + 2 * (position % a.side_out);
    const int y = a.first + 2 * (position / a.side_out);
    // Appends the inputs of taps to the list, which has `n`.
    const auto collect = [&](int begin, int end, int n) {
      for (int first = begin; first < end; first += kWarp) {
        const int t = first + lane;
        BlurInput input{0, 0.0f};
        bool used = false;
        if (t < end) {
          const WindowTap tap = a.taps[t];
          const int column = x + tap.dx;
          const int row = y + tap.dy;
          if (column >= 0 && row >= 0 && column < a.side_in && row < a.side_in) {
            input = {row * a.side_in + column, tap.weight};
            used = any[input.position] != 0;
          }
        }
        const unsigned mask = __ballot_sync(kAllLanes, used);
        if (used) list[n + __popc(mask & lanes_before())] = input;
        n += __popc(mask);
      }
      __syncwarp();
      return n;
    };
    const int center = collect(0, a.center_taps, 0);
    int all = 0;  // inputs with the surround; 0: not collected
    int cells = 0;
    float energy = 0.0f;
    ActiveCell* const out = all_cells + static_cast<std::size_t>(position) * a.planes;
    for (int first = 0; center > 0 && first < a.planes; first += kPlanes) {
      const int plane = first + lane % kPlanes;
      const int part = lane / kPlanes;
      const auto add = [&](int begin, int end) {
        float sum = 0.0f;
        if (plane < a.planes) {
#pragma unroll 4
          for (int i = begin + part; i < end; i += kParts)
            sum = fmaf(list[i].weight,
                       in[static_cast<std::size_t>(list[i].position) * a.stride + plane], sum);
        }
        if constexpr (kParts == 2) sum += __shfl_xor_sync(kAllLanes, sum, kPlanes);
        return sum;
      };
      float sum = add(0, center);
      if (a.center_taps < a.tap_count && __any_sync(kAllLanes, sum > 0.0f)) {
        // Inhibition needs excitation: most positions have none.
        if (all == 0) all = collect(a.center_taps, a.tap_count, center);
        const float inhibition = add(center, all);
        if (sum > 0.0f) sum += inhibition;
      }
      const bool active = part == 0 && sum > 0.0f;
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
      counts[position] = cells;
      energies[position] = energy;
      if (cells > 0) atomicAdd(&found, static_cast<unsigned>(cells));
    }
  }
  unsigned total = 0;
  if (!is_last_block(a.candidates.progress + candidate, found, total)) return;
  if (total <= a.capacity) return;
  if (threadIdx.x == 0) a.candidates.capped[candidate] = 1;
  cut_cells<kComplexThreads>(
      positions, a.capacity, [&](int i) { return static_cast<unsigned>(__ldcg(counts + i)); },
      [&](int i, unsigned kept) {
        const ActiveCell* const of_position = all_cells + static_cast<std::size_t>(i) * a.planes;
        float energy = 0.0f;
        for (unsigned c = 0; c < kept; ++c) {
          const float value = __ldcg(&of_position[c].value);
          energy = fmaf(value, value, energy);
        }
        counts[i] = static_cast<int>(kept);
        energies[i] = energy;
      });
}

// ---- kernels

__global__ void __launch_bounds__(kEdgeThreads)
    edge_cells(const __grid_constant__ SimpleArguments a) {
  for_each_candidate(a.candidates, [&](int candidate) { write_edges(a, candidate); });
}

__global__ void __launch_bounds__(kSimpleThreads)
    simple_cells(const __grid_constant__ SimpleArguments a) {
  for_each_candidate(a.candidates, [&](int candidate) { write_simple(a, candidate); });
}

__global__ void __launch_bounds__(kReferenceThreads)
    reference_similarities(const __grid_constant__ SimpleArguments a) {
  for_each_candidate(a.candidates, [&](int candidate) { write_similarities(a, candidate); });
}

template <int kParts>
__global__ void __launch_bounds__(kComplexThreads)
    complex_cells(const __grid_constant__ ComplexArguments a) {
  for_each_candidate(a.candidates, [&](int candidate) { write_complex<kParts>(a, candidate); });
}

}  // namespace

Kernel<SimpleArguments> edge_kernel() noexcept {
  return edge_cells;
}

Kernel<SimpleArguments> simple_kernel() noexcept {
  return simple_cells;
}

Kernel<SimpleArguments> reference_kernel() noexcept {
  return reference_similarities;
}

Kernel<ComplexArguments> complex_kernel(int planes) noexcept {
  return planes <= kWarp / 2 ? complex_cells<2> : complex_cells<1>;
}

}  // namespace ocellus::cuda
