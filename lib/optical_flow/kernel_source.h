// Reads the taps of a kernel configuration, pixel by pixel, for every origin.
#pragma once

#include <memory>
#include <new>

#include "core/failure.h"
#include "ocellus/status.h"
#include "optical_flow/deviation.h"
#include "optical_flow/kernel_bank_file.h"
#include "optical_flow/plan.h"

namespace ocellus::detail {

/// Checks that `plan.storage` can hold a pixel's kernel. The largest half is 65504. A larger tap,
/// or a spatial sum that exceeds it for a white image, would become infinite. Errors:
/// InvalidArgument; the text names the pixel.
Expected<void> check_storage_range(const OpticalFlowPlan& plan, int x, int y, int pair,
                                   const float* wx, const float* wy, const float* wt) noexcept;

/// The taps of a kernel configuration. Used only at creation.
class KernelSource {
 public:
  virtual ~KernelSource() = default;

  /// Writes the taps of a term. Must be called in the order of KernelCallback: for all terms of a
  /// pixel, and for all pixels unless the library makes the kernels. Errors: InvalidArgument (a tap
  /// that is not finite), CorruptFile, IoError.
  virtual Expected<void> read(int x, int y, int convolution, int term, float* wx, float* wy,
                              float* wt) noexcept = 0;

  static Expected<std::unique_ptr<KernelSource>> open(const KernelConfig& kernels,
                                                      ImageSize size) noexcept;
};

/// Reads the kernels of `part` of an image; uniform ones are those of its first pixel.
/// `take(x, y, convolution, term, wx, wy, wt)` gets each one, with its pixel in `part`. It returns
/// Expected<bool>; false ends the reading.
template <typename Take>
Expected<void> read_kernels(const KernelConfig& kernels, ImageSize image, const Rect& part,
                            Take&& take) noexcept {
  OCELLUS_TRY_ASSIGN(source, KernelSource::open(kernels, image));
  Rect read = part;
  if (kernels.form == KernelForm::kUniform)
    read = {0, 0, 1, 1};
  else if (kernels.origin == KernelOrigin::kFile || kernels.origin == KernelOrigin::kCallback)
    read = {0, 0, image.width, image.height};  // a file to its end, because it has one checksum
  const bool full = kernels.form == KernelForm::kFull;
  const std::unique_ptr<float[]> taps(new (std::nothrow) float[static_cast<std::size_t>(
      taps_of_term(kernels.form, kernels.nx, kernels.ny, kernels.nt))]);
  if (!taps) return no_memory_for_kernels();
  float* const wx = taps.get();
  float* const wy = full ? nullptr : wx + kernels.nx;
  float* const wt = full ? nullptr : wy + kernels.ny;
  for (int y = read.y; y < read.y + read.height; ++y) {
    for (int x = read.x; x < read.x + read.width; ++x) {
      for (int pair = 0; pair < kernels.convolutions * kernels.terms; ++pair) {
        const int convolution = pair / kernels.terms;
        const int term = pair % kernels.terms;
        OCELLUS_TRY((*source)->read(x, y, convolution, term, wx, wy, wt));
        if (x < part.x || x >= part.x + part.width || y < part.y || y >= part.y + part.height)
          continue;
        OCELLUS_TRY_ASSIGN(more, take(x - part.x, y - part.y, convolution, term, wx, wy, wt));
        if (!*more) return {};
      }
    }
  }
  return {};
}

/// Reads the kernels of the plan's support, checks that its storage can hold them, and adds them to
/// `noise`. `take(x, y, pair, wx, wy, wt)` gets each one, with its pixel in the support.
/// `end_row(y)` is called behind each row and returns Expected<void>.
template <typename Take, typename EndRow>
Expected<void> read_support(const OpticalFlowPlan& plan, const KernelConfig& kernels,
                            KernelNoise& noise, Take&& take, EndRow&& end_row) noexcept {
  const Rect support = {plan.support.x + plan.kernel_x, plan.support.y + plan.kernel_y,
                        plan.support.width, plan.support.height};
  return read_kernels(
      kernels, plan.kernel_image, support,
      [&](int x, int y, int convolution, int term, const float* wx, const float* wy,
          const float* wt) -> Expected<bool> {
        const int pair = convolution * plan.terms + term;
        OCELLUS_TRY(check_storage_range(plan, support.x + x, support.y + y, pair, wx, wy, wt));
        noise.add(plan, convolution, term, wx, wy, wt);
        take(x, y, pair, wx, wy, wt);
        if (x == support.width - 1 && pair == plan.convolutions * plan.terms - 1)
          OCELLUS_TRY(end_row(y));
        return true;
      });
}

}  // namespace ocellus::detail
