// Halftones: cellular networks that turn gray images into black and white ones which look the same
// from a distance.
//
// With A = -G away from the center and B = G, the filter of an eye, asynchronous updates descend
// (y - u)' G (y - u), the energy that the eye sees (Crounse, Roska and Chua 1993). Descent by
// single cells from the image or from noise ends 2 to 13 dB short of error diffusion, in the
// nearest of many local minima; three things lead further: an error-diffused start (Floyd and
// Steinberg 1976), a wide G, and changes of places as in direct binary search (Analoui and Allebach
// 1992).
#pragma once

#include <cstdint>

#include "ocellus/cnn.h"

namespace ocellus {

enum class HalftonePreset : std::uint8_t {
  kQuality,  ///< 9x9 Gaussian of 1.2 cells, two sweeps of swaps
  kFast,     ///< 7x7 Gaussian of 1.05 cells, one sweep of swaps
};

/// Two levels by a preset, or what a template makes.
struct HalftoneConfig : ChainConfig {
  HalftonePreset preset = HalftonePreset::kQuality;  ///< where `chain` is empty

  /// All but size, formats and ranges.
  static OptionTable options() noexcept;
};

/// The operator. Output, record, calls and lifetimes are those of CellularNetwork.
class Halftone : public OperatorHandle {
 public:
  /// These read the template file that the configuration names. Errors: as those of
  /// CellularNetwork, and IoError and CorruptFile.
  static Expected<OperatorInfo> info_for(const HalftoneConfig& config) noexcept;
  static Expected<Footprint> footprint(const EngineInfo& engine,
                                       const HalftoneConfig& config) noexcept;
  static Expected<Halftone> create(Engine& engine, const HalftoneConfig& config) noexcept;

 private:
  explicit Halftone(OperatorHandle handle) noexcept : OperatorHandle(std::move(handle)) {}
};

/// The stages of a preset, for CellularNetwork.
CellularNetworkConfig halftone_config(ImageSize size,
                                      HalftonePreset preset = HalftonePreset::kQuality) noexcept;

/// The template of least squares under a Gaussian eye of `sigma` cells, above 0: G is its
/// autocorrelation, a Gaussian of sqrt(2) sigma, 1 at the center; A = -G but 0 at the center, B =
/// G. A sigma above 0.31 (radius + 1) cuts off so much that swaps find what only the cut sees.
CellTemplate gaussian_template(int radius, float sigma) noexcept;

}  // namespace ocellus
