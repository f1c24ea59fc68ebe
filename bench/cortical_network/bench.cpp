// ocellus bench cortex: learning steps of the paper's networks.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>

#include "apps/cortical_network/real_devices.h"
#include "apps/io/operator_run.h"
#include "apps/measure/machine.h"
#include "bench/bench_command.h"
#include "bench/bench_report.h"
#include "bench/cortical_network/bench.h"
#include "bench/limits/machine_limits.h"
#include "bench/papers/cortical_network/paper_network.h"
#include "ocellus/cortical_network.h"
#include "ocellus/cortical_placement.h"
#include "ocellus/cpus.h"
#include "ocellus/network.h"

namespace ocellus::app {
namespace {

/// The dense program takes seconds for a step.
constexpr int kDenseSteps = 3;

/// Bytes that programs can still take, or no limit where the system does not tell.
double available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  while (file >> name) {
    double kibibytes = 0.0;
    if (name == "MemAvailable:" && file >> kibibytes) return 1024.0 * kibibytes;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<double>::infinity();
}

HypercolumnCost cost(const CorticalNetworkConfig& config, int level) {
  return take(hypercolumn_cost(config, level, PlacementKind::kCpu), "network");
}

int hypercolumns_of(const CorticalNetworkConfig& config, int level) {
  return config.width / config.levels[0].minicolumns >> level;
}

/// Median milliseconds of a step after `warm_up` others.
template <typename Step>
double step_ms(ImageSource images, int warm_up, int steps, const Step& step) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = -warm_up; i < steps; ++i) {
    const std::vector<std::uint8_t>& image = images.next();
    const Clock::time_point begun = Clock::now();
    step(image);
    if (i >= 0)
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
  }
  return percentile(times, 50.0);
}

/// Active inputs of a hypercolumn, averaged over all of them, in the last step.
double active_inputs(const CorticalNetwork& network, const CorticalNetworkConfig& config) {
  // One LGN cell of each pixel is active.
  double active = config.width;
  double hypercolumns = 0.0;
  for (int l = 0; l < network.levels(); ++l) {
    hypercolumns += static_cast<double>(network.winners(l).size());
    if (l + 1 == network.levels()) break;
    for (const std::int32_t winner : network.winners(l)) active += winner != kSilent;
  }
  return active / hypercolumns;
}

int threads_of(const CortexBenchOptions& o) {
  if (o.common.threads > 0) return o.common.threads;
  return std::min(usable_cpus().count, kMaxWorkers);
}

/// A frame of the operator with the same network, on the backend of the engine.
std::optional<double> operator_ms(const CortexBenchOptions& o, const EngineConfig& engine,
                                  const CorticalNetworkConfig& network, const ImageSource& images) {
  if (network.width > kMaxImageSide) return std::nullopt;
  NetworkConfig config;
  config.size = {network.width, network.height};
  config.width = network.width;
  config.height = network.height;
  config.learn = true;
  std::string levels;
  for (int l = 0; l < network.level_count; ++l) {
    const CorticalLevel& level = network.levels[static_cast<std::size_t>(l)];
    levels += fmt::format("{}{}x{}/{}x{}:{}", l == 0 ? "" : ",", level.window_width,
                          level.window_height, level.stride_x, level.stride_y, level.minicolumns);
  }
  if (!config.levels.assign(levels)) return std::nullopt;
  OperatorRun run(engine, OperatorConfig(config));
  std::uint64_t sequence = 0;
  return step_ms(images, o.warm_up, o.steps, [&](const auto& image) {
    Frame frame;
    frame.data = const_cast<std::uint8_t*>(image.data());
    frame.size = config.size;
    frame.stride = network.width;
    frame.format = PixelFormat::kGray8;
    frame.sequence = sequence++;
    run.op().step(frame);
  });
}

/// Figures 6 and 9, with the serial program after its first steps.
template <typename DenseMs>
void measure_experiments(const CortexBenchOptions& o, const EngineConfig& engine,
                         const EngineInfo& info, const CorticalNetworkConfig& config,
                         paper::DenseCorticalNetwork& network, const DenseMs& dense_ms,
                         CortexBenchRow& row) {
  if (info.backend == BackendKind::kCuda) {
    const std::vector<double> ms = device_level_ms(o, engine, config);
    for (std::size_t l = 0; l < ms.size(); ++l)
      row.levels.push_back({hypercolumns_of(config, static_cast<int>(l)),
                            network.level_ms(static_cast<int>(l)), ms[l]});
  }
  const int most = threads_of(o);
  // More steps where they take less than about a second.
  const int steps = std::max(kDenseSteps, static_cast<int>(1e3 / *row.dense_ms));
  for (int threads = 1; threads < 2 * most; threads *= 2) {
    take(network.set_threads(std::min(threads, most)), "dense program");
    row.dense_threads.emplace_back(std::min(threads, most), dense_ms(steps));
  }
}

