// Files of cortical networks, for all classes that keep one.
#pragma once

#include <array>
#include <cstdint>

#include "core/model_file.h"
#include "core/model_writer.h"
#include "cortical_network/hypercolumn.h"

namespace ocellus::detail {

inline constexpr ModelKind kCorticalNetworkKind{"cortnet", "cortical network", 1, 16320};

/// Hypercolumns of a level whose arrays lie together in the memory of the host, as in
/// Hierarchy, the first one at the begin.
struct NetworkRun : HypercolumnArrays {
  int level = 0;
  int begin = 0;
  int count = 0;
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
  /// The network takes the arrays `changed` of the run. Nothing is left to do if it has them.
  virtual Expected<void> store(const NetworkRun&, unsigned /*changed*/) noexcept { return {}; }
  /// Computes what weights and wins of a run imply. May leave it until all are read.
  virtual void derive(const NetworkRun&) noexcept {}
};

/// The table of a read-out.
struct ReadOutTable {
  int classes = 0;  ///< 0: there is no read-out
  float sharpness = 0.0f;
  std::array<ClassName, kMaxCortexClasses> names{};
};

/// A level of arrays that have the whole network.
NetworkRun whole_level(const NetworkPlan& plan, const HypercolumnArrays& arrays,
                       int level) noexcept;

/// Begins a file: the arrays follow. Errors: those of ModelWriter::open.
Expected<void> open_network(ModelWriter& writer, const char* path,
                            const CorticalNetworkConfig& config, std::uint64_t steps,
                            const ReadOutTable& read_out) noexcept;

/// Errors: those of CorticalNetwork::save_file and of the store.
Expected<void> save_network(const char* path, const CorticalNetworkConfig& config,
                            std::uint64_t steps, const NetworkPlan& plan, NetworkStore& store,
                            const CorticalReadOut& read_out = {}) noexcept;

/// A file that is read: `open`, then `read` into a network of its configuration.
class NetworkReader {
 public:
  /// Reads the configuration, and checks the file before memory is taken: with `verify`, also the
  /// checksum of its arrays. `path` must outlive the object. Errors: those of
  /// CorticalNetwork::load_file.
  Expected<void> open(const char* path, int workers, bool verify = true) noexcept;
  /// Errors: also those of the store.
  Expected<void> read(NetworkStore& store) noexcept;
  /// After `read`: the arrays of the read-out. Errors: IoError, CorruptFile.
  Expected<void> read_read_out(std::int32_t* class_bias, std::int16_t* weights) noexcept;

  const CorticalNetworkConfig& config() const noexcept { return config_; }
  std::uint64_t steps() const noexcept { return steps_; }
  const ReadOutTable& read_out() const noexcept { return read_out_; }
  std::uint64_t array_hash() const noexcept { return array_hash_; }

 private:
  Expected<void> read_config(int workers) noexcept;
  /// Adds the path to an error of the file.
  Expected<void> named(const Expected<void>& done) const noexcept;

  const char* path_ = nullptr;
  ModelFile file_;
  CorticalNetworkConfig config_;
  std::uint64_t steps_ = 0;
  std::uint64_t array_hash_ = 0;
  NetworkPlan plan_;
  ReadOutTable read_out_;
};

}  // namespace ocellus::detail
