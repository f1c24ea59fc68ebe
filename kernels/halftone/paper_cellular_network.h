// PaperCellularNetwork: the schedules of Tanaka and Tanji (section 3), to be measured beside ours
// and checked against it. Not part of the library: it is linked into the program for `ocellus
// bench` and into tests.
//
// Templates are 3x3, and cells three apart along x and y are updated together, nine colors one
// after the other. The image is surrounded by dummy cells whose output is zero. The host launches
// what is updated together; nothing on the device decides when to stop.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "ocellus/cellular_network.h"
#include "ocellus/engine.h"

namespace ocellus::paper {

/// Where a block of threads keeps the states and outputs that it updates.
enum class CellMemory : std::uint8_t {
  kGlobal,    ///< read and written nine times a sweep (figure 3)
  kSharedX,   ///< three times: the colors along x in shared memory (figure 4)
  kSharedXY,  ///< twice: two rows of three, then the third (figure 5)
};

struct CellSchedule {
  CellMemory memory = CellMemory::kSharedXY;
  int rows = 1;  ///< that a block updates, or groups of three with kSharedXY: 1 or 2
};

struct PaperCellularNetworkConfig : CellularNetworkConfig {
  CellSchedule schedule;
};

/// The operator with the same graphs, streams and copies around other kernels. It gives no record.
class PaperCellularNetwork : public OperatorHandle {
 public:
  /// Errors: those of CellularNetwork, and Unsupported: one stage of a 3x3 template in nine
  /// colors, two levels, zeros beyond the border. It runs for `max_sweeps`, fixed point or not.
  static Expected<OperatorInfo> info_for(const PaperCellularNetworkConfig& config) noexcept;
  static Expected<Footprint> footprint(const EngineInfo& engine,
                                       const PaperCellularNetworkConfig& config) noexcept;
  static Expected<PaperCellularNetwork> create(Engine& engine,
                                               const PaperCellularNetworkConfig& config) noexcept;

  const PaperCellularNetworkConfig& config() const noexcept { return *config_; }

 private:
  PaperCellularNetwork(OperatorHandle handle,
                       std::unique_ptr<PaperCellularNetworkConfig> config) noexcept
      : OperatorHandle(std::move(handle)), config_(std::move(config)) {}

  std::unique_ptr<PaperCellularNetworkConfig> config_;
};

}  // namespace ocellus::paper
