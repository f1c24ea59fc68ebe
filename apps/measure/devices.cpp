// ocellus devices: the backends and devices of this machine.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "apps/common/common.h"
#include "apps/common/device_list.h"
#include "apps/measure/machine.h"
#include "ocellus/cpus.h"

namespace ocellus::app {
namespace {

int run_devices(const CommonOptions& options) {
  const EngineConfig config = engine_config(options);
  const EngineInfo chosen = take(Engine::probe(config), "--backend " + options.backend);
  const UsableCpus cpus = usable_cpus();

  struct Row {
    const char* name;
    bool available;
    std::string note;
  };
  std::vector<Row> rows;
  for (const char* name : {"cpu", "cuda"}) {
    EngineConfig one = config;
    one.backend = take(BackendSpec::parse(name), name);
    const Expected<EngineInfo> info = Engine::probe(one);
    rows.push_back({name, info.has_value(),
                    info ? std::string(info->device_name) : std::string(info.error().text)});
  }
  struct Gpu {
    EngineInfo info;
    GpuMeter meter;
  };
  std::vector<Gpu> gpus;
  for (const ListedDevice& device : cuda_devices(config))
    gpus.push_back({device.info, gpu_meter(device.info)});

  if (options.json) {
    nlohmann::ordered_json json;
    json["version"] = version();
    json["simd"] = chosen.simd_target;
    json["cpu"] = cpu_name();
    json["workers"] = chosen.workers;
    json["usable_cpus"] = {
        {"count", cpus.count},
        {"affinity", cpus.affinity},
        {"quota", cpus.quota > 0.0 ? nlohmann::ordered_json(cpus.quota) : nullptr}};
    json["backend"] = backend_name(chosen.backend);
    json["backends"] = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
      json["backends"].push_back({{"name", row.name},
                                  {"available", row.available},
                                  {row.available ? "device" : "reason", row.note}});
    }
    json["machine"] = machine_json();
    json["gpus"] = nlohmann::ordered_json::array();
    for (const Gpu& gpu : gpus) json["gpus"].push_back(gpu_json(gpu.info, gpu.meter));
    print_json(json);
    return kDone;
  }
  fmt::print("ocellus {}\n", version());
  fmt::print("CPU       {}\n", machine_line());
  fmt::print("SIMD      {}\n", chosen.simd_target);
  fmt::print("workers   {}\n", chosen.workers);
  fmt::print("CPUs      {} usable: {} in the affinity mask, {}\n", cpus.count, cpus.affinity,
             cpus.quota > 0.0
                 ? fmt::format("CPU time of {:.3g} from the control groups", cpus.quota)
                 : "no limit from the control groups");
  for (const Gpu& gpu : gpus) fmt::print("GPU       {}\n", gpu_line(gpu.info, gpu.meter));
  fmt::print("backends\n");
  for (const Row& row : rows)
    fmt::print("  {:<6} {:<13} {}\n", row.name, row.available ? "available" : "not available",
               row.note);
  fmt::print("--backend {} selects {}\n", options.backend, backend_name(chosen.backend));
  return kDone;
}

}  // namespace

void add_devices_command(CLI::App& program, int& exit_code) {
  CLI::App* const command = program.add_subcommand(
      "devices",
      "Show the backends, the SIMD target, the workers, and the GPUs with clocks and driver");
  const auto options = std::make_shared<CommonOptions>();
  add_common_options(*command, *options);
  command->callback([command, options, &exit_code] {
    check_options(*command, {});
    exit_code = run_devices(*options);
  });
}

}  // namespace ocellus::app
