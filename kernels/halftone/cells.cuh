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

/// The initial state of a cell.
__device__ inline std::int32_t start_state(const StartArguments& a, int x, int y) {
  switch (a.start) {
    case CellStart::kConstant:
      return a.value;
    case CellStart::kPlane:
      return a.plane[y * a.to.pitch + x];
    case CellStart::kNoise:
      return detail::noise_state(x, y, a.seed);
    case CellStart::kBlueNoise:
      return input_at(a.u, x, y) +
             detail::blue_noise_state(a.ranks[y % detail::kBlueNoiseSize * detail::kBlueNoiseSize +
                                              x % detail::kBlueNoiseSize]);
    case CellStart::kPrevious:
      return input_of_output(a.previous[y * a.to.pitch + x], a.previous_levels);
    default:
      return input_at(a.u, x, y);
  }
}

/// Number of sweeps that a run may still make.
__device__ inline std::uint32_t sweeps_left(const CellEnd& end) {
  const auto most = static_cast<std::uint32_t>(end.max_sweeps);
  if (end.first) return most;
  const volatile CellTotals& frame = *end.totals;
  return frame.stopped != 0 ? 0 : most - frame.sweeps;
}

/// Not 0 if the operator was stopped. The value comes over the bus: read it long before it is
/// compared, so that no thread waits for it.
__device__ inline std::uint32_t stop_word(const CellEnd& end) {
  return *static_cast<const volatile std::uint32_t*>(end.stop);
}

/// Adds the totals of a run to those of the frame. After the last run, writes the record.
__device__ inline void add_totals(const CellEnd& end, const CellTotals& run) {
  CellTotals frame = end.first ? CellTotals{0, 0, 0, 0, 1, 0} : *end.totals;
  frame.sweeps += run.sweeps;
  frame.passes += run.passes;
  if (run.sweeps > 0 || run.passes > 0) frame.changed = run.changed;
  frame.finished &= run.finished;
  frame.converged = frame.finished & run.converged;
  frame.stopped |= run.stopped;
  *end.totals = frame;
  if (!end.last) return;
  if (frame.stopped != 0) end.outcome->stopped = 1;
  end.record->sweeps = static_cast<std::int32_t>(frame.sweeps);
  end.record->changed = frame.changed;
  end.record->converged = frame.converged != 0;
  end.record->finished = frame.finished != 0;
  end.record->passes = static_cast<std::int32_t>(frame.passes);
}

}  // namespace ocellus::cuda
