#include "bench/papers/restoration/paper_restoration.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "bench/papers/restoration/paper_kernels.h"
#include "core/operator_creation.h"
#include "kernels/restoration/recursion.h"

namespace ocellus::paper {
namespace {

using cuda::LayoutBuilder;
using cuda::Scope;
using detail::RestorationPlan;

constexpr int kMaxBlocks = 65535;

/// How the kernels run, without the plan.
struct Allocation {
  PaperAllocation method;
  bool fused;
  int blocks;
  int unused_shared_bytes;
};

class PaperKernels final : public cuda::RecursionOperator {
 public:
  PaperKernels(const RestorationPlan& plan, const Allocation& allocation) noexcept
      : RecursionOperator(plan, detail::info_of(plan)), allocation_(allocation) {}

 private:
  bool flexible() const noexcept { return allocation_.method == PaperAllocation::kFlexible; }
  Kernel<PaperRestorationArguments> kernel() const noexcept {
    return flexible() ? flexible_kernel(allocation_.fused) : fixed_kernel(allocation_.fused);
  }
  std::size_t shared_bytes() const noexcept {
    return paper_shared_bytes(plan_.filter.support, allocation_.fused) +
           static_cast<std::size_t>(allocation_.unused_shared_bytes);
  }
  std::size_t tap_count() const noexcept {
    const auto m = static_cast<std::size_t>(plan_.filter.support);
    return m * m;
  }
  std::size_t column_count() const noexcept {
    return kFilterQuadrants * static_cast<std::size_t>(image_.width);
  }

  void layout(LayoutBuilder& device) noexcept override {
    place_image(device);
    taps_ = device.take<float>(2 * kFilterQuadrants * tap_count());
    planes_ = device.take<float>(kFilterQuadrants * image_pixels());
    columns_ = device.take<int>(2 * column_count());
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    const auto most = static_cast<std::size_t>(device_traits().shared_bytes_per_block);
    if (shared_bytes() > most) {
      return tl::unexpected(make_error(
          Status::kUnsupported,
          "the paper's schedule needs %zu bytes of shared memory; the device has %zu for each "
          "block",
          shared_bytes(), most));
    }
    OCELLUS_TRY(load_image_kernels(cuda));
    OCELLUS_TRY(load_kernel(cuda, kernel(), shared_bytes()));
    if (!allocation_.fused) OCELLUS_TRY(load_kernel(cuda, kFeedforwardKernel, shared_bytes()));
    const std::unique_ptr<float[]> taps(
        new (std::nothrow) float[2 * kFilterQuadrants * tap_count()]);
    if (!taps) return detail::no_memory_for_operator();
    float* to = taps.get();
    for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
      to = std::copy_n(plan_.filter.feedforward[q].begin(), tap_count(), to);
      to = std::copy_n(plan_.filter.feedback[q].begin(), tap_count(), to);
    }
    return upload(cuda, taps_, taps.get(), 2 * kFilterQuadrants * tap_count() * sizeof(float));
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    OCELLUS_TRY(launch_continue(cuda, slot, stream));
    PaperRestorationArguments arguments{.image = image_,
                                        .support = plan_.filter.support,
                                        .taps = taps_,
                                        .planes = planes_,
                                        .by_planes = false,
                                        .done = columns_,
                                        .locks = columns_ + column_count(),
                                        .plane_of_schedule = 0,
                                        .counts = nullptr};
    if (!allocation_.fused)
      OCELLUS_TRY(run(cuda, stream, kFeedforwardKernel, image_.width, arguments));
    if (flexible()) {
      OCELLUS_TRY(
          cuda(cuda::kCudaCalls.set, columns_, 0, 2 * column_count() * sizeof(int), stream));
      OCELLUS_TRY(run(cuda, stream, kernel(), allocation_.blocks, arguments));
    } else {
      const int planes = planes_of_schedule(image_);
      for (int& t = arguments.plane_of_schedule; t < planes; ++t)
        OCELLUS_TRY(run(cuda, stream, kernel(), points_on_plane(image_, t), arguments));
    }
    const std::size_t corner =
        static_cast<std::size_t>(image_.margin_y) * static_cast<std::size_t>(image_.width) +
        static_cast<std::size_t>(image_.margin_x);
    return launch_add(cuda, slot, stream, planes_ + corner, image_pixels(), image_.width);
  }

  Expected<void> run(Scope& cuda, cudaStream_t stream, Kernel<PaperRestorationArguments> which,
                     int blocks, const PaperRestorationArguments& arguments) noexcept {
    return launch(cuda, stream, which, dim3(static_cast<unsigned>(blocks), kFilterQuadrants),
                  dim3(kBlockThreads), shared_bytes(), arguments);
  }

  Allocation allocation_;
  float* taps_ = nullptr;
  float* planes_ = nullptr;
  int* columns_ = nullptr;
};

Expected<RestorationPlan> check(const PaperRestorationConfig& config) noexcept {
  if (config.blocks < 1 || config.blocks > kMaxBlocks)
    return tl::unexpected(make_error(Status::kInvalidArgument, "blocks is %d; it must be 1 to %d",
                                     config.blocks, kMaxBlocks));
  if (config.unused_shared_bytes < 0)
    return tl::unexpected(make_error(Status::kInvalidArgument,
                                     "unused_shared_bytes is %d; it must be 0 or more",
                                     config.unused_shared_bytes));
  auto plan = detail::make_plan(config);
  if (plan) plan->schedule = RestorationSchedule::kRecursion;
  return plan;
}

std::unique_ptr<detail::OperatorInstance> make_kernels(
    const RestorationPlan& plan, const PaperRestorationConfig& config) noexcept {
  return std::unique_ptr<detail::OperatorInstance>(new (std::nothrow) PaperKernels(
      plan, {config.allocation, config.fused, config.blocks, config.unused_shared_bytes}));
}

}  // namespace
}  // namespace ocellus::paper

namespace ocellus {

template <>
struct detail::OperatorTraits<paper::PaperRestorationConfig> {
  using Config = paper::PaperRestorationConfig;

  static Expected<RestorationPlan> make_plan_for(const Config& config) noexcept {
    return paper::check(config);
  }
  static OperatorInfo info(const RestorationPlan& plan) noexcept { return info_of(plan); }
  static auto cpu(const RestorationPlan& plan, int, const Config& config) noexcept {
    return paper::make_kernels(plan, config);
  }
  static auto cuda(const RestorationPlan& plan, const Config& config) noexcept {
    return paper::make_kernels(plan, config);
  }
};

template class Operator<paper::PaperRestoration, paper::PaperRestorationConfig>;

}  // namespace ocellus
