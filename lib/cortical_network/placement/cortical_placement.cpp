#include "ocellus/cortical_placement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include "core/failure.h"
#include "cortical_network/placement/placement_model.h"

namespace ocellus {
namespace detail {
namespace {

constexpr double kWinnerBytes = 4.0;

Expected<void> check_device(const PlacementDevice& device, int levels) noexcept {
  const int shown_name = shown(device.name);
  const char* const name = device.name.c_str();
  if (device.memory == 0) {
    return invalid_argument(
        "memory of device '%.*s' is 0 bytes; leave out the device, or give it "
        "memory",
        shown_name, name);
  }
  const bool given = device.measured.empty();
  if (!given && static_cast<int>(device.measured.size()) != levels) {
    return invalid_argument("device '%.*s' has measured times of %zu levels; the network has %d",
                            shown_name, name, device.measured.size(), levels);
  }
  const auto check = [&](const char* member, double value, bool above) -> Expected<void> {
    // Comparisons with NaN are false.
    if ((above ? value > 0.0 : value >= 0.0) && std::isfinite(value)) return {};
    return invalid_argument("%s of device '%.*s' is %g; it must be %s and finite", member,
                            shown_name, name, value, above ? "above 0" : "0 or more");
  };
  if (given) {
    OCELLUS_TRY(check("speed", device.speed, true));
    OCELLUS_TRY(check("launch_s", device.launch_s, false));
  }
  for (const MeasuredLevel& level : device.measured) {
    OCELLUS_TRY(check("measured launch_s", level.launch_s, false));
    OCELLUS_TRY(check("measured hypercolumn_s", level.hypercolumn_s, true));
  }
  if (device.kind == PlacementKind::kCpu) return {};
  OCELLUS_TRY(check("link_bytes_per_s", device.link_bytes_per_s, true));
  OCELLUS_TRY(check("link_both_bytes_per_s", device.link_both_bytes_per_s, true));
  return check("link_latency_s", device.link_latency_s, false);
}

Expected<void> check_devices(const std::vector<PlacementDevice>& devices, int levels) noexcept {
  if (devices.empty()) return invalid_argument("there is no device; give a CPU, a GPU, or more");
  if (devices.size() > static_cast<std::size_t>(kMaxPlacementDevices)) {
    return invalid_argument("there are %zu devices; there may be %d", devices.size(),
                            kMaxPlacementDevices);
  }
  const PlacementDevice* cpu = nullptr;
  for (const PlacementDevice& device : devices) {
    OCELLUS_TRY(check_device(device, levels));
    if (device.kind != PlacementKind::kCpu) continue;
    if (cpu != nullptr) {
      return invalid_argument("'%.*s' and '%.*s' are CPUs; there may be one, with all its cores",
                              shown(cpu->name), cpu->name.c_str(), shown(device.name),
                              device.name.c_str());
    }
    cpu = &device;
  }
  return {};
}

/// Tries placements and keeps the fastest.
class PlacementSearch {
 public:
  PlacementSearch(const PlacementModel& model, const std::vector<PlacementDevice>& devices)
      : model_(model), devices_(devices) {
    const Subtrees all{0, model.levels(), 0, model.roots(model.levels() - 1)};
    for (int d = 0; d < static_cast<int>(devices.size()); ++d) {
      if (at(d).kind == PlacementKind::kCpu)
        cpu_ = d;
      else
        gpus_.push_back(d);
    }
    std::stable_sort(gpus_.begin(), gpus_.end(),
                     [&](int a, int b) { return model.work(a, all) < model.work(b, all); });
  }

  std::optional<CorticalPlacement> best() {
    const int levels = model_.levels();
    if (cpu_ >= 0) consider({}, true, 0, 0, false);
    bool fits = false;
    for (const std::vector<int>& gpus : sets())
      for (int cpu_level = lowest_cpu_level(); cpu_level <= levels; ++cpu_level)
        // One device needs no level where parts meet.
        for (int split = gpus.size() == 1 ? cpu_level : 1; split <= most_split(gpus, cpu_level);
             ++split)
          fits |= consider(gpus, false, split, cpu_level, false);
    std::uint64_t memory = 0;
    for (const int gpu : gpus_) memory += std::min(model_.room(gpu), kUnlimitedMemory - memory);
    if (fits && model_.bytes(whole(0, levels)) <= memory) return best_;
    for (const std::vector<int>& gpus : sets()) {
      for (int cpu_level = lowest_cpu_level(); cpu_level <= levels; ++cpu_level) {
        for (int split = 1; split <= std::min(cpu_level, model_.disjoint_levels()); ++split) {
          consider(gpus, false, split, cpu_level, true);
          for (const bool streams : {false, true})
            if (cpu_ >= 0) consider(gpus, true, split, cpu_level, streams);
        }
      }
    }
    return best_;
  }

