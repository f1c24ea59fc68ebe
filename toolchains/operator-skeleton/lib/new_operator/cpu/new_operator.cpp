// NewOperator on the CPU: workers take bands of rows. Sums down the columns, then along the row.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "core/cpu_operator.h"
#include "new_operator/backend.h"

namespace ocellus::detail {
namespace {

class CpuNewOperator final : public CpuOperator {
 public:
  CpuNewOperator(const NewOperatorPlan& plan, int workers) noexcept
      : CpuOperator(info_of(plan), workers),
        plan_(plan),
        bands_(Bands::cut(plan.size.height, workers, 4, 8)) {}

 private:
  /// Column sums of a row with `radius` columns beyond both ends, for each worker.
  std::size_t scratch_size() const noexcept {
    return static_cast<std::size_t>(plan_.size.width + 2 * plan_.radius);
  }

  void layout(LayoutBuilder& builder) noexcept override {
    for (int w = 0; w < workers_; ++w)
      scratch_[static_cast<std::size_t>(w)] = builder.take<std::uint32_t>(scratch_size());
  }

  Expected<void> prepare() noexcept override { return {}; }

  int step_count() const noexcept override { return 1; }

  void build_steps(JobStep* steps, StepContext* contexts) noexcept override {
    steps[0] = {&CpuNewOperator::run, &contexts[0], bands_.count()};
  }

  void write_bad(const FrameJob& frame) noexcept override {
    const std::size_t bytes = static_cast<std::size_t>(plan_.size.width) *
                              static_cast<std::size_t>(bytes_per_pixel(plan_.format));
    for (int y = 0; y < plan_.size.height; ++y) {
      auto* const row = frame.out_row<unsigned char>(0, y);
      std::fill(row, row + bytes, static_cast<unsigned char>(0));
    }
  }

  static void run(void* context, int part, int worker) noexcept {
    FrameJob& frame = *static_cast<StepContext*>(context)->frame;
    auto& self = *static_cast<CpuNewOperator*>(frame.owner);
    switch (self.plan_.format) {
      case PixelFormat::kGray8:
        return self.write_band<std::uint8_t>(frame, part, worker);
      case PixelFormat::kGray16:
        return self.write_band<std::uint16_t>(frame, part, worker);
      default:  // kFloat32; no color comes here
        return self.write_band<float>(frame, part, worker);
    }
  }

  template <typename Pixel>
  void write_band(FrameJob& frame, int part, int worker) noexcept {
    using Sum = NewOperatorSum<Pixel>;
    static_assert(sizeof(Sum) == sizeof(std::uint32_t));
    auto* const sums = static_cast<Sum*>(scratch_[static_cast<std::size_t>(worker)]);
    for (int y = bands_.begin(part); y < bands_.end(part); ++y) {
      if (!is_finite(row_of<Pixel>(frame, y), plan_.size.width)) mark_bad(frame);
      add_columns<Pixel>(frame, y, sums);
      write_row(sums, frame.out_row<Pixel>(0, y));
    }
  }

  template <typename Pixel>
  static const Pixel* row_of(const FrameJob& frame, int y) noexcept {
    return reinterpret_cast<const Pixel*>(static_cast<const char*>(frame.in.data) +
                                          y * frame.in.stride);
  }

  template <typename Pixel>
  static bool is_finite(const Pixel* row, int width) noexcept {
    if constexpr (std::is_floating_point_v<Pixel>)
      return std::all_of(row, row + width, [](Pixel pixel) { return std::isfinite(pixel); });
    else
      return true;
  }

  template <typename Pixel, typename Sum>
  void add_columns(const FrameJob& frame, int y, Sum* sums) const noexcept {
    const int radius = plan_.radius;
    const int width = plan_.size.width;
    std::fill(sums, sums + scratch_size(), Sum{0});
    for (int dy = -radius; dy <= radius; ++dy) {
      const int from = new_operator_position(y + dy, plan_.size.height, plan_.border);
      if (from < 0) continue;
      const Pixel* const row = row_of<Pixel>(frame, from);
      for (int x = 0; x < width; ++x) sums[radius + x] += static_cast<Sum>(row[x]);
    }
    if (plan_.border == NewOperatorBorder::kBlack) return;
    std::fill(sums, sums + radius, sums[radius]);
    std::fill(sums + radius + width, sums + 2 * radius + width, sums[radius + width - 1]);
  }

  template <typename Pixel, typename Sum>
  void write_row(const Sum* sums, Pixel* out) const noexcept {
    const int side = 2 * plan_.radius + 1;
    for (int x = 0; x < plan_.size.width; ++x) {
      Sum sum = 0;
      for (int i = 0; i < side; ++i) sum += sums[x + i];
      out[x] = new_operator_mean<Pixel>(sum, side * side);
    }
  }

  NewOperatorPlan plan_;
  Bands bands_;
  std::array<void*, kMaxWorkers> scratch_{};
};

}  // namespace

std::unique_ptr<OperatorInstance> make_new_operator_cpu(const NewOperatorPlan& plan,
                                                        int workers) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow) CpuNewOperator(plan, workers));
}

}  // namespace ocellus::detail
