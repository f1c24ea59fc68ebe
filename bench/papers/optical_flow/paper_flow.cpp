#include "bench/papers/optical_flow/paper_flow.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "bench/papers/optical_flow/paper_kernels.h"
#include "core/operator_creation.h"
#include "image/pixel_rows.h"
#include "kernels/optical_flow/flow_operator.h"
#include "kernels/optical_flow/window_launch.h"
#include "optical_flow/backend.h"
#include "optical_flow/kernel_source.h"

namespace ocellus::paper {
namespace {

using cuda::block_count;
using cuda::kCudaCalls;
using cuda::LayoutBuilder;
using cuda::Scope;
using detail::OpticalFlowPlan;

/// An instance that runs the paper's kernels.
class PaperKernels final : public cuda::FlowOperator {
 public:
  PaperKernels(const OpticalFlowPlan& plan, const Schedule& schedule,
               const KernelConfig* kernels) noexcept
      : FlowOperator(plan, kernels), schedule_(schedule) {
    kept_ = cuda::float_planes(plan.size.width + plan.nx - 1, plan.size.height + plan.ny - 1);
    derivatives_ = cuda::float_planes(plan.size.width, plan.size.height);
    pixels_ = detail::align_up(
        static_cast<std::size_t>(plan.size.width) * static_cast<std::size_t>(plan.size.height), 32);
  }

 private:
  void layout_method(LayoutBuilder& device) noexcept override {
    kept_.base = device.take<float>(static_cast<std::size_t>(plan_.nt * kept_.plane));
    taps_ = device.take<float>(static_cast<std::size_t>(plan_.convolutions) * taps_of_one());
    if (!plan_.filter_only)
      derivatives_.base =
          device.take<float>(static_cast<std::size_t>(plan_.convolutions * derivatives_.plane));
  }

  Expected<void> load(Scope& cuda, const KernelConfig& kernels) noexcept override {
    OCELLUS_TRY(load_check_kernel(cuda));
    OCELLUS_TRY(load_kernel(cuda, keep_kernel(plan_.format), 0));
    for (int first = 0; first < plan_.convolutions; first += schedule_.package) {
      OCELLUS_TRY(load_kernel(cuda, convolve_kernel(schedule_.frames, package_at(first), plan_.nx),
                              convolve_shared_bytes(schedule_.frames, plan_.nx, plan_.ny)));
    }
    if (!plan_.filter_only) {
      const cuda::WindowLaunch window = window_launch(plan_, cuda::WindowSource::kKernels);
      OCELLUS_TRY(load_kernel(cuda, window.kernel, window.shared_bytes));
    }
    return load_taps(cuda, kernels);
  }

  Expected<void> record_method(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    OCELLUS_TRY(launch_check(cuda, slot, stream));
    const dim3 block(kBlockWidth, kBlockHeight);
    KeepArguments keep{};
    keep.frame = params(slot);
    keep.state = state();
    keep.width = plan_.size.width;
    keep.height = plan_.size.height;
    keep.nx = plan_.nx;
    keep.ny = plan_.ny;
    keep.kept = kept_;
    keep.scale = detail::gray_scale(plan_.format);
    OCELLUS_TRY(launch(cuda, stream, keep_kernel(plan_.format),
                       dim3(block_count(keep.width + keep.nx - 1, kBlockWidth),
                            block_count(keep.height + keep.ny - 1, kBlockHeight)),
                       block, 0, keep));

    for (int first = 0; first < plan_.convolutions; first += schedule_.package) {
      const int package = package_at(first);
      const bool last = first + package == plan_.convolutions;
      ConvolveArguments a{};
      a.width = plan_.size.width;
      a.height = plan_.size.height;
      a.nx = plan_.nx;
      a.ny = plan_.ny;
      a.kept = kept_;
      a.taps = taps_ + static_cast<std::size_t>(first) * taps_of_one();
      a.pixels = static_cast<std::int64_t>(pixels_);
      a.first = first;
      a.result = derivatives_;
      OCELLUS_TRY(
          launch(cuda, stream, convolve_kernel(schedule_.frames, package, plan_.nx),
                 dim3(block_count(a.width, kBlockWidth), block_count(a.height, kBlockHeight)),
                 block, convolve_shared_bytes(schedule_.frames, plan_.nx, plan_.ny),
                 with_frame(a, slot, plan_.filter_only && last)));
    }
    return plan_.filter_only ? Expected<void>() : record_window(cuda, slot, stream);
  }

  Expected<void> record_window(Scope& cuda, int slot, cudaStream_t stream) noexcept {
    cuda::WindowLaunch window = window_launch(plan_, cuda::WindowSource::kKernels);
    window.arguments.derivatives = derivatives_;
    return launch(cuda, stream, window.kernel, window.grid, window.block, window.shared_bytes,
                  with_frame(window.arguments, slot, true));
  }

