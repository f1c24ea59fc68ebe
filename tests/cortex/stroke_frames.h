// Model files, and frames of the images of labeled_strokes.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "cortex/labeled_strokes.h"
#include "ocellus/cortex.h"
#include "ocellus/cortex_training.h"
#include "support/plane.h"
#include "support/run.h"

namespace ocellus::test {

inline constexpr int kStrokeSide = 16;

inline void write_model(const std::string& path, const TrainedCortex& cortex) {
  const auto bytes = must(encode_cortex(cortex, "strokes"));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

/// A frame of columns x rows images from the first one on. `dark`: dark ink on a bright ground.
inline FrameBuffer stroke_frame(const LabeledImages& images, int columns, int rows,
                                PixelFormat format, bool dark = false) {
  FrameBuffer frame({columns * kStrokeSide, rows * kStrokeSide}, format, 3);
  for (int y = 0; y < rows * kStrokeSide; ++y) {
    for (int x = 0; x < columns * kStrokeSide; ++x) {
      const int image = y / kStrokeSide * columns + x / kStrokeSide;
      const int ink = images.ink[static_cast<std::size_t>(
          image * kStrokeSide * kStrokeSide + y % kStrokeSide * kStrokeSide + x % kStrokeSide)];
      frame.set(x, y, dark ? 255 - ink : ink);
    }
  }
  return frame;
}

/// Bright ink, in tiles.
inline CortexConfig stroke_config(const std::string& model, int columns, int rows) {
  CortexConfig config;
  config.size = {columns * kStrokeSide, rows * kStrokeSide};
  EXPECT_TRUE(config.model.assign(model.c_str()));
  config.layout = CortexLayout::kTiles;
  config.tile_width = config.tile_height = kStrokeSide;
  config.ink = CortexInk::kLight;
  return config;
}

}  // namespace ocellus::test
