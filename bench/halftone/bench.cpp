// ocellus bench halftone: the command, and its rows for the CPU (presets and published templates).
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "apps/common/printable.h"
#include "bench/bench_turns.h"
#include "bench/halftone/bench.h"

namespace ocellus::app {
namespace {

BenchDefaults halftone_defaults() {
  BenchDefaults defaults;
  defaults.sizes = {"640x480", "1920x1080"};
  defaults.scene_frames = 6;  // drawing a large scene takes long
  defaults.device_frames = 2000;
  defaults.papers = "three schedules of the nine-color update of Tanaka and Tanji";
  return defaults;
}

/// One row of the table.
class HalftoneRow : public TimedRow {
 public:
  HalftoneRow(std::string title, const OptionTexts& options, const EngineConfig& engine,
              const Clip& clip)
      : name(std::move(title)),
        config(operator_config("halftone", options, clip.size(), clip.format())),
        run(engine, config),
        clip_(clip) {}

  int warm_up() const override { return 2; }
  bool step(std::size_t position) override {
    run.step(clip_.cyclic(position).view(position, 0));
    return true;
  }

  std::string name;
  OperatorConfig config;
  CellRun run;

 private:
  const Clip& clip_;
};

std::vector<std::unique_ptr<HalftoneRow>> make_rows(const EngineConfig& engine, const Clip& clip) {
  std::vector<std::unique_ptr<HalftoneRow>> rows;
  for (const CellMethod& method : cell_methods())
    rows.push_back(std::make_unique<HalftoneRow>(method.name, method.options, engine, clip));
  return rows;
}

struct CellTable {
  Clip clip;
  std::vector<std::unique_ptr<HalftoneRow>> rows;
  std::vector<CellQuality> qualities;
};

nlohmann::ordered_json row_json(const HalftoneRow& row, const CellQuality& quality,
                                const Clip& clip, const HostMachine& machine) {
  nlohmann::ordered_json r;
  r["name"] = row.name;
  r["group"] = "ours";
  r["input"] = clip.name;
  r["size"] = {clip.size().width, clip.size().height};
  machine.add_times(r, row.ms);
  const double median = percentile(row.ms, 50.0);
  r["mpixel_per_s"] = clip.pixels() * 1e-3 / median;
  machine.add_floor(r, least_work(row.run.info()), median);
  add_quality(r, quality);
  r["config"] = config_json(row.config);
  return r;
}

void print_table(const CellTable& table, const HostMachine& machine) {
  fmt::print("\n{}\n{:<28} {:>9} {:>9} {:>8} {:>9} {:>7} {:>8} {:>7} {:>7} {:>9} {:>6}\n",
             printable(table.clip.name), "", "median ms", "p99 ms", "frames/s", "Mpixel/s",
             "sweeps", "seen dB", "MB", "MFLOP", "floor ms", "ratio");
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const HalftoneRow& row = *table.rows[i];
    const CellQuality& quality = table.qualities[i];
    const double median = percentile(row.ms, 50.0);
    const Workload work = least_work(row.run.info());
    fmt::print(
        "{:<28} {:>9.3f} {:>9.3f} {:>8.1f} {:>9.1f} {:>7} {:>8} {:>7.1f} {:>7.0f} {:>9.3f} "
        "{:>6.2f}\n",
        row.name, median, percentile(row.ms, 99.0), 1000.0 / median,
        table.clip.pixels() * 1e-3 / median, quality.record.sweeps, seen_text(quality),
        work.bytes * 1e-6, work.flops * 1e-6, machine.floor_ms(work),
        median / machine.floor_ms(work));
  }
}

int bench_cells_on_host(const HalftoneBenchOptions& o, const EngineConfig& engine,
                        const EngineInfo& info, std::vector<Clip> clips) {
  const int frames = o.host_frames();
  const HostMachine machine(info);
  std::vector<std::unique_ptr<CellTable>> tables;
  for (Clip& clip : clips) {
    auto table = std::make_unique<CellTable>();
    table->clip = std::move(clip);
    table->rows = make_rows(engine, table->clip);
    std::vector<TimedRow*> rows;
    for (const auto& row : table->rows) {
      table->qualities.push_back(quality_of(engine, row->config, table->clip, o.sigma));
      rows.push_back(row.get());
    }
    time_in_turns(rows, frames, "bench halftone " + size_text(table->clip.size()));
    tables.push_back(std::move(table));
  }

  if (o.common.json) {
    nlohmann::ordered_json json = bench_head("halftone", info);
    json["frames"] = frames;
    json["sigma"] = o.sigma;
    machine.add_to(json);
    json["rows"] = nlohmann::ordered_json::array();
    for (const auto& table : tables)
      for (std::size_t i = 0; i < table->rows.size(); ++i)
        json["rows"].push_back(
            row_json(*table->rows[i], table->qualities[i], table->clip, machine));
    print_json(json);
    return kDone;
  }
  fmt::print("ocellus {} bench halftone: {} for each row, the rows take turns\n", version(),
             counted(frames, "frame"));
  machine.print();
  for (const auto& table : tables) print_table(*table, machine);
  fmt::print(
      "\nsweeps and seen dB: {}; seen dB: PSNR after\na Gaussian of sigma {:g} on both images (see "
      "ocellus compare image). MB and MFLOP: the least that a frame needs, if each pixel is\nread "
      "and written once and each stage computes its sums once. floor: the time for these at the "
      "limits above. ratio: median / floor.\n",
      kQualityOf, o.sigma);
  return kDone;
}

int run_bench_cells(const HalftoneBenchOptions& o) {
  const BenchEngine engine(o);
  std::vector<Clip> clips;
  for (const std::string& name : bench_inputs(o)) clips.push_back(read_clip(name, o.source, {}));
  return engine.on_cpu() ? bench_cells_on_host(o, engine.config, engine.info, std::move(clips))
                         : bench_cells_on_device(o, engine.config, engine.info, clips);
}

}  // namespace

