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
  const double minicolumns = level.padded;
  // 13: sums, wins and response of a minicolumn.
  const double state = 13.0 * minicolumns;
  HypercolumnCost cost;
  cost.bytes = 2.0 * points * minicolumns + state + 2.0 * kGpuSector * level.inputs + cells;
  cost.operations = 3.0 * points * minicolumns + 4.0 * minicolumns + 6.0 * level.inputs;
  return cost;
}

/// A step in which one candidate responds and learns.
HypercolumnCost cpu_cost_of(const LevelPlan& level, double points, double cells) noexcept {
  const double pitch = level.pitch;
  // Strong bits.
  const double row = level.padded / 8.0;
  const double rows = row * level.inputs;
  HypercolumnCost cost;
  // 12: winner and its response.
  cost.bytes = std::min(std::max(row, kCpuSector) * points, rows) + 2.0 * 2.0 * pitch +
               2.0 * 2.0 * kCpuSector + 12.0 + cells;
  cost.operations = 2.0 * points * level.padded / kBitsOfWord + 12.0 * pitch + cells;
  return cost;
}

}  // namespace

HypercolumnCost cost_of(const LevelPlan& level, bool lowest, PlacementKind kind) noexcept {
  const double points = static_cast<double>(level.window_width) * level.window_height;
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
  const int last = top.hypercolumns - 1;
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

// ---- parts of a placement

namespace {

constexpr int kMostTurns = 4096;
/// Of the memory of a device that streams, about this share stays resident. Only the shares of the
/// devices depend on it.
constexpr double kResidentShare = 0.75;

/// The first root in [low, high) that reached() is true for; `high` if there is none.
template <typename Reached>
int first_root(int low, int high, const Reached& reached) {
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (reached(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// Largest `end` such that the subtrees [begin, end) take at most `memory` bytes.
int fitting_end(const PlacementModel& model, Subtrees trees, std::uint64_t memory) {
  return first_root(trees.begin_root, trees.end_root, [&](int root) {
    trees.end_root = root + 1;
    return model.bytes(trees) > memory;
  });
}

/// Smallest `begin` such that the subtrees [begin, end) take at most `memory` bytes.
int fitting_begin(const PlacementModel& model, Subtrees trees, std::uint64_t memory) {
  return first_root(trees.begin_root, trees.end_root, [&](int root) {
    trees.begin_root = root;
    return model.bytes(trees) <= memory;
  });
}

/// Sets the times and transfers of turns whose subtrees are known. The first one is resident.
void time_turns(const PlacementModel& model, const PlacementDevice& device, PlacementPart& part) {
  std::vector<PlacementTurn>& turns = part.turns;
  const std::size_t count = turns.size();
  for (std::size_t i = 0; i < count; ++i) {
    PlacementTurn& turn = turns[i];
    const Subtrees trees{part.first_level, part.end_level, turn.first_root, turn.end_root};
    const double compute = model.compute_s(part.device, trees);
    const double launch = model.launch_s(part.device, trees);
    // The resident subtrees, turn 0, are never moved.
    const std::size_t last = (i + count - 1) % count;
    const std::size_t next = (i + 1) % count;
    int transfers = 0;
    double most = 0.0;
    for (const std::size_t moved : {last, next}) {
      if (moved == 0) continue;
      turn.transfer_bytes += static_cast<double>(turns[moved].bytes);
      most = std::max(most, static_cast<double>(turns[moved].bytes));
      ++transfers;
    }
    turn.compute_s = compute + launch;
    // Both directions are in use for twice the smaller transfer, one of them for the rest.
    const double both = 2.0 * (turn.transfer_bytes - most);
    turn.seconds = std::max(
        turn.compute_s, transfers * device.link_latency_s + both / device.link_both_bytes_per_s +
                            (turn.transfer_bytes - both) / device.link_bytes_per_s);
    part.compute_s += compute;
    part.launch_s += launch;
    part.transfer_bytes += turn.transfer_bytes;
    part.seconds += turn.seconds;
  }
  part.seconds += part.input_s;
}

/// `part` with turns of `size` subtrees, or nothing if two buffers do not fit.
std::optional<PlacementPart> in_turns(const PlacementModel& model, const PlacementDevice& device,
                                      PlacementPart part, std::uint64_t memory, int size) {
  const std::uint64_t largest = model.bytes_of_largest_subtree(part.first_level, part.end_level);
  const std::uint64_t buffers = 2 * static_cast<std::uint64_t>(size) * largest;
  if (buffers > memory) return std::nullopt;
  const auto turn = [&](int begin, int end) {
    PlacementTurn made;
    made.first_root = begin;
    made.end_root = end;
    made.bytes = model.bytes({part.first_level, part.end_level, begin, end});
    return made;
  };
  const int kept = fitting_end(
      model, {part.first_level, part.end_level, part.first_root, part.end_root}, memory - buffers);
  if ((part.end_root - kept + size - 1) / size > kMostTurns) return std::nullopt;
  part.turns.push_back(turn(part.first_root, kept));
  for (int begin = kept; begin < part.end_root; begin += size)
    part.turns.push_back(turn(begin, std::min(begin + size, part.end_root)));
  // The buffers of two turns must be different.
  if (part.turns.size() < 3) return std::nullopt;
  part.resident = part.turns[0].bytes + buffers;
  time_turns(model, device, part);
  return part;
}

/// Shares of the participants, their sum 1: each has the same time, but at most its memory. Empty:
/// the memory is too small.
std::vector<double> shares_of(const PlacementModel& model,
                              const std::vector<PlacementDevice>& devices,
                              const std::vector<Participant>& participants, const Subtrees& all) {
  const auto bytes = static_cast<double>(model.bytes(all));
  const std::size_t count = participants.size();
  struct Rate {
    double seconds = 0.0;   // for all
    double share = 1.0;     // that fits
    double streamed = 0.0;  // seconds for all beyond this share; 0: it cannot be streamed
  };
  std::vector<Rate> rates(count);
  double high = 0.0;
  double room = 0.0;
  bool streams = false;
  for (std::size_t i = 0; i < count; ++i) {
    const PlacementDevice& device = devices[static_cast<std::size_t>(participants[i].device)];
    Rate& rate = rates[i];
    rate.seconds = model.work(participants[i].device, all);
    const auto memory = static_cast<double>(participants[i].memory);
    rate.share = std::min(1.0, memory / bytes);
    if (participants[i].streams) {
      if (rate.share < 1.0) rate.share *= kResidentShare;
      rate.streamed = std::max(rate.seconds, 2.0 * bytes / device.link_both_bytes_per_s);
      streams = true;
    }
    high = std::max({high, rate.seconds, rate.seconds + rate.streamed});
    room += rate.share;
  }
  // Less than one subtree may be missing here; the exact test follows.
  if (!streams && room < 1.0) return {};
  std::vector<double> shares(count);
  const auto sum_at = [&](double seconds) {
    double sum = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      const Rate& rate = rates[i];
      const double resident = rate.share * rate.seconds;
      shares[i] = std::min(seconds / rate.seconds, rate.share);
      if (rate.streamed > 0.0 && seconds > resident)
        shares[i] += (seconds - resident) / rate.streamed;
      sum += shares[i];
    }
    return sum;
  };
  double low = 0.0;
  for (int i = 0; i < 100; ++i) {
    const double middle = low + (high - low) / 2.0;
    (sum_at(middle) < 1.0 ? low : high) = middle;
  }
  const double sum = sum_at(high);
  for (double& share : shares) share /= sum;
  return shares;
}

/// The root before which the work is nearest to `share` of all.
int root_at(const PlacementModel& model, int device, const Subtrees& all, double share) {
  const double target = share * model.work(device, all);
  const auto before = [&](int root) {
    return model.work(device, {all.first, all.end, all.begin_root, root});
  };
  int low =
      first_root(all.begin_root, all.end_root, [&](int root) { return before(root) >= target; });
  if (low > all.begin_root && target - before(low - 1) < before(low) - target) --low;
  return low;
}

}  // namespace

std::optional<PlacementPart> make_part(const PlacementModel& model,
                                       const std::vector<PlacementDevice>& devices,
                                       const Participant& on, const Subtrees& trees) {
  PlacementPart part;
  part.device = on.device;
  part.first_level = trees.first;
  part.end_level = trees.end;
  part.first_root = trees.begin_root;
  part.end_root = trees.end_root;
  part.hypercolumns = model.hypercolumns(trees);
  part.bytes = model.bytes(trees);
  part.input_s = model.input_s(on.device, trees);
  if (part.bytes <= on.memory) {
    part.resident = part.bytes;
    part.compute_s = model.compute_s(on.device, trees);
    part.launch_s = model.launch_s(on.device, trees);
    part.seconds = part.compute_s + part.launch_s + part.input_s;
    return part;
  }
  if (!on.streams) return std::nullopt;
  const PlacementDevice& device = devices[static_cast<std::size_t>(on.device)];
  std::optional<PlacementPart> best;
  for (int size = 1; size <= trees.end_root - trees.begin_root; size *= 2) {
    std::optional<PlacementPart> made = in_turns(model, device, part, on.memory, size);
    if (made && (!best || made->seconds < best->seconds)) best = std::move(made);
  }
  return best;
}

std::optional<std::vector<PlacementPart>> split_levels(const PlacementModel& model,
                                                       const std::vector<PlacementDevice>& devices,
                                                       const std::vector<Participant>& participants,
                                                       int end, PlacementRule rule) {
  const Subtrees all{0, end, 0, model.roots(end - 1)};
  const std::size_t count = participants.size();
  const bool even = rule == PlacementRule::kEven;
  const std::vector<double> shares =
      even ? std::vector<double>(count, 1.0 / static_cast<double>(count))
           : shares_of(model, devices, participants, all);
  if (shares.empty()) return std::nullopt;
  std::vector<int> begins(count + 1, 0);
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += shares[i];
    begins[i + 1] =
        i + 1 == count ? all.end_root : root_at(model, participants[0].device, all, sum);
  }
  // Whole subtrees may exceed a memory that the shares fill. What does not fit moves on, and what
  // the last participant cannot take moves back.
  for (std::size_t i = 0; i + 1 < count && !even; ++i) {
    begins[i + 1] = std::max(begins[i + 1], begins[i]);
    if (participants[i].streams) continue;
    begins[i + 1] = fitting_end(model, {0, end, begins[i], begins[i + 1]}, participants[i].memory);
  }
  for (std::size_t i = even ? 0 : count; i-- > 0;) {
    begins[i] = std::min(begins[i], begins[i + 1]);
    if (participants[i].streams) continue;
    begins[i] = std::max(begins[i], fitting_begin(model, {0, end, begins[i], begins[i + 1]},
                                                  participants[i].memory));
  }
  if (begins[0] > 0) return std::nullopt;
  std::vector<PlacementPart> parts;
  for (std::size_t i = 0; i < count; ++i) {
    if (begins[i] == begins[i + 1]) continue;
    std::optional<PlacementPart> part =
        make_part(model, devices, participants[i], {0, end, begins[i], begins[i + 1]});
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  return parts;
}

}  // namespace ocellus::detail
