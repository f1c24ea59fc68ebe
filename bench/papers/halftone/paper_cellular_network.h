// PaperCellularNetwork: the schedules of Tanaka and Tanji (section 3), for comparing their speed
// and results with those of the library. Not part of the library: it is linked into the program for
// `ocellus bench` and into tests.
//
// Templates are 3x3. Cells that are three apart along x and y are updated together, in nine colors
// one after the other. Dummy cells with output 0 surround the image. The host launches a kernel for
// each group of cells that are updated together. The device does not decide when to stop.
#pragma once

#include <cstdint>

#include "bench/papers/core/cuda_only.h"
#include "ocellus/cellular_network.h"

namespace ocellus::paper {

/// The memory in which a block of threads updates states and outputs.
enum class CellMemory : std::uint8_t {
  kGlobal,   ///< global memory, which is read and written nine times in a sweep (figure 3)
  kSharedX,  ///< shared memory for the colors along x; three reads and writes in a sweep (figure 4)
  /// Shared memory for two rows of three, then for the third; two reads and writes in a sweep
  /// (figure 5).
  kSharedXY,
};

struct CellSchedule {
  CellMemory memory = CellMemory::kSharedXY;
  /// Number of rows that a block updates, or of groups of three rows with kSharedXY: 1 or 2.
  int rows = 1;
};

struct PaperCellularNetworkConfig : CellularNetworkConfig {
  CellSchedule schedule;
};

/// The operator with the paper's kernels. Graphs, streams and copies are those of CellularNetwork.
/// It has no record.
///
/// Errors: those of CellularNetwork. Unsupported for anything other than one stage with a 3x3
/// template in nine colors, two levels and fixed cells of 0 outside the image. The stage always
/// runs `max_sweeps` sweeps and does not stop at a fixed point.
class PaperCellularNetwork : public CudaOnly<PaperCellularNetwork, PaperCellularNetworkConfig> {};

}  // namespace ocellus::paper
