// Functions that the kernels of the cellular network share: inputs, results, and the end of a
// frame.
#pragma once

#include "halftone/plan.h"
#include "kernels/halftone/kernels.h"

namespace ocellus::cuda {

__device__ inline std::int32_t input_of_output(int k, int levels) {
  const auto most = static_cast<std::uint32_t>(levels - 1);
  if (most == 1) return k != 0 ? detail::kInputOne : -detail::kInputOne;
  const std::uint32_t above = static_cast<std::uint32_t>(2 * k) * (2 * detail::kInputOne) + most;
  return static_cast<std::int32_t>(above / (2 * most)) - detail::kInputOne;
}

/// Converts a float to 16-bit gray. Values that are not finite become 0.
__device__ inline std::int32_t gray_of_float(float value) {
  if (!isfinite(value)) return 0;
  return __float2int_rn(__fmul_rn(fminf(fmaxf(value, 0.0f), 255.0f), 257.0f));
}

/// Input u of a cell inside the image, in units of 2^-13.
__device__ inline std::int32_t input_at(const CellSource& u, int x, int y) {
  if (u.k != nullptr) return input_of_output(u.k[y * u.pitch + x], u.levels);
  const char* const row = static_cast<const char*>(u.frame->image) + y * u.frame->image_stride;
  switch (u.format) {
    case PixelFormat::kGray8:
      return detail::input_of(u.gray, reinterpret_cast<const std::uint8_t*>(row)[x]);
    case PixelFormat::kGray16:
      return detail::input_of(u.gray, reinterpret_cast<const std::uint16_t*>(row)[x]);
    default:
      return detail::input_of(u.gray, gray_of_float(reinterpret_cast<const float*>(row)[x]));
  }
}

/// Writes the gray value of output k in the format of the result; 0 for a bad frame.
__device__ inline void write_gray(const CellEnd& end, int x, int y, int k, bool bad) {
  char* const row = static_cast<char*>(end.frame->out[0]) + y * end.frame->out_stride[0];
  switch (end.format) {
    case PixelFormat::kGray8:
      reinterpret_cast<std::uint8_t*>(row)[x] = static_cast<std::uint8_t>(
          bad ? 0 : detail::gray_of_level(k, end.levels, end.range, 257, end.white_is_one));
      break;
    case PixelFormat::kGray16:
      reinterpret_cast<std::uint16_t*>(row)[x] = static_cast<std::uint16_t>(
          bad ? 0 : detail::gray_of_level(k, end.levels, end.range, 1, end.white_is_one));
      break;
    default:
      reinterpret_cast<float*>(row)[x] =
          bad ? 0.0f : detail::float_of_level(k, end.levels, end.range, end.white_is_one);
  }
}

/// Writes the record of a frame; called when the totals are final.
__device__ inline void tell_record(const CellEnd& end) {
  end.record->sweeps = static_cast<std::int32_t>(end.totals->sweeps);
  end.record->changed = end.totals->changed;
  end.record->converged = end.totals->converged != 0;
}

}  // namespace ocellus::cuda
