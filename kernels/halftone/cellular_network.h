// CudaCellularNetwork: the cellular network on CUDA.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "halftone/plan.h"
#include "kernels/core/cuda_operator.h"
#include "kernels/halftone/kernels.h"

namespace ocellus::cuda {

using detail::CellSources;
using detail::CellStagePlan;
using detail::CellularNetworkPlan;

class CudaCellularNetwork final : public CudaOperator {
 public:
  CudaCellularNetwork(const CellularNetworkPlan& plan, const CellSources* sources) noexcept;

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

  void layout(LayoutBuilder& device) noexcept override;
  Expected<void> prepare(Scope& cuda) noexcept override;
  Expected<void> record(Scope& cuda, int slot, cudaStream_t stream) noexcept override;

  const CellStagePlan& plan_of(int stage) const noexcept {
    return plan_.stages[static_cast<std::size_t>(stage)];
  }
  std::size_t cells() const noexcept {
    return static_cast<std::size_t>(pitch_) * static_cast<std::size_t>(plan_.size.height);
  }
  int bands() const noexcept;
  /// Number of rows of the largest band.
  int band_rows() const noexcept;
  int reach_of(const Run& run) const noexcept;
  Expected<void> choose(Scope& cuda, Run& run) noexcept;
  Expected<void> load_planes(Scope& cuda) noexcept;
  Expected<void> load_groups(Scope& cuda) noexcept;

  /// Source of u for a run. `before` is the index of the plane with the outputs of the previous
  /// run, or -1.
  CellSource source_of(int slot, const Run& run, int before) const noexcept;
  /// The frame as the source of u.
  CellSource source_of(int slot) const noexcept;
  CellEnd end_of(int slot, const Run& run, int stage) const noexcept;
  Expected<void> record_start(Scope& cuda, int slot, cudaStream_t stream, const Run& run,
                              int before, int plane) noexcept;
  Expected<void> record_bands(Scope& cuda, int slot, cudaStream_t stream, const Run& run,
                              int before, int plane, int to) noexcept;
  Expected<void> record_general(Scope& cuda, int slot, cudaStream_t stream, const Run& run,
                                int before, int plane, int other) noexcept;

  Expected<void> record_group(Scope& cuda, int slot, cudaStream_t stream, const Run& run,
                              int before, int to) noexcept;
  /// Number of blocks of the kernels whose blocks synchronize.
  unsigned general_blocks() const noexcept {
    return static_cast<unsigned>(std::min(device_traits().multiprocessors, plan_.size.height));
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

}  // namespace ocellus::cuda
