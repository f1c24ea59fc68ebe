// Files of cortical networks, for all classes that keep one.
#pragma once

#include <cstdint>

#include "core/model_file.h"
#include "cortical_network/hypercolumn.h"

namespace ocellus::detail {

inline constexpr ModelKind kCorticalNetworkKind{"cortnet", "cortical network", 1, 4032};

/// Hypercolumns of a level whose arrays lie together in the memory of the host, as in
/// NetworkLayout, the first one at the begin.
struct NetworkRun {
  int level = 0;
  int begin = 0;
  int count = 0;
  std::uint16_t* weights = nullptr;
  std::uint32_t* strong = nullptr;
  Minicolumn* minicolumns = nullptr;
  std::uint8_t* wins = nullptr;
  std::uint8_t* patterns = nullptr;  ///< of the lowest level on a GPU; otherwise null
};

/// The arrays of a network, wherever it keeps them.
class NetworkStore {
 public:
  enum Arrays : unsigned {
    kNothing = 0,
    kWeights = 1,
    kWins = 2,
    kDerived = 4,  ///< strong bits and minicolumns
  };

  virtual ~NetworkStore() = default;
  /// Hypercolumns from `hypercolumn` on, at least one. Only the arrays `needed` have the values of
  /// the network. Valid until the next call.
  virtual Expected<NetworkRun> open(int level, int hypercolumn, unsigned needed) noexcept = 0;
  /// The network takes the arrays `changed` of the run.
  virtual Expected<void> store(const NetworkRun& run, unsigned changed) noexcept = 0;
  /// Computes what weights and wins of a run imply. May leave it until all are read.
  virtual void derive(const NetworkRun& run) noexcept = 0;
};

/// Errors: those of CorticalNetwork::save_file and of the store.
Expected<void> save_network(const char* path, const CorticalNetworkConfig& config,
                            std::uint64_t steps, const NetworkPlan& plan,
                            NetworkStore& store) noexcept;

/// What load_network() calls when it knows the configuration: creates the network and returns its
/// store.
class NetworkMaker {
 public:
  virtual ~NetworkMaker() = default;
  virtual Expected<NetworkStore*> make(const CorticalNetworkConfig& config,
                                       std::uint64_t steps) noexcept = 0;
};

/// Errors: those of CorticalNetwork::load_file and of the maker.
Expected<void> load_network(const char* path, int workers, NetworkMaker& maker) noexcept;

}  // namespace ocellus::detail
