// CudaCellularNetwork: the cellular network on CUDA.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "core/failure.h"
#include "halftone/backend.h"
#include "halftone/plan.h"
#include "kernels/core/cuda_operator.h"
#include "kernels/halftone/kernels.h"

namespace ocellus::cuda {
namespace {

using detail::CellSources;
using detail::CellStagePlan;
using detail::CellularNetworkPlan;

/// Smallest number of rows of a band, unless the image has fewer. With fewer rows per band, more
/// bands would wait for messages.
constexpr int kLeastBandRows = 4;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

int weights_of(const CellStagePlan& stage) {
  const int side = 2 * stage.radius + 1;
  return side * side;
}

/// True if the band kernel supports the stage, regardless of the shared memory that it needs.
bool suits_bands(const CellStagePlan& stage) {
  return stage.levels == 2 && stage.update == CellUpdate::kColors &&
         stage.boundary == CellBoundary::kFixed && stage.boundary_value == 0 &&
         band_spacing(stage.radius, stage.spacing, stage.move == CellMove::kSwap);
}

Kernel<BandArguments> kernel_for(StatePlace place, int radius) {
  return place == StatePlace::kShared ? band_kernel(radius) : large_band_kernel(radius);
}

int most_bands(int height) {
  return (height + kLeastBandRows - 1) / kLeastBandRows;
}

/// An upper bound for the global memory of the states for any number of bands, in words.
std::size_t large_words(ImageSize size) {
  // b bands have at most height + 2 b rows of states and height + 12 b rows of flips.
  const LargeBandWords words =
      large_band_words(kMaxTemplateRadius, kMaxTemplateRadius + 1, size.width, kLeastBandRows + 1);
  return at(most_bands(size.height)) * (words.states + words.many);
}

bool has_swaps(const CellularNetworkPlan& plan, int first, int end) {
  for (int s = first; s < end; ++s)
    if (plan.stages[at(s)].move == CellMove::kSwap) return true;
  return false;
}

class CudaCellularNetwork final : public CudaOperator {
 public:
  CudaCellularNetwork(const CellularNetworkPlan& plan, const CellSources* sources) noexcept
      : CudaOperator(detail::info_of(plan)), plan_(plan), sources_(sources) {
    pitch_ = static_cast<std::int64_t>(detail::align_up(at(plan.size.width), kCellAlignment));
    for (int s = 0; s < plan.stage_count; ++s) {
      if (const detail::CellGroupPlan* const group = plan_.group_of(s)) {
        if (s == group->first) {
          Run& run = runs_[at(run_count_++)];
          run.first = s;
          run.end = group->end;
          run.group = group;
        }
        continue;
      }
      if (s == 0 || !plan_of(s).keeps_state) {
        runs_[at(run_count_)].first = s;
        runs_[at(run_count_)].in_bands = true;
        ++run_count_;
      }
      Run& run = runs_[at(run_count_ - 1)];
      run.end = s + 1;
      run.in_bands = run.in_bands && suits_bands(plan_of(s));
    }
  }

 private:
  /// A stage that starts anew, and the following stages that continue with its states; or a group.
  struct Run {
    int first = 0;
    int end = 0;
    const detail::CellGroupPlan* group = nullptr;
    bool in_bands = false;
    StatePlace place = StatePlace::kShared;
    int columns = 0;  // number of columns that a band convolves at once
    std::size_t shared_bytes = 0;
  };

  const CellStagePlan& plan_of(int stage) const noexcept { return plan_.stages[at(stage)]; }
  std::size_t cells() const noexcept {
    return static_cast<std::size_t>(pitch_) * at(plan_.size.height);
  }
  /// Number of blocks of the kernels whose blocks synchronize.
  unsigned general_blocks() const noexcept {
    return static_cast<unsigned>(std::min(device_traits().multiprocessors, plan_.size.height));
  }

