// ocellus bench: how fast, against what this machine could do at best, and against others.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>

#include "common.h"
#include "errors.h"
#include "flow_run.h"
#include "frames.h"
#include "machine.h"
#include "peers.h"
#include "test_scene.h"

namespace ocellus::app {
namespace {

struct BenchCommand {
  CommonOptions common;
  std::string size;
  std::string input;
  std::string truth;
  std::string mask;
  std::string form = "all";
  std::string schedule = "ours";
  std::string taps = "15x15x20";
  std::optional<long> frame;
  int border = 0;
  int frames = 100;
  bool no_peers = false;
};

/// Frames that a row is timed on before the next one's turn.
constexpr int kTurn = 10;

/// One line of the table.
struct Row {
  std::string name;
  std::string group;  ///< ours or peer
  std::optional<OpticalFlowConfig> config;
  std::unique_ptr<FlowRun> run;
  FlowPeer* peer = nullptr;
  std::vector<double> ms;
  std::string refusal;  ///< why a peer could not take these frames; it has no figures then
  std::optional<FlowErrors> errors;

  double percentile(double percent) const {
    std::vector<double> sorted = ms;
    std::sort(sorted.begin(), sorted.end());
    const double rank = std::ceil(percent / 100.0 * static_cast<double>(sorted.size()));
    return sorted[static_cast<std::size_t>(
                      std::clamp(rank, 1.0, static_cast<double>(sorted.size()))) -
                  1];
  }
};

/// Frames in memory with their numbers.
struct Clip {
  std::string name;
  long first = 0;
  std::vector<GrayImage> frames;
  const GrayImage& cyclic(std::size_t i) const {
    // Back and forth, so that the motion does not jump.
    const std::size_t period = 2 * (frames.size() - 1);
    const std::size_t phase = i % period;
    return frames[phase < frames.size() ? phase : period - phase];
  }
};

Clip read_clip(const BenchCommand& o) {
  std::string input = o.input;
  if (input.empty()) {
    const ImageSize size = parse_size(o.size.empty() ? "640x480" : o.size, "--size");
    input = fmt::format("test:{}x{},frames=40", size.width, size.height);
  }
  const auto source = open_frames({input});
  Clip clip;
  clip.name = source->name();
  InputFrame frame;
  constexpr std::size_t kMost = 60;
  const long wanted = o.frame.value_or(0);
  source->start_at(wanted - kMaxKernelTaps);
  while (source->next(frame)) {
    if (frame.number < wanted - kMaxKernelTaps) continue;
    if (clip.frames.empty()) clip.first = frame.number;
    clip.frames.push_back(frame.image);
    if (clip.frames.size() >= kMost) break;
  }
  if (clip.frames.size() < 2)
    throw InputError(
        fmt::format("{}: holds {} frame; flow needs two or more", clip.name, clip.frames.size()));
  return clip;
}

/// Flow of the clip's frame `number` by a row's method, with the temporal support that fits.
FlowField field_of(const Row& row, const EngineConfig& engine, const Clip& clip, long number) {
  const long last = clip.first + static_cast<long>(clip.frames.size()) - 1;
  const auto image = [&](long n) -> const GrayImage& {
    return clip.frames[static_cast<std::size_t>(n - clip.first)];
  };
  if (row.peer != nullptr) {
    row.peer->compute(image(number), image(number + 1));
    return row.peer->result();
  }
  OpticalFlowConfig config = *row.config;
  const auto support = choose_support(temporal_support(config), number, clip.first, last);
  set_temporal_support(config, support->frames);
  FlowRun run(engine, config);
  for (long n = number - support->before(); n <= number + support->after(); ++n)
    run.step(image(n).view(static_cast<std::uint64_t>(n), 0));
  return run.field();
}

int run_bench_flow(const BenchCommand& o) {
  if (o.schedule != "ours") {
    throw InputError(
        fmt::format("--schedule {}: the paper's schedules of optical flow are those of its GPUs; "
                    "this build has "
                    "none for the CPU, only ours",
                    o.schedule));
  }
  if (!o.truth.empty() && !o.frame)
    throw InputError("--truth needs --frame N: the flow from which frame to the next it is");
  const Clip clip = read_clip(o);
  const ImageSize size = clip.frames.front().size;
  const PixelFormat format = clip.frames.front().format;

  std::optional<FlowField> truth;
  long number = 0;
  if (!o.truth.empty()) {
    truth = read_flo(o.truth);
    check_same_size(o.truth, truth->size, clip.name, size);
    number = *o.frame;
    if (number < clip.first || number + 1 >= clip.first + static_cast<long>(clip.frames.size())) {
      throw InputError(fmt::format("--frame {}: the frames read go from {} to {}", number,
                                   clip.first,
                                   clip.first + static_cast<long>(clip.frames.size()) - 1));
    }
  } else if (o.input.empty() || o.input.rfind("test:", 0) == 0) {
    truth = TestScene::parse(clip.name).truth();
    number = static_cast<long>(clip.frames.size()) / 2 - 1;
    if (number < 0) number = 0;
  }
  std::vector<std::uint8_t> mask;
  ErrorSelection selection;
  selection.border = o.border;
  if (!o.mask.empty()) {
    mask = read_mask(o.mask, clip.name, size);
    selection.mask = &mask;
  }
  check_border(o.border, size);

  const EngineConfig engine = engine_config(o.common);
  const EngineInfo info = take(Engine::probe(engine), "engine");

  std::vector<Row> rows;
  const auto ours = [&](std::string name, const FlowOptions& options) {
    Row row;
    row.name = std::move(name);
    row.group = "ours";
    row.config = flow_config(options, size, format);
    row.run = std::make_unique<FlowRun>(engine, *row.config);
    rows.push_back(std::move(row));
  };
  const bool all = o.form == "all";
  if (all || o.form == "per-pixel") {
    FlowOptions options;
    options.form = "per-pixel";
    options.taps = o.taps;
    options.storage = "float";
    ours("per-pixel " + o.taps + " float", options);
    options.storage = "half";
    ours("per-pixel " + o.taps + " half", options);
  }
  if (all || o.form == "uniform") {
    FlowOptions options;
    options.taps = o.taps;
    ours("uniform " + o.taps, options);
  }
  if (all) {
    for (const char* preset : {"fast", "quality"}) {
      FlowOptions options;
      options.preset = preset;
      ours(std::string("pyramid ") + preset, options);
    }
    FlowOptions options;
    options.preset = "quality";
    options.window_frames = 5;
    ours("pyramid quality, 5 frames", options);
  }
  std::vector<std::unique_ptr<FlowPeer>> peers;
  // The peers take 8 bits only.
  if (!o.no_peers && format == PixelFormat::kGray8) peers = make_flow_peers(info.workers);
  for (const auto& peer : peers) {
    Row row;
    row.name = peer->name();
    row.group = "peer";
    row.peer = peer.get();
    rows.push_back(std::move(row));
  }

  if (isatty(STDERR_FILENO)) fmt::print(stderr, "measuring the machine...\r");
  const MachineLimits limits = measure_limits(info.workers);
  const StealMeter steal;

  // All rows take turns, kTurn frames each, so that what else goes on in the machine hits all
  // alike. The first frame of a turn finds the caches full of another row's data and is not
  // counted.
  const int turns = (o.frames + kTurn - 1) / kTurn;
  {
    using Clock = std::chrono::steady_clock;
    Progress progress("bench flow",
                      static_cast<std::int64_t>(turns) * static_cast<std::int64_t>(rows.size()));
    std::int64_t done = 0;
    for (Row& row : rows) row.ms.reserve(static_cast<std::size_t>(o.frames));
    for (int turn = -1; turn < turns; ++turn) {  // turn -1 fills rings and buffers
      for (Row& row : rows) {
        const int timed = std::min(kTurn, o.frames - turn * kTurn);
        const int count =
            turn < 0 ? (row.peer != nullptr ? 2 : temporal_support(*row.config)) : timed + 1;
        for (int i = 0; i < count && row.refusal.empty(); ++i) {
          const std::size_t position =
              static_cast<std::size_t>(std::max(turn, 0) * (kTurn + 1) + i);
          const Clock::time_point begin = Clock::now();
          if (row.peer != nullptr) {
            try {
              row.peer->compute(clip.cyclic(position), clip.cyclic(position + 1));
            } catch (const FlowPeer::Refusal& refusal) {
              row.refusal = refusal.what();
              break;
            }
          } else {
            row.run->step(clip.cyclic(position).view(position, 0));
          }
          const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
          if (turn >= 0 && i > 0) row.ms.push_back(ms);
        }
        if (turn >= 0) progress.update(++done);
      }
    }
  }
  const double stolen = steal.percent();
  if (truth) {
    for (Row& row : rows) {
      if (!row.refusal.empty()) continue;
      row.run.reset();  // its memory is needed for the next
      row.errors = flow_errors(field_of(row, engine, clip, number), *truth, selection);
    }
  }

  // The limits are the CPU's: they say nothing of a device, whose rows have frames and results in
  // host memory here.
  const bool on_cpu = info.backend == BackendKind::kCpu;
  const auto floor_ms = [&](const Workload& work) {
    return 1e3 * std::max(work.bytes / limits.read_bytes_per_s, work.flops / limits.flops);
  };
  if (o.common.json) {
    nlohmann::ordered_json json;
    json["bench"] = "flow";
    json["version"] = version();
    json["input"] = clip.name;
    json["size"] = {size.width, size.height};
    json["frames"] = o.frames;
    json["machine"] = {{"cpu", cpu_name()},
                       {"system", system_name()},
                       {"threads", limits.threads},
                       {"simd", info.simd_target},
                       {"last_cache_bytes", last_cache_bytes()},
                       {"block_bytes", limits.block_bytes},
                       {"read_gb_per_s", limits.read_bytes_per_s * 1e-9},
                       {"copy_gb_per_s", limits.copy_bytes_per_s * 1e-9},
                       {"gflops", limits.flops * 1e-9}};
    json["steal_percent"] =
        stolen >= 0.0 ? nlohmann::ordered_json(stolen) : nlohmann::ordered_json(nullptr);
    json["backend"] = backend_name(info.backend);
    json["peers"] =
        peers.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(peer_library());
    json["rows"] = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
      nlohmann::ordered_json r;
      r["name"] = row.name;
      r["group"] = row.group;
      if (!row.refusal.empty()) {
        r["not_run"] = row.refusal;
        json["rows"].push_back(r);
        continue;
      }
      const double median = row.percentile(50.0);
      r["median_ms"] = median;
      r["p99_ms"] = row.percentile(99.0);
      r["min_ms"] = row.percentile(0.0);
      r["frames_per_s"] = 1000.0 / median;
      if (row.config) {
        const Workload work = least_work(*row.config);
        r["mb_per_frame"] = work.bytes * 1e-6;
        r["mflop_per_frame"] = work.flops * 1e-6;
        if (on_cpu) {
          r["floor_ms"] = floor_ms(work);
          r["ratio"] = median / floor_ms(work);
        }
        r["config"] = config_json(*row.config);
      }
      if (row.errors && row.errors->compared > 0) {
        r["accuracy"] = {{"epe", row.errors->mean},
                         {"aae", row.errors->angle_mean},
                         {"density", row.errors->density()}};
      }
      json["rows"].push_back(r);
    }
    print_json(json);
    return kDone;
  }
  fmt::print("ocellus {} bench flow: {}, {}x{}, {} a row, all rows in turn\n", version(), clip.name,
             size.width, size.height, counted(o.frames, "frame"));
  fmt::print("{}, {} ({}), {}\n", cpu_name(), counted(limits.threads, "thread"), info.simd_target,
             system_name());
  fmt::print(
      "limits measured: read {:.1f} GB/s, copy {:.1f} GB/s (block of {} MiB), {:.0f} GFLOP/s",
      limits.read_bytes_per_s * 1e-9, limits.copy_bytes_per_s * 1e-9, limits.block_bytes >> 20,
      limits.flops * 1e-9);
  if (stolen >= 0.0) fmt::print("; {:.2f} % of the CPU time stolen", stolen);
  fmt::print("\n\n{:<28} {:>9} {:>9} {:>8} {:>9} {:>9} {:>9} {:>6}", "", "median ms", "p99 ms",
             "frames/s", "MB", "MFLOP", "floor ms", "ratio");
  if (truth) fmt::print("  {:>7} {:>7} {:>7}", "EPE px", "AAE deg", "density");
  fmt::print("\n");
  for (const Row& row : rows) {
    if (!row.refusal.empty()) {
      fmt::print("{:<28} not run: {}\n", row.name, row.refusal);
      continue;
    }
    const double median = row.percentile(50.0);
    fmt::print("{:<28} {:>9.3f} {:>9.3f} {:>8.1f}", row.name, median, row.percentile(99.0),
               1000.0 / median);
    if (row.config) {
      const Workload work = least_work(*row.config);
      fmt::print(" {:>9.1f} {:>9.0f}", work.bytes * 1e-6, work.flops * 1e-6);
      if (on_cpu) {
        fmt::print(" {:>9.3f} {:>6.2f}", floor_ms(work), median / floor_ms(work));
      } else {
        fmt::print(" {:>9} {:>6}", "-", "-");
      }
    } else {
      fmt::print(" {:>9} {:>9} {:>9} {:>6}", "-", "-", "-", "-");
    }
    if (row.errors && row.errors->compared > 0) {
      fmt::print("  {:>7.4f} {:>7.3f} {:>5.1f} %", row.errors->mean, row.errors->angle_mean,
                 100.0 * row.errors->density());
    }
    fmt::print("\n");
  }
  fmt::print(
      "\nMB and MFLOP: the least that a frame needs{}\n",
      on_cpu ? "; floor: what they take at the limits above; ratio: median / floor."
             : fmt::format("; ours on {}, frames and results in host memory.", info.device_name));
  if (peers.empty())
    fmt::print("{}\n", o.no_peers                      ? "peers left out (--no-peers)"
                       : format != PixelFormat::kGray8 ? "peers left out: they take 8 bits"
                                                       : "peers: this build has no OpenCV");
  else
    fmt::print("peers: {}, on the same frames with {}\n", peer_library(),
               counted(info.workers, "thread"));
  return kDone;
}

}  // namespace

