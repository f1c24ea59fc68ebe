// The serial program of the paper for a cortical network: every minicolumn reads all of its
// weights in every step. With threads, the paper's program of section 5.4: they share the
// hypercolumns of a level, and all of them wait for its end. For `ocellus bench` and the tests.
//
// Source: Nere, Franey, Hashmi, Lipasti, "Simulating cortical networks on heterogeneous multi-GPU
// systems", Journal of Parallel and Distributed Computing, 2012, section 3. The equations and the
// rules of random firing and learning are those of ocellus/cortical_network.h, so that winners and
// weights are those of CorticalNetwork.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cortical_network/hierarchy.h"
#include "ocellus/cortical_network.h"
#include "training/thread_team.h"

namespace ocellus::paper {

class DenseCorticalNetwork {
 public:
  /// Errors: InvalidArgument for the hierarchy. The learning constants must be valid.
  static Expected<DenseCorticalNetwork> create(const CorticalNetworkConfig& config);

  /// Of the steps that follow; 1 in a new network. Errors: those of ThreadTeam::create.
  Expected<void> set_threads(int threads) noexcept;

  /// A learning step; `image` has no padding.
  void step(const std::uint8_t* image) noexcept;

  std::span<const std::int32_t> winners(int level) const noexcept;
  float weight(int level, int hypercolumn, int input, int minicolumn) const noexcept;
  /// Milliseconds of a level in the last step.
  double level_ms(int level) const noexcept { return levels_[static_cast<std::size_t>(level)].ms; }

 private:
  struct Level {
    detail::LevelPlan plan;
    std::vector<float> weights;  ///< [hypercolumn][minicolumn][input]
    std::vector<std::uint8_t> wins;
    std::vector<std::int32_t> winners;
    double ms = 0.0;
  };

  explicit DenseCorticalNetwork(const CorticalNetworkConfig& config) : config_(config) {}
  // `to`, `x`: the inputs of the hypercolumn.
  void gather_inputs(int level, int hypercolumn, float* to) const noexcept;
  void step_hypercolumn(Level& level, int hypercolumn, const float* x) noexcept;
  void learn(float* weights, const float* x, std::size_t count) const noexcept;

  CorticalNetworkConfig config_;
  std::vector<Level> levels_;
  std::vector<float> cells_;
  std::unique_ptr<detail::ThreadTeam> team_;
  std::vector<std::vector<float>> inputs_;  ///< of a hypercolumn, for each thread
  std::vector<double> firing_;  ///< probability in units of 2^-32 after a number of wins
  std::uint64_t steps_ = 0;
};

}  // namespace ocellus::paper
