#include "bench/bench_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

namespace ocellus::app {

std::string with_value(const char* text, const std::string& value) {
  std::string result;
  for (; *text != '\0'; ++text) result += *text == '@' ? value : std::string(1, *text);
  return result;
}

OptionTexts options_of(const BenchConfig& config, const std::string& value) {
  OptionTexts options;
  std::istringstream texts(config.options);
  for (std::string text; texts >> text;) {
    const std::size_t equals = text.find('=');
    options.emplace_back(text.substr(0, equals),
                         with_value(text.substr(equals + 1).c_str(), value));
  }
  return options;
}

void add_bench_options(CLI::App& command, BenchOptions& o) {
  const BenchDefaults& defaults = o.defaults;
  command
      .add_option("--size", o.sizes,
                  fmt::format("WIDTHxHEIGHT of the synthetic scene (default {}); several sizes "
                              "give one table each",
                              fmt::join(defaults.sizes, ",")))
      ->delimiter(',');
  command.add_option("--input", o.input, "FRAMES to measure in place of the synthetic scene");
  add_source_options(command, o.source);
  command
      .add_option("--frames", o.frames,
                  fmt::format("Frames for each row: on the CPU in turns of 10 frames (default {}), "
                              "on a device the most for each figure (default {})",
                              defaults.host_frames, defaults.device_frames))
      ->check(CLI::Range(1, 1000000));
  command
      .add_option("--depth", o.depth,
                  fmt::format("Frames in flight on a device, 1 to {} (default {})", kMaxDepth,
                              o.in_flight()))
      ->check(CLI::Range(1, kMaxDepth));
  command
      .add_option("--schedule", o.schedule,
                  fmt::format("ours, papers ({}) or all", defaults.papers))
      ->check(CLI::IsMember({"ours", "papers", "all"}))
      ->capture_default_str();
  add_common_options(command, o.common);
}

void check_bench_options(const CLI::App& command, const BenchOptions& o) {
  check_options(
      command,
      {{!o.input.empty(),
        {"--size"},
        "it sets the size of the synthetic scene, and --input has its own size"},
       {o.input.empty(), {kSourceTimeout}, "it applies to a video or a camera given by --input"}});
}

BenchEngine::BenchEngine(const BenchOptions& o)
    : config(engine_config(o.common)), info(take(Engine::probe(config), "engine")) {
  if (!on_cpu()) return;
  if (o.papers()) {
    throw InputError(fmt::format(
        "--schedule {}: the paper's schedules are GPU kernels, and the backend is cpu; use "
        "--schedule ours, or --backend cuda where a device is available",
        o.schedule));
  }
  if (o.depth)
    throw InputError(
        "--depth has no meaning here: the backend is cpu, where frames are timed one at a time");
}

std::vector<std::string> bench_inputs(const BenchOptions& o) {
  const BenchDefaults& defaults = o.defaults;
  if (!o.input.empty()) return {o.input};
  std::vector<std::string> sizes = o.sizes;
  if (sizes.empty()) sizes.assign(defaults.sizes.begin(), defaults.sizes.end());
  std::vector<std::string> scenes;
  for (const std::string& size : sizes)
    scenes.push_back(fmt::format("test:{},frames={}", size_text(parse_size(size, "--size")),
                                 defaults.scene_frames));
  return scenes;
}

nlohmann::ordered_json bench_head(const char* bench, const EngineInfo& info) {
  nlohmann::ordered_json json;
  json["bench"] = bench;
  json["version"] = version();
  json["backend"] = backend_name(info.backend);
  return json;
}

void add_bench_commands(CLI::App& program, int& exit_code) {
  CLI::App* const bench = program.add_subcommand(
      "bench",
      "Measure an operator; compare it with the machine's limits and other implementations");
  bench->require_subcommand(1);
  add_bench_flow_command(*bench, exit_code);
  add_bench_restore_command(*bench, exit_code);
  add_bench_halftone_command(*bench, exit_code);
  add_bench_digits_command(*bench, exit_code);
  add_bench_cortex_command(*bench, exit_code);
  add_bench_devices_command(*bench, exit_code);
}

}  // namespace ocellus::app
