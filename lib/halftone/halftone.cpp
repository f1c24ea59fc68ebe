#include "ocellus/halftone.h"

#include <cmath>

namespace ocellus {

CellTemplate gaussian_template(int radius, float sigma) noexcept {
  CellTemplate made;
  made.radius = radius;
  if (radius < 1 || radius > kMaxTemplateRadius) return made;  // creation reports the error
  const int side = 2 * radius + 1;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const auto at = static_cast<std::size_t>((dy + radius) * side + dx + radius);
      const double distance = dx * dx + dy * dy;
      const double width = 2.0 * static_cast<double>(sigma);
      made.b[at] = static_cast<float>(std::exp(-distance / (width * width)));
      made.a[at] = distance == 0.0 ? 0.0f : -made.b[at];
    }
  }
  return made;
}

CellularNetworkConfig halftone_config(ImageSize size, HalftonePreset preset) noexcept {
  const bool fast = preset == HalftonePreset::kFast;
  const bool gray = preset == HalftonePreset::kGray4 || preset == HalftonePreset::kGray16;
  CellStage stage;
  stage.weights = fast ? gaussian_template(3, 1.05f) : gaussian_template(4, 1.2f);
  stage.input = CellInput::kFrame;
  stage.start = CellStart::kErrorDiffusion;
  stage.boundary = CellBoundary::kFixed;
  stage.max_sweeps = 1;
  CellularNetworkConfig config;
  config.size = size;
  const auto add = [&] {
    config.stages[static_cast<std::size_t>(config.stage_count++)] = stage;
    stage.start = CellStart::kPrevious;
  };
  if (gray) {
    // Swaps need two levels.
    stage.levels = preset == HalftonePreset::kGray4 ? 4 : 16;
    stage.max_sweeps = 100;
    add();
    return config;
  }
  add();
  for (int round = 0; round < (fast ? 1 : 2); ++round) {
    stage.move = CellMove::kSwap;
    stage.max_sweeps = 1;
    add();
    stage.move = CellMove::kUpdate;
    // The last stage runs until the fixed point.
    stage.max_sweeps = fast || round == 1 ? 100 : 1;
    add();
  }
  return config;
}

}  // namespace ocellus
