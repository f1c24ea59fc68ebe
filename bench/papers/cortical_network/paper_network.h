// The serial program of the paper for a cortical network: every minicolumn reads all of its
// weights in every step. For `ocellus bench` and the tests.
//
// Source: Nere, Franey, Hashmi, Lipasti, "Simulating cortical networks on heterogeneous multi-GPU
// systems", Journal of Parallel and Distributed Computing, 2012, section 3. The equations and the
// rules of random firing and learning are those of ocellus/cortical_network.h, so that winners and
// weights are those of CorticalNetwork.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cortical_network/hierarchy.h"
#include "ocellus/cortical_network.h"

namespace ocellus::paper {

class DenseCorticalNetwork {
 public:
  /// Errors: InvalidArgument for the hierarchy. The learning constants must be valid.
  static Expected<DenseCorticalNetwork> create(const CorticalNetworkConfig& config);

  /// A learning step; `image` has no padding.
  void step(const std::uint8_t* image) noexcept;

  std::span<const std::int32_t> winners(int level) const noexcept;
  float weight(int level, int hypercolumn, int input, int minicolumn) const noexcept;

 private:
  struct Level {
    detail::LevelPlan plan;
    std::vector<float> weights;  ///< [hypercolumn][minicolumn][input]
    std::vector<std::uint8_t> wins;
    std::vector<std::int32_t> winners;
  };

  explicit DenseCorticalNetwork(const CorticalNetworkConfig& config) : config_(config) {}
  void gather_inputs(int level, int hypercolumn) noexcept;
  void step_hypercolumn(Level& level, int hypercolumn) noexcept;
  void learn(float* weights, std::size_t count) const noexcept;

  CorticalNetworkConfig config_;
  std::vector<Level> levels_;
  std::vector<float> cells_;
  std::vector<float> inputs_;
  std::vector<double> firing_;  ///< probability in units of 2^-32 after a number of wins
  std::uint64_t steps_ = 0;
};

}  // namespace ocellus::paper
