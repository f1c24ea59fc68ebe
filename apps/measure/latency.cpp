// ocellus latency: runs operators at a camera's frame rate or back to back, and checks a latency
// budget.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/common/operator_options.h"
#include "apps/common/printable.h"
#include "apps/io/frames.h"
#include "apps/measure/clip.h"
#include "apps/measure/latency_report.h"
#include "apps/neocognitron/reading.h"

namespace ocellus::app {
namespace {

// ---- arguments

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The kinds of memory to measure, each once, in the order host, pinned, device.
std::vector<MemorySpace> parse_memory(const std::string& text, bool on_cpu) {
  constexpr MemorySpace kAll[] = {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda};
  std::vector<std::string> names = split(text, ',');
  if (text == "auto") {
    names = {"host"};
    if (!on_cpu) names.emplace_back("device");
  } else if (text == "all") {
    names = {"host"};
    if (!on_cpu) names.insert(names.end(), {"pinned", "device"});
  }
  for (const std::string& name : names) {
    if (name != "host" && name != "pinned" && name != "device") {
      throw InputError(fmt::format(
          "--memory is '{}'; it must be auto, all, or a list of host, pinned and device, separated "
          "by commas",
          text));
    }
    if (on_cpu && name != "host") {
      throw InputError(fmt::format(
          "--memory {}: the backend is cpu, which has host memory only; use --memory host, or "
          "--backend cuda where a device is available",
          text));
    }
  }
  std::vector<MemorySpace> spaces;
  for (const MemorySpace space : kAll) {
    if (std::find(names.begin(), names.end(), memory_name(space)) != names.end())
      spaces.push_back(space);
  }
  return spaces;
}

/// One operator of the pipeline with its own options.
struct Link {
  std::string text;  ///< as given, without surrounding blanks
  std::string name;
  OperatorConfig config;

