// Halftone: cellular networks that turn a gray image into an image of two levels, or of a few, that
// looks the same from a distance.
//
// Let G be a filter that models the eye, A = -G except at the center, and B = G. Asynchronous
// updates then minimize the energy (y - u)' G (y - u), the error that the eye perceives (Crounse,
// Roska and Chua 1993). Updates of single cells from the image or from noise end in a nearby local
// minimum, 2 to 13 dB worse than error diffusion.
//
// Three measures lead further: an initial state by error diffusion (Floyd and Steinberg 1976), a
// wide G, and swaps as in direct binary search (Analoui and Allebach 1992).
#pragma once

#include <cstdint>

#include "ocellus/cnn.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// Preset of a halftone. All start with error diffusion. Those of more than two levels have no
/// swaps; their levels are spread evenly from black to white, as those of displays with e-ink are.
enum class HalftonePreset : std::uint8_t {
  kQuality,  ///< two levels, 9x9 Gaussian of 1.2 cells, two sweeps of swaps
  kFast,     ///< two levels, 7x7 Gaussian of 1.05 cells, one sweep of swaps
  kGray4,    ///< 4 levels, 9x9 Gaussian of 1.2 cells
  kGray16,   ///< 16 levels, 9x9 Gaussian of 1.2 cells
};

/// A halftone by a preset, or the output of the template in `chain`.
struct HalftoneConfig : ChainConfig {
  HalftonePreset preset = HalftonePreset::kQuality;  ///< used if `chain` is empty

  /// The table of options: all members except size, formats and ranges.
  static OptionTable options() noexcept;
};

/// The operator. Output, record, calls and lifetimes are those of CellularNetwork.
class Halftone : public Operator<Halftone, HalftoneConfig, CellularNetworkRecord> {};

/// Returns the configuration of a preset for CellularNetwork.
CellularNetworkConfig halftone_config(ImageSize size,
                                      HalftonePreset preset = HalftonePreset::kQuality) noexcept;

/// Returns the template that minimizes the squared error seen through a Gaussian filter of `sigma`
/// cells (above 0). G is the autocorrelation of this filter: a Gaussian of sqrt(2) sigma that is 1
/// at the center. A is -G, but 0 at the center; B is G. Keep sigma at most 0.31 (radius + 1). With
/// a larger sigma the truncation is so strong that swaps minimize an error that only the truncated
/// filter has.
CellTemplate gaussian_template(int radius, float sigma) noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
