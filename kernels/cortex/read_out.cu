// Evidence for the classes, and the result of a frame.
#include "kernels/core/block.cuh"
#include "kernels/core/overlap.cuh"
#include "kernels/cortex/kernels.h"
#include "kernels/image/pixels.cuh"

namespace ocellus::cuda {
namespace {

struct Larger {
  __device__ std::int64_t operator()(std::int64_t a, std::int64_t b) const { return max(a, b); }
};
struct Sum {
  __device__ double operator()(double a, double b) const { return a + b; }
};

/// (c) of ocellus/cortex_model.h, in units of 1 / (kCortexReadOutScale kCortexActivityOne).
__device__ void add_evidence(const ReadOutArguments& a, int patch, unsigned long long* evidence) {
  const int groups = kReadOutThreads / a.classes;
  const int group = static_cast<int>(threadIdx.x) / a.classes;
  const int c = static_cast<int>(threadIdx.x) % a.classes;
  if (group >= groups) return;
  std::int64_t sum = 0;
  for (int pair = group; pair < a.hypercolumns * a.competitors; pair += groups) {
    const int hypercolumn = pair / a.competitors;
    const auto k = static_cast<std::size_t>(pair % a.competitors);
    const detail::CortexActivity& activity = a.activity[patch * a.hypercolumns + hypercolumn];
    const std::size_t row = std::size_t{a.begins[hypercolumn]} + activity.minicolumn[k];
    sum += std::int64_t{activity.share[k]} * a.read_out[row * a.classes + c];
  }
  // Numbers modulo 2^64.
  atomicAdd(&evidence[c], static_cast<unsigned long long>(sum));
}

__device__ void write_answer(const ReadOutArguments& a, int patch, std::int64_t evidence,
                             bool is_class) {
  const int c = static_cast<int>(threadIdx.x);
  std::int64_t best[1] = {INT64_MIN};
  if (is_class) best[0] = evidence * kMaxCortexClasses + (kMaxCortexClasses - 1 - c);
  combine_block<kReadOutThreads>(best, Larger());
  static_assert(kMaxCortexClasses == 1 << 8);
  const std::int64_t most = best[0] >> 8;
  constexpr double kUnit = 1.0 / (kCortexReadOutScale * kCortexActivityOne);
  double sum[1] = {0.0};
  if (is_class)
    sum[0] = exp(static_cast<double>(a.sharpness) * static_cast<double>(evidence - most) * kUnit);
  combine_block<kReadOutThreads>(sum, Sum());
  if (c != 0) return;
  a.record->label[patch] =
      kMaxCortexClasses - 1 - static_cast<int>(best[0] & (kMaxCortexClasses - 1));
  a.record->confidence[patch] = static_cast<float>(1.0 / sum[0]);
  if (patch != 0) return;
  a.record->count = a.patches;
  a.record->truncated = a.truncated;
}

__global__ void __launch_bounds__(kReadOutThreads)
    read_out(const __grid_constant__ ReadOutArguments a) {
  __shared__ unsigned long long evidence[kMaxCortexClasses];
  static_assert(kReadOutThreads >= kMaxCortexClasses);
  wait_for_kernels_before();
  const int patch = static_cast<int>(blockIdx.x);
  const int c = static_cast<int>(threadIdx.x);
  const bool is_class = c < a.classes;
  const bool present = a.state->bad == 0 && patch < a.patches;
  if (is_class) {
    evidence[c] =
        static_cast<unsigned long long>(std::int64_t{a.class_bias[c]} * kCortexActivityOne);
  }
  __syncthreads();
  if (present) add_evidence(a, patch, evidence);
  __syncthreads();
  const auto own = static_cast<std::int64_t>(is_class ? evidence[c] : 0);
  auto* const plane = out_plane<float>(*a.frame, 0);
  if (plane != nullptr && is_class) {
    constexpr double kUnit = 1.0 / (kCortexReadOutScale * kCortexActivityOne);
    row_at(plane, a.frame->out_stride[0], patch)[c] =
        present ? static_cast<float>(static_cast<double>(own) * kUnit) : 0.0f;
  }
  if (present) write_answer(a, patch, own, is_class);
  __syncthreads();
  constexpr int kFrames = 1;  // that a result is computed from
  if (c == 0) finish_frame(a.state, a.outcome, kFrames, gridDim.x);
}

}  // namespace

const Kernel<ReadOutArguments> kCortexReadOutKernel = read_out;

}  // namespace ocellus::cuda