  /// PlacementRule::kEven.
  std::optional<CorticalPlacement> even() {
    rule_ = PlacementRule::kEven;
    // The first GPU counts as the fastest one.
    std::sort(gpus_.begin(), gpus_.end());
    const int levels = model_.levels();
    const int cpu_level = cpu_ >= 0 && !gpus_.empty() ? std::max(levels - 1, 1) : levels;
    int split = most_split(gpus_, cpu_level);
    while (split > 1 && model_.roots(split - 1) < static_cast<int>(gpus_.size())) --split;
    if (gpus_.empty())
      consider({}, true, 0, 0, false);
    else
      consider(gpus_, false, split, cpu_level, false);
    return best_;
  }

 private:
  const PlacementDevice& at(int device) const { return devices_[static_cast<std::size_t>(device)]; }
  /// Each GPU alone, and the fastest 2, 3, ...
  std::vector<std::vector<int>> sets() const {
    std::vector<std::vector<int>> all;
    for (const int gpu : gpus_) all.push_back({gpu});
    for (std::size_t count = 2; count <= gpus_.size(); ++count)
      all.emplace_back(gpus_.begin(), gpus_.begin() + static_cast<std::ptrdiff_t>(count));
    return all;
  }
  int lowest_cpu_level() const { return cpu_ >= 0 ? 1 : model_.levels(); }
  int most_split(const std::vector<int>& gpus, int cpu_level) const {
    return gpus.size() == 1 ? cpu_level : std::min(cpu_level, model_.disjoint_levels());
  }

  /// Places the levels [0, split) on the GPUs, the fastest first, and, if `with_cpu`, the CPU;
  /// [split, cpu_level) on the fastest GPU that has the memory, and the others on the CPU. Returns
  /// whether that fits.
  bool consider(std::vector<int> gpus, bool with_cpu, int split, int cpu_level, bool streams) {
    CorticalPlacement made;
    made.split_levels = split;
    made.cpu_level = cpu_level;
    const Subtrees meeting = whole(split, cpu_level);
    const Subtrees top = whole(cpu_level, model_.levels());
    const std::uint64_t meeting_bytes = model_.bytes(meeting);
    const std::uint64_t top_bytes = model_.bytes(top);
    std::vector<Participant> participants;
    const auto meets = std::find_if(gpus.begin(), gpus.end(),
                                    [&](int gpu) { return meeting_bytes <= model_.room(gpu); });
    if (meets == gpus.end() && !gpus.empty()) return false;
    const int fastest = gpus.empty() ? -1 : *meets;
    // Parts lie in the order of the devices, not of their speed.
    std::sort(gpus.begin(), gpus.end());
    for (const int gpu : gpus) {
      const std::uint64_t taken = gpu == fastest ? meeting_bytes : 0;
      participants.push_back({gpu, model_.room(gpu) - taken, streams});
    }
    if (cpu_level < model_.levels() || with_cpu) {
      if (top_bytes > model_.room(cpu_)) return false;
      if (with_cpu && split > 0)
        participants.push_back({cpu_, model_.room(cpu_) - top_bytes, false});
    }
    if (split > 0) {
      auto parts = split_levels(model_, devices_, participants, split, rule_);
      if (!parts) return false;
      made.parts = std::move(*parts);
    }
    for (const PlacementPart& part : made.parts) {
      made.split_s = std::max(made.split_s, part.seconds);
      made.streamed = made.streamed || !part.turns.empty();
    }
    if (made.streamed && !host_holds(made.parts, top_bytes)) return false;
    add(made, fastest, meeting, made.merge_s);
    add(made, cpu_, top, made.cpu_s);
    set_transfers(made, fastest);
    made.step_s = made.split_s + made.gather_s + made.merge_s + made.output_s + made.cpu_s;
    if (!best_ || made.step_s < best_->step_s) best_ = std::move(made);
    return true;
  }

