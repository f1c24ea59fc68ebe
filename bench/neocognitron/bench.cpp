// ocellus bench digits: the command, its frames and the rows of the CPU.
#include "bench/neocognitron/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>

#include "apps/common/printable.h"
#include "apps/io/digit_scene.h"
#include "bench/bench_command.h"
#include "bench/neocognitron/bench_layers.h"

namespace ocellus::app {
namespace {

/// Different frames of a row.
constexpr int kFrames = 8;

/// As many columns as there can be, up to 8.
int columns_of(int patches) {
  int columns = std::min(patches, 8);
  while (patches % columns != 0) --columns;
  return columns;
}

GrayImage frame_of(const DigitImages& digits, std::size_t first, const DigitsBenchCase& made) {
  GrayImage frame(made.config.size, PixelFormat::kGray8);
  const int columns = made.config.size.width / digits.width;
  const auto width = static_cast<std::size_t>(digits.width);
  for (int patch = 0; patch < made.patches; ++patch) {
    const std::size_t image = (first + static_cast<std::size_t>(patch)) % digits.count();
    const auto x = static_cast<std::size_t>(patch % columns) * width;
    for (int y = 0; y < digits.height; ++y) {
      const auto row = static_cast<std::size_t>(patch / columns * digits.height + y);
      const std::size_t from =
          (image * static_cast<std::size_t>(digits.height) + static_cast<std::size_t>(y)) * width;
      std::copy_n(
          digits.ink.begin() + static_cast<std::ptrdiff_t>(from), digits.width,
          frame.pixels.begin() + static_cast<std::ptrdiff_t>(
                                     row * static_cast<std::size_t>(made.config.size.width) + x));
    }
  }
  return frame;
}

DigitImages digits_of(const IdxImages& images) {
  return {images.width, images.height, images.pixels,
          std::vector<std::uint8_t>(images.count, std::uint8_t{0})};
}

OperatorConfig config_of(const std::string& model) {
  NeocognitronConfig config;
  if (!config.model.assign(model.c_str()))
    throw InputError(fmt::format("--model '{}' is too long", printable(model)));
  return config;
}

/// The share of right answers.
double accuracy_of(const FileImages& characters, OperatorConfig config, const std::string& model,
                   const EngineConfig& engine) {
  const std::vector<int> classes = characters.classes(CharacterNames(model), model);
  NeocognitronConfig& digits = *config.get_if<NeocognitronConfig>();
  const int batch =
      set_batches(digits, characters.images,
                  digits.max_characters > 0 ? digits.max_characters : kMaxFieldCharacters);
  OperatorRun run(engine, config);
  const RecognitionResult result = recognize_batches(run, characters.images, batch, classes);
  if (result.count() < classes.size()) throw InputError("interrupted");
  return result.accuracy();
}

/// Milliseconds of each frame, one at a time.
std::vector<double> host_times(const EngineConfig& config, const DigitsBenchCase& made,
                               int frames) {
  using Clock = std::chrono::steady_clock;
  EngineConfig settings = config;
  settings.memory = take(
      Neocognitron::footprint(take(Engine::probe(settings), "engine"), made.config), "operator");
  Engine engine = take(Engine::create(settings), "engine");
  Neocognitron op = take(Neocognitron::create(engine, made.config), "operator");
  const ImageSize rows = op.info().planes[0].size;
  std::vector<float> scores(static_cast<std::size_t>(rows.width) *
                            static_cast<std::size_t>(rows.height));
  ImageView out;
  out.data = scores.data();
  out.size = rows;
  out.stride = static_cast<std::ptrdiff_t>(sizeof(float)) * rows.width;
  out.format = PixelFormat::kFloat32;
  NeocognitronRecord record;
  std::vector<double> times;
  // The first round brings model and frames into the caches.
  for (int f = -kFrames; f < frames; ++f) {
    const auto number = static_cast<std::size_t>(f + kFrames);
    const Frame frame = made.frames[number % made.frames.size()].view(number, 0);
    const auto begun = Clock::now();
    const Ticket ticket = take(op.submit(frame, out, &record), "digits");
    take(op.wait(ticket, Deadline::never()), "digits");
    if (f >= 0)
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
  }
  return times;
}

int bench_digits_on_host(const DigitsBenchOptions& o, const EngineConfig& engine,
                         const EngineInfo& info) {
  const std::vector<DigitsBenchCase> cases = digits_bench_cases(o, engine, 1);
  BenchReport report;
  report.json = bench_head("digits", info);
  report.json["workers"] = info.workers;
  report.begin =
      fmt::format("ocellus {} bench digits: patches to classes on {}\n", version(), cpu_text(info));
  report.columns = {{"model", "model", -32},
                    {"patches", "patches", 8},
                    {"p50 us", "p50_ms", 10, 1, 1e3},
                    {"p99 us", "p99_ms", 10, 1, 1e3}};
  report.row_end = accuracy_text;
  BenchRows& rows = report.tables.emplace_back();
  if (!o.labels.empty()) rows.heading_end = kAccuracyHeading;
  std::vector<double> medians;
  for (const DigitsBenchCase& made : cases) {
    const std::vector<double> times = host_times(engine, made, o.host_frames());
    medians.push_back(percentile(times, 50.0));
    Json& row = rows.rows.emplace_back();
    row["model"] = made.model;
    row["patches"] = made.patches;
    row["p50_ms"] = medians.back();
    row["p99_ms"] = percentile(times, 99.0);
    if (made.accuracy) row["accuracy"] = *made.accuracy;
  }
  report.print(o.common.json);
  if (!o.plot.empty()) plot_digits_bench(o.plot, cases, medians, cpu_text(info));
  return kDone;
}

int run_bench_digits(const DigitsBenchOptions& o) {
  const EngineConfig config = engine_config(o.common);
  const EngineInfo info = take(Engine::probe(config), "engine");
  if (o.papers()) return bench_digit_layers(o, config, info);
  if (info.backend == BackendKind::kCuda) return bench_digits_on_device(o, config, info);
  if (o.depth)
    throw InputError(
        "--depth has no meaning here: the backend is cpu, where frames are timed one at a time");
  return bench_digits_on_host(o, config, info);
}

}  // namespace

std::vector<DigitsBenchCase> digits_bench_cases(const DigitsBenchOptions& options,
                                                const EngineConfig& engine, int depth) {
  std::optional<FileImages> read;
  if (!options.images.empty())
    read = read_file_images(options.images, options.labels, InkColor::kAuto, kLeastCharacterSide,
                            kLargestCharacterSide);
  std::vector<DigitsBenchCase> cases;
  for (const std::string& model : options.models) {
    const OperatorConfig chosen = config_of(model);
    std::optional<double> accuracy;
    if (!options.labels.empty()) accuracy = accuracy_of(*read, chosen, model, engine);
    for (const int patches : options.patches) {
      const DigitImages digits =
          read ? digits_of(read->images)
               : draw_digits(static_cast<std::size_t>(kFrames * patches), kBenchSeed);
      DigitsBenchCase made;
      made.model = model;
      made.patches = patches;
      made.accuracy = accuracy;
      NeocognitronConfig& config = made.config;
      config = *chosen.get_if<NeocognitronConfig>();
      const int columns = columns_of(patches);
      config.size = {columns * digits.width, patches / columns * digits.height};
      config.depth = depth;
      config.layout = CharacterLayout::kTiles;
      config.tile_width = digits.width;
      config.tile_height = digits.height;
      config.ink = CharacterInk::kLight;
      for (int f = 0; f < kFrames; ++f)
        made.frames.push_back(frame_of(digits, static_cast<std::size_t>(f * patches), made));
      cases.push_back(std::move(made));
    }
  }
  return cases;
}

std::string accuracy_text(const Json& row) {
  if (!row.contains("accuracy")) return "";
  return fmt::format(" {:>8.2f} %", 100.0 * row["accuracy"].get<double>());
}

void plot_digits_bench(const std::string& path, const std::vector<DigitsBenchCase>& cases,
                       const std::vector<double>& ms, const std::string& machine) {
  CurvePlot plot;
  plot.title = "Wrong answers against time";
  plot.subtitle = "Models of more and more planes, from patches to classes";
  plot.machine = machine;
  plot.x_label = "time, ms";
  plot.y_label = "Wrong answers, percent";
  plot.logarithmic_x = true;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    // A logarithmic axis has no place for a model without mistakes.
    if (ms[i] <= 0.0 || !cases[i].accuracy || *cases[i].accuracy >= 1.0) continue;
    const std::string name = counted(cases[i].patches, "patch", "patches");
    auto curve = std::find_if(plot.curves.begin(), plot.curves.end(),
                              [&](const Curve& other) { return other.name == name; });
    if (curve == plot.curves.end()) curve = plot.curves.insert(curve, Curve{name, {}});
    curve->points.emplace_back(ms[i], 100.0 * (1.0 - *cases[i].accuracy));
  }
  for (Curve& curve : plot.curves) std::sort(curve.points.begin(), curve.points.end());
  write_curves_svg(path, plot);
}

