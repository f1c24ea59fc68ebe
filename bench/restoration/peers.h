// Linear restoration by other libraries, for comparison in the bench.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/io/image_io.h"

namespace ocellus::app {

/// The impulse response of a filter: rows of (2 reach + 1) values; the pixel itself is in the
/// center. The result at a pixel is the sum of response(dy, dx) times the pixel at (-dy, -dx).
struct ImpulseResponse {
  int reach = 0;
  std::vector<float> values;
};

class RestorationPeer {
 public:
  virtual ~RestorationPeer() = default;
  virtual const std::string& name() const = 0;
  /// Filters an 8-bit image, which is mirrored at its outermost pixels, and keeps the result.
  virtual void compute(const GrayImage& image) = 0;
  /// The last result.
  virtual GrayImage result() const = 0;
};

/// Returns no methods in a build without OpenCV. `threads` is set for the whole process.
std::vector<std::unique_ptr<RestorationPeer>> make_restoration_peers(
    const ImpulseResponse& response, ImageSize size, int threads);

}  // namespace ocellus::app
