// Data that the host passes to the kernels of a frame, that the device keeps between frames, and
// that it returns to the host. Plain data for both sides.
#pragma once

#include <array>
#include <cstdint>

#include "core/operator_instance.h"

namespace ocellus::cuda {

template <typename Argument>
using Kernel = void (*)(Argument);

/// The kernel for pixels of a format without color.
template <typename Argument>
Kernel<Argument> kernel_for(PixelFormat format, Kernel<Argument> gray8, Kernel<Argument> gray16,
                            Kernel<Argument> float32) noexcept {
  if (format == PixelFormat::kGray8) return gray8;
  return format == PixelFormat::kGray16 ? gray16 : float32;
}

/// Parameters of a frame. In device memory, one for each slot; written before the frame's graph
/// runs.
struct FrameParams {
  const void* image;            ///< the luma of a frame that has color
  std::int64_t image_stride;    ///< bytes from row to row
  void* out[kMaxOutputPlanes];  ///< null if the caller does not want the plane
  /// Bytes from row to row; equal for planes of the same size and format.
  std::int64_t out_stride[kMaxOutputPlanes];
  const void* color;  ///< the frame as it came, if it has color; otherwise null
  std::int64_t color_stride;
  void* picture;  ///< the picture with color that is made of `color` and out[0]; otherwise null
  std::int64_t picture_stride;
  /// Not 0 if the host can read `image`, or a copy of it; see CudaOperator::host_frame.
  std::uint64_t host_reads_image;
};

/// Position in the temporal state. In device memory. The device advances it, so that a frame with
/// bad pixels does not count.
struct TemporalState {
  int head;        ///< index in the ring of the newest frame
  int count;       ///< accepted frames before the newest one, at most frames - 1
  unsigned bad;    ///< not 0 if the present frame has values that are not finite
  unsigned ended;  ///< number of blocks of the last kernel that have ended
};

/// Result flags of a frame. In pinned memory, one for each slot. The host clears them before the
/// frame. A good frame therefore ends without a write over the bus, which would delay its end.
struct FrameOutcome {
  std::uint32_t bad;
  std::uint32_t stopped;  ///< not 0 if the frame ended early because the operator was stopped
};

#if defined(__CUDACC__)

/// An output plane with elements of type T.
template <typename T>
__device__ inline T* out_plane(const FrameParams& frame, int plane) {
  return static_cast<T*>(frame.out[plane]);
}

/// Index in the ring of the frame `age` frames before the newest one. The oldest frame replaces
/// frames that never came.
__device__ inline int ring_index(int head, int count, int frames, int age) {
  const int at = head - (age < count ? age : count);
  return at < 0 ? at + frames : at;
}

/// Must be called by one thread of each block of the frame's last kernel that reads the state,
/// after the block has read it. The last block that calls it advances the state to the next frame.
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