CortexBenchRow measure(const CortexBenchOptions& o, const EngineConfig& engine,
                       const EngineInfo& info, int hypercolumns, int minicolumns) {
  const auto leaves = static_cast<int>(std::bit_floor(static_cast<unsigned>(hypercolumns) + 1) / 2);
  CorticalNetworkConfig config = binary_tree(leaves, minicolumns);
  config.workers = threads_of(o);
  CortexBenchRow row;
  row.hypercolumns = 2 * leaves - 1;
  row.minicolumns = minicolumns;
  double memory = 0.0;
  double weights = 0.0;
  for (int l = 0; l < config.level_count; ++l) {
    const HypercolumnCost of = cost(config, l);
    const auto count = static_cast<double>(hypercolumns_of(config, l));
    row.bytes += count * of.bytes;
    memory += count * static_cast<double>(of.memory);
    weights += count * 2.0 * minicolumns * minicolumns;
  }
  const auto fits = [&](double bytes) {
    const double available = available_memory();
    if (bytes < available) return true;
    row.missing =
        fmt::format("it takes {:.1f} GB, and {:.1f} GB are free", bytes / 1e9, available / 1e9);
    return false;
  };
  const ImageSource images(o, config.width);
  std::vector<std::int32_t> winners;
  if (o.ours() && !o.no_cpu && fits(memory)) {
    CorticalNetwork network = take(CorticalNetwork::create(config), "network");
    row.ours_ms = step_ms(images, o.warm_up, o.steps, [&](const auto& image) {
      network.step(image.data(), config.width, true);
    });
    row.active = active_inputs(network, config);
    for (int l = 0; l < network.levels(); ++l)
      winners.insert(winners.end(), network.winners(l).begin(), network.winners(l).end());
  }
  if (o.ours() && fits(memory)) row.operator_ms = operator_ms(o, engine, config, images);
  if (o.papers() && fits(sizeof(float) * weights)) {
    auto network = take(paper::DenseCorticalNetwork::create(config), "network");
    const auto dense_ms = [&](int steps) {
      return step_ms(images, 0, std::min(o.steps, steps),
                     [&](const auto& image) { network.step(image.data()); });
    };
    row.dense_ms = dense_ms(kDenseSteps);
    if (o.experiments()) measure_experiments(o, engine, info, config, network, dense_ms, row);
  }
  if (!o.placed.empty()) row.placed = placed_steps(o, config, winners);
  if (info.backend == BackendKind::kCuda) row.device = device_steps(o, engine, config, winners);
  return row;
}

/// Bytes that a step on a device reads and writes.
std::optional<double> bytes_of(const DeviceSteps& steps) {
  if (!steps.ms || !steps.bytes_read || !steps.bytes_written) return std::nullopt;
  return *steps.bytes_read + *steps.bytes_written;
}

/// `device_bytes_per_s`: 0 without a device.
nlohmann::ordered_json row_json(const CortexBenchRow& row, double bytes_per_s,
                                double device_bytes_per_s) {
  nlohmann::ordered_json json = {{"hypercolumns", row.hypercolumns},
                                 {"minicolumns", row.minicolumns},
                                 {"step_ms", or_null(row.ours_ms)},
                                 {"operator_step_ms", or_null(row.operator_ms)},
                                 {"dense_step_ms", or_null(row.dense_ms)}};
  if (row.ours_ms) {
    json["active_inputs"] = row.active;
    json["bytes"] = row.bytes;
    json["bandwidth_share"] = row.bytes / (1e-3 * *row.ours_ms) / bytes_per_s;
  }
  if (!row.missing.empty()) json["missing"] = row.missing;
  for (const auto& [threads, ms] : row.dense_threads)
    json["dense_threads"].push_back({{"threads", threads},
                                     {"step_ms", ms},
                                     {"speed_up", row.dense_threads.front().second / ms}});
  for (const LevelSteps& level : row.levels)
    json["levels"].push_back({{"hypercolumns", level.hypercolumns},
                              {"dense_ms", level.dense_ms},
                              {"step_ms", level.device_ms},
                              {"speed_up", level.dense_ms / level.device_ms}});
  for (const DeviceSteps& steps : row.device) {
    nlohmann::ordered_json of = {{"schedule", steps.schedule}, {"step_ms", or_null(steps.ms)}};
    if (steps.ms && row.ours_ms) of["different_winners"] = steps.different;
    if (const auto bytes = bytes_of(steps)) {
      of["bytes_read"] = *steps.bytes_read;
      of["bytes_written"] = *steps.bytes_written;
      of["bandwidth_share"] = *bytes / (1e-3 * *steps.ms) / device_bytes_per_s;
    }
    if (!steps.use.is_null()) of.update(steps.use);
    if (steps.launches_share) of["launches_share"] = *steps.launches_share;
    if (!steps.base.empty()) {
      of["compared_with"] = steps.base;
      of["speed_up"] = steps.speed_up;
    }
    if (!steps.missing.empty()) of["missing"] = steps.missing;
    json["device"].push_back(of);
  }
  for (const PlacedSteps& placed : row.placed) {
    nlohmann::ordered_json of = {{"placement", placed.placement},
                                 {"schedule", placed.schedule},
                                 {"step_ms", placed.ms},
                                 {"plan", placed.plan}};
    if (placed.predicted_ms) {
      of["predicted_ms"] = *placed.predicted_ms;
      of["measured_to_predicted"] = placed.ms / *placed.predicted_ms;
    }
    if (row.ours_ms) of["different_winners"] = placed.different;
    json["placed"].push_back(of);
  }
  return json;
}

