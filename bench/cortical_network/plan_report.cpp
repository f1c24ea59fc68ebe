#include "bench/cortical_network/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "apps/common/common.h"
#include "apps/common/printable.h"
#include "apps/io/output_file.h"

namespace ocellus::app {
namespace {

constexpr PlacementReference kReference{};

std::string time_text(double seconds) {
  if (seconds == 0.0) return "-";
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1.0) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

/// Levels [first, end), counted from 1.
std::string levels_text(int first, int end) {
  return end - first == 1 ? fmt::format("{}", end) : fmt::format("{} to {}", first + 1, end);
}

const PlacementDevice& device_of(const PlanReport& report, int device) {
  return report.devices[static_cast<std::size_t>(device)];
}

std::string memory_text(std::uint64_t memory) {
  return memory == kUnlimitedMemory ? "no limit" : bytes_text(memory);
}

std::string speed_text(const PlacementDevice& device) {
  if (device.measured.empty()) return fmt::format("{:g}x, given and not measured", device.speed);
  std::string text = "times measured on this machine";
  if (device.kind == PlacementKind::kGpu) {
    text += fmt::format("; link: {:.1f} GB/s, {:.1f} GB/s in both directions, {:.1f} us",
                        device.link_bytes_per_s * 1e-9, device.link_both_bytes_per_s * 1e-9,
                        device.link_latency_s * 1e6);
  }
  return text;
}

void print_devices(const PlanReport& report) {
  fmt::print("devices\n");
  for (const PlacementDevice& device : report.devices) {
    fmt::print("  {}: {}; memory: {}\n", printable(device.name), speed_text(device),
               memory_text(device.memory));
  }
  const bool given = std::any_of(report.devices.begin(), report.devices.end(),
                                 [](const PlacementDevice& d) { return d.measured.empty(); });
  if (!given) return;
  fmt::print(
      "  1.0x is {:.0f} GB/s and {:.0f}e12 operations/s (NVIDIA H200); it needs {} hypercolumns at "
      "once on a\n  GPU, {} on a CPU. A level costs {:.0f} us on a GPU, {:.0f} us on a CPU. Link "
      "of a "
      "GPU: {:.0f} GB/s, {:.0f} us.\n",
      kReference.bytes_per_s * 1e-9, kReference.operations_per_s * 1e-12, kReference.gpu_width,
      kReference.cpu_width, kReference.gpu_launch_s * 1e6, kReference.cpu_launch_s * 1e6,
      kReference.link_bytes_per_s * 1e-9, kReference.link_latency_s * 1e6);
}

void print_parts(const PlanReport& report) {
  fmt::print("{:<8} {:>9} {:>13} {:>11} {:>11} {:>11} {:>11} {:>11} {:>7}\n", "device", "levels",
             "hypercolumns", "memory", "compute", "launches", "pixels", "time", "share");
  for (const PlacementPart& part : report.placement.parts) {
    fmt::print("{:<8} {:>9} {:>13} {:>11} {:>11} {:>11} {:>11} {:>11} {:>5.1f} %\n",
               printable(device_of(report, part.device).name),
               levels_text(part.first_level, part.end_level), part.hypercolumns,
               bytes_text(part.resident), time_text(part.compute_s), time_text(part.launch_s),
               time_text(part.input_s), time_text(part.seconds),
               100.0 * static_cast<double>(part.hypercolumns) /
                   static_cast<double>(report.placement.hypercolumns));
  }
}

/// A line for each run of turns with the same size and transfers.
void print_turns(const PlanReport& report, const PlacementPart& part) {
  const auto& turns = part.turns;
  fmt::print("{} streams {} in {}; roots are hypercolumns of level {}, with all below\n",
             printable(device_of(report, part.device).name), bytes_text(part.bytes),
             counted(static_cast<std::int64_t>(turns.size()) - 1, "turn"), part.end_level);
  fmt::print("  {:<14} {:>19} {:>11} {:>11} {:>11} {:>11}\n", "turn", "roots", "memory", "moved",
             "compute", "time");
  for (std::size_t i = 0; i < turns.size();) {
    const PlacementTurn& turn = turns[i];
    std::size_t end = i + 1;
    while (i > 0 && end < turns.size() && turns[end].bytes == turn.bytes &&
           turns[end].transfer_bytes == turn.transfer_bytes)
      ++end;
    const std::string name = i == 0         ? std::string("resident")
                             : end == i + 1 ? fmt::format("{}", i)
                                            : fmt::format("{} to {}, each", i, end - 1);
    fmt::print("  {:<14} {:>19} {:>11} {:>11} {:>11} {:>11}\n", name,
               fmt::format("{} to {}", turn.first_root, turns[end - 1].end_root - 1),
               bytes_text(turn.bytes), bytes_text(static_cast<std::uint64_t>(turn.transfer_bytes)),
               time_text(turn.compute_s), time_text(turn.seconds));
    i = end;
  }
  fmt::print("  moved in a step: {}\n",
             bytes_text(static_cast<std::uint64_t>(part.transfer_bytes)));
}

nlohmann::ordered_json part_json(const PlanReport& report, const PlacementPart& part) {
  nlohmann::ordered_json json;
  json["device"] = device_of(report, part.device).name;
  json["first_level"] = part.first_level + 1;
  json["last_level"] = part.end_level;
  json["first_root"] = part.first_root;
  json["last_root"] = part.end_root - 1;
  json["hypercolumns"] = part.hypercolumns;
  json["bytes"] = part.bytes;
  json["resident_bytes"] = part.resident;
  json["moved_bytes"] = part.transfer_bytes;
  json["compute_s"] = part.compute_s;
  json["launch_s"] = part.launch_s;
  json["pixels_s"] = part.input_s;
  json["time_s"] = part.seconds;
  json["turns"] = nlohmann::ordered_json::array();
  for (const PlacementTurn& turn : part.turns) {
    nlohmann::ordered_json one;
    one["first_root"] = turn.first_root;
    one["roots"] = turn.end_root - turn.first_root;
    one["bytes"] = turn.bytes;
    one["moved_bytes"] = turn.transfer_bytes;
    one["compute_s"] = turn.compute_s;
    one["time_s"] = turn.seconds;
    json["turns"].push_back(one);
  }
  return json;
}

nlohmann::ordered_json devices_json(const PlanReport& report) {
  auto list = nlohmann::ordered_json::array();
  for (const PlacementDevice& device : report.devices) {
    nlohmann::ordered_json json;
    json["name"] = device.name;
    json["kind"] = device.kind == PlacementKind::kCpu ? "cpu" : "gpu";
    json["measured"] = !device.measured.empty();
    json["speed"] =
        device.measured.empty() ? nlohmann::ordered_json(device.speed) : nlohmann::ordered_json();
    json["memory_bytes"] = device.memory == kUnlimitedMemory
                               ? nlohmann::ordered_json()
                               : nlohmann::ordered_json(device.memory);
    if (device.kind == PlacementKind::kGpu) {
      json["link"] = {{"bytes_per_s", device.link_bytes_per_s},
                      {"both_bytes_per_s", device.link_both_bytes_per_s},
                      {"latency_s", device.link_latency_s}};
    }
    json["levels"] = nlohmann::ordered_json::array();
    for (const MeasuredLevel& level : device.measured)
      json["levels"].push_back(
          {{"launch_s", level.launch_s}, {"hypercolumn_s", level.hypercolumn_s}});
    list.push_back(json);
  }
  return list;
}

}  // namespace

void print_plan(const PlanReport& report) {
  const CorticalPlacement& placement = report.placement;
  fmt::print("network: {} in {}, {}\n", counted(placement.hypercolumns, "hypercolumn"),
             counted(placement.levels, "level"), bytes_text(placement.bytes));
  print_devices(report);
  print_parts(report);
  for (const PlacementPart& part : placement.parts)
    if (!part.turns.empty()) print_turns(report, part);
  if (placement.cpu_level == 0)
    fmt::print("the CPU computes all levels\n");
  else if (placement.cpu_level < placement.levels)
    fmt::print("the CPU computes the levels from {} on\n", placement.cpu_level + 1);
  else
    fmt::print("the CPU computes no level alone\n");
  fmt::print(
      "step: {}\n  parts {}, gathering {}, levels where parts meet {}, transfer to the host {}, "
      "levels of "
      "the CPU {}\n",
      time_text(placement.step_s), time_text(placement.split_s), time_text(placement.gather_s),
      time_text(placement.merge_s), time_text(placement.output_s), time_text(placement.cpu_s));
  fmt::print("ideal split, without launches and transfers: {}\n", time_text(placement.ideal_s));
}

nlohmann::ordered_json plan_json(const PlanReport& report) {
  const CorticalPlacement& placement = report.placement;
  nlohmann::ordered_json json;
  json["hypercolumns"] = placement.hypercolumns;
  json["levels"] = nlohmann::ordered_json::array();
  for (std::size_t l = 0; l < placement.grids.size(); ++l) {
    json["levels"].push_back({{"columns", placement.grids[l].width},
                              {"rows", placement.grids[l].height},
                              {"minicolumns", placement.shapes[l].minicolumns}});
  }
  json["bytes"] = placement.bytes;
  json["reference"] = {{"bytes_per_s", kReference.bytes_per_s},
                       {"operations_per_s", kReference.operations_per_s},
                       {"gpu_width", kReference.gpu_width},
                       {"cpu_width", kReference.cpu_width},
                       {"gpu_launch_s", kReference.gpu_launch_s},
                       {"cpu_launch_s", kReference.cpu_launch_s},
                       {"link_bytes_per_s", kReference.link_bytes_per_s},
                       {"link_latency_s", kReference.link_latency_s}};
  json["devices"] = devices_json(report);
  json["parts"] = nlohmann::ordered_json::array();
  for (const PlacementPart& part : placement.parts)
    json["parts"].push_back(part_json(report, part));
  json["split_levels"] = placement.split_levels;
  json["cpu_from_level"] = placement.cpu_level < placement.levels
                               ? nlohmann::ordered_json(placement.cpu_level + 1)
                               : nlohmann::ordered_json();
  json["streamed"] = placement.streamed;
  json["parts_s"] = placement.split_s;
  json["gather_s"] = placement.gather_s;
  json["meet_s"] = placement.merge_s;
  json["to_host_s"] = placement.output_s;
  json["cpu_s"] = placement.cpu_s;
  json["step_s"] = placement.step_s;
  json["ideal_s"] = placement.ideal_s;
  return json;
}

}  // namespace ocellus::app
