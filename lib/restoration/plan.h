// RestorationPlan: a checked configuration in the form that backends work from.
#pragma once

#include <cstdint>
#include <memory>

#include "core/operator_instance.h"
#include "ocellus/restoration.h"

namespace ocellus::detail {

/// Plain data.
struct RestorationPlan {
  ImageSize size;
  PixelFormat input_format = PixelFormat::kGray8;  ///< of the frames
  PixelFormat format = PixelFormat::kGray8;        ///< of their luma
  int depth = 1;
  RestorationBorder border = RestorationBorder::kReflect;
  /// Not kAuto once `choose_schedule` has run.
  RestorationSchedule schedule = RestorationSchedule::kAuto;
  /// Pixels by which the image is continued on each side.
  int padding = 0;
  RestorationFilter filter;
};

/// Checks every field, and reads and analyzes the filter. Errors: those of Restoration::create.
Expected<RestorationPlan> make_plan(const RestorationConfig& config) noexcept;
/// Replaces kAuto by the faster schedule of the backend.
RestorationPlan choose_schedule(const RestorationPlan& plan, BackendKind backend) noexcept;
OperatorInfo info_of(const RestorationPlan& plan) noexcept;

/// An instance without memory; null when the system has none.
std::unique_ptr<OperatorInstance> make_restoration_cpu(const RestorationPlan& plan,
                                                       int workers) noexcept;
/// In builds with CUDA.
std::unique_ptr<OperatorInstance> make_restoration_cuda(const RestorationPlan& plan) noexcept;

/// The position in an axis of `length` pixels that stands for `position`; -1: the pixel is 0.
constexpr int border_position(int position, int length, RestorationBorder border) noexcept {
  if (position >= 0 && position < length) return position;
  if (border == RestorationBorder::kZero) return -1;
  if (border == RestorationBorder::kReplicate || length == 1) return position < 0 ? 0 : length - 1;
  const int period = 2 * (length - 1);
  int folded = position % period;
  if (folded < 0) folded += period;
  return folded < length ? folded : period - folded;
}

/// Limits a value to 0 to `most` and adds a half, so that a conversion to a whole number rounds. A
/// comparison with NaN is false, so NaN becomes 0.
constexpr float ready_to_round(float value, float most) noexcept {
  const float limited = !(value > 0.0f) ? 0.0f : value > most ? most : value;
  return limited + 0.5f;
}

/// The value that the format holds for `gray`, in gray levels of 8 bits.
template <typename Pixel>
constexpr Pixel pixel_of(float gray) noexcept;
template <>
constexpr std::uint8_t pixel_of<std::uint8_t>(float gray) noexcept {
  return static_cast<std::uint8_t>(ready_to_round(gray, 255.0f));
}
template <>
constexpr std::uint16_t pixel_of<std::uint16_t>(float gray) noexcept {
  return static_cast<std::uint16_t>(ready_to_round(gray * 257.0f, 65535.0f));
}
template <>
constexpr float pixel_of<float>(float gray) noexcept {
  return gray;
}

}  // namespace ocellus::detail
