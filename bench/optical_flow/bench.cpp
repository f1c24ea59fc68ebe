// ocellus bench flow: the command.
#include "bench/optical_flow/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "apps/common/operator_options.h"
#include "apps/io/test_scene.h"

namespace ocellus::app {
namespace {

BenchDefaults flow_defaults() {
  BenchDefaults defaults;
  defaults.sizes = {"640x480"};
  defaults.device_frames = 5000;
  defaults.papers = "the direct convolutions of Ohmura et al. 2011";
  return defaults;
}

/// A row, and the value of --form that selects it; "all" selects all but those of "full", whose
/// taps few machines can hold. "@" stands for --taps.
struct FlowForm {
  const char* form;
  BenchConfig config;
};
constexpr FlowForm kForms[] = {
    {"per-pixel", {"per-pixel @ float", "method=kernels kernels=per-pixel taps=@ storage=float"}},
    {"per-pixel", {"per-pixel @ half", "method=kernels kernels=per-pixel taps=@ storage=half"}},
    {"uniform", {"uniform @", "method=kernels kernels=uniform taps=@"}},
    {"full", {"full @ float", "method=kernels kernels=full taps=@ storage=float"}},
    {"full", {"full @ half", "method=kernels kernels=full taps=@ storage=half"}},
    {"all", {"pyramid fast", "preset=fast"}},
    {"all", {"pyramid quality", "preset=quality"}},
    {"all", {"pyramid best", "preset=best"}}};

BenchInput read_input(const FlowBenchOptions& o, const std::string& input) {
  BenchInput read;
  ClipLimits limits;
  limits.first = o.frame.value_or(0) - kMaxKernelTaps;
  read.clip = read_clip(input, o.source, limits);
  if (read.clip.frames.size() < 2)
    throw InputError(fmt::format("{}: contains {} frame; flow needs two or more", read.clip.name,
                                 read.clip.frames.size()));
  const ImageSize size = read.clip.size();
  if (!o.truth.empty()) {
    read.truth = read_flo(o.truth);
    check_same_size(o.truth, read.truth->size, read.clip.name, size);
    read.number = *o.frame;
    if (read.number < read.clip.first || read.number + 1 > read.clip.last()) {
      throw InputError(fmt::format("--frame {}: it is not among the frames read, {} to {}",
                                   read.number, read.clip.first, read.clip.last()));
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

int run_bench_flow(const FlowBenchOptions& o) {
  if (!o.truth.empty() && !o.frame)
    throw InputError("--truth needs --frame N: the truth is the flow from frame N to N+1");
  const BenchEngine engine(o);
  if (engine.on_cpu() && o.results)
    throw InputError(
        "--results has no meaning here: the backend is cpu, where results are in ordinary memory");
  std::vector<BenchInput> inputs;
  for (const std::string& name : bench_inputs(o)) inputs.push_back(read_input(o, name));
  return engine.on_cpu() ? bench_on_host(o, engine.config, engine.info, inputs)
                         : bench_on_device(o, engine.config, engine.info, inputs);
}

}  // namespace

FlowBenchOptions::FlowBenchOptions() : BenchOptions(flow_defaults()) {}

FlowErrors BenchInput::errors(const FlowField& field) const {
  ErrorSelection selection;
  selection.border = border;
  if (!mask.empty()) selection.mask = &mask;
  return flow_errors(field, *truth, selection);
}

std::vector<BenchMethod> bench_methods(const FlowBenchOptions& o, const Clip& clip) {
  std::vector<BenchMethod> methods;
  for (const FlowForm& row : kForms) {
    const bool in_all = row.form != std::string_view("full");
    if (o.form == "all" ? !in_all : o.form != row.form) continue;
    const OperatorConfig config =
        operator_config("flow", options_of(row.config, o.taps), clip.size(), clip.format());
    methods.push_back({with_value(row.config.name, o.taps), *config.get_if<OpticalFlowConfig>()});
  }
  return methods;
}

std::string errors_heading() {
  return fmt::format("  {:>7} {:>7} {:>7}", "EPE px", "AAE deg", "density");
}

std::string errors_text(const Json& row) {
  if (!row.contains("accuracy")) return "";
  const Json& errors = row["accuracy"];
  return fmt::format("  {:>7.4f} {:>7.3f} {:>5.1f} %", errors["epe"].get<double>(),
                     errors["aae"].get<double>(), 100.0 * errors["density"].get<double>());
}

Json errors_json(const FlowErrors& errors) {
  return {{"epe", errors.mean}, {"aae", errors.angle_mean}, {"density", errors.density()}};
}

Json bench_json(const FlowBenchOptions& o, const EngineInfo& info,
                const std::vector<BenchInput>& inputs) {
  Json json = bench_head("flow", info);
  json["schedule"] = o.schedule;
  if (inputs.size() == 1) {  // otherwise only the rows have it
    json["input"] = inputs.front().clip.name;
    json["size"] = {inputs.front().clip.size().width, inputs.front().clip.size().height};
  }
  return json;
}

void add_bench_flow_command(CLI::App& bench, int& exit_code) {
  CLI::App* const flow = bench.add_subcommand(
      "flow", "Measure optical flow in all forms, with OpenCV's methods or the paper's schedules");
  flow->footer(
      "On the CPU, frames and results lie in ordinary memory, and the rows take turns. On a CUDA\n"
      "device, frames lie in device memory, and so do results unless --results is given. There,\n"
      "each row shows the frame rate with --depth frames in flight and the latency of one frame\n"
      "alone.");
  const auto o = std::make_shared<FlowBenchOptions>();
  add_bench_options(*flow, *o);
  flow->add_option("--results", o->results,
                   "Memory of the results on a device: device (default), or pinned, which is "
                   "page-locked host memory to which they are copied")
      ->check(CLI::IsMember({"device", "pinned"}));
  flow->add_option(
          "--form", o->form,
          "uniform, per-pixel, full or all (uniform, per-pixel and the presets of the pyramid)")
      ->check(CLI::IsMember({"uniform", "per-pixel", "full", "all"}))
      ->capture_default_str();
  flow->add_option("--taps", o->taps, "Taps of the kernels in x, y and time")
      ->capture_default_str();
  flow->add_option("--truth", o->truth,
                   ".flo file to compare each row with (needs --input and --frame)");
  flow->add_option("--frame", o->frame, "The frame N for which --truth has the flow to N+1")
      ->check(frame_number());
  flow->add_option("--mask", o->mask,
                   "Image that selects the pixels compared with the truth: those of 128 and more");
  flow->add_option("--border", o->border,
                   "Pixels to leave out of the comparison with the truth on all sides")
      ->check(CLI::Range(0, kMaxImageSide))
      ->capture_default_str();
  flow->add_flag("--no-peers", o->no_peers, "Leave out the methods of other libraries");
  flow->callback([flow, o, &exit_code] {
    check_bench_options(*flow, *o);
    const bool own_scene = o->input.empty() || is_scene(o->input);
    check_options(
        *flow,
        {{o->input.empty(),
          {"--truth", "--frame"},
          "they apply to frames given by --input; the truth of the synthetic scene is known"},
         {o->truth.empty(), {"--frame"}, "it gives the frame that --truth describes"},
         {o->truth.empty() && !own_scene,
          {"--mask", "--border"},
          "they select the pixels to compare with --truth"},
         {o->schedule == "papers", {"--form"}, "the paper's kernels are per-pixel"}});
    exit_code = run_bench_flow(*o);
  });
}

}  // namespace ocellus::app
