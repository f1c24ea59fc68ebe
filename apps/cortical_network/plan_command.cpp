#include "apps/cortical_network/plan_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/cortex/level_text.h"
#include "apps/cortical_network/plan_report.h"
#include "apps/cortical_network/real_devices.h"
#include "apps/cortical_network/simulated_devices.h"
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
  int threads = 1;
  bool json = false;
};

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
  report.placement = take(place_cortical_network(config, report.devices), "plan");
  if (options.json)
    print_json(plan_json(report));
  else
    print_plan(report);
}

}  // namespace

CLI::App* add_plan_command(CLI::App& cortex, int& exit_code) {
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
  return command;
}

}  // namespace ocellus::app
