// Dense optical flow of other libraries, to be measured beside ours.
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
  /// The method cannot take such images; the text says why.
  class Refusal : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
  };

  /// Flow from `from` to `to`, 8-bit images; the result stays inside. Throws Refusal.
  virtual void compute(const GrayImage& from, const GrayImage& to) = 0;
  /// The last result.
  virtual FlowField result() const = 0;
};

/// Empty in a build without OpenCV. `threads` is set for the whole process.
std::vector<std::unique_ptr<FlowPeer>> make_flow_peers(int threads);
/// "OpenCV 4.6.0", or "" without it.
std::string peer_library();

}  // namespace ocellus::app
