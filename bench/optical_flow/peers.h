// Dense optical flow of other libraries, for comparison in the bench.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/io/flow_file.h"
#include "apps/io/image_io.h"

namespace ocellus::app {

class FlowPeer {
 public:
  virtual ~FlowPeer() = default;
  virtual const std::string& name() const = 0;
  /// The method cannot process such images. The text is the reason.
  class Refusal : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
  };

  /// Computes the flow between two 8-bit images and keeps the result. Throws Refusal.
  virtual void compute(const GrayImage& from, const GrayImage& to) = 0;
  /// The last result.
  virtual FlowField result() const = 0;
};

/// Returns no methods in a build without OpenCV. `threads` is set for the whole process.
std::vector<std::unique_ptr<FlowPeer>> make_flow_peers(int threads);
/// "OpenCV 4.6.0", or "" in a build without it.
std::string peer_library();

}  // namespace ocellus::app
