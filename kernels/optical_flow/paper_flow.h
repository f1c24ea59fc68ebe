// PaperFlow and PaperFilter: the schedules of Ohmura et al. 2011 (sections III.A and III.B), to be
// measured beside ours and checked against the same reference. Not part of the library: they are
// linked into the program for `ocellus bench` and into tests.
//
// What the paper does for each new frame, pixel and convolution is equation (2) as it stands: one
// sum over space and time of nx x ny x nt terms. A kernel is three one-dimensional arrays for each
// pixel (table II), which are read from global memory, and each tap is their product: for 15x15x20
// the 15x15x20 + 15x20 + 15x15x20 multiplications and 15x15x20 additions behind the 41,400
// operations of equation (4). The last nt frames are kept, not the spatial sums.
#pragma once

#include <cstdint>
#include <utility>

#include "ocellus/engine.h"
#include "ocellus/optical_flow.h"
#include "ocellus/spatio_temporal_filter.h"

namespace ocellus::paper {

/// Most convolutions that one kernel computes (figure 10).
inline constexpr int kMaxPackage = 4;

/// What the sums read the frames from.
enum class FrameMemory : std::uint8_t {
  kGlobal,
  kShared,  ///< a tile of each frame is copied to shared memory first
};

struct Schedule {
  FrameMemory frames = FrameMemory::kShared;
  /// Convolutions that one launch computes, 1 to kMaxPackage, reading the frames once for all
  /// (section III.B). Taps of two of them lie side by side, to be read as float2.
  int package = 3;
};

/// Multiplications and additions of one pixel and convolution: equation (4) without its factor 3.
constexpr double operations(const KernelConfig& k) {
  return 3.0 * k.nx * k.ny * k.nt + static_cast<double>(k.ny) * k.nt;
}

template <typename Config>
struct WithSchedule : Config {
  Schedule schedule;
};

/// The operators with the same graphs, streams and copies around other kernels. The window and the
/// solution are ours, so that the schedules of the convolutions are what is compared.
template <typename Config>
class PaperOperator : public OperatorHandle {
 public:
  /// Errors: those of the operator, and Unsupported: per-pixel kernels of one term in float storage
  /// over the whole image are all that the paper has.
  static Expected<OperatorInfo> info_for(const WithSchedule<Config>& config) noexcept;
  static Expected<Footprint> footprint(const EngineInfo& engine,
                                       const WithSchedule<Config>& config) noexcept;
  static Expected<PaperOperator> create(Engine& engine,
                                        const WithSchedule<Config>& config) noexcept;

  const WithSchedule<Config>& config() const noexcept { return config_; }

 private:
  PaperOperator(OperatorHandle handle, const WithSchedule<Config>& config) noexcept
      : OperatorHandle(std::move(handle)), config_(config) {}

  WithSchedule<Config> config_;
};

using PaperFlow = PaperOperator<OpticalFlowConfig>;
using PaperFilter = PaperOperator<SpatioTemporalFilterConfig>;

}  // namespace ocellus::paper
