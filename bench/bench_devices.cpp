// ocellus bench devices: frames per second of an operator on 1, 2, ... devices of this host, with
// the results compared with those of a single operator.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "apps/common/device_list.h"
#include "apps/common/operator_text.h"
#include "apps/common/printable.h"
#include "apps/io/operator_run.h"
#include "apps/measure/machine.h"
#include "bench/bench_command.h"
#include "bench/bench_report.h"
#include "ocellus/operator_group.h"

namespace ocellus::app {
namespace {

constexpr const char* kDevicesOption = "--devices";
/// Each row is timed so often, in turns, so that other load on the machine affects all rows.
constexpr int kRounds = 3;

struct DevicesBench {
  std::string op = "restore";
  std::string devices = "all";
  std::string size;
  std::string input;
  SourceOptions source;
  std::string memory = "auto";
  int cameras = 1;
  int frames = 300;
  int depth = 3;
  int threads = 0;
  bool json = false;
};

/// "cuda:0 (NVIDIA H100)".
std::string device_text(const ListedDevice& device) {
  return fmt::format("{} ({})", device.name, device.info.device_name);
}

bool same_kind(const EngineInfo& a, const EngineInfo& b) {
  return a.backend == b.backend && std::strcmp(a.device_name, b.device_name) == 0;
}

/// Pinned memory if the first device is a GPU, which `auto` chooses, too.
MemorySpace memory_of(const DevicesBench& o, const std::vector<ListedDevice>& devices) {
  const bool cuda = devices.front().info.backend == BackendKind::kCuda;
  if (o.memory == "pinned" && !cuda) {
    throw InputError(
        fmt::format("--memory pinned: the first device is {}; name a CUDA device first, or use "
                    "--memory host",
                    devices.front().name));
  }
  return cuda && o.memory != "host" ? MemorySpace::kPinned : MemorySpace::kHost;
}

/// The operators on the first devices of the list, with the memory for frames and results.
class DevicesRow {
 public:
  DevicesRow(const DevicesBench& o, const std::vector<ListedDevice>& devices, std::size_t count,
             const OperatorConfig& config, const Clip& clip, MemorySpace space)
      : cameras_(o.cameras),
        clip_(clip),
        layout_(info_of(config), space != MemorySpace::kHost),
        group_(make_group(o, devices, count, config, clip, space)),
        frames_(group_.engine(0), space, clip.frames) {
    const auto outputs = static_cast<std::size_t>(cameras_ * group_.frames_in_flight());
    const std::size_t bytes = outputs * layout_.bytes();
    char* memory = nullptr;
    if (space == MemorySpace::kHost) {
      host_.resize(bytes);
      memory = host_.data();
    } else {
      pinned_ = take(Buffer::create(group_.engine(0), space, bytes), "results");
      memory = static_cast<char*>(pinned_->data());
    }
    if (const RecordInfo* record = group_.info().record)
      record_words_ = (record->bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    records_.resize(outputs * record_words_);
    for (std::size_t i = 0; i < outputs; ++i) {
      outputs_.push_back(layout_.output(memory + i * layout_.bytes(), space));
      if (record_words_ > 0) outputs_.back().record = records_.data() + i * record_words_;
    }
    frames_by_.assign(count, 0);
  }

  /// Waits for the frames in flight, whose memory is freed next.
  ~DevicesRow() { group_.reset(); }
  DevicesRow(const DevicesRow&) = delete;
  DevicesRow& operator=(const DevicesRow&) = delete;

  int devices() const { return group_.engine_count(); }
  const std::vector<std::int64_t>& frames_by() const { return frames_by_; }

  /// Processes so many frames of each camera. Returns the seconds until the last result.
  double run(std::int64_t count) {
    using Clock = std::chrono::steady_clock;
    std::fill(frames_by_.begin(), frames_by_.end(), 0);
    const Clock::time_point begin = Clock::now();
    process(count, [this](const GroupResult& done, int, std::int64_t, const OperatorOutput&) {
      ++frames_by_[static_cast<std::size_t>(done.engine)];
    });
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  struct Comparison {
    std::int64_t equal = 0;
    std::int64_t different = 0;
    std::int64_t other_kind = 0;  ///< frames of devices of another kind than the first one
  };
  /// Compares the results of so many frames of each camera with those of a single operator on the
  /// first device. Begins with `reset`, and ends with it.
  Comparison compare(const ListedDevice& first, const OperatorConfig& config, std::int64_t count) {
    Comparison result;
    OperatorRun alone(first.engine, config);
    const RecordInfo* const record = group_.info().record;
    group_.reset();
    clear_ = true;
    std::int64_t last = -1;
    process(count, [&](const GroupResult& done, int, std::int64_t number,
                       const OperatorOutput& output) {
      // All cameras see the same frames, one after the other.
      if (number != last) alone.op().step(frame(number));
      last = number;
      const EngineInfo& engine = group_.engine(done.engine).info();
      if (!same_kind(engine, first.info)) {
        ++result.other_kind;
        return;
      }
      bool equal = done.info.sequence == static_cast<std::uint64_t>(number);
      for (int p = 0; p < group_.info().plane_count; ++p)
        equal =
            equal && same_plane(output.planes[static_cast<std::size_t>(p)], alone.op().plane(p));
      if (record != nullptr)
        equal = equal && std::memcmp(output.record, alone.op().record(), record->bytes) == 0;
      ++(equal ? result.equal : result.different);
    });
    clear_ = false;
    group_.reset();
    return result;
  }

 private:
  static OperatorGroup make_group(const DevicesBench& o, const std::vector<ListedDevice>& devices,
                                  std::size_t count, const OperatorConfig& config, const Clip& clip,
                                  MemorySpace space) {
    std::vector<EngineConfig> engines;
    for (std::size_t i = 0; i < count; ++i) engines.push_back(devices[i].engine);
    if (space != MemorySpace::kHost) {
      const OperatorInfo info = info_of(config);
      const std::size_t most =
          static_cast<std::size_t>(o.cameras) * static_cast<std::size_t>(info.depth) * count;
      engines[0].memory += StoredFrames::footprint(space, clip.frames);
      engines[0].memory += Buffer::footprint(space, most * ResultLayout(info, true).bytes());
    }
    return take(OperatorGroup::create(engines, config, o.cameras), kDevicesOption);
  }

  Frame frame(std::int64_t number) const {
    const auto n = static_cast<std::size_t>(number);
    return frames_.at(back_and_forth(n, clip_.frames.size()), n, 0);
  }

  static bool same_plane(const ImageView& a, const ImageView& b) {
    const auto bytes = static_cast<std::size_t>(a.size.width) *
                       static_cast<std::size_t>(bytes_per_pixel(a.format));
    for (int y = 0; y < a.size.height; ++y)
      if (std::memcmp(a.row<char>(y), b.row<char>(y), bytes) != 0) return false;
    return true;
  }

  /// Processes the frames, with as many in flight as there is room for. Calls `done` with each
  /// result, its camera, the number of its frame and its output.
  template <typename Done>
  void process(std::int64_t count, const Done& done) {
    struct Flight {
      int camera;
      std::int64_t number;
    };
    std::deque<Flight> flying;
    const auto output_of = [this](const Flight& flight) -> OperatorOutput& {
      const auto room = static_cast<std::size_t>(group_.frames_in_flight());
      return outputs_[static_cast<std::size_t>(flight.camera) * room +
                      static_cast<std::size_t>(flight.number) % room];
    };
    const auto land = [&] {
      const Flight flight = flying.front();
      flying.pop_front();
      const GroupResult result =
          take(group_.wait(flight.camera, Deadline::never()), kDevicesOption);
      done(result, flight.camera, flight.number, output_of(flight));
    };
    for (std::int64_t number = 0; number < count; ++number) {
      for (int camera = 0; camera < cameras_; ++camera) {
        while (group_.next_engine(camera) < 0) land();
        const Flight flight{camera, number};
        OperatorOutput& output = output_of(flight);
        // A record may have entries that are not written.
        if (clear_ && record_words_ > 0)
          std::memset(output.record, 0, record_words_ * sizeof(std::uint64_t));
        take(group_.submit(camera, frame(number), output), kDevicesOption);
        flying.push_back(flight);
      }
    }
    while (!flying.empty()) land();
  }

  int cameras_;
  const Clip& clip_;
  ResultLayout layout_;
  OperatorGroup group_;
  StoredFrames frames_;
  std::vector<char> host_;
  std::optional<Buffer> pinned_;
  std::size_t record_words_ = 0;
  std::vector<std::uint64_t> records_;
  std::vector<OperatorOutput> outputs_;
  std::vector<std::int64_t> frames_by_;
  bool clear_ = false;
};

/// The measurements of a row.
struct Figures {
  std::vector<double> rates;  ///< frames per second of each round
  std::vector<std::int64_t> frames_by;
  DevicesRow::Comparison compared;

  double rate() const { return percentile(rates, 50.0); }
};

/// `devices`: of the row.
Json row_json(const Figures& row, std::size_t devices, double rate_of_one) {
  return {{"devices", devices},
          {"frames_per_s", row.rate()},
          {"frames_per_s_min", percentile(row.rates, 0.0)},
          {"frames_per_s_max", percentile(row.rates, 100.0)},
          {"efficiency", row.rate() / (static_cast<double>(devices) * rate_of_one)},
          {"frames_by_device", row.frames_by},
          {"equal", row.compared.equal},
          {"different", row.compared.different},
          {"not_compared", row.compared.other_kind}};
}

/// Returns the exit code.
int print_report(const DevicesBench& o, const OperatorConfig& config, const OperatorInfo& info,
                 const Clip& clip, const std::vector<ListedDevice>& devices, MemorySpace space,
                 const std::vector<Figures>& figures, double steal_percent) {
  const char* const memory = space == MemorySpace::kHost ? "host" : "pinned";
  BenchReport report;
  report.json = bench_head("devices", devices.front().info);
  report.json["config"] = config_json(config);
  report.json["input"] = clip.name;
  report.json["size"] = {clip.size().width, clip.size().height};
  report.json["cameras"] = o.cameras;
  report.json["depth"] = info.depth;
  report.json["frames"] = o.frames;
  report.json["memory"] = memory;
  report.json["machine"] = machine_json();
  report.json["steal_percent"] = or_null(steal_percent >= 0.0, steal_percent);
  report.json["devices"] = Json::array();
  for (const ListedDevice& device : devices) {
    report.json["devices"].push_back({{"name", device.name},
                                      {"device", device.info.device_name},
                                      {"workers", device.info.workers}});
  }
  report.begin = machine_line() + "\n";
  if (steal_percent >= 0.0)
    report.begin += fmt::format("{:.2f} % of the CPU time stolen\n", steal_percent);
  report.begin += fmt::format("{}, {}: {}; {}, {} in flight on each device, {} memory\n",
                              printable(clip.name), size_text(clip.size()), printable(info.summary),
                              counted(o.cameras, "camera"), counted(info.depth, "frame"), memory);
  report.columns = {{"devices", "devices", 7},
                    {"frames/s", "frames_per_s", 11, 1},
                    {"least", "frames_per_s_min", 11, 1},
                    {"most", "frames_per_s_max", 11, 1},
                    {"effic.", "efficiency", 7, 2},
                    {"frames", "frames_by_device", 11}};
  report.row_end = [&devices](const Json& row) {
    return "  " + printable(device_text(devices[row["devices"].get<std::size_t>() - 1]));
  };
  report.apart = false;
  BenchRows& rows = report.tables.emplace_back();
  rows.heading_end = "  with the added device";
  DevicesRow::Comparison sum;
  for (const Figures& row : figures) {
    rows.rows.push_back(row_json(row, rows.rows.size() + 1, figures.front().rate()));
    sum.equal += row.compared.equal;
    sum.different += row.compared.different;
    sum.other_kind += row.compared.other_kind;
  }
  report.end = fmt::format("{} of {} equal to those of a single operator on {}\n", sum.equal,
                           counted(sum.equal + sum.different, "result"), devices.front().name);
  if (sum.other_kind > 0)
    report.end += fmt::format("{} of devices of another kind not compared\n",
                              counted(sum.other_kind, "result"));
  report.print(o.json);
  return sum.different == 0 ? kDone : kAnswerIsNo;
}

int run_bench_devices(const DevicesBench& o) {
  OperatorText op = parse_operator_text("--operator", o.op);
  if (op.sets("depth")) {
    throw InputError(op.in_context("the depth is an option of this command: give --depth"));
  }
  take(op.config.set_option("depth", std::to_string(o.depth)), "--depth");
  EngineConfig engine;
  engine.workers = o.threads;
  const std::vector<ListedDevice> devices = parse_frame_devices(kDevicesOption, o.devices, engine);
  const MemorySpace space = memory_of(o, devices);
  std::string input = o.input;
  if (input.empty()) {
    const ImageSize size = parse_size(o.size.empty() ? "1920x1080" : o.size, "--size");
    input = fmt::format("test:{},frames=12", size_text(size));
  }
  const Clip clip = read_clip(input, o.source, {{}, 60, std::size_t{128} << 20});
  op.config.set_input(clip.size(), clip.format());
  OperatorInfo info;
  try {
    info = info_of(op.config);
  } catch (const InputError& error) {
    throw InputError(op.in_context(error.what()));
  }

  std::vector<std::unique_ptr<DevicesRow>> rows;
  std::vector<Figures> figures(devices.size());
  double steal_percent = -1.0;
  // The largest group first, so that what it cannot do is reported at once.
  for (std::size_t count = devices.size(); count > 0; --count)
    rows.insert(rows.begin(),
                std::make_unique<DevicesRow>(o, devices, count, op.config, clip, space));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t enough = 2 * std::int64_t{info.depth} * rows[i]->devices() + 16;
    figures[i].compared =
        rows[i]->compare(devices.front(), op.config, std::min<std::int64_t>(o.frames, enough));
  }
  {
    Progress progress("devices", static_cast<std::int64_t>(rows.size()) * kRounds);
    const StealMeter steal;
    std::int64_t done = 0;
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double frames = static_cast<double>(o.frames) * o.cameras;
        figures[i].rates.push_back(frames / rows[i]->run(o.frames));
        figures[i].frames_by = rows[i]->frames_by();
        progress.update(++done);
      }
    }
    steal_percent = steal.percent();
  }
  return print_report(o, op.config, info, clip, devices, space, figures, steal_percent);
}

}  // namespace

