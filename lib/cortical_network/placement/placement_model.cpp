#include "cortical_network/placement/placement_model.h"

#include <algorithm>
#include <array>

#include "core/failure.h"

namespace ocellus::detail {
namespace {

constexpr PlacementReference kReference{};
constexpr double kGpuSector = 32.0;
constexpr double kCpuSector = 64.0;

HypercolumnCost gpu_cost_of(const LevelPlan& level, double points, double cells) noexcept {
  const double minicolumns = level.stride;
  // 13: sums, wins and response of a minicolumn.
  const double state = 13.0 * minicolumns;
  HypercolumnCost cost;
  cost.bytes = 2.0 * points * minicolumns + state + 2.0 * kGpuSector * level.inputs + cells;
  cost.operations = 3.0 * points * minicolumns + 4.0 * minicolumns + 6.0 * level.inputs;
  return cost;
}

/// A step in which one candidate responds and learns.
HypercolumnCost cpu_cost_of(const LevelPlan& level, double points, double cells) noexcept {
  const double pitch = padded_inputs(level.inputs);
  // Strong bits.
  const double row = level.stride / 8.0;
  const double rows = row * level.inputs;
  HypercolumnCost cost;
  // 12: winner and its response.
  cost.bytes = std::min(std::max(row, kCpuSector) * points, rows) + 2.0 * 2.0 * pitch +
               2.0 * 2.0 * kCpuSector + 12.0 + cells;
  cost.operations = 2.0 * points * level.stride / kBitsOfWord + 12.0 * pitch + cells;
  return cost;
}

}  // namespace

Expected<Hierarchy> hierarchy_of(const CorticalNetworkConfig& config) noexcept {
  OCELLUS_TRY(check_number("level_count", config.level_count, 1, kMaxCorticalLevels));
  return plan_hierarchy(config.width, config.height, kLgnCells,
                        {config.levels.data(), static_cast<std::size_t>(config.level_count)});
}

HypercolumnCost cost_of(const LevelPlan& level, bool lowest, PlacementKind kind) noexcept {
  const double points = static_cast<double>(level.shape.window_width) * level.shape.window_height;
  const double cells = lowest ? kLgnCells * points : 0.0;
  HypercolumnCost cost = kind == PlacementKind::kGpu ? gpu_cost_of(level, points, cells)
                                                     : cpu_cost_of(level, points, cells);
  cost.memory = hypercolumn_bytes(level, lowest, kind);
  return cost;
}

PlacementModel::PlacementModel(const Hierarchy& hierarchy,
                               const std::vector<PlacementDevice>& devices)
    : hierarchy_(hierarchy), devices_(devices) {
  disjoint_levels_ = detail::disjoint_levels(hierarchy);
  for (int l = 0; l < levels(); ++l)
    memory_.push_back(cost_of(hierarchy.level(l), l == 0, PlacementKind::kGpu).memory);
  for (const PlacementDevice& device : devices) {
    const bool gpu = device.kind == PlacementKind::kGpu;
    std::vector<LevelCost>& costs = costs_.emplace_back();
    for (int l = 0; l < levels(); ++l) {
      if (!device.measured.empty()) {
        const MeasuredLevel& measured = device.measured[static_cast<std::size_t>(l)];
        costs.push_back({measured.launch_s, measured.hypercolumn_s, 1.0});
        continue;
      }
      const HypercolumnCost cost = cost_of(hierarchy.level(l), l == 0, device.kind);
      const double seconds = std::max(cost.bytes / kReference.bytes_per_s,
                                      cost.operations / kReference.operations_per_s);
      costs.push_back({device.launch_s, seconds / device.speed,
                       static_cast<double>(gpu ? kReference.gpu_width : kReference.cpu_width)});
    }
  }
}

std::int64_t PlacementModel::hypercolumns(const Subtrees& trees, int level) const noexcept {
  return rects_of(hierarchy_, trees, level).hypercolumns();
}

std::int64_t PlacementModel::hypercolumns(const Subtrees& trees) const noexcept {
  std::int64_t sum = 0;
  for (int l = trees.first; l < trees.end; ++l) sum += hypercolumns(trees, l);
  return sum;
}

std::uint64_t PlacementModel::bytes(const Subtrees& trees) const noexcept {
  std::uint64_t sum = 0;
  for (int l = trees.first; l < trees.end; ++l)
    sum +=
        static_cast<std::uint64_t>(hypercolumns(trees, l)) * memory_[static_cast<std::size_t>(l)];
  return sum;
}

std::uint64_t PlacementModel::room(int device) const noexcept {
  const PlacementDevice& of = devices_[static_cast<std::size_t>(device)];
  if (of.memory == kUnlimitedMemory) return kUnlimitedMemory;
  return of.memory - std::min<std::uint64_t>(of.memory, shared_bytes(hierarchy_, of.kind));
}

std::uint64_t PlacementModel::bytes_of_largest_subtree(int first, int end) const noexcept {
  // Only the last column and the last row may differ from the others.
  const LevelPlan& top = hierarchy_.level(end - 1);
  const int last = top.hypercolumns() - 1;
  std::uint64_t most = 0;
  for (const int root : {0, top.columns - 1, last - top.columns + 1, last})
    most = std::max(most, bytes({first, end, root, root + 1}));
  return most;
}

double PlacementModel::work(int device, const Subtrees& trees) const noexcept {
  double sum = 0.0;
  for (int l = trees.first; l < trees.end; ++l)
    sum += static_cast<double>(hypercolumns(trees, l)) * cost(device, l).hypercolumn_s;
  return sum;
}

double PlacementModel::compute_s(int device, const Subtrees& trees) const noexcept {
  double sum = 0.0;
  for (int l = trees.first; l < trees.end && !trees.empty(); ++l) {
    const LevelCost& c = cost(device, l);
    sum += std::max(static_cast<double>(hypercolumns(trees, l)), c.width) * c.hypercolumn_s;
  }
  return sum;
}

double PlacementModel::launch_s(int device, const Subtrees& trees) const noexcept {
  double sum = 0.0;
  for (int l = trees.first; l < trees.end && !trees.empty(); ++l) sum += cost(device, l).launch_s;
  return sum;
}

double PlacementModel::input_s(int device, const Subtrees& trees) const noexcept {
  const PlacementDevice& d = devices_[static_cast<std::size_t>(device)];
  if (d.kind == PlacementKind::kCpu || trees.first > 0 || trees.empty()) return 0.0;
  const double share = static_cast<double>(hypercolumns(trees, 0)) / roots(0);
  const double pixels = share * hierarchy_.width * hierarchy_.height;
  return d.link_latency_s + pixels / d.link_bytes_per_s;
}

double PlacementModel::ideal_s() const noexcept {
  // Any weights of the levels give a bound; those of the first device are exact for equal ratios.
  double work = 0.0;
  for (int l = 0; l < levels(); ++l) work += roots(l) * cost(0, l).hypercolumn_s;
  double speed = 0.0;
  for (int d = 0; d < static_cast<int>(devices_.size()); ++d) {
    double best = 0.0;
    for (int l = 0; l < levels(); ++l)
      best = std::max(best, cost(0, l).hypercolumn_s / cost(d, l).hypercolumn_s);
    speed += best;
  }
  return work / speed;
}

}  // namespace ocellus::detail
