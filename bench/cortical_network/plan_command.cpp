// `ocellus cortex plan`, which `ocellus` hands to this program.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/printable.h"
#include "apps/cortex/level_text.h"
#include "apps/cortical_network/real_devices.h"
#include "bench/bench_command.h"
#include "bench/cortical_network/bench.h"
#include "ocellus/cortical_profile.h"

namespace ocellus::app {
namespace {

struct PlanOptions {
  int hypercolumns = 0;
  int minicolumns = 128;
  int inputs = 0;
  std::string size;
  std::vector<std::string> levels;
  std::string simulate;
  std::string devices = kAllDevices;
  std::string placement = "profiled";
  int threads = 1;
  bool json = false;
};

// ---- devices of --simulate

struct SimulatedDevices {
  std::vector<PlacementDevice> devices;
  int measured = -1;  ///< the device whose times are to be measured on this machine; -1: none
};

[[noreturn]] void fail(const std::string& device, const std::string& what) {
  throw InputError(fmt::format("--simulate: '{}': {}", printable(device, kMostOfValue), what));
}

/// Parts of a text between separators.
std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(between, begin);
    words.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return words;
    begin = end + 1;
  }
}

double parse_speed(const std::string& device, const std::string& text) {
  double speed = 0.0;
  if (read_number(text, "x", speed)) return speed;
  fail(device,
       fmt::format("the speed '{}' is not valid; it must be a number above 0 and an x, such "
                   "as 0.4x",
                   printable(text, kMostOfValue)));
}

/// Returns whether the times are to be measured.
bool parse_device(const std::string& text, PlacementDevice& device) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (kind != "cpu" && kind != "gpu") {
    fail(text, fmt::format("the kind '{}' is not valid; it must be gpu or cpu",
                           printable(kind, kMostOfValue)));
  }
  if (colon == std::string::npos)
    fail(text, "the speed is missing; write it after a colon, such as " + kind + ":0.4x");
  const bool cpu = kind == "cpu";
  device.kind = cpu ? PlacementKind::kCpu : PlacementKind::kGpu;
  const PlacementReference reference;
  device.launch_s = cpu ? reference.cpu_launch_s : reference.gpu_launch_s;
  const std::vector<std::string> parts = parts_of(text.substr(colon + 1), ',');
  if (parts.size() > 2)
    fail(text, fmt::format("it has {} parts after the colon; it may have speed and memory",
                           parts.size()));
  const bool measured = parts[0] == "measured";
  if (measured && !cpu) {
    fail(
        text,
        "a simulated GPU is not measured; give its speed, such as gpu:1.0x,80GB, or real GPUs with "
        "--devices");
  }
  if (!measured) device.speed = parse_speed(text, parts[0]);
  if (parts.size() == 2)
    device.memory = parse_device_memory("--simulate", text, parts[1]);
  else if (!cpu)
    fail(text, "the memory is missing; write it after a comma, such as " + text + ",80GB");
  return measured;
}

/// Parses devices with spaces between them, such as "gpu:1.0x,80GB gpu:0.4x,8GB cpu:0.05x": kind,
/// speed and memory. A CPU may have `measured` in place of its speed, and needs no memory, which
/// means that it has no limit. Throws InputError that names the device and the part.
SimulatedDevices parse_devices(const std::string& text) {
  SimulatedDevices all;
  std::istringstream words(text);
  int gpus = 0;
  for (std::string word; words >> word;) {
    PlacementDevice device;
    const bool measured = parse_device(word, device);
    const bool cpu = device.kind == PlacementKind::kCpu;
    device.name = cpu ? "cpu" : fmt::format("gpu {}", gpus++);
    if (measured) all.measured = static_cast<int>(all.devices.size());
    all.devices.push_back(device);
  }
  return all;
}

// ---- the network and its plan

/// The largest binary tree with at most this number of hypercolumns.
CorticalNetworkConfig tree_of(const PlanOptions& options) {
  const auto count = static_cast<unsigned>(options.hypercolumns);
  CorticalNetworkConfig config =
      binary_tree(static_cast<int>(std::bit_floor(count + 1) / 2), options.minicolumns);
  if (options.inputs == 0) return config;
  if (options.inputs % kLgnCells != 0) {
    throw InputError(fmt::format("--inputs is {}; it must be even, because a pixel has {} inputs",
                                 options.inputs, kLgnCells));
  }
  const int pixels = options.inputs / kLgnCells;
  // A product above the limits of a network is still an int, and create reports it.
  const std::int64_t leaves = config.width / std::max(options.minicolumns, 1);
  config.width = static_cast<int>(std::min<std::int64_t>(leaves * pixels, kMaxLgnPixels + 1));
  config.levels[0].window_width = pixels;
  config.levels[0].stride_x = pixels;
  return config;
}