void add_bench_devices_command(CLI::App& bench, int& exit_code) {
  CLI::App* const command = bench.add_subcommand(
      "devices",
      "Measure an operator on 1, 2, ... devices of this host (exit code 1 if results "
      "differ from those of a single operator)");
  const auto o = std::make_shared<DevicesBench>();
  command
      ->add_option("--operator", o->op,
                   fmt::format("Operator, followed by its options as option=value, such as "
                               "\"restore filter=gaussian-1.5\". The operators are: {}",
                               operator_names()))
      ->capture_default_str();
  command->add_option(kDevicesOption, o->devices, kFrameDevicesHelp)->capture_default_str();
  command
      ->add_option("--cameras", o->cameras,
                   "Number of cameras. An operator that keeps state needs one for each device")
      ->check(CLI::Range(1, kMaxGroupCameras))
      ->capture_default_str();
  command
      ->add_option("--frames", o->frames,
                   fmt::format("Frames of each camera; each row is measured {} times", kRounds))
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--size", o->size, "WIDTHxHEIGHT of the synthetic scene (default 1920x1080)");
  command->add_option("--input", o->input, "FRAMES to measure in place of the synthetic scene");
  add_source_options(*command, o->source);
  command->add_option("--depth", o->depth, "Frames in flight on each device")
      ->check(CLI::Range(1, kMaxDepth))
      ->capture_default_str();
  command
      ->add_option("--memory", o->memory,
                   "Memory of frames and results: host or pinned (which needs a CUDA device as the "
                   "first one); auto: pinned if the first device is a CUDA device")
      ->check(CLI::IsMember({"auto", "host", "pinned"}))
      ->capture_default_str();
  command
      ->add_option("--threads", o->threads,
                   "Threads of each CPU of the list; 0: one for each CPU that the process may use")
      ->check(CLI::Range(0, kMaxWorkers))
      ->capture_default_str();
  add_json_option(*command, o->json);
  command->footer(
      "The frames of a camera go to the devices in turn. Where an operator keeps state, each\n"
      "camera stays on one device. Efficiency is the rate, divided by that of as many devices as\n"
      "fast as the first one. Results are compared byte by byte, of devices of the same kind as\n"
      "the first one. One thread submits all frames.\n"
      "Example: ocellus bench devices --operator \"restore filter=gaussian-1.5\" --size 2048x2048");
  command->callback([command, o, &exit_code] {
    check_options(*command,
                  {{!o->input.empty(),
                    {"--size"},
                    "it sets the size of the synthetic scene, and --input has its own size"},
                   {o->input.empty(),
                    {kSourceTimeout},
                    "it applies to a video or a camera given by --input"}});
    exit_code = run_bench_devices(*o);
  });
}

}  // namespace ocellus::app