  void layout(LayoutBuilder& device) noexcept override {
    for (std::uint8_t*& plane : k_) plane = device.take<std::uint8_t>(cells());
    if (plan_.warm_start) keep_ = device.take<std::uint8_t>(cells());
    if (plan_.group_count > 0) {
      pass_ = device.take<std::uint8_t>(cells());
      group_stages_ = device.take<GroupStage>(at(plan_.stage_count));
    }
    sums_ = device.take<std::int32_t>(std::max(cells(), large_words(plan_.size)));
    ranks_ = device.take<std::uint16_t>(detail::blue_noise_ranks().size());
    for (int s = 0; s < plan_.stage_count; ++s) {
      if (plan_of(s).has_threshold_plane) threshold_[at(s)] = device.take<std::int32_t>(cells());
      if (plan_of(s).start == CellStart::kPlane) start_[at(s)] = device.take<std::int32_t>(cells());
    }
    messages_ =
        device.take<unsigned long long>(band_message_words(plan_.size.width, plan_.size.height));
    shared_ = device.take<BandShared>(1);
    totals_ = device.take<CellTotals>(1);
    counts_ = device.take<std::uint32_t>(6);
    marks_ = device.take<std::uint8_t>(block_count(plan_.size.width, kMarkColumns) *
                                       at(plan_.size.height));
  }

  int bands() const noexcept {
    return std::min(device_traits().multiprocessors, most_bands(plan_.size.height));
  }

  /// Number of rows of the largest band.
  int band_rows() const noexcept { return (plan_.size.height + bands() - 1) / bands(); }

  int reach_of(const Run& run) const noexcept {
    return plan_of(run.first).radius + (has_swaps(plan_, run.first, run.end) ? 1 : 0);
  }

  /// Selects shared memory for the states if they fit, else global memory. If neither is possible,
  /// the run uses the general kernel.
  Expected<void> choose(Scope& cuda, Run& run) noexcept {
    if (!run.in_bands) return {};
    const int radius = plan_of(run.first).radius;
    const auto limit = static_cast<std::size_t>(device_traits().shared_bytes_per_block);
    constexpr int kLeastColumns = 128;
    run.in_bands = false;
    for (const StatePlace place : {StatePlace::kShared, StatePlace::kGlobal}) {
      run.place = place;
      run.columns = static_cast<int>(detail::align_up(at(plan_.size.width), 8));
      const auto bytes = [&] {
        return band_shared_bytes(place, radius, reach_of(run), plan_.size.width, band_rows(),
                                 run.columns);
      };
      while (bytes() > limit && run.columns > kLeastColumns)
        run.columns = static_cast<int>(detail::align_up(at(run.columns / 2), 8));
      run.shared_bytes = bytes();
      if (run.shared_bytes > limit) continue;
      const Kernel<BandArguments> kernel = kernel_for(place, radius);
      OCELLUS_TRY(load_kernel(cuda, kernel, run.shared_bytes));
      OCELLUS_TRY_ASSIGN(resident, resident_blocks(cuda, kernel, kBandThreads, run.shared_bytes));
      run.in_bands = *resident > 0;
      if (run.in_bands) break;
    }
    return {};
  }

  Expected<void> load_planes(Scope& cuda) noexcept {
    const CellSources& sources = *std::exchange(sources_, nullptr);
    const auto load = [&](const CellSources::Plane& from, std::int32_t* to,
                          const auto& value_of) -> Expected<void> {
      if (to == nullptr) return {};
      const std::unique_ptr<std::int32_t[]> plane(new (std::nothrow) std::int32_t[cells()]());
      if (!plane)
        return tl::unexpected(
            make_error(Status::kOutOfMemory, "the system gave no memory to read a plane"));
      for (int y = 0; y < plan_.size.height; ++y) {
        const auto* row = reinterpret_cast<const float*>(reinterpret_cast<const char*>(from.data) +
                                                         y * from.stride);
        std::transform(row, row + plan_.size.width, plane.get() + y * pitch_, value_of);
      }
      return upload(cuda, to, plane.get(), cells() * sizeof(std::int32_t));
    };
    for (int s = 0; s < plan_.stage_count; ++s) {
      const int bits = plan_of(s).fraction_bits;
      OCELLUS_TRY(load(sources.threshold[at(s)], threshold_[at(s)],
                       [&](float value) { return detail::threshold_of(value, bits); }));
      OCELLUS_TRY(load(sources.start[at(s)], start_[at(s)], detail::start_of));
    }
    return {};
  }