void add_bench_digits_command(CLI::App& bench, int& exit_code) {
  CLI::App* const command =
      bench.add_subcommand("digits", "Measure the neocognitron: models and numbers of patches");
  command->footer(
      "A frame is a grid of digits drawn from strokes, one in each tile. On the CPU, frames lie "
      "in\n"
      "ordinary memory and are timed one at a time. On a device, frames and results lie in its\n"
      "memory.");
  const auto o = std::make_shared<DigitsBenchOptions>();
  command->add_option("--model", o->models, "Models of the library, or model files")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--patches", o->patches, "Numbers of patches of a frame")
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxFieldCharacters))
      ->capture_default_str();
  command
      ->add_option("--frames", o->frames,
                   fmt::format("Frames for each row: on the CPU (default {}), on a device the most "
                               "for each figure (default {}); characters of --schedule papers and "
                               "all (default {})",
                               o->host_frames(), o->device_frames(), o->layer_characters()))
      ->check(CLI::Range(1, 1000000));
  command
      ->add_option("--depth", o->depth,
                   fmt::format("Frames in flight on a device, 1 to {} (default {})", kMaxDepth,
                               o->in_flight()))
      ->check(CLI::Range(1, kMaxDepth));
  command
      ->add_option("--schedule", o->schedule,
                   "ours, papers (layers of one character: programs F, S and G on the CPU, T1 to "
                   "T5 and B on a device, of Ikeda, Miyamoto, Ino and Hagihara) or all")
      ->check(CLI::IsMember({"ours", "papers", "all"}))
      ->capture_default_str();
  command
      ->add_option("--planes", o->planes,
                   "Numbers of planes of US2, US3 and US4 for --schedule papers and all: planes of "
                   "the model are left out or repeated")
      ->delimiter(',')
      ->expected(3);
  command
      ->add_option("--windows", o->windows,
                   "Windows of --schedule papers and all: model, or paper (6x6 for US1 and 8x8 for "
                   "UC3 in place of 4x4 and 6x6)")
      ->check(CLI::IsMember({"model", "paper"}))
      ->capture_default_str();
  command->add_option("--images", o->images,
                      "IDX file with the digits of the frames (default: drawn from strokes)");
  command
      ->add_option("--labels", o->labels,
                   "IDX file with their labels: each row has the accuracy of its model")
      ->needs("--images");
  command->add_option(
      "--plot", o->plot,
      "Write a plot (.svg): wrong answers against time, a point for each model (with "
      "--labels); or times of T4 against the threads of a block (with --schedule "
      "papers and all)");
  add_common_options(*command, o->common);
  command->callback([command, o, &exit_code] {
    if (!o->plot.empty() && file_extension(o->plot) != ".svg")
      throw InputError(fmt::format("--plot is '{}'; it must end in .svg", o->plot));
    if (!o->plot.empty() && !o->papers() && o->labels.empty())
      throw InputError("--plot requires --labels, or --schedule papers or all");
    check_options(
        *command,
        {{o->papers(),
          {"--patches", "--depth", "--images", "--labels"},
          "--schedule papers and all recognize one character at a time"},
         {o->papers(), {"--threads"}, "--schedule papers and all use one thread"},
         {!o->papers(), {"--planes", "--windows"}, "it applies to --schedule papers and all"}});
    exit_code = run_bench_digits(*o);
  });
}

}  // namespace ocellus::app
