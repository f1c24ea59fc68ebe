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
  for (const BenchConfig& config : kHalftones)
    rows.push_back(std::make_unique<HalftoneRow>(config.name, options_of(config), engine, clip));
  return rows;
}

struct CellTable {
  Clip clip;
  std::vector<std::unique_ptr<HalftoneRow>> rows;
  std::vector<CellQuality> qualities;
};

Json row_json(const HalftoneRow& row, const CellQuality& quality, const Clip& clip,
              const HostMachine& machine) {
  Json r = row_of(row.name, "ours", clip);
  machine.add_times(r, row.ms);
  const double median = percentile(row.ms, 50.0);
  r["mpixel_per_s"] = clip.pixels() * 1e-3 / median;
  machine.add_floor(r, least_work(row.run.info()), median);
  add_quality(r, quality);
  r["config"] = config_json(row.config);
  return r;
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

  BenchReport report;
  report.json = bench_head("halftone", info);
  report.json["frames"] = frames;
  report.json["sigma"] = o.sigma;
  machine.add_to(report.json);
  report.begin = fmt::format("ocellus {} bench halftone: {} for each row, the rows take turns\n{}",
                             version(), counted(frames, "frame"), machine.text());
  report.columns = {{"", "name", -28},
                    {"median ms", "median_ms", 9, 3},
                    {"p99 ms", "p99_ms", 9, 3},
                    {"frames/s", "frames_per_s", 8, 1},
                    {"Mpixel/s", "mpixel_per_s", 9, 1},
                    {"sweeps", "sweeps", 7},
                    {"seen dB", "hvs_psnr", 8, 2},
                    {"MB", "mb_per_frame", 7, 1},
                    {"MFLOP", "mflop_per_frame", 7},
                    {"floor ms", "floor_ms", 9, 3},
                    {"ratio", "ratio", 6, 2}};
  for (const auto& table : tables) {
    BenchRows& rows = report.tables.emplace_back();
    rows.title = table->clip.name;
    for (std::size_t i = 0; i < table->rows.size(); ++i)
      rows.rows.push_back(row_json(*table->rows[i], table->qualities[i], table->clip, machine));
  }
  report.end = fmt::format(
      "\nsweeps and seen dB: {}; seen dB: PSNR after\na Gaussian of sigma {:g} on both images (see "
      "ocellus compare image). MB and MFLOP: the least that a frame needs, if each pixel is\nread "
      "and written once and each stage computes its sums once. floor: the time for these at the "
      "limits above. ratio: median / floor.\n",
      kQualityOf, o.sigma);
  return report.print(o.common.json);
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

void add_quality(Json& row, const CellQuality& quality) {
  row["quality_of_frame"] = quality.frame;
  row["sweeps"] = quality.record.sweeps;
  row["converged"] = quality.record.converged;
  row["hvs_psnr"] = quality.seen ? Json(quality.seen->psnr) : nullptr;
  row["mean_difference"] = quality.seen ? Json(quality.seen->mean_difference) : nullptr;
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