  /// An error text. The operator's text precedes it if it contains options.
  std::string in_context(const std::string& error) const {
    return text == name ? error : fmt::format("--pipeline: '{}': {}", text, error);
  }
};

/// The operator whose options are also options of the command line.
constexpr const char* kCommandLineOperator = "flow";

/// Parses one word of an operator's text: option=value.
std::pair<std::string, std::string> parse_word(const std::string& word, const std::string& link,
                                               OptionTable table) {
  if (word.front() == '|' || word.back() == '|') {
    throw InputError(
        fmt::format("--pipeline: '{}': blanks are not allowed around a bar here; write "
                    "template=erosion|edge",
                    link));
  }
  const std::size_t equals = word.find('=');
  if (const Option* const option = find_option(table, word);
      option != nullptr && option->type == OptionType::kBool) {
    throw InputError(fmt::format(
        "--pipeline: '{0}' in '{1}' is not of the form option=value; write {0}=true", word, link));
  }
  if (equals == std::string::npos || equals == 0) {
    throw InputError(
        fmt::format("--pipeline: '{}' in '{}' is not of the form option=value, such as preset=fast",
                    word, link));
  }
  return {word.substr(0, equals), word.substr(equals + 1)};
}

/// Parses the text of one operator: its name, then option=value with the names of its options. If
/// the command line has options of this operator, it provides the values that the text does not
/// set.
Link parse_link(const std::string& text, const OperatorOptions& of_command_line) {
  std::vector<std::string> words;
  for (const std::string& word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  const std::string whole = fmt::format("{}", fmt::join(words, " "));
  const std::string name = words.empty() ? "" : words.front();
  try {
    const OperatorDescription& description = operator_description(name);
    Link link{whole, name, OperatorConfig(description)};
    OptionTexts options;
    if (name == kCommandLineOperator) options = of_command_line.given();
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto [option, value] = parse_word(words[i], whole, description.options);
      if (option == "config") {
        const OptionTexts file = read_config_file(value, description);
        options.insert(options.end(), file.begin(), file.end());
        continue;
      }
      const Option* const row = find_option(description.options, option);
      std::erase_if(options, [&](const auto& given) {
        return row != nullptr && find_option(description.options, given.first) == row;
      });
      options.emplace_back(option, value);
    }
    if (const Expected<void> set = set_options(link.config, options); !set) {
      // Without options in the text, all options are from the command line.
      const std::string reason = set.error().text;
      throw InputError(
          link.in_context(words.size() == 1 ? with_flag(link.config, reason) : reason));
    }
    return link;
  } catch (const InputError& error) {
    const std::string reason = error.what();
    throw InputError(reason.rfind("--", 0) == 0 ? reason : "--pipeline: " + reason);
  }
}

std::string operator_names() {
  std::vector<const char*> names;
  for (const OperatorDescription& description : operators()) names.push_back(description.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Link> parse_chain(const std::string& text, const OperatorOptions& of_command_line) {
  std::string blank = text;
  std::replace(blank.begin(), blank.end(), '\t', ' ');
  std::vector<Link> links;
  for (const std::string& part : split(blank, '!'))
    links.push_back(parse_link(part, of_command_line));
  const bool taken = std::any_of(links.begin(), links.end(), [](const Link& link) {
    return link.name == kCommandLineOperator;
  });
  if (const OptionTexts given = of_command_line.given(); !taken && !given.empty()) {
    const Option& option = *find_option(of_command_line.description().options, given.front().first);
    throw InputError(fmt::format(
        "{} has no meaning here: it applies to the operator {}, which --pipeline does not contain; "
        "give options of other operators in --pipeline, as in \"halftone preset=fast\"",
        flag_of(option), kCommandLineOperator));
  }
  return links;
}

/// What the first operator that reads characters must read. Nothing if no operator does, or if the
/// characters of the frames are not known.
std::optional<ExpectedReading> expected_reading(const std::vector<OperatorConfig>& operators,
                                                const Clip& clip) {
  if (clip.texts.empty()) return std::nullopt;
  for (std::size_t op = 0; op < operators.size(); ++op) {
    const auto* const config = operators[op].get_if<NeocognitronConfig>();
    if (config == nullptr) continue;
    const CharacterNames names(config->model.c_str());
    ExpectedReading expected;
    expected.op = op;
    for (const std::string& text : clip.texts) {
      std::vector<std::int32_t>& labels = expected.labels.emplace_back();
      for (const char character : text) labels.push_back(names.find(std::string(1, character)));
    }
    return expected;
  }
  return std::nullopt;
}

int run_latency(const LatencyCommand& o) {
  const std::vector<Link> links = parse_chain(o.pipeline, o.flow);
  if (!o.plot.empty() && file_extension(o.plot) != ".svg")
    throw InputError(fmt::format("--plot is '{}'; it must end in .svg", o.plot));
  std::string input = o.input;
  if (input.empty()) {
    const ImageSize size = parse_size(o.size.empty() ? "640x480" : o.size, "--size");
    input = fmt::format("test:{}x{},frames=60", size.width, size.height);
  }

  LatencyPlan plan;
  plan.engine = engine_config(o.common);
  plan.engine.realtime_priority = o.realtime_priority;
  plan.engine.lock_memory = o.lock_memory;
  plan.engine.workers_only = o.workers_only;
  const EngineInfo info = take(Engine::probe(plan.engine), "engine");
  const bool on_cpu = info.backend == BackendKind::kCpu;
  const std::vector<MemorySpace> spaces = parse_memory(o.memory, on_cpu);
  if (!o.wait.empty()) {
    if (on_cpu)
      throw InputError(
          "--wait has no meaning here: it sets how to wait for a CUDA device, and the backend is "
          "cpu");
    plan.engine.device_wait = o.wait == "spin"    ? DeviceWait::kSpin
                              : o.wait == "yield" ? DeviceWait::kYield
                                                  : DeviceWait::kBlock;
  }
  if (o.copy_threads > 0 && on_cpu)
    throw InputError(
        "--copy-threads has no meaning here: the backend is cpu, which copies nothing");
  if (o.copy_threads > 0 && spaces.front() != MemorySpace::kHost) {
    throw InputError(fmt::format(
        "--copy-threads has no meaning with --memory {}: these threads copy from and to ordinary "
        "memory (--memory host)",
        o.memory));
  }
  plan.engine.device_copy_threads = o.copy_threads;
  const Clip clip =
      read_clip(input, o.source, {{}, static_cast<std::size_t>(o.frames), std::size_t{256} << 20});
  const GrayImage& first = clip.frames.front();
  std::vector<OperatorInfo> infos;
  for (const Link& link : links) {
    OperatorConfig& config = plan.operators.emplace_back(link.config);
    config.set_input(first.size, first.format);
    try {
      infos.push_back(info_of(config));
    } catch (const InputError& error) {
      throw InputError(link.in_context(error.what()));
    }
  }
  plan.frames = &clip.frames;
  plan.reading = expected_reading(plan.operators, clip);
  plan.fps = o.back_to_back ? 0.0 : o.fps;
  plan.count = o.frames;
  plan.warm_up = o.warm_up;
  plan.sample_ms = o.sample_ms;
  if (o.budget_ms > 0.0)
    plan.budget_ns = std::llround(o.budget_ms * 1e6);
  else if (!o.back_to_back)
    plan.budget_ns = std::llround(1e9 / o.fps);

  const GpuMeter meter(info.device_bus);
  std::vector<std::string> names;
  for (const Link& link : links) names.push_back(link.name);
  LatencyReport report{o, std::move(names), plan, clip, meter, std::move(infos), {}};
  {
    const StopsEarly stops_early;
    for (const MemorySpace space : spaces) {
      plan.title = fmt::format("{} {}, {} memory", o.pipeline, report.pace(), memory_name(space));
      auto run = measure_latency(plan, space, meter);
      const std::int64_t measured = run->measured;
      if (measured > 0) report.runs.push_back(std::move(run));
      if (measured == o.frames) continue;
      tell(fmt::format("ocellus: interrupted after {} of {} frames{}{}\n", measured, o.frames,
                       spaces.size() > 1 ? fmt::format(" in {} memory", memory_name(space)) : "",
                       !report.runs.empty() ? "; the report covers these frames"
                                            : "; there is nothing to report"));
      break;
    }
  }
  if (report.runs.empty()) return kAnswerIsNo;
  const bool good = report.good(spaces.size());
  if (!o.plot.empty()) plot_report(report);
  if (o.common.json)
    print_json(report_json(report, good));
  else
    print_report(report);
  return good ? kDone : kAnswerIsNo;
}

}  // namespace

void add_latency_command(CLI::App& program, int& exit_code) {
  CLI::App* const command =
      program.add_subcommand("latency",
                             "Run operators at a camera's frame rate or back to back, and check a "
                             "latency budget (exit code 1 if missed)");
  command->footer(
      "The latency of a frame is the time from the moment when it is due to its result. It\n"
      "includes any wait for the frame before. Its parts are the delay of the start, the queue,\n"
      "the copies and the computation. Back to back, a frame is due when the one before is done.\n"
      "Jitter is the standard deviation of the interval between results; the difference between\n"
      "the longest and the shortest interval is printed, too. Power and clocks are read from NVML\n"
      "by a separate thread every --sample-ms. docs/latency.md describes how to verify a budget.\n"
      "\n"
      "Ctrl-C (or SIGTERM) ends the run early. The table, --json and --plot then show the frames\n"
      "measured so far, and the exit code is 130 (143). A second Ctrl-C ends the program\n"
      "immediately.");
  const auto o = std::make_shared<LatencyCommand>();
  command
      ->add_option(
          "--pipeline", o->pipeline,
          fmt::format("Operators separated by !, each followed by its options as option=value "
                      "(\"halftone preset=fast ! flow\"). Each reads the camera's frame, one after "
                      "the other. The operators are: {}. The options of optical flow below apply "
                      "to every flow in the pipeline",
                      operator_names()))
      ->capture_default_str();
  command->add_option("--input", o->input, "FRAMES to replay (default: a synthetic scene)");
  add_source_options(*command, o->source);
  command->add_option("--size", o->size, "WIDTHxHEIGHT of the synthetic scene (default 640x480)");
  command->add_option("--fps", o->fps, "Frame rate of the camera")
      ->check(finite_range(0.1, 10000.0))
      ->capture_default_str();
  command->add_flag(
      "--back-to-back", o->back_to_back,
      "Submit each frame as soon as the one before is done, not at a camera's frame rate");
  command
      ->add_option("--budget-ms", o->budget_ms,
                   "Most time from the moment when a frame is due to its result; 0: the time "
                   "between two frames (with --back-to-back: no budget)")
      ->check(finite_range(0.0, 10000.0))
      ->capture_default_str();
  command
      ->add_option("--budget-percentile", o->budget_percentile,
                   "Percentage of the frames that must keep the budget")
      ->check(finite_range(1.0, 100.0))
      ->capture_default_str();
  command->add_option("--frames", o->frames, "Number of frames to measure")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}))
      ->capture_default_str();
  command
      ->add_option("--warm-up", o->warm_up,
                   "Number of frames to run back to back before the measurement")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}))
      ->capture_default_str();
  command->add_option(
      "--plot", o->plot,
      "Write a plot of the latency's distribution and of the latency over time (.svg)");
  command
      ->add_option(
          "--memory", o->memory,
          "Memory of frames and results: host, pinned, device (the last two need CUDA), several of "
          "them separated by commas, or all. Each is a separate run of --frames. auto: host, and "
          "on CUDA also device")
      ->capture_default_str();
  command
      ->add_option(
          "--wait", o->wait,
          "How to wait for a CUDA device: spin (default; keeps one CPU busy), yield or block")
      ->check(CLI::IsMember({"spin", "yield", "block"}));
  command
      ->add_option(
          "--copy-threads", o->copy_threads,
          "Threads that help to copy between host memory and a CUDA device; each keeps a CPU busy")
      ->check(CLI::Range(0, 16))
      ->capture_default_str();
  command
      ->add_option("--sample-ms", o->sample_ms,
                   "Interval between samples of the GPU's power and clocks; 0: only before and "
                   "after the run")
      ->check(CLI::Range(0, 60000))
      ->capture_default_str();
  command
      ->add_option("--realtime-priority", o->realtime_priority,
                   "SCHED_FIFO priority (1 to 99) of the workers, the copy threads and the thread "
                   "that waits; 0: the default scheduler")
      ->check(CLI::Range(0, 99))
      ->capture_default_str();
  command->add_flag("--workers-only", o->workers_only,
                    "Only the workers compute. By default, the thread that waits takes part");
  command->add_flag("--lock-memory", o->lock_memory, "Lock the engine's memory with mlock");
  o->flow.add_to(*command);
  add_common_options(*command, o->common);
  command->callback([command, o, &exit_code] {
    check_options(
        *command,
        {{!o->input.empty(),
          {"--size"},
          "it sets the size of the synthetic scene, and --input has its own size"},
         {o->input.empty(), {kSourceTimeout}, "it applies to a video or a camera given by --input"},
         {o->back_to_back, {"--fps"}, "--back-to-back has no frame rate"}});
    exit_code = run_latency(*o);
  });
}

}  // namespace ocellus::app
