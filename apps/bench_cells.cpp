// ocellus bench halftone: the presets and the published templates on the CPU.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench.h"
#include "bench_turns.h"
#include "cell_options.h"
#include "frames.h"
#include "image_errors.h"
#include "test_scene.h"

namespace ocellus::app {
namespace {

struct CellBench {
  CommonOptions common;
  std::vector<std::string> sizes;
  std::string input;
  int frames = 100;
  double sigma = 1.5;
};

/// Of the synthetic scene; a large one takes its time to draw.
constexpr int kSceneFrames = 6;

/// What an eye sees of a frame whose dots begin anew.
struct Quality {
  std::optional<SeenErrors> seen;
  CellInfo info;
};

/// One line of the table.
class Row : public TimedRow {
 public:
  Row(std::string title, const CellOptions& options, const EngineConfig& engine, const Clip& clip)
      : name(std::move(title)),
        setup(cell_setup(options, clip.size(), clip.format())),
        clip_(clip),
        run_(engine, CellPlan(setup)) {}

  int warm_up() const override { return 2; }
  bool step(std::size_t position) override {
    cells().step(clip_.cyclic(position).view(position, 0));
    return true;
  }

  Quality quality(double sigma) {
    const GrayImage& frame = clip_.frames.front();
    cells().step(frame.view(0, 0));
    return {seen_errors(grey_plane(cells().image()), grey_plane(frame), sigma, kSeenBorder),
            cells().info()};
  }

  std::string name;
  std::shared_ptr<const CellSetup> setup;

 private:
  RunningCells& cells() { return static_cast<RunningCells&>(run_.op()); }

