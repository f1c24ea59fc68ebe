// What restoration on the CPU has for every schedule: rows of the padded image, and black results.
#pragma once

#include <cstddef>
#include <memory>

#include "core/cpu_operator.h"
#include "restoration/plan.h"

namespace ocellus::detail {

class CpuRestoration : public CpuOperator {
 protected:
  /// The image is continued by `padding` pixels on each side.
  CpuRestoration(const RestorationPlan& plan, int padding, int workers) noexcept;

  void write_bad(const FrameJob& frame) noexcept override;

  /// The function of a step that calls a method of the schedule.
  template <typename Schedule, void (Schedule::*kMethod)(FrameJob&, int, int) const noexcept>
  static void run(void* context, int part, int worker) noexcept {
    FrameJob& frame = *static_cast<StepContext*>(context)->frame;
    (static_cast<const Schedule*>(frame.owner)->*kMethod)(frame, part, worker);
  }

  /// Writes `padded_.width` gray levels: row `y` of the padded image, which may be outside of it.
  /// Returns false if a pixel is not finite.
  bool pad_row(const Frame& in, int y, float* row) const noexcept;

  RestorationPlan plan_;
  int padding_;
  ImageSize padded_;
};

/// `count` rounded up to a multiple of 16, for rows that begin at multiples of 64 bytes.
constexpr int whole_vectors(int count) noexcept {
  return (count + 15) / 16 * 16;
}

// Null when the system has no memory.
std::unique_ptr<OperatorInstance> make_recursion_cpu(const RestorationPlan& plan,
                                                     int workers) noexcept;
std::unique_ptr<OperatorInstance> make_frequency_cpu(const RestorationPlan& plan,
                                                     int workers) noexcept;

}  // namespace ocellus::detail
