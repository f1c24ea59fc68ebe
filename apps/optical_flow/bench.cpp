// ocellus bench: how fast, against what this machine could do at best, and against others.
#include "apps/optical_flow/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

#include "apps/common/operator_options.h"
#include "apps/io/frames.h"
#include "apps/io/test_scene.h"

namespace ocellus::app {
namespace {

constexpr int kSceneFrames = 40;

bool is_scene(const std::string& input) {
  return input.rfind("test:", 0) == 0;
}

Clip read_clip(const BenchOptions& o, const std::string& input) {
  constexpr int kMost = 60;
  Clip clip;
  if (is_scene(input)) {
    const TestScene scene = TestScene::parse(input);
    clip.name = input;
    clip.frames = draw_scene(scene, 0, std::min(scene.frames(), kMost));
  } else {
    const auto source = open_frames({input}, o.source);
    clip.name = source->name();
    InputFrame frame;
    const long wanted = o.frame.value_or(0);
    source->start_at(wanted - kMaxKernelTaps);
    while (source->next(frame)) {
      if (frame.number < wanted - kMaxKernelTaps) continue;
      if (clip.frames.empty()) clip.first = frame.number;
      clip.frames.push_back(frame.image);
      if (clip.frames.size() >= kMost) break;
    }
  }
  if (clip.frames.size() < 2)
    throw InputError(
        fmt::format("{}: holds {} frame; flow needs two or more", clip.name, clip.frames.size()));
  return clip;
}

BenchInput read_input(const BenchOptions& o, const std::string& input) {
  BenchInput read;
  read.clip = read_clip(o, input);
  const ImageSize size = read.clip.size();
  if (!o.truth.empty()) {
    read.truth = read_flo(o.truth);
    check_same_size(o.truth, read.truth->size, read.clip.name, size);
    read.number = *o.frame;
    if (read.number < read.clip.first || read.number + 1 > read.clip.last()) {
      throw InputError(fmt::format("--frame {}: the frames read go from {} to {}", read.number,
                                   read.clip.first, read.clip.last()));
    }
  } else if (is_scene(input)) {
    read.truth = TestScene::parse(input).truth();
    read.number = std::max(0L, static_cast<long>(read.clip.frames.size()) / 2 - 1);
  }
  if (!o.mask.empty()) read.mask = read_mask(o.mask, read.clip.name, size);
  check_border(o.border, size);
  read.border = o.border;
  return read;
}

int run_bench_flow(const BenchOptions& o) {
  if (!o.truth.empty() && !o.frame)
    throw InputError("--truth needs --frame N: the flow from which frame to the next it is");
  const EngineConfig engine = engine_config(o.common);
  const EngineInfo info = take(Engine::probe(engine), "engine");
  const bool on_cpu = info.backend == BackendKind::kCpu;
  if (on_cpu && o.papers()) {
    throw InputError(fmt::format(
        "--schedule {}: the paper's schedules are kernels for a GPU, and the backend is cpu; use "
        "--schedule ours, or --backend cuda where there is a device",
        o.schedule));
  }
  if (on_cpu && o.depth)
    throw InputError(
        "--depth has no meaning here: the backend is cpu, where frames are timed one at a time");
  if (on_cpu && o.results)
    throw InputError(
        "--results has no meaning here: the backend is cpu, where results lie in ordinary memory");
  std::vector<std::string> names;
  if (!o.input.empty()) names.push_back(o.input);
  for (const std::string& text : o.sizes)
    names.push_back(
        fmt::format("test:{},frames={}", size_text(parse_size(text, "--size")), kSceneFrames));
  if (names.empty()) names.push_back(fmt::format("test:640x480,frames={}", kSceneFrames));
  std::vector<BenchInput> inputs;
  for (const std::string& name : names) inputs.push_back(read_input(o, name));
  return on_cpu ? bench_on_host(o, engine, info, inputs) : bench_on_device(o, engine, info, inputs);
}

}  // namespace

std::vector<GrayImage> draw_scene(const TestScene& scene, int first, int count) {
  std::vector<GrayImage> frames(static_cast<std::size_t>(count));
  const int threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, count);
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      for (int i = t; i < count; i += threads)
        frames[static_cast<std::size_t>(i)] = scene.frame(first + i);
    });
  }
  for (std::thread& thread : pool) thread.join();
  return frames;
}

const GrayImage& Clip::cyclic(std::size_t i) const {
  return frames[back_and_forth(i, frames.size())];
}

FlowErrors BenchInput::errors(const FlowField& field) const {
  ErrorSelection selection;
  selection.border = border;
  if (!mask.empty()) selection.mask = &mask;
  return flow_errors(field, *truth, selection);
}

std::vector<BenchMethod> bench_methods(const BenchOptions& o, const Clip& clip) {
  std::vector<BenchMethod> methods;
  const auto add = [&](std::string name, const OptionTexts& options) {
    const OperatorConfig config = operator_config("flow", options, clip.size(), clip.format());
    methods.push_back({std::move(name), *config.get_if<OpticalFlowConfig>()});
  };
  const auto add_kernels = [&](const char* kernels, const char* storage) {
    OptionTexts options = {{"method", "kernels"}, {"kernels", kernels}, {"taps", o.taps}};
    if (storage[0] != '\0') options.emplace_back("storage", storage);
    add(fmt::format("{} {}{}{}", kernels, o.taps, storage[0] != '\0' ? " " : "", storage), options);
  };
  const bool all = o.form == "all";
  if (all || o.form == "per-pixel") {
    add_kernels("per-pixel", "float");
    add_kernels("per-pixel", "half");
  }
  if (all || o.form == "uniform") add_kernels("uniform", "");
  if (all) {
    for (const char* preset : {"fast", "quality"})
      add(fmt::format("pyramid {}", preset), {{"preset", preset}});
    add("pyramid quality, 5 frames", {{"preset", "quality"}, {"window_frames", "5"}});
  }
  return methods;
}

