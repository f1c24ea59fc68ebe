// The columns of `ocellus bench digits --schedule papers` and `all` on a CUDA device.
#include <array>
#include <chrono>
#include <vector>

#include "bench/device_machine.h"
#include "bench/device_run.h"
#include "bench/neocognitron/bench_layers.h"
#include "bench/papers/neocognitron/paper_character.h"
#include "bench/papers/neocognitron/paper_neocognitron.h"
#include "bench/papers/neocognitron/paper_operator_layers.h"

namespace ocellus::app {
namespace {

using paper::DeviceOperatorLayers;
using paper::OperatorLayers;
using paper::PaperNeocognitron;
using paper::SimpleSchedule;

/// Computations of a layer, one after another, for each figure.
constexpr int kRepeats = 20;

struct Schedule {
  const char* name;
  SimpleSchedule schedule;
};
constexpr std::array kSchedules = {
    Schedule{"T1", SimpleSchedule::kGather},    Schedule{"T2", SimpleSchedule::kColumn},
    Schedule{"T3", SimpleSchedule::kOneGrid},   Schedule{"T4", SimpleSchedule::kShared},
    Schedule{"T5", SimpleSchedule::kTabulated}, Schedule{"B", SimpleSchedule::kWarps}};

/// Computes an S-layer from the inputs that `layers` has computed, and compares it.
template <typename Device>
void compare_layer(Device& device, int stage, const OperatorLayers& layers, LayerColumn& column) {
  const std::vector<float> expected = by_position(layers.simple(stage));
  std::vector<float> actual(expected.size());
  take(device.simple_layer(stage, by_position(layers.inputs(stage)), actual), column.name);
  note_difference(column, "an S-cell", expected, actual);
}

template <typename Device>
void time_layer(Device& device, int stage, LayerColumn& column) {
  column.simple_ms[static_cast<std::size_t>(stage)].push_back(
      take(device.layer_ms(stage, kRepeats), column.name));
}

/// Milliseconds of `run`, after one more run.
template <typename Run>
std::vector<double> times_of(const Run& run) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = -1; i < kRepeats; ++i) {
    const auto begun = Clock::now();
    run();
    if (i >= 0)
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
  }
  return times;
}

/// Several characters, one after another and in kStreams streams.
void time_several(const Schedule& schedule, const EngineConfig& config, const LayerBenchCase& made,
                  LayerColumn& column) {
  EngineConfig settings = config;
  settings.device_stream_sets = kStreams;
  const Footprint one = take(PaperNeocognitron::footprint(made.network), column.name);
  for (int i = 0; i < kStreams; ++i) settings.memory += one;
  Engine engine = take(Engine::create(settings), "engine");
  std::vector<std::unique_ptr<PaperNeocognitron>> ops;
  for (int i = 0; i < kStreams; ++i) {
    ops.push_back(
        take(PaperNeocognitron::create(engine, made.network, schedule.schedule), column.name));
  }
  std::vector<float> scores(made.network.names.size());
  const auto run = [&](std::size_t streams) {
    for (std::size_t c = 0; c < kSeveral + streams; ++c) {
      PaperNeocognitron& op = *ops[c % streams];
      if (c >= streams) {
        const std::size_t ended = (c - streams) % made.characters.size();
        take(op.end(scores), column.name);
        note_difference(column, "a score", made.largest[ended], scores);
      }
      if (c < kSeveral) take(op.begin(made.characters[c % made.characters.size()]), column.name);
    }
  };
  column.in_turn_ms = times_of([&] { run(1); });
  column.overlapped_ms = times_of([&] { run(kStreams); });
}

LayerColumn of_paper(const Schedule& schedule, const EngineConfig& config,
                     const LayerBenchCase& made, const cuda::DeviceLimits& limits) {
  LayerColumn column;
  column.name = schedule.name;
  column.group = "paper";
  column.processor = "cuda";
  EngineConfig settings = config;
  settings.memory = take(PaperNeocognitron::footprint(made.network), column.name);
  Engine engine = take(Engine::create(settings), "engine");
  const auto op =
      take(PaperNeocognitron::create(engine, made.network, schedule.schedule), column.name);
  OperatorLayers layers(made.network);
  for (std::size_t c = 0; c < std::min(kComparedCharacters, made.characters.size()); ++c) {
    layers.recognize(made.characters[c].data());
    for (int stage = 0; stage < kNeocognitronStages; ++stage)
      compare_layer(*op, stage, layers, column);
  }
  std::vector<float> scores(made.network.names.size());
  for (std::size_t c = 0; c < made.characters.size(); ++c) {
    const auto times = take(op->recognize(made.characters[c], scores), column.name);
    note_difference(column, "a score", made.largest[c], scores);
    column.character_ms.push_back(times.compute_ms);
    column.transfer_ms.push_back(times.upload_ms + times.download_ms);
    for (int stage = 0; stage < kNeocognitronStages; ++stage) time_layer(*op, stage, column);
  }
  for (std::size_t stage = 0; stage < kNeocognitronStages; ++stage) {
    column.threads[stage] = op->threads(stage);
    const paper::LayerCounts counts = op->counts(stage);
    for (std::size_t c = 0; c < made.characters.size(); ++c) column.counts[stage] += counts;
    // The limit counts an addition with a multiplication as two operations.
    column.instruction_share.push_back(static_cast<double>(counts.instructions) /
                                       (1e-3 * percentile(column.simple_ms[stage], 50.0)) /
                                       (0.5 * limits.flops));
    for (const double ms : op->trials(stage)) {
      auto& trials = column.trials[stage];
      trials.emplace_back((trials.size() + 1) * static_cast<std::size_t>(op->trial_threads(stage)),
                          ms);
    }
  }
  time_several(schedule, config, made, column);
  return column;
}