  /// The levels [first, end) with all their hypercolumns.
  Subtrees whole(int first, int end) const {
    return {first, end, 0, first < end ? model_.roots(end - 1) : 0};
  }

  void add(CorticalPlacement& to, int device, const Subtrees& trees, double& seconds) const {
    if (trees.empty()) return;
    // Its memory has been checked.
    const auto part = make_part(model_, devices_, {device, kUnlimitedMemory, false}, trees);
    seconds = part->seconds;
    to.parts.push_back(*part);
  }

  /// Whether a CPU of limited memory can keep what the GPUs stream, and its own parts.
  bool host_holds(const std::vector<PlacementPart>& parts, std::uint64_t top_bytes) const {
    if (cpu_ < 0 || at(cpu_).memory == kUnlimitedMemory) return true;
    std::uint64_t sum = top_bytes;
    for (const PlacementPart& part : parts)
      if (part.device == cpu_ || !part.turns.empty()) sum += part.bytes;
    return sum <= model_.room(cpu_);
  }

  double transfer_s(int gpu, double winners) const {
    return at(gpu).link_latency_s + kWinnerBytes * winners / at(gpu).link_bytes_per_s;
  }

  void set_transfers(CorticalPlacement& placement, int fastest) const {
    if (placement.split_levels == 0) return;
    const bool meets = placement.split_levels < placement.cpu_level;
    double sent = 0.0;
    double received = 0.0;
    for (const PlacementPart& part : placement.parts) {
      if (part.first_level > 0) continue;
      const double winners = part.end_root - part.first_root;
      if (meets && part.device == fastest) continue;
      received += winners;
      if (part.device != cpu_) sent = std::max(sent, transfer_s(part.device, winners));
    }
    if (!meets) {
      placement.output_s = sent;
      return;
    }
    if (received > 0.0) placement.gather_s = std::max(sent, transfer_s(fastest, received));
    placement.output_s = transfer_s(fastest, model_.roots(placement.cpu_level - 1));
  }