HalftoneBenchOptions::HalftoneBenchOptions() : BenchOptions(halftone_defaults()) {}

std::vector<CellMethod> cell_methods() {
  std::vector<CellMethod> methods;
  for (const char* preset : {"quality", "fast"}) {
    methods.push_back({fmt::format("preset {}", preset), {{"preset", preset}}});
    methods.push_back({fmt::format("preset {}, warm start", preset),
                       {{"preset", preset}, {"warm_start", "true"}}});
  }
  const auto add = [&](const char* name, const char* start) {
    methods.push_back(
        {fmt::format("{} from {}", name, start), {{"template", name}, {"start", start}}});
  };
  // The published hlf templates start from the frame itself, which ends with a larger error.
  add("hlf3", "noise");
  add("hlf5", "noise");
  add("hlf5", "blue-noise");
  add("gauss5", "error-diffusion");
  return methods;
}

CellQuality quality_of(const EngineConfig& engine, const OperatorConfig& config, const Clip& clip,
                       double sigma) {
  CellRun cells(engine, config);
  // A warm start has no effect before the second frame, and its error grows with the number of
  // frames. A single image is repeated as the second frame.
  const std::size_t last =
      cells.info().keeps_state ? std::max<std::size_t>(clip.frames.size(), 2) - 1 : 0;
  for (std::size_t i = 0; i <= last; ++i) cells.step(clip.cyclic(i).view(i, 0));
  return {seen_errors(gray_plane(cells.image()), gray_plane(clip.cyclic(last)), sigma, kSeenBorder),
          cells.record(), last};
}

void add_quality(nlohmann::ordered_json& row, const CellQuality& quality) {
  row["quality_of_frame"] = quality.frame;
  row["sweeps"] = quality.record.sweeps;
  row["converged"] = quality.record.converged;
  row["hvs_psnr"] = quality.seen ? nlohmann::ordered_json(quality.seen->psnr) : nullptr;
  row["mean_difference"] =
      quality.seen ? nlohmann::ordered_json(quality.seen->mean_difference) : nullptr;
}

std::string seen_text(const CellQuality& quality) {
  return quality.seen ? fmt::format("{:.2f}", quality.seen->psnr) : "-";
}

void add_bench_halftone_command(CLI::App& bench, int& exit_code) {
  CLI::App* const command = bench.add_subcommand(
      "halftone", "Measure halftones: the presets, published templates and the paper's schedules");
  command->footer(
      "On the CPU, frames and results lie in ordinary memory, and the rows take turns. On a CUDA\n"
      "device, they lie in device memory. There, each row shows the frame rate with --depth\n"
      "frames in flight and the latency of one frame alone.");
  const auto o = std::make_shared<HalftoneBenchOptions>();
  add_bench_options(*command, *o);
  command
      ->add_option("--sigma", o->sigma,
                   "Standard deviation of the Gaussian that models the eye, in pixels")
      ->check(finite_range(0.1, 50.0))
      ->capture_default_str();
  command->callback([command, o, &exit_code] {
    check_bench_options(*command, *o);
    exit_code = run_bench_cells(*o);
  });
}

}  // namespace ocellus::app