std::string errors_heading() {
  return fmt::format("  {:>7} {:>7} {:>7}", "EPE px", "AAE deg", "density");
}

std::string errors_text(const FlowErrors& errors) {
  return fmt::format("  {:>7.4f} {:>7.3f} {:>5.1f} %", errors.mean, errors.angle_mean,
                     100.0 * errors.density());
}

nlohmann::ordered_json errors_json(const FlowErrors& errors) {
  return {{"epe", errors.mean}, {"aae", errors.angle_mean}, {"density", errors.density()}};
}

nlohmann::ordered_json bench_head(const char* bench, const EngineInfo& info) {
  nlohmann::ordered_json json;
  json["bench"] = bench;
  json["version"] = version();
  json["backend"] = backend_name(info.backend);
  return json;
}

nlohmann::ordered_json bench_json(const BenchOptions& o, const EngineInfo& info,
                                  const std::vector<BenchInput>& inputs) {
  nlohmann::ordered_json json = bench_head("flow", info);
  json["schedule"] = o.schedule;
  if (inputs.size() == 1) {  // else it stands in the rows only
    json["input"] = inputs.front().clip.name;
    json["size"] = {inputs.front().clip.size().width, inputs.front().clip.size().height};
  }
  return json;
}

void add_bench_command(CLI::App& program, int& exit_code) {
  CLI::App* const bench = program.add_subcommand(
      "bench", "Measure an operator against the machine's limits and against others");
  bench->require_subcommand(1);
  CLI::App* const flow = bench->add_subcommand(
      "flow", "Optical flow: every form, beside OpenCV's methods or the paper's schedules");
  flow->footer(
      "On the CPU frames and results lie in ordinary memory, and every row takes its turn. On a\n"
      "CUDA device they lie in its memory, but results as --results says; a row has its rate with\n"
      "--depth frames in flight and its time for one frame alone.");
  const auto o = std::make_shared<BenchOptions>();
  flow->add_option("--size", o->sizes,
                   "WIDTHxHEIGHT of the synthetic scene (default 640x480); several: a table each")
      ->delimiter(',');
  flow->add_option("--input", o->input, "FRAMES instead of the synthetic scene");
  add_source_options(*flow, o->source);
  flow->add_option("--frames", o->frames,
                   "Frames that each row is timed on: on the CPU in turns of 10 (default 100), on "
                   "a device at most so many for one figure (default 5000)")
      ->check(CLI::Range(1, 1000000));
  flow->add_option("--depth", o->depth, "Frames in flight on a device, 1 to 8 (default 3)")
      ->check(CLI::Range(1, 8));
  flow->add_option("--results", o->results,
                   "Where results lie on a device: device (default), or pinned: page-locked memory "
                   "of the host, to which they are copied")
      ->check(CLI::IsMember({"device", "pinned"}));
  flow->add_option("--form", o->form, "uniform, per-pixel or all (with the pyramid's presets)")
      ->check(CLI::IsMember({"uniform", "per-pixel", "all"}))
      ->capture_default_str();
  flow->add_option("--taps", o->taps, "Support of the kernels")->capture_default_str();
  flow->add_option("--schedule", o->schedule,
                   "ours, papers (the direct convolutions of Ohmura et al. 2011) or all")
      ->check(CLI::IsMember({"ours", "papers", "all"}))
      ->capture_default_str();
  flow->add_option("--truth", o->truth,
                   ".flo file: accuracy of each row (with --input and --frame)");
  flow->add_option("--frame", o->frame, "The frame that --truth describes")->check(frame_number());
  flow->add_option("--mask", o->mask, "Accuracy: image whose pixels of 128 and more count");
  flow->add_option("--border", o->border, "Accuracy: pixels left out on all sides")
      ->check(CLI::Range(0, kMaxImageSide))
      ->capture_default_str();
  flow->add_flag("--no-peers", o->no_peers, "Leave out other libraries' methods");
  add_common_options(*flow, o->common);
  flow->callback([flow, o, &exit_code] {
    const bool own_scene = o->input.empty() || is_scene(o->input);
    check_options(
        *flow,
        {{!o->input.empty(), {"--size"}, "it is for the synthetic scene; --input has its own size"},
         {o->input.empty(), {kSourceTimeout}, "it is for a video or a camera; see --input"},
         {o->input.empty(),
          {"--truth", "--frame"},
          "the synthetic scene's truth is known; they are for other frames, given by --input"},
         {o->truth.empty(), {"--frame"}, "it says what frame of --input a --truth describes"},
         {o->truth.empty() && !own_scene,
          {"--mask", "--border"},
          "they choose the pixels that are compared with the truth; see --truth"},
         {o->schedule == "papers", {"--form"}, "the paper's kernels are per-pixel"}});
    exit_code = run_bench_flow(*o);
  });
  add_bench_cells_command(*bench, exit_code);
}

}  // namespace ocellus::app
