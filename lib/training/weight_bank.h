// The weights of planes while they learn, and how stages 2 and 3 learn them, without labels.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "neocognitron/cpu/layers.h"
#include "ocellus/neocognitron_training.h"
#include "training/layer_run.h"

namespace ocellus::detail {

/// Each plane has a weighted sum of inputs: a = sum of c(v) u, with b by (4).
class WeightBank {
 public:
  /// Weights of inputs through `window` from a layer of `in_planes` planes.
  WeightBank(const CellWindow& window, int in_planes);

  int planes() const noexcept { return planes_; }
  float length(int plane) const noexcept { return lengths_[static_cast<std::size_t>(plane)]; }

  /// Begins a plane with this input.
  void add(std::span<const SimpleInput> inputs);
  /// Adds `factor` times an input to the weights of a plane.
  void learn(int plane, std::span<const SimpleInput> inputs, double factor = 1.0);
  /// Multiplies the weights of a plane so that they get this length.
  void set_length(int plane, float length);
  /// Later planes move up.
  void remove(int plane);
  /// Begins a plane with these weights a and b^2.
  void restore(std::span<const float> column, double square);
  /// The weights a of a plane, one for each row.
  std::span<const float> column(int plane) const {
    return columns_[static_cast<std::size_t>(plane)];
  }
  double square(int plane) const { return squares_[static_cast<std::size_t>(plane)]; }
  /// e / b of all planes, block by block of kWeightBlock planes; `e` has room for
  /// blocks() * kWeightBlock floats, aligned.
  void excite(std::span<const SimpleInput> inputs, float* e) const;
  /// Of the planes of one block.
  void excite_block(std::size_t block, std::span<const SimpleInput> inputs, float* e) const;
  std::size_t blocks() const noexcept { return blocks_.size(); }
  /// e / b of one plane.
  float excite(std::span<const SimpleInput> inputs, int plane) const;
  /// a / b at [row * planes + k], the planes in this order.
  std::vector<float> normalized(std::span<const int> order) const;

 private:
  /// For one more plane.
  void make_room();
  float& weight(std::size_t row, std::size_t plane) const noexcept {
    return blocks_[plane / kWeightBlock].get()[row * kWeightBlock + plane % kWeightBlock];
  }

  const CellWindow* window_;
  std::size_t rows_;
  int in_planes_;
  int planes_ = 0;
  std::vector<AlignedFloats> blocks_;        // kWeightBlock planes: [row * kWeightBlock + plane]
  std::vector<std::vector<float>> columns_;  // the weights of each plane once more, without gaps
  std::vector<double> squares_;              // b^2
  std::vector<float> lengths_;               // b
};

/// Stage 1: a / b of the contrast cells of an edge of each orientation through the center of an
/// S-cell. `contrast`: contrast_window(parameters).
std::vector<float> edge_weights(const NeocognitronParameters& parameters,
                                const CellWindow& contrast);

/// Learns the planes of `bank` from C-cells of the stage before. False: stopped by `progress`.
bool learn_features(const FeatureLearning& learning, const CellWindow& window, float gain,
                    std::span<StoredCells> images, WeightBank& bank,
                    const std::function<bool(double)>& progress);

}  // namespace ocellus::detail