const std::vector<BenchColumn> kColumns = {{"hypercolumns", "hypercolumns", 12},
                                           {"minicolumns", "minicolumns", 11},
                                           {"p50 ms", "step_ms", 10, 3},
                                           {"operator ms", "operator_step_ms", 12, 3},
                                           {"active", "active_inputs", 7, 1},
                                           {"MB", "bytes", 9, 2, 1e-6},
                                           {"of copy", "bandwidth_share", 8, 0, 100.0, " %"},
                                           {"dense ms", "dense_step_ms", 11, 3},
                                           {"dense", "dense_times", 8, 0, 1.0, "x"}};
const std::vector<BenchColumn> kDeviceColumns = {
    {"schedule", "schedule", 24},          {"p50 ms", "step_ms", 10, 4},
    {"MB", "bytes", 17, 2, 1e-6},          {"of read", "bandwidth_share", 8, 0, 100.0, " %"},
    {"CPU", "cpu_times", 11, 0, 1.0, "x"}, {"dense", "dense_times", 8, 0, 1.0, "x"}};

const std::vector<BenchColumn> kThreadColumns = {{"threads", "threads", 24},
                                                 {"dense ms", "step_ms", 10, 3},
                                                 {"speed-up", "speed_up", 17, 2, 1.0, "x"}};
const std::vector<BenchColumn> kLevelColumns = {{"hypercolumns of level", "hypercolumns", 24},
                                                {"p50 ms", "step_ms", 10, 4},
                                                {"dense ms", "dense_ms", 17, 4},
                                                {"dense", "speed_up", 8, 1, 1.0, "x"}};
const std::vector<BenchColumn> kUseColumns = {{"schedule", "schedule", 24},
                                              {"speed-up", "speed_up", 10, 3, 1.0, "x"},
                                              {"registers", "registers", 17},
                                              {"bytes", "shared_bytes", 8},
                                              {"blocks", "blocks_per_multiprocessor", 7},
                                              {"occupied", "occupancy", 9, 0, 100.0, " %"},
                                              {"launches", "launches_share", 9, 1, 100.0, " %"}};

/// A table of --schedule experiments, or nothing.
void print_table(const std::vector<BenchColumn>& columns, const Json& rows) {
  if (rows.empty()) return;
  print_heading(columns);
  for (const Json& row : rows)
    print_row(columns, row,
              row.contains("compared_with") ? " of " + row["compared_with"].get<std::string>()
                                            : std::string());
}

