// UC4, and the result of a frame.
#include "kernels/image/pixels.cuh"
#include "kernels/neocognitron/block.cuh"
#include "neocognitron/best_class.h"

namespace ocellus::cuda {
namespace {

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// The largest similarity to a vector between two references of a class (references.h). A warp
// takes every 16th reference; its own results rule out later ones. They do not depend on other
// warps, so that the result does not depend on the timing.
__device__ void read_class(const ReadoutArguments& a, int candidate) {
  constexpr int kWarps = kReadoutThreads / kWarp;
  const DeviceClass own = a.classes[blockIdx.x];
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarp;
  const int warp = thread / kWarp;
  const float* const similarities =
      a.candidates.simple + candidate * a.candidates.simple_stride + own.first;
  const int pairs = a.positions * own.count;  // of a position and a reference
  const auto similarity = [&](int pair) {
    return similarities[pair / own.count * a.stride + pair % own.count];
  };
  float best[1] = {0.0f};
  for (int i = thread; i < pairs; i += kReadoutThreads) best[0] = fmaxf(best[0], similarity(i));
  combine_block<kReadoutThreads>(best, Larger());
  float squared = best[0] * best[0];
  // With si as the larger one of the two, (6) is at most si sqrt(2 / (1 + g)).
  const auto is_ruled_out = [&](float si, int i) {
    return 2.0f * si * si <= squared * (1.0f + own.smallest[i]);
  };
  for (int first = 0; first < pairs; first += kReadoutThreads) {
    const int mine = first + lane * kWarps + warp;
    bool left = false;
    if (mine < pairs) left = !is_ruled_out(similarity(mine), mine % own.count);
    unsigned mask = __ballot_sync(kAllLanes, left);
    for (; mask != 0; mask &= mask - 1) {
      const int pair = first + (__ffs(static_cast<int>(mask)) - 1) * kWarps + warp;
      const int i = pair % own.count;
      const float si = similarity(pair);
      if (is_ruled_out(si, i)) continue;
      const float* const of_position = similarities + pair / own.count * a.stride;
      const std::size_t row = static_cast<std::size_t>(i) * own.stride;
      // (6) as si^2 + ((sj - si g) / sqrt(1 - g^2))^2 for sj <= si; the term is 0 elsewhere.
      float most = 0.0f;
      for (int j = lane; j < own.count; j += kWarp) {
        const float sj = of_position[j];
        const float term = fmaf(-si, own.products[row + j], sj) * own.scales[row + j];
        if (sj <= si) most = fmaxf(most, term);
      }
#pragma unroll
      for (int offset = kWarp / 2; offset > 0; offset /= 2)
        most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, offset));
      squared = fmaxf(squared, fmaf(most, most, si * si));
    }
  }
  float largest[1] = {squared};
  combine_block<kReadoutThreads>(largest, Larger());
  if (thread != 0) return;
  a.candidates.scores[static_cast<std::size_t>(candidate) * a.class_count + blockIdx.x] =
      fmaxf(best[0], sqrtf(largest[0]));
  if (blockIdx.x == 0 && a.complete != nullptr)
    a.complete[candidate] = a.candidates.capped[candidate] == 0 ? 1 : 0;
}

__global__ void __launch_bounds__(kReadoutThreads)
    read_out(const __grid_constant__ ReadoutArguments a) {
  for_each_candidate(a.candidates, [&](int candidate) { read_class(a, candidate); });
}

/// A row of the result, null if the caller does not want it.
__device__ float* row_of_result(const RecordArguments& a, int row) {
  auto* const plane = out_plane<float>(*a.frame, 0);
  return plane == nullptr ? nullptr : row_at(plane, a.frame->out_stride[0], row);
}

constexpr int kFrames = 1;  // that a result is computed from

/// CharacterReader::finish on the device.
__device__ void write_record(const RecordArguments& a, int tile, const float* scores) {
  const detail::BestClass best =
      detail::best_class(scores, a.characters, a.class_count > a.characters);
  NeocognitronRecord& record = *a.record;
  if (tile == 0) {
    record.count = a.candidates.count;
    record.truncated = a.truncated;
  }
  record.label[tile] = best.label;
  record.similarity[tile] = best.similarity;
  record.margin[tile] = best.lead();
  record.x[tile] = tile % a.columns * a.tile.width;
  record.y[tile] = tile / a.columns * a.tile.height;
  record.width[tile] = a.tile.width;
  record.height[tile] = a.tile.height;
  std::uint32_t flags = a.candidates.capped[tile] != 0 ? kCharacterCapped : 0u;
  if (best.label < 0) {
    flags |= kCharacterEmpty;
  } else {
    const ConfidenceCalibration& c = a.calibration;
    const float confidence = 1.0f / (1.0f + expf(-(c.offset + c.per_margin * best.lead() +
                                                   c.per_similarity * best.similarity)));
    record.confidence[tile] = confidence;
    if (confidence < a.min_confidence) flags |= kCharacterRejected;
  }
  record.flags[tile] = flags;
}

__global__ void __launch_bounds__(kRecordThreads)
    tile_record(const __grid_constant__ RecordArguments a) {
  __shared__ float scores[kMaxCharacterClasses];
  wait_for_kernels_before();
  const int row = static_cast<int>(blockIdx.x);
  const bool bad = a.state->bad != 0;
  const bool present = !bad && row < a.candidates.count;
  float* const out = row_of_result(a, row);
  for (int c = static_cast<int>(threadIdx.x); c < a.class_count; c += kRecordThreads) {
    scores[c] = present ? a.candidates.scores[row * a.class_count + c] : 0.0f;
    if (out != nullptr && c < a.characters) out[c] = scores[c];
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (present) write_record(a, row, scores);
  finish_frame(a.state, a.outcome, kFrames, gridDim.x);
}

__global__ void __launch_bounds__(kRecordThreads)
    rows_of_host(const __grid_constant__ RecordArguments a) {
  const int row = static_cast<int>(blockIdx.x);
  float* const out = row_of_result(a, row);
  if (out != nullptr)
    for (int c = static_cast<int>(threadIdx.x); c < a.characters; c += kRecordThreads)
      out[c] = a.rows[row * a.characters + c];
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (row == 0 && a.host->bad != 0) atomicOr(&a.state->bad, 1u);
  finish_frame(a.state, a.outcome, kFrames, gridDim.x);
}

}  // namespace

const Kernel<ReadoutArguments> kReadoutKernel = read_out;
const Kernel<RecordArguments> kTileRecordKernel = tile_record;
const Kernel<RecordArguments> kRowKernel = rows_of_host;

}  // namespace ocellus::cuda
