// The operators of `operators()` as test parameters, for suites that state something about every
// operator. A new operator takes part with its default configuration. An operator with several
// computation paths has a row for each further path in `kOperatorPaths`.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "ocellus/ocellus.h"
#include "support/run.h"
#include "support/scene.h"

namespace ocellus::test {

/// A named configuration without frame size and format.
struct OperatorCase {
  std::string name;  ///< of the operator, or with a path: flow, flow_quality
  OperatorConfig config;
  /// Computes one cell after the other. On a device this takes seconds for a large frame.
  bool sequential = false;
  /// Sets what depends on the size of the frames. May be null.
  void (*fit)(OperatorConfig&, ImageSize) = nullptr;

  OperatorConfig with(ImageSize size, int depth = 1,
                      PixelFormat format = PixelFormat::kGray8) const {
    OperatorConfig made = config;
    made.set_input(size, format);
    must(made.set_option("depth", std::to_string(depth)));
    if (fit != nullptr) fit(made, size);
    return made;
  }
};

inline void PrintTo(const OperatorCase& made, std::ostream* out) {
  *out << made.name;
}

/// A computation path that the default configuration of its operator does not take.
struct OperatorPath {
  const char* operator_name;
  const char* name;
  std::vector<OptionSetting> settings;
  /// Sets members that are no options. May be null.
  void (*change)(OperatorConfig&) = nullptr;
  bool sequential = false;                            ///< OperatorCase::sequential
  void (*fit)(OperatorConfig&, ImageSize) = nullptr;  ///< OperatorCase::fit
};

/// Makes the frame a grid of as few tiles as there can be. Frames that are too large or too small
/// for that get the default layout.
inline void fit_tiles(OperatorConfig& config, ImageSize size) {
  constexpr int kMostTilePixels = 1024;
  const auto tile_side = [](int side) {
    int tiles = (side + kMostTilePixels - 1) / kMostTilePixels;
    while (side % tiles != 0) ++tiles;
    return side / tiles;
  };
  auto& neocognitron = *config.get_if<NeocognitronConfig>();
  const ImageSize tile{tile_side(size.width), tile_side(size.height)};
  const int tiles = size.width / tile.width * (size.height / tile.height);
  if (tiles > kMaxFieldCharacters || tile.width < 8 || tile.height < 8) {
    neocognitron.layout = CharacterLayout::kFind;
    return;
  }
  neocognitron.tile_width = tile.width;
  neocognitron.tile_height = tile.height;
}

/// Small frames have few characters: without room for more, operators are created faster.
inline void fit_characters(OperatorConfig& config, ImageSize size) {
  auto* const neocognitron = config.get_if<NeocognitronConfig>();
  if (neocognitron != nullptr && size.width * size.height < 100 * 100)
    neocognitron->max_characters = 8;
}

/// Gives the frame two boxes. Frames that are too small get the default layout.
inline void fit_boxes(OperatorConfig& config, ImageSize size) {
  auto& neocognitron = *config.get_if<NeocognitronConfig>();
  if (size.width < 10 || size.height < 10) {
    neocognitron.layout = CharacterLayout::kFind;
    return;
  }
  neocognitron.fields.count = 2;
  neocognitron.fields.fields[0] = {0, 0, 8, 8};
  neocognitron.fields.fields[1] = {2, 1, 8, 9};
}

inline const std::vector<OperatorPath>& operator_paths() {
  static const std::vector<OperatorPath> paths = {
      {"flow", "quality", {{"preset", "quality"}}},
      {"flow", "best", {{"preset", "best"}, {"deviation", "true"}}},
      {"flow",
       "uniform",
       {{"method", "kernels"}, {"taps", "5x5x5"}, {"window", "5"}, {"window_weight", "gaussian"}}},
      {"flow", "deviation", {{"deviation", "true"}, {"objects", "64"}}},
      {"flow", "objects", {{"objects", "64"}, {"min_motion", "0"}}},
      {"flow",
       "uniform_deviation",
       {{"method", "kernels"},
        {"taps", "5x5x5"},
        {"window", "5"},
        {"deviation", "true"},
        {"objects", "8"}}},
      {"flow",
       "per_pixel",
       {{"method", "kernels"},
        {"kernels", "foveated"},
        {"taps", "5x5x4"},
        {"window", "5"},
        {"objects", "8"},
        {"min_motion", "0"}}},
      {"flow",
       "half",
       {{"method", "kernels"},
        {"kernels", "per-pixel"},
        {"taps", "5x5x4"},
        {"storage", "half"},
        {"window", "5"}}},
      {"filter", "per_pixel", {{"kernels", "foveated"}, {"taps", "5x5x4"}}},
      {"flow",
       "full",
       {{"method", "kernels"}, {"kernels", "full"}, {"taps", "5x5x4"}, {"deviation", "true"}}},
      {"filter", "full", {{"kernels", "full"}, {"taps", "5x5x4"}, {"storage", "half"}}},
      {"filter", "half", {{"kernels", "per-pixel"}, {"taps", "5x5x5"}, {"storage", "half"}}},
      {"restore", "recursion", {{"schedule", "recursion"}}},
      {"halftone", "fast", {{"preset", "fast"}}},
      {"halftone", "warm", {{"warm_start", "true"}}},
      {"halftone",
       "floats",
       {},
       [](OperatorConfig& config) {
         config.get_if<HalftoneConfig>()->output_format = PixelFormat::kFloat32;
       }},
      {"digits",
       "boxes",
       {{"layout", "boxes"}, {"max_characters", "2"}},
       nullptr,
       false,
       fit_boxes},
      {"digits", "tiles", {{"layout", "tiles"}}, nullptr, false, fit_tiles},
      {"cortex", "learning", {{"learn", "true"}, {"learn_rate", "0.2"}}},
      {"network", "learning", {{"learn", "true"}, {"levels", "5x5/3x3:32,2x2/2x2:40"}}},
      {"cnn", "noise", {{"template", "hlf5"}, {"start", "noise"}}},
      {"cnn",
       "raster",
       {{"template", "hlf5"}, {"update", "raster"}, {"boundary", "periodic"}},
       nullptr,
       true},
      {"cnn",
       "synchronous",
       {{"template", "hlf5"}, {"update", "synchronous"}, {"levels", "16"}, {"max_sweeps", "4"}}},
      {"cnn", "chain", {{"template", "threshold | [skeleton] * 2 | edge"}}},
  };
  return paths;
}

/// Every operator by default, then every path.
inline const std::vector<OperatorCase>& all_operator_cases() {
  static const std::vector<OperatorCase> cases = [] {
    std::vector<OperatorCase> all;
    for (const OperatorDescription& description : operators()) {
      all.push_back({description.name, OperatorConfig(description), false, fit_characters});
      for (const OperatorPath& path : operator_paths()) {
        if (std::string(path.operator_name) != description.name) continue;
        OperatorConfig config(description);
        must(config.set_options(path.settings));
        if (path.change != nullptr) path.change(config);
        all.push_back(
            {std::string(description.name) + "_" + path.name, config, path.sequential, path.fit});
      }
    }
    return all;
  }();
  return cases;
}

/// The cases that suites run. OCELLUS_TEST_PATHS=0 leaves the paths out, for sanitizers in a short
/// run.
inline const std::vector<OperatorCase>& operator_cases() {
  static const std::vector<OperatorCase> cases = [] {
    const char* const paths = std::getenv("OCELLUS_TEST_PATHS");
    if (paths == nullptr || std::string(paths) != "0") return all_operator_cases();
    std::vector<OperatorCase> defaults;
    for (const OperatorCase& made : all_operator_cases())
      if (made.name == made.config.description().name) defaults.push_back(made);
    return defaults;
  }();
  return cases;
}

/// Those that a device computes in a short time, for suites with large or many frames.
inline std::vector<OperatorCase> parallel_operator_cases() {
  std::vector<OperatorCase> some;
  for (const OperatorCase& made : operator_cases())
    if (!made.sequential) some.push_back(made);
  return some;
}

/// The name of a test whose parameter is an OperatorCase.
inline std::string case_label(const testing::TestParamInfo<OperatorCase>& info) {
  return info.param.name;
}

/// Planes behind each other at `data`, without padding, in an order in which all are aligned.
inline OperatorOutput output_at(void* data, const OperatorInfo& info,
                                MemorySpace space = MemorySpace::kHost,
                                StreamHandle stream = nullptr) {
  OperatorOutput out;
  char* at = static_cast<char*>(data);
  for (const int element : {4, 2, 3, 1}) {
    for (std::size_t p = 0; p < static_cast<std::size_t>(info.plane_count); ++p) {
      const PlaneInfo& plane = info.planes[p];
      if (bytes_per_pixel(plane.format) != element) continue;
      const std::ptrdiff_t stride = std::ptrdiff_t{plane.size.width} * element;
      out.planes[p] = {at, plane.size, stride, plane.format, space, stream};
      at += stride * plane.size.height;
    }
  }
  return out;
}

/// Bytes of a frame without padding.
inline std::size_t in_bytes(const OperatorInfo& info) {
  return static_cast<std::size_t>(info.size.width) * static_cast<std::size_t>(info.size.height) *
         static_cast<std::size_t>(bytes_per_pixel(info.format));
}
/// Bytes of all planes of `output_at`.
inline std::size_t out_bytes(const OperatorInfo& info) {
  std::size_t bytes = 0;
  for (std::size_t p = 0; p < static_cast<std::size_t>(info.plane_count); ++p) {
    const PlaneInfo& plane = info.planes[p];
    bytes += static_cast<std::size_t>(plane.size.width) *
             static_cast<std::size_t>(plane.size.height) *
             static_cast<std::size_t>(bytes_per_pixel(plane.format));
  }
  return bytes;
}

}  // namespace ocellus::test
