// SpatioTemporalFilter: 1 to 8 linear filters of a frame sequence in one pass, without the flow.
//
// Source: Ohmura et al. 2011, equation (2), with the package execution of its section III.B. Models
// of visual neurons read these planes; optical flow is built on the same pass.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "ocellus/deadline.h"
#include "ocellus/engine.h"
#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/memory.h"
#include "ocellus/optical_flow.h"
#include "ocellus/status.h"
#include "ocellus/ticket.h"

namespace ocellus {

namespace detail {
class SpatioTemporalFilterState;
}

struct SpatioTemporalFilterConfig {
  ImageSize size;  ///< 1x1 to 16384x16384
  PixelFormat format = PixelFormat::kGray8;
  Rect roi;       ///< empty = whole image
  int depth = 2;  ///< frames in flight, 1 to 8
  KernelConfig kernels;
  CoefficientStorage storage = CoefficientStorage::kFloat;
};

/// One plane of 32-bit floats for each convolution, of the region of interest's size.
struct FilterView {
  std::array<float*, kMaxConvolutions> planes{};
  ImageSize size;             ///< must be the region of interest's size
  std::ptrdiff_t stride = 0;  ///< bytes from row to row, the same for all planes
  MemorySpace space = MemorySpace::kHost;
  StreamHandle stream = nullptr;  ///< device memory: the stream that uses the result
};

/// Calls, errors, borders and threads as for OpticalFlow.
class SpatioTemporalFilter {
 public:
  static Expected<Footprint> footprint(const EngineInfo& engine,
                                       const SpatioTemporalFilterConfig& config) noexcept;
  static Expected<SpatioTemporalFilter> create(Engine& engine,
                                               const SpatioTemporalFilterConfig& config) noexcept;

  SpatioTemporalFilter(SpatioTemporalFilter&&) noexcept;
  SpatioTemporalFilter& operator=(SpatioTemporalFilter&&) noexcept;
  ~SpatioTemporalFilter();

  const SpatioTemporalFilterConfig& config() const noexcept;
  float delay_frames() const noexcept;

  Expected<Ticket> submit(const Frame& in, const FilterView& out) noexcept;
  Expected<FrameInfo> wait(Ticket ticket, Deadline deadline) noexcept;
  void reset() noexcept;

 private:
  explicit SpatioTemporalFilter(std::unique_ptr<detail::SpatioTemporalFilterState> state) noexcept;

  std::unique_ptr<detail::SpatioTemporalFilterState> state_;
};

}  // namespace ocellus