CorticalNetworkConfig network_of(const PlanOptions& options) {
  if (options.levels.empty()) return tree_of(options);
  CorticalNetworkConfig config;
  const ImageSize size = parse_size(options.size, "--size");
  config.width = size.width;
  config.height = size.height;
  config.level_count = parse_levels(options.levels, config.levels);
  return config;
}

void run_plan(const PlanOptions& options) {
  PlanReport report;
  const CorticalNetworkConfig config = network_of(options);
  if (options.simulate.empty()) {
    std::vector<RealDevice> real =
        parse_real_devices("--devices", options.devices, options.threads);
    measure_devices(config, {}, real);
    report.devices = placement_devices(real);
  } else {
    SimulatedDevices simulated = parse_devices(options.simulate);
    if (simulated.measured >= 0) {
      simulated.devices[static_cast<std::size_t>(simulated.measured)].measured =
          take(profile_cortical_network(config, {}), "plan");
    }
    report.devices = std::move(simulated.devices);
  }
  report.placement = take(
      place_cortical_network(config, report.devices, placement_rule(options.placement)), "plan");
  if (options.json)
    print_json(plan_json(report));
  else
    print_plan(report);
}

}  // namespace

void add_plan_command(CLI::App& cortex, int& exit_code) {
  CLI::App* const command = cortex.add_subcommand(
      "plan", "Places a cortical network on a CPU and GPUs, and predicts the time of a step");
  const auto o = std::make_shared<PlanOptions>();
  command
      ->add_option("--hypercolumns", o->hypercolumns,
                   "Plan the largest binary tree with at most this number of hypercolumns")
      ->check(CLI::Range(1, kMaxHypercolumns));
  command->add_option("--minicolumns", o->minicolumns, "Of a hypercolumn of the tree")
      ->check(CLI::Range(kLeastMinicolumns, kMaxMinicolumns))
      ->capture_default_str();
  command
      ->add_option("--inputs", o->inputs,
                   "Of a hypercolumn of the lowest level of the tree, an even number; default: 2 * "
                   "minicolumns")
      ->check(CLI::Range(2, kMaxHypercolumnInputs));
  command
      ->add_option("--levels", o->levels,
                   "In place of the tree: levels, the lowest first, with commas between them: "
                   "window/stride:minicolumns, such as 12x12/4x4:128")
      ->delimiter(',');
  command->add_option("--size", o->size, "With --levels: size of the images, such as 640x480");
  command->add_option("--devices", o->devices, std::string(kDevicesHelp) + "; they are measured")
      ->capture_default_str();
  command->add_option("--threads", o->threads, "With --devices: threads of the CPU")
      ->check(CLI::Range(1, kMaxWorkers))
      ->capture_default_str();
  command->add_option("--simulate", o->simulate,
                      "In place of --devices: devices with spaces between them, gpu:SPEEDx,MEMORY "
                      "or cpu:SPEEDx[,MEMORY]; cpu:measured is the CPU of this machine");
  command->add_option("--placement", o->placement, kPlacementHelp)
      ->check(CLI::IsMember({"profiled", "even"}))
      ->capture_default_str();
  add_json_option(*command, o->json);
  command->footer(
      "Example: ocellus cortex plan --hypercolumns 65536 --simulate \"gpu:1.0x,80GB gpu:0.4x,8GB "
      "cpu:0.05x\"\n"
      "1.0x is the speed of one NVIDIA H200. docs/cortical_network_method.md has the model.");
  command->callback([command, o, &exit_code] {
    const bool levels = !o->levels.empty();
    check_options(
        *command,
        {{levels,
          {"--hypercolumns", "--minicolumns", "--inputs"},
          "--levels has the whole network"},
         {!levels, {"--size"}, "it is that of the images of --levels"},
         {!o->simulate.empty(), {"--devices", "--threads"}, "--simulate has all devices"}});
    if (!levels && o->hypercolumns == 0)
      throw InputError("give the number of --hypercolumns, or --levels and --size");
    if (levels && o->size.empty()) throw InputError("--size is missing; --levels needs it");
    run_plan(*o);
    exit_code = kDone;
  });
}

}  // namespace ocellus::app
