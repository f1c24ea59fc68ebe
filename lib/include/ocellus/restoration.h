// Restoration: removes blur with the sum of four recursive quadrant filters.
//
// Source: Nikonorov, Fursov, Yakimov, 2012; ocellus/restoration_filter.h has the equations.
#pragma once

#include <cstdint>

#include "ocellus/frame.h"
#include "ocellus/operator.h"
#include "ocellus/options.h"
#include "ocellus/restoration_filter.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// What lies beyond the image. The image is continued on all sides as far as the impulse response
/// of the filter reaches (OperatorInfo::summary names this padding). The recursion begins there.
enum class RestorationBorder : std::uint8_t {
  kReflect,    ///< the image mirrored at its outermost pixels: c b | a b c
  kReplicate,  ///< the nearest pixel of the image
  kZero,       ///< 0
};

/// How the result is computed. All schedules give the same result within the tolerance.
enum class RestorationSchedule : std::uint8_t {
  kAuto,       ///< CPU: the faster one for this support and size. CUDA: always kFrequency
  kRecursion,  ///< the recursion of each quadrant, pixel after pixel
  kFrequency,  ///< Fourier transforms: the four quadrants are one transfer function
};

struct RestorationConfig {
  ImageSize size{};                                       ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;               ///< of the frames and of the result
  int depth = 1;                                          ///< frames in flight, 1 to 8
  OperatorPriority priority = OperatorPriority::kNormal;  ///< among the operators of an engine
  /// The name of a filter of the library (`find_restoration_filter`) or the path of a filter file.
  Text<kMaxOptionText> filter{"gaussian-1"};
  /// C++ only: the filter, in place of the one that `filter` names. It must remain valid until
  /// `create` returns.
  const RestorationFilter* coefficients = nullptr;
  RestorationBorder border = RestorationBorder::kReflect;
  /// OperatorInfo::summary names the schedule that runs.
  RestorationSchedule schedule = RestorationSchedule::kAuto;

  /// All but size, format and coefficients.
  static OptionTable options() noexcept;
};

/// The operator. Its output is one plane of the frame's size, in the format of the frame's luma or
/// of the frame (PlaneInfo::follows_frame), with its color. In whole numbers a result is rounded to
/// the nearest one and limited to the range of the format. The result of a frame with pixels that
/// are not finite is 0 everywhere (kBadPixels).
///
/// Creation reads and analyzes the filter (`analyze_filter` says why one is refused) and computes
/// its tables. Unsupported: the device has too little shared memory.
class Restoration : public Operator<Restoration, RestorationConfig> {};

}  // namespace ocellus

#pragma GCC visibility pop