/// The S-layers of the operator. Their times depend on the inputs.
void add_operator_layers(const EngineConfig& config, const LayerBenchCase& made,
                         LayerColumn& column) {
  EngineConfig settings = config;
  settings.memory = take(DeviceOperatorLayers::footprint(made.network), column.name);
  Engine engine = take(Engine::create(settings), "engine");
  const auto device = take(DeviceOperatorLayers::create(engine, made.network), column.name);
  OperatorLayers layers(made.network);
  for (const std::vector<float>& u0 : made.characters) {
    layers.recognize(u0.data());
    for (int stage = 0; stage < kNeocognitronStages; ++stage) {
      compare_layer(*device, stage, layers, column);
      time_layer(*device, stage, column);
    }
  }
}

/// Milliseconds of the operator with several tiles in a frame of ordinary memory.
std::vector<double> time_frame_of_several(const EngineConfig& engine, const std::string& model) {
  DigitsBenchOptions options;
  options.models = {model};
  options.patches = {kSeveral};
  const DigitsBenchCase made = digits_bench_cases(options, engine, 1).front();
  std::vector<const GrayImage*> frames;
  for (const GrayImage& frame : made.frames) frames.push_back(&frame);
  DeviceRun run(engine, maker_of<Neocognitron>(made.config), MemorySpace::kHost, frames);
  return run.measure(kRepeats).alone_ms;
}

/// The operator with one tile in a frame.
LayerColumn of_operator(const EngineConfig& engine, const LayerBenchCase& made) {
  LayerColumn column;
  column.name = "ours";
  column.group = "ours";
  column.processor = "cuda";
  add_operator_layers(engine, made, column);
  NeocognitronConfig config;
  config.size = {made.digits.width, made.digits.height};
  if (!config.model.assign(made.model.c_str())) throw InputError("--model is too long");
  config.layout = CharacterLayout::kTiles;
  config.tile_width = made.digits.width;
  config.tile_height = made.digits.height;
  config.ink = CharacterInk::kLight;
  config.max_active = 1.0f;
  std::vector<GrayImage> images;
  const std::size_t pixels =
      static_cast<std::size_t>(config.size.width) * static_cast<std::size_t>(config.size.height);
  for (std::size_t i = 0; i < made.digits.count(); ++i) {
    GrayImage& image = images.emplace_back(config.size, PixelFormat::kGray8);
    std::copy_n(made.digits.ink.begin() + static_cast<std::ptrdiff_t>(i * pixels), pixels,
                image.pixels.begin());
  }
  std::vector<const GrayImage*> frames;
  for (const GrayImage& image : images) frames.push_back(&image);
  try {
    DeviceRun run(engine, maker_of<Neocognitron>(config), MemorySpace::kCuda, frames);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      // The operator has no score of the last class, which is other ink.
      std::vector<float> expected = made.scores[i];
      expected.resize(made.network.characters());
      std::vector<float> scores = run.planes_after({frames[i]}, 1).front();
      scores.resize(expected.size());
      note_difference(column, "a score", expected, scores);
    }
    column.character_ms = run.measure(static_cast<int>(frames.size()) * kRepeats).device_ms;
    column.overlapped_ms = time_frame_of_several(engine, made.model);
  } catch (const RowRefused& refused) {
    throw InputError(refused.what());
  }
  return column;
}

}  // namespace

std::vector<LayerColumn> device_layer_columns(const DigitsBenchOptions& options,
                                              const EngineConfig& engine,
                                              const LayerBenchCase& made,
                                              const std::function<void()>& done) {
  std::vector<LayerColumn> columns;
  const cuda::DeviceLimits limits = device_limits(engine);
  for (const Schedule& schedule : kSchedules) {
    columns.push_back(of_paper(schedule, engine, made, limits));
    done();
  }
  if (options.schedule == "all") columns.push_back(of_operator(engine, made));
  done();
  return columns;
}

}  // namespace ocellus::app
