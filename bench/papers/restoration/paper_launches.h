// PaperLaunches: the schedules of Nikonorov, Fursov and Yakimov (2012) without a graph. The host
// launches the fixed allocation plane by plane and copies, as listing 2 of the paper does, or
// receives the counts of a flexible allocation. Not part of the library: it is linked into the
// program for `ocellus bench` and into tests.
#pragma once

#include <memory>
#include <span>

#include "bench/papers/restoration/paper_kernels.h"
#include "core/layout_builder.h"
#include "kernels/core/device_work.h"
#include "ocellus/engine.h"
#include "ocellus/restoration_filter.h"
#include "ocellus/status.h"

namespace ocellus::paper {

class PaperLaunches {
 public:
  /// For images of this size, which have no border: they are continued already.
  static Footprint footprint(ImageSize size, int support) noexcept;
  /// Takes all memory. Errors: Unsupported (on the CPU), OutOfMemory, those of CUDA.
  static Expected<std::unique_ptr<PaperLaunches>> create(Engine& engine, ImageSize size,
                                                         const RestorationFilter& filter) noexcept;

  /// Fixed allocation. For each plane of the schedule, the host copies the values that its points
  /// read to the device, launches a kernel, and copies its results back. x1 is computed before.
  /// Returns the milliseconds from the image in the memory of the host to the results of the
  /// quadrants there. Errors: InvalidArgument (the size of the image), those of CUDA.
  Expected<double> fixed(std::span<const float> image) noexcept;
  /// Flexible allocation in one launch, with x1 before it. Errors: those of `fixed`.
  Expected<StepCounts> flexible(std::span<const float> image, int blocks) noexcept;
  /// Writes the sum of the quadrants of the last call. `sum` has the size of the image.
  void add_quadrants(std::span<float> sum) const noexcept;

 private:
  PaperLaunches(ImageSize size, int support) noexcept;
  void layout(detail::LayoutBuilder& device, detail::LayoutBuilder& pinned) noexcept;
  Expected<void> start(Engine& engine, const RestorationFilter& filter) noexcept;
  /// Copies an image to the device and computes x1.
  Expected<void> begin(cuda::Scope& cuda, std::span<const float> image, bool by_planes) noexcept;
  Expected<void> launch(cuda::Scope& cuda, Kernel<PaperRestorationArguments> kernel,
                        int blocks) noexcept;

  std::size_t pixels() const noexcept {
    return static_cast<std::size_t>(arguments_.image.width) *
           static_cast<std::size_t>(arguments_.image.height);
  }
  std::size_t taps() const noexcept {
    const auto m = static_cast<std::size_t>(arguments_.support);
    return 2 * kFilterQuadrants * m * m;
  }
  std::size_t columns() const noexcept { return plane_values(arguments_.image); }
  /// Values of all planes of the schedule. The quadrants need fewer.
  std::size_t values() const noexcept {
    return static_cast<std::size_t>(planes_of_schedule(arguments_.image)) *
           plane_values(arguments_.image);
  }

  PaperRestorationArguments arguments_{};
  cuda::DeviceWork work_;
  // On the device.
  float* taps_ = nullptr;
  // In pinned memory.
  float* image_ = nullptr;
  float* values_ = nullptr;
};

}  // namespace ocellus::paper