/// `json`: of the row.
void print_text(const CortexBenchRow& row, Json json) {
  const auto add_times = [](Json& of, const char* name, const std::optional<double>& ms) {
    if (ms && of["step_ms"].is_number()) of[name] = *ms / of["step_ms"].get<double>();
  };
  add_times(json, "dense_times", row.dense_ms);
  print_row(kColumns, json);
  if (!row.missing.empty()) fmt::print("{:>12} not measured: {}\n", "", row.missing);
  for (std::size_t i = 0; i < row.device.size(); ++i) {
    const DeviceSteps& steps = row.device[i];
    if (!steps.ms) {
      fmt::print("{:>24} not measured: {}\n", steps.schedule, steps.missing);
      continue;
    }
    Json& of = json["device"][i];
    if (const auto bytes = bytes_of(steps)) of["bytes"] = *bytes;
    add_times(of, "cpu_times", row.ours_ms);
    add_times(of, "dense_times", row.dense_ms);
    print_row(kDeviceColumns, of,
              steps.different > 0 ? fmt::format(" {} winners differ", steps.different) : "");
  }
  if (!row.dense_threads.empty()) {
    print_table(kUseColumns, json.value("device", Json::array()));
    print_table(kLevelColumns, json.value("levels", Json::array()));
    print_table(kThreadColumns, json["dense_threads"]);
  }
  for (const PlacedSteps& placed : row.placed) {
    fmt::print("{:>24} {:>10.4f}", placed.placement + ", " + placed.schedule, placed.ms);
    if (placed.predicted_ms) {
      fmt::print(" predicted {:.4f}, measured / predicted {:.3f}", *placed.predicted_ms,
                 placed.ms / *placed.predicted_ms);
    }
    if (placed.different > 0) fmt::print(" {} winners differ", placed.different);
    fmt::print("\n{:>24} {}\n", "", placed.parts);
  }
}

void print_examples(const Json& runs) {
  const std::vector<BenchColumn> columns = {{"program of section 9", "program", 32},
                                            {"schedule", "schedule", 18},
                                            {"us", "ms", 10, 2, 1e3},
                                            {"first layer", "first_layer", 12, 0, 100.0, " %"},
                                            {"of first", "of_first", 10, 0, 100.0, " %"}};
  fmt::print("\n");
  print_heading(columns);
  double first = 0.0;
  std::string program;
  for (Json run : runs) {
    const double ms = run["ms"].get<double>();
    if (run["program"] != program) first = ms;
    program = run["program"].get<std::string>();
    run["of_first"] = ms / first;
    if (run.contains("layer_ms")) {
      double all = 0.0;
      for (const Json& layer : run["layer_ms"]) all += layer.get<double>();
      run["first_layer"] = run["layer_ms"][0].get<double>() / all;
    }
    const long long different = run["different_results"].get<long long>();
    print_row(columns, run, different > 0 ? fmt::format(" {} results differ", different) : "");
  }
}

int run_bench_cortex(const CortexBenchOptions& o) {
  const EngineConfig engine = engine_config(o.common);
  const EngineInfo info = take(Engine::probe(engine), "engine");
  const int threads = threads_of(o);
  const MachineLimits limits = measure_limits(threads);
  const double device_rate = info.backend == BackendKind::kCuda ? device_read_rate(engine) : 0.0;
  nlohmann::ordered_json json;
  json["bench"] = "cortex";
  json["version"] = version();
  json["machine"] = machine_json();
  json["threads"] = threads;
  json["images"] = o.images;
  json["noise"] = o.noise;
  json["warm_up"] = o.warm_up;
  json["copy_bytes_per_s"] = limits.copy_bytes_per_s;
  if (device_rate > 0.0) {
    json["device"] = info.device_name;
    json["device_read_bytes_per_s"] = device_rate;
  }
  json["rows"] = nlohmann::ordered_json::array();
  std::vector<CortexBenchRow> rows;
  long long different = 0;
  if (!o.common.json) {
    fmt::print(
        "ocellus {} bench cortex: a learning step of binary trees\n{}\n"
        "threads: {} (dense program: 1), copy: {:.1f} GB/s (read and written)\n\n",
        version(), machine_line(), threads, limits.copy_bytes_per_s / 1e9);
    print_heading(kColumns);
    if (device_rate > 0.0)
      print_heading(kDeviceColumns, "",
                    fmt::format("   {}, read: {:.0f} GB/s", info.device_name, device_rate / 1e9));
  }
  for (const int minicolumns : o.minicolumns) {
    for (const int hypercolumns : o.hypercolumns) {
      const CortexBenchRow& row =
          rows.emplace_back(measure(o, engine, info, hypercolumns, minicolumns));
      json["rows"].push_back(row_json(row, limits.copy_bytes_per_s, device_rate));
      if (!o.common.json) print_text(row, json["rows"].back());
      for (const DeviceSteps& steps : row.device) different += steps.different;
      for (const PlacedSteps& placed : row.placed) different += placed.different;
    }
  }
  if (o.papers() && info.backend == BackendKind::kCuda) {
    const std::vector<ExampleRun> runs = run_examples(engine);
    for (const ExampleRun& run : runs) {
      different += run.different;
      json["examples"].push_back({{"program", run.program},
                                  {"schedule", run.schedule},
                                  {"ms", run.ms},
                                  {"different_results", run.different}});
      if (!run.layer_ms.empty()) json["examples"].back()["layer_ms"] = run.layer_ms;
    }
    if (!o.common.json) print_examples(json["examples"]);
  }
  if (!o.plot.empty()) plot_speedups(o.plot, rows, info.device_name);
  if (o.common.json) print_json(json);
  if (different == 0) return kDone;
  throw InputError(fmt::format(
      "{} winners or results on the device differ from those of the CPU or the first schedule",
      different));
}

}  // namespace