  const Clip& clip_;
  OperatorRun run_;
};

Clip read_clip(const std::string& input) {
  Clip clip;
  if (input.rfind("test:", 0) == 0) {
    const TestScene scene = TestScene::parse(input);
    clip.name = input;
    clip.frames = draw_scene(scene, 0, std::min(scene.frames(), kSceneFrames));
    return clip;
  }
  const auto source = open_frames({input});
  clip.name = source->name();
  InputFrame frame;
  constexpr std::size_t kMost = 60;
  while (clip.frames.size() < kMost && source->next(frame)) clip.frames.push_back(frame.image);
  return clip;
}

std::vector<std::unique_ptr<Row>> make_rows(const EngineConfig& engine, const Clip& clip) {
  std::vector<std::unique_ptr<Row>> rows;
  const auto add = [&](const std::string& name, const CellOptions& options) {
    rows.push_back(std::make_unique<Row>(name, options, engine, clip));
  };
  for (const char* preset : {"quality", "fast"}) {
    CellOptions options(CellOptions::Command::kHalftone);
    options.preset = preset;
    add(fmt::format("preset {}", preset), options);
    options.warm_start = true;
    add(fmt::format("preset {}, warm start", preset), options);
  }
  for (const char* name : {"hlf3", "hlf5"}) {
    CellOptions options(CellOptions::Command::kHalftone);
    options.chain = name;
    options.start = "noise";  // as published; from the frame itself they end further away
    add(fmt::format("{} from noise", name), options);
  }
  return rows;
}

struct Table {
  Clip clip;
  std::vector<std::unique_ptr<Row>> rows;
  std::vector<Quality> qualities;
};

double pixels_of(const Clip& clip) {
  return static_cast<double>(clip.size().width) * clip.size().height;
}

nlohmann::ordered_json row_json(const Row& row, const Quality& quality, const Clip& clip,
                                const HostMachine& machine) {
  nlohmann::ordered_json r;
  r["name"] = row.name;
  r["group"] = "ours";
  r["input"] = clip.name;
  r["size"] = {clip.size().width, clip.size().height};
  machine.add_times(r, row.ms);
  const double median = percentile(row.ms, 50.0);
  r["mpixel_per_s"] = pixels_of(clip) * 1e-3 / median;
  machine.add_floor(r, least_work(*row.setup), median);
  r["sweeps"] = quality.info.sweeps;
  r["converged"] = quality.info.converged;
  r["hvs_psnr"] = quality.seen ? nlohmann::ordered_json(quality.seen->psnr) : nullptr;
  r["mean_difference"] =
      quality.seen ? nlohmann::ordered_json(quality.seen->mean_difference) : nullptr;
  r["config"] = setup_json(*row.setup);
  return r;
}

void print_table(const Table& table, const HostMachine& machine) {
  fmt::print("\n{}\n{:<28} {:>9} {:>9} {:>8} {:>9} {:>7} {:>8} {:>7} {:>7} {:>9} {:>6}\n",
             table.clip.name, "", "median ms", "p99 ms", "frames/s", "Mpixel/s", "sweeps",
             "seen dB", "MB", "MFLOP", "floor ms", "ratio");
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Row& row = *table.rows[i];
    const Quality& quality = table.qualities[i];
    const double median = percentile(row.ms, 50.0);
    const Workload work = least_work(*row.setup);
    fmt::print(
        "{:<28} {:>9.3f} {:>9.3f} {:>8.1f} {:>9.1f} {:>7} {:>8} {:>7.1f} {:>7.0f} {:>9.3f} "
        "{:>6.2f}\n",
        row.name, median, percentile(row.ms, 99.0), 1000.0 / median,
        pixels_of(table.clip) * 1e-3 / median, quality.info.sweeps,
        quality.seen ? fmt::format("{:.2f}", quality.seen->psnr) : std::string("-"),
        work.bytes * 1e-6, work.flops * 1e-6, machine.floor_ms(work),
        median / machine.floor_ms(work));
  }
}

int run_bench_cells(const CellBench& o) {
  const EngineConfig engine = engine_config(o.common);
  const EngineInfo info = take(Engine::probe(engine), "engine");
  if (info.backend != BackendKind::kCpu) {
    throw InputError(fmt::format(
        "the backend is {}, and these rows are the CPU's: use --backend cpu; `ocellus latency "
        "--pipeline halftone --backend cuda --back-to-back` measures a device",
        backend_name(info.backend)));
  }
  std::vector<std::string> names;
  if (!o.input.empty()) names.push_back(o.input);
  for (const std::string& text : o.sizes)
    names.push_back(
        fmt::format("test:{},frames={}", size_text(parse_size(text, "--size")), kSceneFrames));
  if (names.empty()) {
    for (const char* size : {"640x480", "1920x1080"})
      names.push_back(fmt::format("test:{},frames={}", size, kSceneFrames));
  }
  const HostMachine machine(info);
  std::vector<std::unique_ptr<Table>> tables;
  for (const std::string& name : names) {
    auto table = std::make_unique<Table>();
    table->clip = read_clip(name);
    table->rows = make_rows(engine, table->clip);
    std::vector<TimedRow*> rows;
    for (const auto& row : table->rows) {
      table->qualities.push_back(row->quality(o.sigma));  // the first frame that it sees
      rows.push_back(row.get());
    }
    time_in_turns(rows, o.frames, "bench halftone " + size_text(table->clip.size()));
    tables.push_back(std::move(table));
  }

  if (o.common.json) {
    nlohmann::ordered_json json;
    json["bench"] = "halftone";
    json["version"] = version();
    json["backend"] = backend_name(info.backend);
    json["frames"] = o.frames;
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
  fmt::print("ocellus {} bench halftone: {} a row, all rows in turn\n", version(),
             counted(o.frames, "frame"));
  machine.print();
  for (const auto& table : tables) print_table(*table, machine);
  fmt::print(
      "\nsweeps and seen dB: of the first frame; seen: PSNR after a Gaussian of sigma {:g} on both "
      "(ocellus compare image).\nMB and MFLOP: the least that a frame needs, each pixel in and out "
      "and each stage's sums once; floor: what they take\nat the limits above; ratio: median / "
      "floor.\n",
      o.sigma);
  return kDone;
}

}  // namespace

void add_bench_cells_command(CLI::App& bench, int& exit_code) {
  CLI::App* const command = bench.add_subcommand(
      "halftone", "Halftones on the CPU: the presets beside published templates");
  const auto o = std::make_shared<CellBench>();
  command
      ->add_option("--size", o->sizes,
                   "WIDTHxHEIGHT of the synthetic scene (default 640x480 and 1920x1080); several: "
                   "a table each")
      ->delimiter(',');
  command->add_option("--input", o->input, "FRAMES instead of the synthetic scene");
  command->add_option("--frames", o->frames, "Frames that each row is timed on, in turns of 10")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--sigma", o->sigma, "Width of the Gaussian of an eye in pixels")
      ->check(finite_range(0.1, 50.0))
      ->capture_default_str();
  add_common_options(*command, o->common);
  command->callback([command, o, &exit_code] {
    check_options(*command, {{!o->input.empty(),
                              {"--size"},
                              "it is for the synthetic scene; --input has its own size"}});
    exit_code = run_bench_cells(*o);
  });
}

}  // namespace ocellus::app
