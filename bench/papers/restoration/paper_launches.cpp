#include "bench/papers/restoration/paper_launches.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <new>

#include "core/failure.h"

namespace ocellus::paper {
namespace {

using cuda::Phase;
using cuda::Scope;
using detail::LayoutBuilder;

constexpr const char* kName = "the paper's launches";

}  // namespace

PaperLaunches::PaperLaunches(ImageSize size, int support) noexcept {
  arguments_.image = {nullptr, size.width, size.height, 0, 0};
  arguments_.support = support;
}

void PaperLaunches::layout(LayoutBuilder& device, LayoutBuilder& pinned) noexcept {
  arguments_.image.pixels = device.take<float>(pixels());
  arguments_.planes = device.take<float>(values());
  arguments_.done = device.take<int>(2 * columns());
  arguments_.counts = device.take<StepCounts>(1);
  taps_ = device.take<float>(taps());
  image_ = pinned.take<float>(pixels());
  values_ = pinned.take<float>(values());
}

Footprint PaperLaunches::footprint(ImageSize size, int support) noexcept {
  PaperLaunches launches(size, support);
  return cuda::DeviceWork::footprint_of(std::bind_front(&PaperLaunches::layout, &launches));
}

Expected<std::unique_ptr<PaperLaunches>> PaperLaunches::create(
    Engine& engine, ImageSize size, const RestorationFilter& filter) noexcept {
  std::unique_ptr<PaperLaunches> made(new (std::nothrow) PaperLaunches(size, filter.support));
  if (!made) return detail::no_memory_for_operator();
  OCELLUS_TRY(made->start(engine, filter));
  return made;
}

Expected<void> PaperLaunches::start(Engine& engine, const RestorationFilter& filter) noexcept {
  OCELLUS_TRY(work_.prepare_layout(engine, std::bind_front(&PaperLaunches::layout, this), kName));
  arguments_.locks = arguments_.done + columns();
  arguments_.taps = taps_;
  Scope cuda(work_.device(), Phase::kCreating, kName);
  OCELLUS_TRY(work_.start(cuda));
  const std::size_t each = taps() / (2 * kFilterQuadrants);
  float* to = taps_;
  for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
    for (const float* from : {filter.feedforward[q].data(), filter.feedback[q].data()}) {
      OCELLUS_TRY(work_.upload(cuda, to, from, each * sizeof(float)));
      to += each;
    }
  }
  return {};
}

Expected<void> PaperLaunches::launch(Scope& cuda, Kernel<PaperRestorationArguments> kernel,
                                     int blocks) noexcept {
  return work_.launch(cuda, kernel, dim3(static_cast<unsigned>(blocks), kFilterQuadrants),
                      dim3(kBlockThreads), paper_shared_bytes(arguments_.support, false),
                      arguments_);
}

Expected<void> PaperLaunches::begin(Scope& cuda, std::span<const float> image,
                                    bool by_planes) noexcept {
  if (image.size() != pixels()) {
    return detail::invalid_argument("%s: an image has %zu pixels; there must be %zu", kName,
                                    image.size(), pixels());
  }
  arguments_.by_planes = by_planes;
  std::copy(image.begin(), image.end(), image_);
  OCELLUS_TRY(work_.upload(cuda, arguments_.image.pixels, image_, image.size_bytes()));
  return launch(cuda, kFeedforwardKernel, arguments_.image.width);
}

Expected<double> PaperLaunches::fixed(std::span<const float> image) noexcept {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun = Clock::now();
  Scope cuda(work_.device(), Phase::kCreating, kName);
  const auto run = [&]() -> Expected<void> {
    OCELLUS_TRY(begin(cuda, image, true));
    OCELLUS_TRY(work_.download(cuda, values_, arguments_.planes, values() * sizeof(float)));
    const std::size_t plane = plane_values(arguments_.image);
    const int reach = 2 * (arguments_.support - 1);
    const int planes = planes_of_schedule(arguments_.image);
    for (int& t = arguments_.plane_of_schedule = 0; t < planes; ++t) {
      const std::size_t first = static_cast<std::size_t>(std::max(0, t - reach)) * plane;
      const std::size_t own = static_cast<std::size_t>(t) * plane;
      OCELLUS_TRY(work_.copy(cuda, arguments_.planes + first, values_ + first,
                             (own + plane - first) * sizeof(float), cudaMemcpyHostToDevice));
      OCELLUS_TRY(launch(cuda, fixed_kernel(false), points_on_plane(arguments_.image, t)));
      OCELLUS_TRY(
          work_.download(cuda, values_ + own, arguments_.planes + own, plane * sizeof(float)));
    }
    return {};
  };
  OCELLUS_TRY(work_.finished(cuda, run()));
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

Expected<StepCounts> PaperLaunches::flexible(std::span<const float> image, int blocks) noexcept {
  Scope cuda(work_.device(), Phase::kCreating, kName);
  StepCounts counts{};
  const auto run = [&]() -> Expected<void> {
    OCELLUS_TRY(begin(cuda, image, false));
    OCELLUS_TRY(work_.clear(cuda, arguments_.done, 2 * columns() * sizeof(int)));
    OCELLUS_TRY(work_.clear(cuda, arguments_.counts, sizeof(counts)));
    OCELLUS_TRY(launch(cuda, flexible_kernel(false), blocks));
    OCELLUS_TRY(work_.download(cuda, &counts, arguments_.counts, sizeof(counts)));
    return work_.download(cuda, values_, arguments_.planes,
                          kFilterQuadrants * pixels() * sizeof(float));
  };
  OCELLUS_TRY(work_.finished(cuda, run()));
  return counts;
}

void PaperLaunches::add_quadrants(std::span<float> sum) const noexcept {
  const int width = arguments_.image.width;
  const int height = arguments_.image.height;
  std::fill(sum.begin(), sum.end(), 0.0f);
  for (int q = 0; q < static_cast<int>(kFilterQuadrants); ++q) {
    for (int row = 0; row < height; ++row) {
      for (int column = 0; column < width; ++column) {
        const std::size_t at = static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                               static_cast<std::size_t>(column);
        const int i = (q & 2) != 0 ? height - 1 - row : row;
        const int j = (q & 1) != 0 ? width - 1 - column : column;
        const std::size_t by_plane =
            static_cast<std::size_t>(i + j) * plane_values(arguments_.image) +
            static_cast<std::size_t>(q * width + j);
        sum[at] +=
            values_[arguments_.by_planes ? by_plane : static_cast<std::size_t>(q) * pixels() + at];
      }
    }
  }
}

}  // namespace ocellus::paper