  Expected<void> load_groups(Scope& cuda) noexcept {
    if (plan_.group_count == 0) return {};
    std::array<GroupStage, kMaxCellStages> stages{};
    for (int s = 0; s < plan_.stage_count; ++s)
      stages[at(s)] = {plan_of(s), threshold_[at(s)], start_[at(s)]};
    OCELLUS_TRY(
        upload(cuda, group_stages_, stages.data(), at(plan_.stage_count) * sizeof(GroupStage)));
    return load_kernel(cuda, kGroupKernel, 0);
  }

  Expected<void> prepare(Scope& cuda) noexcept override {
    OCELLUS_TRY(upload(cuda, ranks_, detail::blue_noise_ranks().data(),
                       detail::blue_noise_ranks().size_bytes()));
    // Words of messages that were never sent contain the sweep number 0.
    BandShared shared{};
    shared.sweep = 1;
    OCELLUS_TRY(upload(cuda, shared_, &shared, sizeof(shared)));
    OCELLUS_TRY(load_planes(cuda));
    OCELLUS_TRY(load_groups(cuda));
    OCELLUS_TRY(load_check_kernel(cuda));
    bool general = false;
    for (int r = 0; r < run_count_; ++r) {
      Run& run = runs_[at(r)];
      if (run.group != nullptr) continue;
      OCELLUS_TRY(choose(cuda, run));
      general |= !run.in_bands;
      const Kernel<StartArguments> starter =
          plan_of(run.first).start == CellStart::kErrorDiffusion ? kDiffusionKernel : kStartKernel;
      OCELLUS_TRY(load_kernel(cuda, starter, 0));
    }
    if (!general) return {};
    OCELLUS_TRY(load_kernel(cuda, kBiasKernel, 0));
    return load_kernel(cuda, kGeneralKernel, 0);
  }

  // ---- a frame

  /// The frame as the source of u.
  CellSource source_of(int slot) const noexcept {
    CellSource u{};
    u.frame = params(slot);
    u.format = plan_.format;
    u.gray = plan_.gray_input;
    u.pitch = pitch_;
    u.levels = 2;
    return u;
  }

  /// Source of u for a run. `before` is the index of the plane with the outputs of the previous
  /// run, or -1.
  CellSource source_of(int slot, const Run& run, int before) const noexcept {
    CellSource u = source_of(slot);
    if (plan_of(run.first).input == CellInput::kPrevious) {
      u.k = k_[at(before)];
      u.levels = plan_of(run.first - 1).levels;
    }
    return u;
  }

  CellEnd end_of(int slot, const Run& run, int stage) const noexcept {
    CellEnd end{};
    end.frame = params(slot);
    end.state = state();
    end.outcome = outcome(slot);
    end.record = static_cast<CellularNetworkRecord*>(record_of(slot));
    end.totals = totals_;
    end.stop = stop_flag();
    end.max_sweeps = plan_.max_sweeps;
    end.keep = run.first == 0 && stage == run.end - 1 ? keep_ : nullptr;
    end.last = stage == plan_.stage_count - 1;
    end.frames = info_.support_frames;
    end.levels = plan_of(stage).levels;
    end.format = plan_.output_format;
    end.range = plan_.output_range;
    end.white_is_one = plan_.white_is_one;
    return end;
  }