void add_bench_command(CLI::App& program, int& exit_code) {
  CLI::App* const bench = program.add_subcommand(
      "bench", "Measure an operator against the machine's limits and against others");
  bench->require_subcommand(1);
  CLI::App* const flow = bench->add_subcommand(
      "flow", "Optical flow: every form, and OpenCV's methods where built with it");
  const auto o = std::make_shared<BenchCommand>();
  flow->add_option("--size", o->size, "WIDTHxHEIGHT of the synthetic scene (default 640x480)");
  flow->add_option("--input", o->input, "FRAMES instead of the synthetic scene");
  flow->add_option("--frames", o->frames, "Frames that each row is timed on, in turns of 10")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  flow->add_option("--form", o->form, "uniform, per-pixel or all (with the pyramid's presets)")
      ->check(CLI::IsMember({"uniform", "per-pixel", "all"}))
      ->capture_default_str();
  flow->add_option("--taps", o->taps, "Support of the kernels")->capture_default_str();
  flow->add_option("--schedule", o->schedule, "ours, papers or all")
      ->check(CLI::IsMember({"ours", "papers", "all"}))
      ->capture_default_str();
  flow->add_option("--truth", o->truth,
                   ".flo file: accuracy of each row (with --input and --frame)");
  flow->add_option("--frame", o->frame, "The frame that --truth describes");
  flow->add_option("--mask", o->mask, "Accuracy: image whose pixels of 128 and more count");
  flow->add_option("--border", o->border, "Accuracy: pixels left out on all sides")
      ->check(CLI::Range(0, kMaxImageSide))
      ->capture_default_str();
  flow->add_flag("--no-peers", o->no_peers, "Measure ours only");
  add_common_options(*flow, o->common);
  flow->callback([flow, o, &exit_code] {
    const bool own_scene = o->input.empty() || o->input.rfind("test:", 0) == 0;
    check_options(
        *flow,
        {{!o->input.empty(), {"--size"}, "it is for the synthetic scene; --input has its own size"},
         {o->input.empty(),
          {"--truth", "--frame"},
          "the synthetic scene's truth is known; they are for other frames, given by --input"},
         {o->truth.empty(), {"--frame"}, "it says what frame of --input a --truth describes"},
         {o->truth.empty() && !own_scene,
          {"--mask", "--border"},
          "they choose the pixels that are compared with the truth; see --truth"}});
    exit_code = run_bench_flow(*o);
  });
}

}  // namespace ocellus::app
