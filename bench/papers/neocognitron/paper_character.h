// The models and characters on which the schedules of the paper are compared with the layers of the
// operator. Not part of the library: it is linked into the program for `ocellus bench` and into
// tests.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/papers/neocognitron/paper_programs.h"
#include "ocellus/neocognitron_training.h"
#include "ocellus/status.h"

namespace ocellus::paper {

/// The network with other numbers of planes in stages 2, 3 and 4: some planes are left out, or
/// repeated, at even distances. Weights are divided so that b(k) is 1 again. Times then depend on
/// the numbers of planes, and the share of active cells stays near that of the network. Errors:
/// InvalidArgument (a number that a model file cannot have, or fewer references than classes).
Expected<TrainedNeocognitron> with_planes(const TrainedNeocognitron& network,
                                          const std::array<int, 3>& planes) noexcept;

/// The network with windows of the sides in table 2 of the paper: 6x6 for US1 and 8x8 for UC3.
/// Stage 1 has the edges for it; what the other stages have learned stays, so that the network is
/// for measuring.
TrainedNeocognitron with_paper_windows(const TrainedNeocognitron& network);

/// U0 of an image. `ink`: 0 is background, 255 is ink; row after row. All 0 if there is no ink.
std::vector<float> normalized_character(const PatchNormalization& normalization,
                                        const std::uint8_t* ink, int width, int height);

/// The layers of the operator on the CPU, for one thread.
class OperatorLayers {
 public:
  /// `network` must be one that `encode_neocognitron` accepts.
  explicit OperatorLayers(const TrainedNeocognitron& network);
  ~OperatorLayers();
  OperatorLayers(const OperatorLayers&) = delete;
  OperatorLayers& operator=(const OperatorLayers&) = delete;

  /// Recognizes a character. `u0` has 65x65 floats. The other functions return what it computed.
  LayerTimes recognize(const float* u0);

  /// UG (stage 0), UC1 to UC3.
  PlaneCells inputs(int stage) const;
  /// US1 to US3; stage 3: the similarities.
  PlaneCells simple(int stage) const;
  /// The similarity to each class, with the vectors between two references.
  std::span<const float> scores() const noexcept;
  /// The share of the cells of `inputs(stage)` that are not 0.
  double active_share(int stage) const noexcept;

 private:
  struct Layers;
  std::unique_ptr<Layers> layers_;
};

}  // namespace ocellus::paper
