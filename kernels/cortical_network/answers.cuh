// Evidence for the classes of a patch, and its answer. A block computes a patch.
#pragma once

#include "kernels/core/block.cuh"
#include "kernels/core/overlap.cuh"
#include "kernels/cortical_network/answers.h"
#include "ocellus/cortical_network.h"

namespace ocellus::cuda {

struct LargerEvidence {
  __device__ std::int64_t operator()(std::int64_t a, std::int64_t b) const { return max(a, b); }
};
struct SumOfShares {
  __device__ double operator()(double a, double b) const { return a + b; }
};

/// A unit of the evidence.
inline constexpr double kEvidenceUnit = 1.0 / (kCortexReadOutScale * kCortexActivityOne);

__device__ inline void write_answer(const AnswerArguments& a, int patch, std::int64_t evidence,
                                    bool is_class) {
  const int c = static_cast<int>(threadIdx.x);
  // The least one as the largest negative one.
  std::int64_t best[2] = {INT64_MIN, INT64_MIN};
  if (is_class) {
    best[0] = evidence * kMaxCortexClasses + (kMaxCortexClasses - 1 - c);
    best[1] = -evidence;
  }
  combine_block<kReadOutThreads>(best, LargerEvidence());
  static_assert(kMaxCortexClasses == 1 << 8);
  const std::int64_t most = best[0] >> 8;
  const bool none = a.none_if_equal && (a.classes == 0 || most == -best[1]);
  double sum[1] = {0.0};
  if (is_class)
    sum[0] = exp(static_cast<double>(a.sharpness) * static_cast<double>(evidence - most) *
                 kEvidenceUnit);
  combine_block<kReadOutThreads>(sum, SumOfShares());
  if (c != 0) return;
  a.record->label[patch] =
      none ? -1 : kMaxCortexClasses - 1 - static_cast<int>(best[0] & (kMaxCortexClasses - 1));
  a.record->confidence[patch] = none ? 0.0f : static_cast<float>(1.0 / sum[0]);
  if (patch != 0) return;
  a.record->count = a.patches;
  a.record->truncated = a.truncated;
}

/// Adds `value(pair, class)` for the pairs [0, pairs) to the evidence of each class, in units of
/// kEvidenceUnit. All threads of the block.
template <typename Value>
__device__ inline void add_evidence(const AnswerArguments& a, int pairs,
                                    unsigned long long* evidence, const Value& value) {
  if (a.classes == 0) return;
  const int groups = kReadOutThreads / a.classes;
  const int group = static_cast<int>(threadIdx.x) / a.classes;
  const int c = static_cast<int>(threadIdx.x) % a.classes;
  if (group >= groups) return;
  std::int64_t sum = 0;
  for (int pair = group; pair < pairs; pair += groups) sum += value(pair, c);
  // Numbers modulo 2^64.
  atomicAdd(&evidence[c], static_cast<unsigned long long>(sum));
}

/// The body of the last kernel of a frame. `value`: of add_evidence() for a patch;
/// `write_row(patch, present, evidence)`: writes the row of the plane.
template <typename Value, typename WriteRow>
__device__ inline void answer_patch(const AnswerArguments& a, int pairs, const Value& value,
                                    const WriteRow& write_row) {
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
  if (present)
    add_evidence(a, pairs, evidence, [&](int pair, int of) { return value(patch, pair, of); });
  __syncthreads();
  const auto own = static_cast<std::int64_t>(is_class ? evidence[c] : 0);
  write_row(patch, present, own);
  if (present) write_answer(a, patch, own, is_class);
  __syncthreads();
  constexpr int kFrames = 1;  // that a result is computed from
  if (c == 0) finish_frame(a.state, a.outcome, kFrames, gridDim.x);
}

}  // namespace ocellus::cuda