  const PlacementModel& model_;
  const std::vector<PlacementDevice>& devices_;
  int cpu_ = -1;
  std::vector<int> gpus_;  // the fastest first
  PlacementRule rule_ = PlacementRule::kProfiled;
  std::optional<CorticalPlacement> best_;
};

tl::unexpected<Error> does_not_fit(const PlacementModel& model,
                                   const std::vector<PlacementDevice>& devices) noexcept {
  const int levels = model.levels();
  const auto all = [&](int first) {
    return Subtrees{first, levels, 0, first < levels ? model.roots(levels - 1) : 0};
  };
  const bool has_gpu = std::any_of(devices.begin(), devices.end(), [](const PlacementDevice& d) {
    return d.kind == PlacementKind::kGpu;
  });
  // A GPU streams through its memory, so that its memory counts and not that of the host.
  const PlacementDevice* largest = nullptr;
  for (const PlacementDevice& device : devices) {
    if (has_gpu && device.kind == PlacementKind::kCpu) continue;
    if (largest == nullptr || device.memory > largest->memory) largest = &device;
  }
  const char* const kind = has_gpu ? "GPU" : "device";
  const std::uint64_t beside = shared_bytes(model.hierarchy(), largest->kind);
  std::uint64_t least = model.bytes(all(0)) + beside;
  int from = 0;
  for (int end = 1; end <= model.disjoint_levels() && has_gpu; ++end) {
    const std::uint64_t needed =
        2 * model.bytes_of_largest_subtree(0, end) + model.bytes(all(end)) + beside;
    if (needed >= least) continue;
    least = needed;
    from = end;
  }
  for (const PlacementDevice& device : devices) {
    if (device.kind != PlacementKind::kCpu || largest->memory < least || !has_gpu) continue;
    return tl::unexpected(make_error(
        Status::kOutOfMemory,
        "the network takes %llu bytes and must be streamed; the host keeps it, and '%.*s' has "
        "%llu bytes of memory",
        static_cast<unsigned long long>(model.bytes(all(0))), shown(device.name),
        device.name.c_str(), static_cast<unsigned long long>(device.memory)));
  }
  if (from == 0) {
    return tl::unexpected(make_error(
        Status::kOutOfMemory,
        "the network takes %llu bytes, more than the memory of every %s; the largest is that "
        "of '%.*s', %llu bytes; give a device with more",
        static_cast<unsigned long long>(least), kind, shown(largest->name), largest->name.c_str(),
        static_cast<unsigned long long>(largest->memory)));
  }
  return tl::unexpected(make_error(
      Status::kOutOfMemory,
      "level %d%s and two subtrees below take %llu bytes, more than the memory of every %s%s; "
      "the largest is that of '%.*s', %llu bytes; give a device with more",
      from + 1, from + 1 < levels ? " with all above" : "", static_cast<unsigned long long>(least),
      kind, from == model.disjoint_levels() ? " (overlapping windows are not split)" : "",
      shown(largest->name), largest->name.c_str(),
      static_cast<unsigned long long>(largest->memory)));
}

tl::unexpected<Error> even_does_not_fit(const PlacementModel& model,
                                        const std::vector<PlacementDevice>& devices) noexcept {
  std::uint64_t gpus = 0;
  const PlacementDevice* least = &devices.front();
  for (const PlacementDevice& device : devices) {
    if (device.kind == PlacementKind::kCpu) continue;
    if (gpus++ == 0 || device.memory < least->memory) least = &device;
  }
  const std::uint64_t bytes = model.bytes({0, model.levels(), 0, model.roots(model.levels() - 1)}) /
                              std::max<std::uint64_t>(gpus, 1);
  return tl::unexpected(make_error(
      Status::kOutOfMemory,
      "the even share of a device is about %llu bytes, and the memory of '%.*s' is %llu bytes; "
      "place the network by speed and memory",
      static_cast<unsigned long long>(bytes), shown(least->name), least->name.c_str(),
      static_cast<unsigned long long>(least->memory)));
}

}  // namespace
}  // namespace detail

int CorticalPlacement::device(int level, int hypercolumn) const noexcept {
  for (const PlacementPart& part : parts) {
    if (level < part.first_level || level >= part.end_level) continue;
    int x = hypercolumn % grids[static_cast<std::size_t>(level)].width;
    int y = hypercolumn / grids[static_cast<std::size_t>(level)].width;
    for (int l = level + 1; l < part.end_level; ++l) {
      const ImageSize grid = grids[static_cast<std::size_t>(l)];
      x = std::min(x / shapes[static_cast<std::size_t>(l)].stride_x, grid.width - 1);
      y = std::min(y / shapes[static_cast<std::size_t>(l)].stride_y, grid.height - 1);
    }
    const int root = y * grids[static_cast<std::size_t>(part.end_level - 1)].width + x;
    if (root >= part.first_root && root < part.end_root) return part.device;
  }
  return -1;
}

Expected<HypercolumnCost> hypercolumn_cost(const CorticalNetworkConfig& config, int level,
                                           PlacementKind kind) noexcept {
  OCELLUS_TRY_ASSIGN(hierarchy, detail::hierarchy_of(config));
  OCELLUS_TRY(detail::check_number("level", level, 0, config.level_count - 1));
  return detail::cost_of(hierarchy->level(level), level == 0, kind);
}

Expected<CorticalPlacement> place_cortical_network(const CorticalNetworkConfig& config,
                                                   const std::vector<PlacementDevice>& devices,
                                                   PlacementRule rule) {
  OCELLUS_TRY_ASSIGN(hierarchy, detail::hierarchy_of(config));
  OCELLUS_TRY(detail::check_devices(devices, hierarchy->level_count));
  const bool even = rule == PlacementRule::kEven;
  const detail::PlacementModel model(*hierarchy, devices);
  detail::PlacementSearch search(model, devices);
  std::optional<CorticalPlacement> best = even ? search.even() : search.best();
  if (!best)
    return even ? detail::even_does_not_fit(model, devices) : detail::does_not_fit(model, devices);
  best->levels = model.levels();
  best->hypercolumns = hierarchy->hypercolumns;
  best->bytes = model.bytes({0, model.levels(), 0, model.roots(model.levels() - 1)});
  best->ideal_s = model.ideal_s();
  for (const PlacementDevice& device : devices) best->devices.push_back({device.kind, device.name});
  for (int l = 0; l < model.levels(); ++l) {
    best->shapes.push_back(hierarchy->level(l));
    best->grids.push_back({hierarchy->level(l).columns, hierarchy->level(l).rows});
  }
  return std::move(*best);
}

}  // namespace ocellus
