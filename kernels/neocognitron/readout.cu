// UC4, and the result of a frame.
#include "kernels/image/pixels.cuh"
#include "kernels/neocognitron/block.cuh"
#include "kernels/neocognitron/block_team.cuh"
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

/// CharacterReader::add on the device.
__device__ void write_character(const RecordArguments& a, int i, const Rect& box,
                                const detail::BestClass& best, bool complete) {
  NeocognitronRecord& record = *a.record;
  record.label[i] = best.label;
  record.similarity[i] = best.similarity;
  record.margin[i] = best.lead();
  record.x[i] = box.x;
  record.y[i] = box.y;
  record.width[i] = box.width;
  record.height[i] = box.height;
  std::uint32_t flags = complete ? 0u : kCharacterCapped;
  if (best.label < 0) {
    flags |= kCharacterEmpty;
  } else {
    const ConfidenceCalibration& c = a.calibration;
    const float confidence = 1.0f / (1.0f + expf(-(c.offset + c.per_margin * best.lead() +
                                                   c.per_similarity * best.similarity)));
    record.confidence[i] = confidence;
    if (confidence < a.min_confidence) flags |= kCharacterRejected;
  }
  record.flags[i] = flags;
}

__device__ void write_tile(const RecordArguments& a, int tile, const float* scores) {
  if (tile == 0) {
    a.record->count = a.candidates.count;
    a.record->truncated = a.truncated;
  }
  const Rect box{tile % a.columns * a.tile.width, tile / a.columns * a.tile.height, a.tile.width,
                 a.tile.height};
  write_character(a, tile, box,
                  detail::best_class(scores, a.characters, a.class_count > a.characters),
                  a.candidates.capped[tile] == 0);
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
  if (present) write_tile(a, row, scores);
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

constexpr int kMostCandidates = 2 * kMaxCharacters;

/// The candidates of the fields, and the characters among them.
struct FieldShares {
  int first[kMaxTextFields + 1];  ///< candidate
  int kept[kMaxTextFields];       ///< characters
  int row[kMaxTextFields];        ///< of the first character

  __device__ int field_of(int candidate) const {
    int field = 0;
    while (first[field + 1] <= candidate) ++field;
    return field;
  }
};

/// Shares the rows of the result among the fields. `before`: of each candidate, the characters
/// before it. One thread calls it.
__device__ void share_rows(const RecordArguments& a, FieldShares& shares, const int* before,
                           int characters, bool truncated) {
  const int fields = a.ink.field_count;
  const int total = shares.first[fields];
  const auto until = [&](int candidate) {
    return candidate < total ? before[candidate] : characters;
  };
  const auto share_of = [&](int field) {
    return min(a.ink.fields[field].counts->candidates, a.max_characters / fields);
  };
  int reserved = 0;
  for (int f = 0; f < fields; ++f) reserved += share_of(f);
  int row = 0;
  for (int f = 0; f < fields; ++f) {
    reserved -= share_of(f);
    const int chosen = until(shares.first[f + 1]) - until(shares.first[f]);
    constexpr int kMost = kMaxFieldCharacters;
    const int kept = min(min(chosen, kMost), a.max_characters - reserved - row);
    truncated = truncated || kept < chosen;
    shares.kept[f] = kept;
    shares.row[f] = row;
    row += kept;
  }
  a.record->count = row;
  a.record->truncated = truncated;
}

/// CharacterReader::finish on the device.
__global__ void __launch_bounds__(kChoiceThreads)
    choose_characters(const __grid_constant__ RecordArguments a) {
  __shared__ FieldShares shares;
  __shared__ float values[kMostCandidates];
  __shared__ int places[kMostCandidates];
  __shared__ int chosen[kMaxCharacters];  // the candidate of each row, -1: none
  wait_for_kernels_before();
  const bool bad = a.state->bad != 0;
  const BlockTeam<kChoiceThreads> team;
  const InkField* const fields = a.ink.fields;
  const auto candidate_at = [&](int c, int field) -> const detail::CharacterCandidate& {
    return fields[field].lattice.candidates[c - shares.first[field]];
  };
  const auto best_of = [&](int c) {
    return detail::best_class(a.scores + c * a.class_count, a.characters,
                              a.class_count > a.characters);
  };
  bool truncated = false;
  if (team.index() == 0) {
    const auto count_of = [&](int field) { return fields[field].counts->candidates; };
    const auto use = [&](int field, int first, int count) {
      shares.first[field] = first;
      truncated = truncated || fields[field].counts->truncated || count_of(field) > count;
    };
    const int total = detail::share_places(a.ink.field_count, a.most, count_of, use);
    shares.first[a.ink.field_count] = total;
  }
  detail::share(team, a.max_characters, [&](int row) { chosen[row] = -1; });
  team.barrier();
  const int total = bad ? 0 : shares.first[a.ink.field_count];
  detail::share(team, total, [&](int c) {
    const detail::BestClass best = best_of(c);
    values[c] = detail::value_of(candidate_at(c, shares.field_of(c)),
                                 {best.label, best.similarity, best.margin, best.other}, a.odds,
                                 {a.sizes, static_cast<std::size_t>(a.size_count)});
    places[c] = 0;
  });
  team.barrier();
  // A thread chooses in the cluster of which it has the first candidate.
  detail::share(team, total, [&](int c) {
    const int field = shares.field_of(c);
    const int cluster = candidate_at(c, field).cluster;
    if (c > shares.first[field] && candidate_at(c - 1, field).cluster == cluster) return;
    int end = c + 1;
    while (end < shares.first[field + 1] && candidate_at(end, field).cluster == cluster) ++end;
    detail::choose_in_cluster(&candidate_at(c, field), end - c, values + c, a.odds.dropped,
                              [&](int index) { places[c + index] = 1; });
  });
  const int characters = team.scan(places, total);
  if (team.index() == 0 && !bad) share_rows(a, shares, places, characters, truncated);
  team.barrier();
  detail::share(team, total, [&](int c) {
    const int next = c + 1 < total ? places[c + 1] : characters;
    const int field = shares.field_of(c);
    const int in_field = places[c] - places[shares.first[field]];
    if (next == places[c] || in_field >= shares.kept[field]) return;
    const int row = shares.row[field] + in_field;
    chosen[row] = c;
    const detail::CharacterCandidate& candidate = candidate_at(c, field);
    Rect box = candidate.box;
    box.x += fields[field].x;
    box.y += fields[field].y;
    write_character(a, row, box, best_of(c), a.complete[c] != 0);
    a.record->line[row] = candidate.line;
    a.record->field[row] = field;
  });
  team.barrier();
  detail::share(team, a.max_characters * a.characters, [&](int i) {
    const int row = i / a.characters;
    float* const out = row_of_result(a, row);
    if (out == nullptr) return;
    const int c = chosen[row];
    out[i % a.characters] = c < 0 ? 0.0f : a.scores[c * a.class_count + i % a.characters];
  });
  team.barrier();
  if (team.index() == 0) finish_frame(a.state, a.outcome, kFrames, gridDim.x);
}

}  // namespace

const Kernel<ReadoutArguments> kReadoutKernel = read_out;
const Kernel<RecordArguments> kTileRecordKernel = tile_record;
const Kernel<RecordArguments> kRowKernel = rows_of_host;
const Kernel<RecordArguments> kChoiceKernel = choose_characters;

}  // namespace ocellus::cuda
