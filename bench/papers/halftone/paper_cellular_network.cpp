#include "bench/papers/halftone/paper_cellular_network.h"

#include <algorithm>
#include <new>
#include <utility>

#include "bench/papers/halftone/paper_kernels.h"
#include "core/operator_creation.h"
#include "halftone/backend.h"
#include "kernels/core/cuda_operator.h"

namespace ocellus::paper {
namespace {

using cuda::block_count;
using cuda::LayoutBuilder;
using cuda::Scope;
using detail::CellStagePlan;
using detail::CellularNetworkPlan;

constexpr int kColors = 3;

/// The paper's sweeps do not count changes, so there is no record.
OperatorInfo paper_info(const CellularNetworkPlan& plan) noexcept {
  OperatorInfo info = detail::info_of(plan);
  info.record = nullptr;
  return info;
}

/// An instance that runs the paper's kernels.
class PaperKernels final : public cuda::CudaOperator {
 public:
  PaperKernels(const CellularNetworkPlan& plan, const CellSchedule& schedule) noexcept
      : CudaOperator(paper_info(plan)), plan_(plan), schedule_(schedule) {
    const auto width = static_cast<std::size_t>(plan.size.width);
    pitch_ = static_cast<std::int64_t>(detail::align_up(width + 2, 32));
    k_pitch_ = static_cast<std::int64_t>(detail::align_up(width, cuda::kCellAlignment));
  }

 private:
  const CellStagePlan& stage() const noexcept { return plan_.stages[0]; }

  void layout(LayoutBuilder& device) noexcept override {
    const auto height = static_cast<std::size_t>(plan_.size.height);
    states_ = device.take<std::int32_t>(static_cast<std::size_t>(pitch_) * height);
    outputs_ = device.take<std::int32_t>(static_cast<std::size_t>(pitch_) * (height + 2));
    k_ = device.take<std::uint8_t>(static_cast<std::size_t>(k_pitch_) * height);
    bias_ = device.take<std::int32_t>(static_cast<std::size_t>(k_pitch_) * height);
    ranks_ = device.take<std::uint16_t>(detail::blue_noise_ranks().size());
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    OCELLUS_TRY(upload(cuda, ranks_, detail::blue_noise_ranks().data(),
                       detail::blue_noise_ranks().size_bytes()));
    if (shared_bytes() > static_cast<std::size_t>(device_traits().shared_bytes_per_block)) {
      return tl::unexpected(make_error(
          Status::kUnsupported,
          "the paper's schedule needs %zu bytes of shared memory for rows of %d cells; the device "
          "has %d",
          shared_bytes(), plan_.size.width, device_traits().shared_bytes_per_block));
    }
    OCELLUS_TRY(load_check_kernel(cuda));
    const auto starter = diffuses() ? cuda::kDiffusionKernel : cuda::kStartKernel;
    OCELLUS_TRY(load_kernel(cuda, starter, 0));
    OCELLUS_TRY(load_kernel(cuda, cuda::kBiasKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, kBeginKernel, 0));
    OCELLUS_TRY(load_kernel(cuda, update_kernel(schedule_), shared_bytes()));
    return load_kernel(cuda, kEndKernel, 0);
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    OCELLUS_TRY(launch_check(cuda, slot, stream));
    OCELLUS_TRY(record_begin(cuda, slot, stream));
    UpdateArguments update{};
    update.cells = cells();
    update.bias = bias_;
    update.bias_pitch = k_pitch_;
    std::copy_n(stage().a.begin(), 9, update.a);
    const bool each_column = schedule_.memory == CellMemory::kGlobal;
    const bool in_two_steps = schedule_.memory == CellMemory::kSharedXY;
    for (int sweep = 0; sweep < stage().max_sweeps; ++sweep) {
      for (update.row = 0; update.row < kColors; ++update.row) {
        if (in_two_steps && update.row == 1) continue;
        for (update.column = 0; update.column < (each_column ? kColors : 1); ++update.column) {
          const int blocks = update_blocks(schedule_, update);
          if (blocks <= 0) continue;
          OCELLUS_TRY(launch(cuda, stream, update_kernel(schedule_),
                             dim3(static_cast<unsigned>(blocks)),
                             dim3(static_cast<unsigned>(update_threads(plan_.size.width))),
                             shared_bytes(), update));
        }
      }
    }
    return launch(cuda, stream, kEndKernel, rows(), dim3(kPaperThreads), 0, conversion(slot));
  }

