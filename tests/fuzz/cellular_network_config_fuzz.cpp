// Fuzz target: any numbers as a configuration of the cellular network, and as frames. The
// configuration is refused with a text, or the operator is created in exactly its footprint and its
// results are levels of its last stage. Sanitizers detect other faults.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "fuzz/numbers.h"
#include "fuzz/operators.h"
#include "ocellus/ocellus.h"

namespace {

using namespace ocellus;
using fuzz::Numbers;

void take_stage(Numbers& numbers, CellStage& stage, const std::vector<float>& plane,
                ImageSize size) {
  const int radius = numbers.byte();
  stage.weights.radius = radius < 250 ? 1 + radius % 4 : numbers.integer();
  const bool symmetric = numbers.byte() % 2 == 0;
  const int side = 2 * std::clamp(stage.weights.radius, 1, kMaxTemplateRadius) + 1;
  const auto count = static_cast<std::size_t>(side * side);
  for (std::size_t i = 0; i < count; ++i) {
    stage.weights.a[i] =
        symmetric && i > count / 2 ? stage.weights.a[count - 1 - i] : numbers.real();
    stage.weights.b[i] = numbers.real();
  }
  stage.weights.threshold = numbers.real();
  stage.levels = numbers.byte() % 2 == 0 ? 2 : numbers.integer();
  stage.xi = numbers.real();
  stage.input = numbers.choice<CellInput>();
  const int start = numbers.byte();
  stage.start = static_cast<CellStart>(start < 240 ? start % 7 : start);
  stage.start_value = numbers.real();
  if (numbers.byte() % 2 == 0) {
    stage.start_plane = plane.data();
    stage.start_stride = size.width * static_cast<std::ptrdiff_t>(sizeof(float));
  }
  if (numbers.byte() % 4 == 0) {
    stage.threshold_plane = plane.data();
    stage.threshold_stride = numbers.byte() < 200
                                 ? size.width * static_cast<std::ptrdiff_t>(sizeof(float))
                                 : numbers.integer();
  }
  stage.seed = static_cast<std::uint32_t>(numbers.integer());
  stage.boundary = numbers.choice<CellBoundary>();
  stage.boundary_value = numbers.real();
  stage.update = numbers.choice<CellUpdate>();
  const int move = numbers.byte();
  stage.move = static_cast<CellMove>(move < 240 ? move % 2 : move);
  stage.color_spacing = numbers.byte() % 2 == 0 ? 0 : numbers.integer();
  // Valid numbers of sweeps are reduced, so that a run is short. Invalid ones reach the check
  // unchanged.
  const int sweeps = numbers.integer();
  stage.max_sweeps = sweeps < 1 || sweeps > 100000 ? sweeps : 1 + sweeps % 12;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Numbers numbers(data, size);
  CellularNetworkConfig config;
  config.size = {numbers.integer(), numbers.integer()};
  config.format = numbers.choice<PixelFormat>();
  config.output_format = numbers.choice<PixelFormat>();
  config.depth = numbers.integer();
  const int polarity = numbers.byte();
  config.polarity = static_cast<CellPolarity>(polarity < 240 ? polarity % 2 : polarity);
  config.warm_start = numbers.byte() % 2 == 0;
  config.max_sweeps = 20;  // which some runs reach
  for (GrayRange* range : {&config.input_range, &config.output_range}) {
    const int kind = numbers.byte();
    if (kind % 3 == 1) *range = {numbers.real(), numbers.real()};
    if (kind % 3 == 2) {
      const auto half = [&] { return 0.5f * static_cast<float>(numbers.byte()); };
      *range = {half(), 127.5f + half()};
    }
  }
  const int stages = numbers.byte();
  config.stage_count = stages < 240 ? 1 + stages % 3 : numbers.integer();
  // Large enough for every size that is tried below.
  const bool fits = config.size.width >= 1 && config.size.height >= 1 && config.size.width < 512 &&
                    config.size.height < 512;
  std::vector<float> plane(fits ? static_cast<std::size_t>(config.size.width * config.size.height)
                                : 0);
  for (float& value : plane) value = numbers.real();
  for (int s = 0; s < std::clamp(config.stage_count, 0, kMaxCellStages); ++s)
    take_stage(numbers, config.stages[static_cast<std::size_t>(s)], plane, config.size);
  if (!fits) {
    for (CellStage& stage : config.stages) stage.start_plane = stage.threshold_plane = nullptr;
  }

  auto made = fuzz::make<CellularNetwork>(config, 1 + numbers.byte() % 3, std::size_t{4} << 20);
  if (!made) return 0;

  const std::ptrdiff_t out_stride =
      config.size.width * static_cast<std::ptrdiff_t>(bytes_per_pixel(config.output_format));
  std::vector<unsigned char> out(static_cast<std::size_t>(out_stride * config.size.height));
  for (int f = 0; f < 2; ++f) {
    Frame frame;
    frame.size = config.size;
    frame.format = config.format;
    frame.stride = config.size.width * static_cast<std::ptrdiff_t>(sizeof(float));
    std::vector<float> pixels(static_cast<std::size_t>(config.size.width * config.size.height));
    for (float& pixel : pixels) pixel = numbers.real();
    frame.data = pixels.data();
    const ImageView view = {out.data(),           config.size,        out_stride,
                            config.output_format, MemorySpace::kHost, nullptr};
    CellularNetworkRecord how;
    const auto ticket = made->op.submit(frame, view, &how);
    if (!ticket) std::abort();
    const auto done = made->op.wait(*ticket, Deadline::never());
    if (!done) std::abort();
    if (!done->bad_pixels() && (how.sweeps > config.max_sweeps ||
                                how.sweeps < std::min(config.stage_count, config.max_sweeps) ||
                                how.converged != (how.finished && how.changed == 0)))
      std::abort();
    if (config.output_format == PixelFormat::kGray8 && !done->bad_pixels() &&
        config.stages[static_cast<std::size_t>(config.stage_count - 1)].levels == 2) {
      // The end values are rounded to 16-bit gray and then to 8 bits.
      const auto is_end = [&](unsigned char v) {
        return std::fabs(v - config.output_range.black) < 0.51f ||
               std::fabs(v - config.output_range.white) < 0.51f;
      };
      if (!std::all_of(out.begin(), out.end(), is_end)) std::abort();
    }
  }
  return 0;
}