ImageSource::ImageSource(const CortexBenchOptions& o, int pixels) : noise_(o.noise) {
  images_.resize(static_cast<std::size_t>(o.images));
  for (auto& image : images_) {
    image.resize(static_cast<std::size_t>(pixels));
    for (auto& p : image) p = random_() % 2 == 0 ? 0 : 255;
  }
}

const std::vector<std::uint8_t>& ImageSource::next() {
  current_ = images_[random_() % images_.size()];
  const auto changes = static_cast<std::size_t>(noise_ * static_cast<double>(current_.size()));
  for (std::size_t i = 0; i < changes; ++i) current_[random_() % current_.size()] ^= 0xff;
  return current_;
}

void add_bench_cortex_command(CLI::App& bench, int& exit_code) {
  CLI::App* const command =
      bench.add_subcommand("cortex", "Measure learning steps of cortical networks");
  command->footer(
      "The networks are the binary trees of Nere, Franey, Hashmi and Lipasti. 'operator ms' is a\n"
      "frame of the operator network on the chosen backend, where its images fit. 'active' is the "
      "mean\n"
      "number of active inputs of a hypercolumn, 'MB' what a step touches in which each "
      "hypercolumn\n"
      "has one candidate, which learns. A minicolumn whose weights no longer change is not "
      "written,\n"
      "so the share of the bandwidth can be above 100 %. The dense program is the paper's serial "
      "one:\n"
      "every minicolumn reads all of its weights. With a CUDA device, the rows below are its "
      "schedules,\n"
      "by the device's clock. Their 'MB' are counted by the kernels in one more step, in sectors "
      "of "
      "32\n"
      "bytes that are read and written. The last columns are the times of the CPU divided by "
      "theirs. "
      "With\n"
      "the paper's schedules, the programs of section 9 of the paper follow.");
  const auto o = std::make_shared<CortexBenchOptions>();
  command
      ->add_option("--hypercolumns", o->hypercolumns,
                   "The largest trees with at most these numbers of hypercolumns")
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxHypercolumns - 1))
      ->capture_default_str();
  command->add_option("--minicolumns", o->minicolumns, "Minicolumns of a hypercolumn")
      ->delimiter(',')
      ->check(CLI::Range(kLeastMinicolumns, kMaxMinicolumns))
      ->capture_default_str();
  command->add_option("--images", o->images, "Number of random images, shown in random order")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--noise", o->noise, "Share of pixels that differ in every step")
      ->check(finite_range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--warm-up", o->warm_up, "Learning steps before the first measured one")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command
      ->add_option("--steps", o->steps,
                   fmt::format("Learning steps of each row; of the dense program at most {}, "
                               "without a warm-up",
                               kDenseSteps))
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      ->add_option("--schedule", o->schedule,
                   "ours, papers (the dense program; on a device the paper's schedules), all, or "
                   "experiments: all, and the paper's figures 6, 8, 9 and 18 to 25 and tables 1 "
                   "and 3")
      ->check(CLI::IsMember({"ours", "papers", "all", "experiments"}))
      ->capture_default_str();
  command->add_option(
      "--plot", o->plot,
      "Write the times of the dense program divided by those of the other schedules "
      "as SVG; before the extension, the name gets the number of minicolumns");
  command->add_option(
      "--placed", o->placed,
      std::string(kDevicesHelp) +
          ". They are measured with --warm-up and --steps, the network is placed "
          "on them as by cortex plan, and the prediction is compared with its steps in order");
  command
      ->add_option(
          "--placement", o->placements,
          fmt::format("With --placed: {}; or both, with a comma between them", kPlacementHelp))
      ->delimiter(',')
      ->check(CLI::IsMember({"profiled", "even"}))
      ->capture_default_str();
  command->add_flag("--no-cpu", o->no_cpu,
                    "Do not measure the CPU, for networks that it takes long to make; winners are "
                    "then not compared with its own");
  add_common_options(*command, o->common);
  command->callback([command, o, &exit_code] {
    check_options(*command, {{o->placed.empty(), {"--placement"}, "it is that of --placed"}});
    exit_code = run_bench_cortex(*o);
  });
}

}  // namespace ocellus::app
