// What the host tells the kernels of a frame, what the device keeps from frame to frame, and what
// it tells the host at the end. Plain data for both sides.
#pragma once

#include <array>
#include <cstdint>

#include "core/operator_instance.h"

namespace ocellus::cuda {

template <typename Argument>
using Kernel = void (*)(Argument);

/// In device memory, one for each slot; written before the frame's graph runs.
struct FrameParams {
  const void* image;
  std::int64_t image_stride;                  ///< bytes
  void* out[kMaxOutputPlanes];                ///< null where the user wants none
  std::int64_t out_stride[kMaxOutputPlanes];  ///< bytes; one where planes are alike
};

/// In device memory; advanced by the device, so that a frame with bad pixels counts for nothing.
struct TemporalState {
  int head;        ///< ring slot that the newest frame is written to
  int count;       ///< accepted frames before the newest that are still of use, at most frames - 1
  unsigned bad;    ///< the present frame holds values that are not finite
  unsigned ended;  ///< blocks of the last kernel that have come to their end
};

/// In pinned memory, one for each slot; cleared by the host before the frame, so that a frame
/// without fault ends without a write over the bus, which its end would have to wait for.
struct FrameOutcome {
  std::uint32_t bad;
};

#if defined(__CUDACC__)

/// An output plane, of elements of type T.
template <typename T>
__device__ inline T* out_plane(const FrameParams& frame, int plane) {
  return static_cast<T*>(frame.out[plane]);
}

/// Ring slot of the frame `age` frames before the newest; the oldest one stands in for those that
/// never came.
__device__ inline int ring_index(int head, int count, int frames, int age) {
  const int at = head - (age < count ? age : count);
  return at < 0 ? at + frames : at;
}

/// Called by one thread of each block of the frame's last kernel, when the block has read what it
/// needs of the state. The last block goes on to the next frame.
__device__ inline void finish_frame(TemporalState* state, FrameOutcome* outcome, int frames,
                                    unsigned blocks) {
  __threadfence();
  if (atomicInc(&state->ended, blocks - 1) != blocks - 1) return;
  const unsigned bad = *static_cast<volatile unsigned*>(&state->bad);
  if (bad == 0) {
    state->head = state->head + 1 == frames ? 0 : state->head + 1;
    state->count = min(state->count + 1, frames - 1);
    return;
  }
  state->bad = 0;
  outcome->bad = bad;
  __threadfence_system();
}

#endif

}  // namespace ocellus::cuda
