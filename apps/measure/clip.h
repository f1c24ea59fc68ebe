// Clip: numbered frames in memory.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "apps/io/frames.h"
#include "apps/io/image_io.h"

namespace ocellus::app {

struct Clip {
  std::string name;
  long first = 0;
  std::vector<GrayImage> frames;
  std::vector<std::string> texts;  ///< the characters of each frame if they are known, or empty

  ImageSize size() const { return frames.front().size; }
  PixelFormat format() const { return frames.front().format; }
  long last() const { return first + static_cast<long>(frames.size()) - 1; }
  const GrayImage& number(long n) const { return frames[static_cast<std::size_t>(n - first)]; }
  /// The frames forwards and backwards in turn.
  const GrayImage& cyclic(std::size_t i) const;
  double pixels() const { return static_cast<double>(size().width) * size().height; }
};

/// The part of a source to read.
struct ClipLimits {
  std::optional<long> first;  ///< the first frame; without it that of the source
  std::size_t frames = 60;
  std::size_t bytes = std::numeric_limits<std::size_t>::max();  ///< reading ends after these
};

/// Whether FRAMES are a synthetic scene with known motion.
bool is_scene(const std::string& input);

/// Reads frames. Those of a synthetic scene are drawn on all processors.
Clip read_clip(const std::string& input, const SourceOptions& options, const ClipLimits& limits);

}  // namespace ocellus::app