  /// Loads row by row. A row of the image is one strip of each tap's plane.
  Expected<void> load_taps(Scope& cuda, const KernelConfig& kernels) noexcept {
    OCELLUS_TRY_ASSIGN(source, detail::KernelSource::open(kernels, plan_.size));
    const auto taps = static_cast<std::size_t>(tap_count());
    const auto columns = static_cast<std::size_t>(plan_.size.width);
    const auto convolutions = static_cast<std::size_t>(plan_.convolutions);
    const std::unique_ptr<float[]> row(new (std::nothrow) float[convolutions * taps * columns]);
    if (!row)
      return tl::unexpected(
          make_error(Status::kOutOfMemory, "the system gave no memory to read the kernels"));
    for (int y = 0; y < plan_.size.height; ++y) {
      for (std::size_t x = 0; x < columns; ++x) {
        for (int c = 0; c < plan_.convolutions; ++c) {
          float wx[kMaxKernelTaps], wy[kMaxKernelTaps], wt[kMaxKernelTaps];
          OCELLUS_TRY((*source)->read(static_cast<int>(x), y, c, 0, wx, wy, wt));
          const int begin = strip_of(c).first;
          const auto width = static_cast<std::size_t>(strip_of(c).second);
          float* to = row.get() + static_cast<std::size_t>(begin) * taps * columns + x * width +
                      static_cast<std::size_t>(c - begin);
          const auto put = [&](float tap) {
            *to = tap;
            to += columns * width;
          };
          for (int i = plan_.nx - 1; i >= 0; --i) put(wx[i]);
          for (int i = plan_.ny - 1; i >= 0; --i) put(wy[i]);
          for (int i = 0; i < plan_.nt; ++i) put(wt[i]);
        }
      }
      for (int c = 0; c < plan_.convolutions; c += strip_of(c).second) {
        const auto width = static_cast<std::size_t>(strip_of(c).second);
        const std::size_t strip = width * columns * sizeof(float);
        float* const to = taps_ + static_cast<std::size_t>(c) * taps_of_one() +
                          static_cast<std::size_t>(y) * columns * width;
        OCELLUS_TRY(cuda(kCudaCalls.copy_2d, to, pixels_ * width * sizeof(float),
                         row.get() + static_cast<std::size_t>(c) * taps * columns, strip, strip,
                         taps, cudaMemcpyHostToDevice, creation_stream()));
      }
      OCELLUS_TRY(cuda(kCudaCalls.synchronize_stream, creation_stream()));
    }
    return {};
  }

  int package_at(int first) const noexcept {
    return std::min(schedule_.package, plan_.convolutions - first);
  }
  /// The first of the convolutions whose taps are interleaved with those of `convolution`, and
  /// their number.
  std::pair<int, int> strip_of(int convolution) const noexcept {
    const int first = convolution / schedule_.package * schedule_.package;
    const int begin = first + (convolution - first) / 2 * 2;
    return {begin, std::min(2, first + package_at(first) - begin)};
  }
  int tap_count() const noexcept { return plan_.nx + plan_.ny + plan_.nt; }
  std::size_t taps_of_one() const noexcept {
    return static_cast<std::size_t>(tap_count()) * pixels_;
  }

  Schedule schedule_;
  std::size_t pixels_ = 0;  // floats from tap to tap
  FloatPlanes kept_{};
  FloatPlanes derivatives_{};
  float* taps_ = nullptr;
};

/// Refuses configurations that the paper's schedules do not support.
Expected<OpticalFlowPlan> check(const Expected<OpticalFlowPlan>& plan,
                                const Schedule& schedule) noexcept {
  if (!plan) return plan;
  if (schedule.package < 1 || schedule.package > kMaxPackage)
    return tl::unexpected(make_error(Status::kInvalidArgument, "package is %d; it must be 1 to %d",
                                     schedule.package, kMaxPackage));
  const Rect& roi = plan->roi;
  const bool whole = roi.width == plan->size.width && roi.height == plan->size.height;
  const char* what = plan->method != FlowMethod::kKernels          ? "a pyramid"
                     : plan->form == KernelForm::kUniform          ? "uniform kernels"
                     : plan->form == KernelForm::kFull             ? "full kernels"
                     : plan->terms != 1                            ? "kernels of several terms"
                     : plan->storage != CoefficientStorage::kFloat ? "half storage"
                     : !whole                                      ? "a region of interest"
                                                                   : nullptr;
  if (what != nullptr)
    return tl::unexpected(
        make_error(Status::kUnsupported,
                   "the paper's schedules do not support %s; they require per-pixel kernels "
                   "of one term in float storage over the whole image",
                   what));
  return plan;
}

template <typename Config>
std::unique_ptr<detail::OperatorInstance> make_kernels(
    const OpticalFlowPlan& plan, const WithSchedule<Config>& config) noexcept {
  return std::unique_ptr<detail::OperatorInstance>(
      new (std::nothrow) PaperKernels(plan, config.schedule, &config.kernels));
}

}  // namespace
}  // namespace ocellus::paper

namespace ocellus {

template <typename Config>
struct detail::OperatorTraits<paper::WithSchedule<Config>> {
  static Expected<OpticalFlowPlan> make_plan_for(
      const paper::WithSchedule<Config>& config) noexcept {
    return paper::check(make_plan(config), config.schedule);
  }
  static OperatorInfo info(const OpticalFlowPlan& plan) noexcept { return info_of(plan); }
  static auto cpu(const OpticalFlowPlan& plan, int,
                  const paper::WithSchedule<Config>& config) noexcept {
    return paper::make_kernels(plan, config);
  }
  static auto cuda(const OpticalFlowPlan& plan,
                   const paper::WithSchedule<Config>& config) noexcept {
    return paper::make_kernels(plan, config);
  }
};

template class Operator<paper::PaperFlow, paper::WithSchedule<OpticalFlowConfig>>;
template class Operator<paper::PaperFilter, paper::WithSchedule<SpatioTemporalFilterConfig>>;

}  // namespace ocellus
