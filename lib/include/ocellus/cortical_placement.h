// Placement of a cortical network on a CPU and GPUs, by an analytic model of a learning step. Not
// for the real-time path: these calls allocate memory, and a lack of it ends the program. Link
// ocellus::training.
//
// Source: Nere et al. (ocellus/cortical_network.h), section 7. The lower levels are split over the
// GPUs in proportion to their speed; a GPU whose memory is full leaves the rest to the others. The
// fastest GPU with enough memory computes the levels where the parts meet, and the CPU the levels
// from which it is faster. The paper leaves two things open that are here: a model in place of
// measurements, and networks larger than the memory, which are streamed in turns.
//
// Model. A hypercolumn with I inputs (padded to 32), a of them active, and M minicolumns (padded
// to 32) takes
//
//   memory      2 I M + I M / 8 + 17 M bytes     weights, strong bits, sums and wins; in the lowest
//                                                level of a GPU once more I M / 8
//   bytes       2 a M + 13 M + 2 s I + 2 p       of a step: weights of active inputs, state, a
//                                                sector (s bytes) for each weight of the winner,
//                                                which is read and written, and LGN cells
//   operations  3 a M + 4 M + 6 I                of a step: responses, competition, learning
//
// where a is the number of points in the window (one active input for each point), and p that
// number in the lowest level and 0 in others. s is 32 on a GPU and 64 on a CPU. A device of
// speed v needs c = max(bytes / (v B), operations / (v A)) for a hypercolumn, and for n of a level
//
//   launch + c max(n, width)
//
// Beside its hypercolumns, a GPU needs 16 bytes for each hypercolumn of the network, two for each
// pixel, and 6656 bytes; the CPU 12 and 2. B, A and width are those of the reference device;
// fewer than `width` hypercolumns do not fill the device. With measured times, c and launch are the
// measured ones, and width is 1.
//
// Transfers go over the link of a GPU to the host: latency + bytes / bandwidth. A step sends the
// pixels of a part (one byte each) to its GPU, the winners (4 bytes each) of the highest split
// level to the device that computes the next one, and the winners of the highest level that a GPU
// computes to the host. Time of a step:
//
//   longest part + gathering + levels where parts meet + transfer to the host + levels of the CPU
//
// PlacementRule::kEven is the paper's comparison (figure 12): each GPU has the same number of
// subtrees, whatever its speed, the first GPU computes the levels where they meet, and the CPU, if
// there is one, the highest level. It neither moves nor streams what does not fit into a GPU.
//
// Streaming. The host keeps the network. A GPU keeps as many subtrees as fit beside two buffers.
// The others pass through the buffers: while a turn is computed, the buffer of the last turn is
// written back and the next turn is loaded. A turn takes the longer one of its computation and
// these transfers, which share the link while both directions are in use. Where the GPUs have too
// little memory, the CPU may take subtrees, too.
//
// `place_cortical_network` tries all levels up to which the network is split, all levels from which
// the CPU computes, each GPU alone and the fastest 2, 3, ... of them, and buffers of 1, 2, 4, ...
// subtrees. It returns the placement with the shortest predicted step. Streaming is considered only
// if the network does not fit into the GPUs. Above the lowest level, a level whose windows overlap
// is not split, nor are those above it: its subtrees would share hypercolumns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ocellus/cortical_network.h"
#include "ocellus/status.h"

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

inline constexpr int kMaxPlacementDevices = 16;
inline constexpr std::uint64_t kUnlimitedMemory = ~std::uint64_t{0};

enum class PlacementKind : std::uint8_t { kCpu, kGpu };

/// The device of speed 1: one NVIDIA H200. Only its bandwidth was measured, as that of a copy; the
/// others are round numbers. Link: PCI Express 5.0 with 16 lanes, one direction.
struct PlacementReference {
  double bytes_per_s = 4.25e12;      ///< B
  double operations_per_s = 1.6e13;  ///< A
  int gpu_width = 264;               ///< hypercolumns: two blocks for each of 132 multiprocessors
  int cpu_width = 16;                ///< a core of a CPU has about 1/16 of its bandwidth
  double gpu_launch_s = 5e-6;        ///< launch of a level and wait for the one below
  double cpu_launch_s = 1e-6;        ///< start and end of the workers
  double link_bytes_per_s = 4e10;
  double link_latency_s = 5e-6;
};

/// Measured times of a level: n hypercolumns take launch_s + n * hypercolumn_s.
struct MeasuredLevel {
  double launch_s = 0.0;       ///< 0 or more
  double hypercolumn_s = 0.0;  ///< above 0
};

enum class PlacementRule : std::uint8_t {
  kProfiled,  ///< the shortest predicted step
  kEven,      ///< the same number of subtrees on each GPU; speeds only count in the prediction
};

