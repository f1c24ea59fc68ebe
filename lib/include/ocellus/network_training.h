// Learning of a read-out for a cortical network, with labels. Not for the real-time path: it takes
// seconds to minutes and allocates memory. A lack of memory ends the program. Link
// ocellus::training.
//
// Each image is a step without learning. n_h(m, c) counts the images of class c for which m is the
// winner of the hypercolumn h; no winner counts as one more m, because silence is evidence, too.
// CorticalReadOut has
//
// - by kBayes, (c) of ocellus/cortex_training.h: R_hc(m) = log(p_h(m | c) / p_h(m));
// - by kVote, the vote of the paper's network: R_hc(m) is 1 for the class with the largest n_h(m,
//   c) and 0 for others, in the highest level, and 0 without a winner and in other levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ocellus/cortical_network.h"
#include "ocellus/labeled_images.h"
#include "ocellus/status.h"

namespace ocellus {

enum class NetworkReadOut : std::uint8_t { kVote, kBayes };

struct NetworkReadOutTraining {
  NetworkReadOut read_out = NetworkReadOut::kBayes;
  std::size_t first = 0;  ///< images that are shown; 0: all
  float prior = 1.0f;     ///< kBayes: weight of p_h(m), in images, 0.001 to 1000
  /// Called from time to time. False: stop.
  std::function<bool(const char* what, double share)> progress{};
};

/// A read-out that was learned.
struct TrainedReadOut {
  std::vector<Text<32>> names{};
  std::vector<std::int32_t> class_bias{};
  std::vector<std::int16_t> weights{};
  float sharpness = 1.0f;

  CorticalReadOut view() const noexcept { return {names, class_bias, weights, sharpness}; }
};

/// Shows the images to the network, whose weights stay. The sharpness is fitted to a tenth of the
/// images, which a first read-out has not learned. Errors: InvalidArgument (a parameter, images
/// that do not fit), Unsupported (stopped by `progress`).
Expected<TrainedReadOut> train_read_out(CorticalNetwork& network, const LabeledImages& images,
                                        const NetworkReadOutTraining& training) noexcept;

/// The answer of a read-out to the last step of the network, or -1.
int answer_of(const CorticalNetwork& network, const CorticalReadOut& read_out) noexcept;

}  // namespace ocellus