  Expected<void> record_start(Scope& cuda, int slot, cudaStream_t stream, const Run& run,
                              int before, int plane) noexcept {
    const CellStagePlan& stage = plan_of(run.first);
    StartArguments a{};
    a.u = source_of(slot, run, before);
    a.to = {k_[at(plane)], pitch_, plan_.size.width, plan_.size.height};
    a.start = stage.start;
    a.levels = stage.levels;
    a.start_xi = stage.start_xi;
    a.value = stage.start_value;
    a.seed = stage.seed;
    a.plane = start_[at(run.first)];
    a.ranks = ranks_;
    if (before >= 0) {
      a.previous = k_[at(before)];
      a.previous_levels = plan_of(run.first - 1).levels;
    }
    a.kept = run.first == 0 ? keep_ : nullptr;
    a.state = state();
    if (stage.start == CellStart::kErrorDiffusion) {
      const unsigned tiles = block_count(plan_.size.width, detail::kDiffusionTileWidth) *
                             block_count(plan_.size.height, detail::kDiffusionTileHeight);
      return launch(cuda, stream, kDiffusionKernel,
                    dim3((tiles + kDiffusionTiles - 1) / kDiffusionTiles), dim3(kDiffusionThreads),
                    0, a);
    }
    const unsigned threads =
        block_count(plan_.size.width, kStartCells) * static_cast<unsigned>(plan_.size.height);
    return launch(cuda, stream, kStartKernel, dim3((threads + kStartThreads - 1) / kStartThreads),
                  dim3(kStartThreads), 0, a);
  }

  Expected<void> record_bands(Scope& cuda, int slot, cudaStream_t stream, const Run& run,
                              int before, int plane, int to) noexcept {
    const CellStagePlan& stage = plan_of(run.first);
    BandArguments a{};
    a.u = source_of(slot, run, before);
    a.cells = {k_[at(plane)], pitch_, plan_.size.width, plan_.size.height};
    a.to = k_[at(to)];
    a.end = end_of(slot, run, run.end - 1);
    a.end.first = run.first == 0;
    a.threshold_plane = threshold_[at(run.first)];
    a.threshold = stage.threshold;
    a.fused = stage.mirrored;
    for (int i = 0; i < weights_of(stage); ++i) {
      a.a[i] = stage.a[at(i)];
      a.b[i] = stage.b[at(i)];
    }
    a.reach = reach_of(run);
    a.columns = run.columns;
    a.stage_count = run.end - run.first;
    for (int s = run.first; s < run.end; ++s) {
      const CellStagePlan& one = plan_of(s);
      a.stage[s - run.first] = {one.move == CellMove::kSwap, one.spacing, one.max_sweeps};
    }
    make_swap_weights(stage.radius, a);
    a.messages = messages_;
    a.shared = shared_;
    const LargeBandWords words =
        large_band_words(stage.radius, a.reach, plan_.size.width, band_rows());
    a.states = reinterpret_cast<std::uint32_t*>(sums_);
    a.many = a.states + at(bands()) * words.states;
    return launch_together(cuda, stream, kernel_for(run.place, stage.radius),
                           dim3(static_cast<unsigned>(bands())), dim3(kBandThreads),
                           run.shared_bytes, a);
  }

  Expected<void> record_general(Scope& cuda, int slot, cudaStream_t stream, const Run& run,
                                int before, int plane, int other) noexcept {
    BiasArguments bias{};
    bias.u = source_of(slot, run, before);
    bias.width = plan_.size.width;
    bias.height = plan_.size.height;
    bias.pitch = pitch_;
    bias.bias = sums_;
    bias.threshold_plane = threshold_[at(run.first)];
    bias.stage = plan_of(run.first);
    OCELLUS_TRY(launch(cuda, stream, kBiasKernel, dim3(static_cast<unsigned>(plan_.size.height)),
                       dim3(kBiasThreads), 0, bias));
    for (int s = run.first; s < run.end; ++s) {
      GeneralArguments a{};
      a.cells = {k_[at(plane)], pitch_, plan_.size.width, plan_.size.height};
      a.other = k_[at(other)];
      a.bias = sums_;
      a.counts = counts_;
      a.marks = marks_;
      a.stage = plan_of(s);
      a.end = end_of(slot, run, s);
      a.end.first = s == 0;
      OCELLUS_TRY(launch_together(cuda, stream, kGeneralKernel, dim3(general_blocks()),
                                  dim3(kGeneralThreads), 0, a));
    }
    return {};
  }