struct PlacementDevice {
  PlacementKind kind = PlacementKind::kGpu;
  std::string name{};                       ///< for errors and reports
  double speed = 1.0;                       ///< v, above 0; not used with measured times
  std::uint64_t memory = kUnlimitedMemory;  ///< bytes for the network, with all that it needs
  double launch_s = PlacementReference{}.gpu_launch_s;  ///< not used with measured times
  double link_bytes_per_s = PlacementReference{}.link_bytes_per_s;  ///< above 0; of a GPU
  double link_latency_s = PlacementReference{}.link_latency_s;      ///< 0 or more; of a GPU
  /// Of both directions at once, their sum; above 0; of a GPU. For streaming.
  double link_both_bytes_per_s = PlacementReference{}.link_bytes_per_s;
  std::vector<MeasuredLevel>
      measured{};  ///< one for each level of the network; empty: not measured
};

/// What a hypercolumn of a level takes, by the model.
struct HypercolumnCost {
  std::uint64_t memory = 0;  ///< bytes
  double bytes = 0.0;        ///< of a step
  double operations = 0.0;   ///< of a step
};

/// Hypercolumns that are in the memory of a GPU at the same time: the subtrees of the roots
/// [first_root, end_root).
struct PlacementTurn {
  int first_root = 0;
  int end_root = 0;
  std::uint64_t bytes = 0;      ///< memory of the subtrees
  double compute_s = 0.0;       ///< with launches
  double transfer_bytes = 0.0;  ///< while it is computed: last turn written back, next turn loaded
  double seconds = 0.0;
};

/// What a device computes: the hypercolumns [first_root, end_root) of level end_level - 1, and all
/// below them down to first_level.
struct PlacementPart {
  int device = 0;
  int first_level = 0;
  int end_level = 0;
  int first_root = 0;
  int end_root = 0;
  std::int64_t hypercolumns = 0;
  std::uint64_t bytes = 0;     ///< memory of the hypercolumns
  std::uint64_t resident = 0;  ///< bytes that the device needs: less than `bytes` if streamed
  double compute_s = 0.0;
  double launch_s = 0.0;
  double input_s = 0.0;         ///< transfer of pixels to a GPU
  double transfer_bytes = 0.0;  ///< of streaming, both directions
  double seconds = 0.0;         ///< of a step
  /// Empty if all is resident. Otherwise the first turn is what remains in the memory; it may be
  /// empty.
  std::vector<PlacementTurn> turns{};
};

/// A device of a placement.
struct PlacedDevice {
  PlacementKind kind = PlacementKind::kGpu;
  std::string name{};
};

struct CorticalPlacement {
  /// Split levels first, then the levels where parts meet, then those of the CPU.
  std::vector<PlacementPart> parts{};
  int levels = 0;
  int split_levels = 0;  ///< the first split_levels levels are split, or on one device
  int cpu_level = 0;     ///< from this one on, the CPU computes all levels; `levels`: none
  std::int64_t hypercolumns = 0;
  std::uint64_t bytes = 0;  ///< memory of the network
  double split_s = 0.0;     ///< longest of the split parts
  double gather_s = 0.0;    ///< transfer of winners to the device of the next level
  double merge_s = 0.0;     ///< levels where parts meet
  double output_s = 0.0;    ///< transfer of winners from the GPUs to the host
  double cpu_s = 0.0;       ///< levels of the CPU
  double step_s = 0.0;      ///< sum of the five
  /// Lower bound for any split over all devices, without launches and transfers: each hypercolumn
  /// at the sum of the speeds.
  double ideal_s = 0.0;
  bool streamed = false;

  /// Device of a hypercolumn. It follows the parents: that of x is min(x / stride, last), so that
  /// hypercolumns which no window covers have one, too.
  int device(int level, int hypercolumn) const noexcept;

  std::vector<PlacedDevice> devices{};  ///< as given to place_cortical_network
  std::vector<CorticalLevel> shapes{};  ///< of the levels
  std::vector<ImageSize> grids{};
};

/// Errors: InvalidArgument (those of CorticalNetwork::create for the hierarchy; a level that is
/// none).
Expected<HypercolumnCost> hypercolumn_cost(const CorticalNetworkConfig& config, int level,
                                           PlacementKind kind) noexcept;

/// Only the hierarchy of `config` counts. Errors: InvalidArgument (those of CorticalNetwork::create
/// for the hierarchy; no device, more than kMaxPlacementDevices or two CPUs; a value out of its
/// range, with the name of the device), OutOfMemory (levels that cannot be split or streamed take
/// more than the memory of every device, or the even share more than that of a GPU; the text names
/// both).
Expected<CorticalPlacement> place_cortical_network(const CorticalNetworkConfig& config,
                                                   const std::vector<PlacementDevice>& devices,
                                                   PlacementRule rule = PlacementRule::kProfiled);

}  // namespace ocellus

#pragma GCC visibility pop