  Expected<void> record_begin(Scope& cuda, int slot, cudaStream_t stream) noexcept {
    cuda::StartArguments start{};
    start.u = source(slot);
    start.to = {k_, k_pitch_, plan_.size.width, plan_.size.height};
    start.start = stage().start;
    start.levels = 2;
    start.start_xi = stage().start_xi;
    start.value = stage().start_value;
    start.seed = stage().seed;
    start.ranks = ranks_;
    start.state = state();
    const unsigned tiles = block_count(plan_.size.width, detail::kDiffusionTileWidth) *
                           block_count(plan_.size.height, detail::kDiffusionTileHeight);
    const unsigned threads =
        block_count(plan_.size.width, cuda::kStartCells) * static_cast<unsigned>(plan_.size.height);
    const Expected<void> started =
        diffuses() ? launch(cuda, stream, cuda::kDiffusionKernel,
                            dim3((tiles + cuda::kDiffusionTiles - 1) / cuda::kDiffusionTiles),
                            dim3(cuda::kDiffusionThreads), 0, start)
                   : launch(cuda, stream, cuda::kStartKernel,
                            dim3((threads + cuda::kStartThreads - 1) / cuda::kStartThreads),
                            dim3(cuda::kStartThreads), 0, start);
    if (!started) return started;
    cuda::BiasArguments bias{};
    bias.u = source(slot);
    bias.width = plan_.size.width;
    bias.height = plan_.size.height;
    bias.pitch = k_pitch_;
    bias.bias = bias_;
    bias.stage = stage();
    OCELLUS_TRY(launch(cuda, stream, cuda::kBiasKernel, rows(), dim3(cuda::kBiasThreads), 0, bias));
    return launch(cuda, stream, kBeginKernel, rows(), dim3(kPaperThreads), 0, conversion(slot));
  }

  bool diffuses() const noexcept { return stage().start == CellStart::kErrorDiffusion; }
  std::size_t shared_bytes() const noexcept {
    return update_shared_bytes(schedule_, plan_.size.width);
  }
  dim3 rows() const noexcept { return dim3(static_cast<unsigned>(plan_.size.height)); }
  PaperCells cells() const noexcept {
    return {states_, outputs_ + pitch_ + 1, pitch_, plan_.size.width, plan_.size.height};
  }
  cuda::CellSource source(int slot) const noexcept {
    cuda::CellSource u{};
    u.frame = params(slot);
    u.levels = 2;
    u.format = plan_.format;
    u.gray = plan_.gray_input;
    return u;
  }
  ConvertArguments conversion(int slot) const noexcept {
    ConvertArguments a{};
    a.cells = cells();
    a.k = k_;
    a.pitch = k_pitch_;
    a.end.frame = params(slot);
    a.end.state = state();
    a.end.outcome = outcome(slot);
    a.end.frames = info_.support_frames;
    a.end.levels = 2;
    a.end.format = plan_.output_format;
    a.end.range = plan_.output_range;
    a.end.white_is_one = plan_.white_is_one;
    return a;
  }

  CellularNetworkPlan plan_;
  CellSchedule schedule_;
  std::int64_t pitch_ = 0;
  std::int64_t k_pitch_ = 0;
  std::int32_t* states_ = nullptr;
  std::int32_t* outputs_ = nullptr;
  std::uint8_t* k_ = nullptr;
  std::int32_t* bias_ = nullptr;
  std::uint16_t* ranks_ = nullptr;
};

/// Refuses configurations that the paper's schedules do not support.
Expected<CellularNetworkPlan> check(const Expected<CellularNetworkPlan>& plan,
                                    const CellSchedule& schedule) noexcept {
  if (!plan) return plan;
  if (schedule.rows < 1 || schedule.rows > 2)
    return tl::unexpected(
        make_error(Status::kInvalidArgument, "rows is %d; it must be 1 or 2", schedule.rows));
  const CellStagePlan& stage = plan->stages[0];
  const char* what = plan->stage_count != 1 ? "chains"
                     : stage.radius != 1    ? "templates other than 3x3"
                     : stage.update != CellUpdate::kColors || stage.spacing != kColors
                         ? "an update order other than nine colors"
                     : stage.move != CellMove::kUpdate ? "swaps"
                     : stage.levels != 2               ? "more than two levels"
                     : stage.boundary != CellBoundary::kFixed || stage.boundary_value != 0
                         ? "boundaries other than fixed cells of 0"
                     : stage.has_threshold_plane || stage.start == CellStart::kPlane ? "planes"
                     : plan->warm_start ? "a warm start"
                                        : nullptr;
  if (what != nullptr)
    return tl::unexpected(
        make_error(Status::kUnsupported, "the paper's schedules do not support %s", what));
  return plan;
}

std::unique_ptr<detail::OperatorInstance> make_kernels(const CellularNetworkPlan& plan,
                                                       const CellSchedule& schedule) noexcept {
  return std::unique_ptr<detail::OperatorInstance>(new (std::nothrow) PaperKernels(plan, schedule));
}

}  // namespace
}  // namespace ocellus::paper

namespace ocellus {

template <>
struct detail::OperatorTraits<paper::PaperCellularNetworkConfig> {
  using Config = paper::PaperCellularNetworkConfig;

  static Expected<CellularNetworkPlan> make_plan_for(const Config& config) noexcept {
    return paper::check(make_plan(config), config.schedule);
  }
  static OperatorInfo info(const CellularNetworkPlan& plan) noexcept {
    return paper::paper_info(plan);
  }
  static auto cpu(const CellularNetworkPlan& plan, int, const Config& config) noexcept {
    return paper::make_kernels(plan, config.schedule);
  }
  static auto cuda(const CellularNetworkPlan& plan, const Config& config) noexcept {
    return paper::make_kernels(plan, config.schedule);
  }
};

template class Operator<paper::PaperCellularNetwork, paper::PaperCellularNetworkConfig>;

}  // namespace ocellus