  Expected<void> record_group(Scope& cuda, int slot, cudaStream_t stream, const Run& run,
                              int before, int to) noexcept {
    GroupArguments a{};
    a.frame = source_of(slot);
    a.stages = group_stages_ + run.first;
    a.stage_count = run.end - run.first;
    a.max_passes = run.group->max_passes;
    a.again_input = run.group->input;
    a.again_start = run.group->start;
    std::copy(k_.begin(), k_.end(), a.k);
    a.before = before;
    if (before >= 0) a.before_levels = plan_of(run.first - 1).levels;
    a.to = to;
    a.pass = pass_;
    a.pitch = pitch_;
    a.width = plan_.size.width;
    a.height = plan_.size.height;
    a.bias = sums_;
    a.counts = counts_;
    a.marks = marks_;
    a.ranks = ranks_;
    a.end = end_of(slot, run, run.end - 1);
    a.end.first = run.first == 0;
    return launch_together(cuda, stream, kGroupKernel, dim3(general_blocks()),
                           dim3(kGeneralThreads), 0, a);
  }

  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    OCELLUS_TRY(launch_check(cuda, slot, stream));
    int before = -1;
    for (int r = 0; r < run_count_; ++r) {
      const Run& run = runs_[at(r)];
      const int plane = before == 0 ? 1 : 0;
      if (run.group != nullptr) {
        OCELLUS_TRY(record_group(cuda, slot, stream, run, before, plane));
        before = plane;
        continue;
      }
      const int other = 3 - plane - std::max(before, plane == 0 ? 1 : 0);
      OCELLUS_TRY(record_start(cuda, slot, stream, run, before, plane));
      OCELLUS_TRY(run.in_bands ? record_bands(cuda, slot, stream, run, before, plane, other)
                               : record_general(cuda, slot, stream, run, before, plane, other));
      before = run.in_bands ? other : plane;
    }
    return {};
  }

  CellularNetworkPlan plan_;
  const CellSources* sources_;
  std::array<Run, kMaxCellStages> runs_{};
  int run_count_ = 0;
  std::int64_t pitch_ = 0;  // pitch of all planes, in cells

  /// Outputs of the previous run, and the initial and final outputs of the present run.
  std::array<std::uint8_t*, 3> k_{};
  std::uint8_t* keep_ = nullptr;
  std::uint8_t* pass_ = nullptr;        // outputs of the previous pass of a group
  GroupStage* group_stages_ = nullptr;  // one for each stage; only those of groups are set
  /// The bias of all cells for the general kernel, or the global memory of bands; see
  /// large_band_words().
  std::int32_t* sums_ = nullptr;
  std::uint16_t* ranks_ = nullptr;
  std::array<std::int32_t*, kMaxCellStages> threshold_{};
  std::array<std::int32_t*, kMaxCellStages> start_{};
  unsigned long long* messages_ = nullptr;
  BandShared* shared_ = nullptr;
  CellTotals* totals_ = nullptr;
  std::uint32_t* counts_ = nullptr;
  std::uint8_t* marks_ = nullptr;
};

}  // namespace
}  // namespace ocellus::cuda

namespace ocellus::detail {

std::unique_ptr<OperatorInstance> make_network_cuda(const CellularNetworkPlan& plan,
                                                    const CellSources* sources) noexcept {
  return std::unique_ptr<OperatorInstance>(new (std::nothrow)
                                               cuda::CudaCellularNetwork(plan, sources));
}

}  // namespace ocellus::detail
