// ocellus-cluster flow --bench: frames per second against the number of ranks.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <optional>
#include <string>

#include "apps/cluster/ranks.h"
#include "apps/cluster/reports.h"
#include "apps/common/printable.h"
#include "apps/io/operator_run.h"
#include "apps/measure/machine.h"
#include "bench/bench_report.h"
#include "bench/cluster/cluster_bench.h"
#include "bench/curve_plot.h"
#include "bench/limits/machine_limits.h"

namespace ocellus::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kClipFrames = 30;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The value of a call. Throws InputError with the library's text.
template <typename T>
T value_of(Expected<T> made) {
  if (!made) throw InputError(made.error().text);
  if constexpr (!std::is_void_v<T>) return std::move(*made);
}

/// The frame of the endless sequence that goes back and forth through a clip.
std::size_t clip_index(std::uint64_t frame, std::size_t frames) {
  return back_and_forth(static_cast<std::size_t>(frame), frames);
}

/// What one rank needs of a clip: the pixels of its slab in each frame, in device memory if the
/// rank computes on a device.
class RankClip {
 public:
  /// Collective. `clip` is given on the root, whose frames all have the size and format of `flow`.
  /// Throws InputError on a rank that has an error.
  RankClip(MPI_Comm communicator, const EngineConfig& engine, const std::vector<InputFrame>& clip,
           const OpticalFlowConfig& flow, const Rect& slab) {
    int frames = static_cast<int>(clip.size());
    MPI_Bcast(&frames, 1, MPI_INT, 0, communicator);
    GrayImage image(flow.size, flow.format);
    const std::ptrdiff_t left = std::ptrdiff_t{slab.x} * bytes_per_pixel(flow.format);
    for (std::size_t n = 0; n < static_cast<std::size_t>(frames); ++n) {
      if (rank_of(communicator) == 0) image.pixels = clip[n].image.pixels;
      MPI_Bcast(image.pixels.data(), static_cast<int>(image.pixels.size()), MPI_BYTE, 0,
                communicator);
      GrayImage& mine = slabs_.emplace_back(ImageSize{slab.width, slab.height}, flow.format);
      for (int y = 0; y < slab.height; ++y) {
        std::copy_n(image.pixels.begin() + (slab.y + y) * image.stride() + left, mine.stride(),
                    mine.pixels.begin() + y * mine.stride());
      }
    }
    const MemorySpace space = value_of(Engine::probe(engine)).backend == BackendKind::kCuda
                                  ? MemorySpace::kCuda
                                  : MemorySpace::kHost;
    EngineConfig sized = engine;
    sized.memory = StoredFrames::footprint(space, slabs_);
    engine_.emplace(value_of(Engine::create(sized)));
    stored_.emplace(*engine_, space, slabs_);
  }

  /// FlowCluster::SlabSource for a RankClip.
  static ImageView source(void* clip, std::uint64_t frame, const Rect&) {
    const auto& self = *static_cast<const RankClip*>(clip);
    const Frame at = self.stored_->at(clip_index(frame, self.slabs_.size()), frame, 0);
    return {const_cast<void*>(at.data), at.size, at.stride, at.format, at.space, nullptr};
  }

 private:
  std::vector<GrayImage> slabs_;
  std::optional<Engine> engine_;
  std::optional<StoredFrames> stored_;
};

/// What is measured in turns.
struct Row {
  int ranks = 1;        ///< 0: the operator OpticalFlow in one process
  bool gather = false;  ///< whether the root gets the results
  bool split = true;
  bool collective = false;  ///< MPI_Iscatterv and MPI_Igatherv
  bool scatter = true;      ///< false: the ranks have the frames
  /// Three planes to the root: as many as the paper's three convolutions without the solution.
  bool confidence = false;
  std::vector<double> rates{};  // of the rounds; on the root
  ClusterTotals totals{};       // of the last round
  std::uint64_t frames = 0;

  double rate() const { return percentile(rates, 50.0); }
  std::string name() const {
    if (ranks == 0) return "one process";
    return fmt::format("{}{}{}", counted(ranks, "rank"),
                       !scatter     ? ", frames and results on the ranks"
                       : ranks == 1 ? ""
                       : gather     ? ", results at the root"
                                    : ", results on the ranks",
                       !split       ? ", no split"
                       : collective ? ", collective"
                       : confidence ? ", three planes"
                                    : "");
  }
};

class Bench {
 public:
  Bench(const ClusterFlowCommand& command, MPI_Comm communicator, const EngineConfig& engine,
        const FlowClusterConfig& config)
      : command_(command),
        all_(communicator),
        root_(rank_of(communicator) == 0),
        engine_(engine),
        config_(config),
        on_host_(ranks_on_host(communicator)),
        host_cpus_(host_cpus(communicator)) {
    if (!command.bench_resident) rows_.push_back({0});
    const int ranks = ranks_of(all_);
    for (int p = 1; p <= ranks; p = p < ranks ? std::min(2 * p, ranks) : p + 1) {
      if (!command.bench_resident) add_rows(p);
      rows_.push_back({p, false, true, false, false});
    }
  }

  /// `input` and `first`: on the root.
  int run(FrameInput* input, const InputFrame* first) {
    const bool read = prepared_by_root(all_, [&] {
      clip_.push_back(*first);
      for (InputFrame next; clip_.size() < kClipFrames && input->next(next);)
        clip_.push_back(std::move(next));
    });
    if (!read) return kBadInput;
    measure_link();
    for (int round = 0; round < command_.bench_rounds; ++round) {
      for (Row& row : rows_) {
        meet(all_);
        const bool ok = row.ranks == 0 ? one_process(row) : clustered(row);
        if (!ok) return kBadInput;
      }
    }
    if (root_) report();
    return kDone;
  }

 private:
  /// The rows of `ranks` ranks whose frames come from the root.
  void add_rows(int ranks) {
    for (const bool gather : {false, true}) {
      if (ranks == 1 && gather) continue;
      for (const bool split : {true, false}) {
        if (ranks == 1 && !split) continue;
        rows_.push_back({ranks, gather, split});
      }
    }
    const bool one_column = config_.columns <= 1 && config_.fan_out == 0;
    if (ranks > 1) rows_.push_back({.ranks = ranks, .gather = true, .confidence = true});
    if (ranks > 1 && one_column) rows_.push_back({ranks, true, true, true});
  }
  /// Frame `n` of the endless sequence.
  Frame frame(std::uint64_t n) const {
    const InputFrame& f = clip_[clip_index(n, clip_.size())];
    return f.image.view(n, static_cast<std::int64_t>(n));
  }
  int warm_up() const { return config_.flow.kernels.nt + config_.frames_in_flight; }
  std::uint64_t frame_count() const {
    return static_cast<std::uint64_t>(warm_up() + command_.bench_frames);
  }

  /// The operator with as many threads as the ranks of the root's host have together, on all of
  /// their CPUs.
  bool one_process(Row& row) {
    const int threads = std::min(engine_.workers * on_host_, kMaxWorkers);
    const HostCpus& cpus = host_cpus_;
    return prepared_by_root(all_, [&] {
      sched_setaffinity(0, sizeof(cpus.all), &cpus.all);
      OpticalFlowConfig flow = config_.flow;
      flow.depth = config_.frames_in_flight;
      EngineConfig engine = engine_;
      engine.workers = threads;
      row.rates.push_back(rate_of_operator(engine, flow));
      sched_setaffinity(0, sizeof(cpus.mine), &cpus.mine);
    });
  }

  double rate_of_operator(const EngineConfig& engine_config, const OpticalFlowConfig& flow) const {
    Engine engine = take(create_engine(engine_config, {flow}), "engine");
    // Before the operator, which writes to them until it ends.
    std::vector<FlowField> fields(static_cast<std::size_t>(flow.depth),
                                  FlowField(flow.size, false));
    OpticalFlow op = take(OpticalFlow::create(engine, flow), "flow");
    std::deque<Ticket> tickets;
    Clock::time_point begin;
    std::uint64_t done = 0;
    for (std::uint64_t n = 0; done < frame_count();) {
      if (n < frame_count() && tickets.size() < fields.size()) {
        FlowOutput out = fields[static_cast<std::size_t>(n) % fields.size()].output();
        tickets.push_back(take(op.submit(frame(n), out), "flow"));
        ++n;
        continue;
      }
      take(op.wait(tickets.front(), Deadline::never()), "flow");
      tickets.pop_front();
      if (++done == static_cast<std::uint64_t>(warm_up())) begin = Clock::now();
    }
    return command_.bench_frames / seconds_since(begin);
  }

  /// The first ranks compute, the others sleep.
  bool clustered(Row& row) {
    MPI_Comm part = MPI_COMM_NULL;
    const bool in = rank_of(all_) < row.ranks;
    MPI_Comm_split(all_, in ? 0 : MPI_UNDEFINED, 0, &part);
    int ok = 1;
    if (in) {
      std::optional<FlowCluster> cluster;
      try {
        measure(part, row, cluster);
      } catch (const InputError& error) {
        tell(fmt::format("ocellus-cluster: rank {}: {}\n", rank_of(all_), error.what()));
        if (cluster) MPI_Abort(all_, kBadInput);
        ok = 0;
      }
    }
    if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
    meet(all_);
    MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, all_);
    return ok != 0;
  }

  /// `cluster` has a value once all ranks of `part` have made theirs. Throws InputError.
  void measure(MPI_Comm part, Row& row, std::optional<FlowCluster>& cluster) const {
    FlowClusterConfig config = config_;
    // A grid is given for all ranks.
    if (row.ranks < ranks_of(all_)) config.columns = config.rows = 0;
    config.gather = row.gather;
    config.confidence = row.confidence;
    config.scatter = row.scatter;
    config.results_on_device = !row.scatter;
    config.split_communication = row.split;
    config.transfer = row.collective ? ClusterTransfer::kCollective : ClusterTransfer::kMessages;
    cluster.emplace(value_of(FlowCluster::create(part, engine_, config)));
    std::optional<RankClip> clip;
    if (!row.scatter) {
      clip.emplace(part, engine_, clip_, config.flow, cluster->slab(rank_of(part)));
      cluster->set_slab_source(RankClip::source, &*clip);
    }
    if (root_)
      feed(*cluster, row);
    else
      value_of(cluster->serve());
  }

  void feed(FlowCluster& cluster, Row& row) const {
    Clock::time_point begin;
    std::uint64_t sent = 0;
    for (std::uint64_t done = 0; done < frame_count();) {
      if (sent < frame_count() &&
          sent - done < static_cast<std::uint64_t>(config_.frames_in_flight)) {
        value_of(cluster.submit(frame(sent++)));
        continue;
      }
      value_of(cluster.wait(Deadline::never()));
      cluster.release();
      if (++done == static_cast<std::uint64_t>(warm_up())) begin = Clock::now();
    }
    row.rates.push_back(command_.bench_frames / seconds_since(begin));
    value_of(cluster.finish());
    row.totals = totals_of(cluster.reports());
    row.frames = frame_count();
  }

  /// Latency and bandwidth between the root and the last rank.
  void measure_link() {
    const int ranks = ranks_of(all_);
    link_ = {"measured", 0.0, 0.0, on_host_ == ranks ? 0.0 : 1.0};
    if (command_.halo == "peer") link_.halo_bytes_per_second = kNvLinkBytesPerSecond;
    if (ranks == 1) return;
    const int me = rank_of(all_);
    const int last = ranks - 1;
    constexpr int kRounds = 20;
    const auto round_trip = [&](int bytes) {
      std::vector<char> data(static_cast<std::size_t>(bytes), 1);
      double best = std::numeric_limits<double>::max();
      for (int i = 0; i < kRounds; ++i) {
        const Clock::time_point begin = Clock::now();
        if (me == 0) {
          MPI_Send(data.data(), bytes, MPI_BYTE, last, 0, all_);
          MPI_Recv(data.data(), bytes, MPI_BYTE, last, 0, all_, MPI_STATUS_IGNORE);
        } else {
          MPI_Recv(data.data(), bytes, MPI_BYTE, 0, 0, all_, MPI_STATUS_IGNORE);
          MPI_Send(data.data(), bytes, MPI_BYTE, 0, 0, all_);
        }
        best = std::min(best, seconds_since(begin));
      }
      return best;
    };
    if (me == 0 || me == last) {
      constexpr int kBytes = 8 << 20;
      link_.latency_seconds = round_trip(1) / 2.0;
      link_.bytes_per_second =
          kBytes / std::max(1e-9, round_trip(kBytes) / 2.0 - link_.latency_seconds);
    }
    meet(all_);
    measure_memory();
  }

  /// How fast as many threads as the ranks have together read the memory that they share. Ranks on
  /// several hosts and on devices share none, or not with all.
  void measure_memory() {
    const bool on_device = value_of(Engine::probe(engine_)).backend == BackendKind::kCuda;
    if (root_ && !on_device && on_host_ == ranks_of(all_)) {
      const HostCpus& cpus = host_cpus_;
      sched_setaffinity(0, sizeof(cpus.all), &cpus.all);
      link_.memory_bytes_per_second = measure_limits(engine_.workers * on_host_).read_bytes_per_s;
      sched_setaffinity(0, sizeof(cpus.mine), &cpus.mine);
    }
    meet(all_);
  }

  const Row& one_rank(bool scatter) const {
    return *std::find_if(rows_.begin(), rows_.end(),
                         [&](const Row& r) { return r.ranks == 1 && r.scatter == scatter; });
  }

  /// The model's rate for a row, from the measured rate of one rank.
  double predicted(const Row& row) const {
    FlowClusterConfig config = config_;
    config.gather = row.gather;
    config.confidence = row.confidence;
    config.scatter = row.scatter;
    config.split_communication = row.split;
    if (config.columns == 0 || row.ranks != ranks_of(all_)) {
      config.columns = 1;
      config.rows = row.ranks;
    }
    const double pixels = static_cast<double>(config.flow.size.width) * config.flow.size.height;
    return predict_cluster(config, row.ranks, pixels * one_rank(row.scatter).rate(), link_).rate;
  }

  void report() {
    const EngineInfo engine = value_of(Engine::probe(engine_));
    const bool on_device = engine.backend == BackendKind::kCuda;
    Json rows = Json::array();
    for (const Row& row : rows_) rows.push_back(row_json(row));
    if (command_.common.json) {
      Json json;
      json["bench"] = "cluster";
      json["version"] = version();
      json["size"] = {config_.flow.size.width, config_.flow.size.height};
      json["config"] = config_json(OperatorConfig(config_.flow));
      json["frames_in_flight"] = config_.frames_in_flight;
      json["fan_out"] = config_.fan_out;
      json["threads_per_rank"] = engine_.workers;
      json["ranks_on_host"] = on_host_;
      json["backend"] = backend_name(engine.backend);
      if (on_device) {
        json["device"] = engine.device_name;
        json["halo"] = command_.halo;
      }
      json["link"] = {{"bytes_per_second", link_.bytes_per_second},
                      {"latency_seconds", link_.latency_seconds}};
      if (link_.memory_bytes_per_second > 0.0)
        json["memory_bytes_per_second"] = link_.memory_bytes_per_second;
      json["machine"] = machine_json();
      json["rows"] = rows;
      print_json(json);
    } else {
      fmt::print("{}, {} on each rank, {} on the root's host, {} in flight\n",
                 size_text(config_.flow.size), counted(engine_.workers, "thread"),
                 counted(on_host_, "rank"), counted(config_.frames_in_flight, "frame"));
      fmt::print("{}\n", machine_line());
      if (on_device) fmt::print("{}, halos: {}\n", engine.device_name, command_.halo);
      if (ranks_of(all_) > 1)
        fmt::print("between ranks: {:.2f} GB/s, {:.1f} us\n", link_.bytes_per_second * 1e-9,
                   link_.latency_seconds * 1e6);
      if (link_.memory_bytes_per_second > 0.0)
        fmt::print("memory of the host: {:.1f} GB/s\n", link_.memory_bytes_per_second * 1e-9);
      const std::vector<BenchColumn> columns = {{"", "row", -42},
                                                {"frames/s", "frames_per_second", 9, 2},
                                                {"model", "predicted", 9, 2},
                                                {"to 1 rank", "to_one_rank", 10, 2},
                                                {"to 1 process", "to_one_process", 12, 3},
                                                {"overlap", "overlap", 9, 1, 100.0, " %"},
                                                {"halo kB", "halo_bytes_per_frame", 11, 1, 1e-3}};
      print_heading(columns);
      // One process has its rate only.
      const std::vector<BenchColumn> rate(columns.begin(), columns.begin() + 2);
      for (const Json& row : rows) print_row(row["ranks"] == 0 ? rate : columns, row);
      fmt::print("medians of {}\n", counted(command_.bench_rounds, "round"));
    }
    if (!command_.plot.empty()) plot();
  }

  /// The rate as a multiple of that of one rank, whose frames come from the same place.
  double to_one_rank(const Row& row) const { return row.rate() / one_rank(row.scatter).rate(); }

  Json row_json(const Row& row) const {
    Json json;
    json["row"] = row.name();
    json["ranks"] = row.ranks;
    json["frames_per_second"] = row.rate();
    json["rounds"] = row.rates;
    if (row.ranks == 0) return json;
    json["results_at_root"] = row.gather;
    json["frames_on_ranks"] = !row.scatter;
    json["split_communication"] = row.split;
    json["collective"] = row.collective;
    json["confidence"] = row.confidence;
    json["predicted"] = predicted(row);
    json["to_one_rank"] = to_one_rank(row);
    if (rows_.front().ranks == 0) json["to_one_process"] = row.rate() / rows_.front().rate();
    json["overlap"] = row.totals.overlap;
    json["halo_bytes_per_frame"] =
        static_cast<double>(row.totals.halo_bytes) / static_cast<double>(row.frames);
    return json;
  }

  void plot() const {
    CurvePlot plot;
    plot.title = "Optical flow on a cluster: frames per second against ranks";
    plot.subtitle =
        fmt::format("{}, kernels of {}x{}x{} taps", size_text(config_.flow.size),
                    config_.flow.kernels.nx, config_.flow.kernels.ny, config_.flow.kernels.nt);
    plot.machine = machine_line();
    plot.x_label = "ranks";
    plot.y_label = "frames/s";
    // There is room for five curves.
    const auto add = [&](const std::string& name, const auto& belongs, const auto& rate) {
      Curve curve{name, {}};
      for (const Row& row : rows_)
        if (row.ranks > 0 && belongs(row)) curve.points.emplace_back(row.ranks, rate(row));
      plot.curves.push_back(std::move(curve));
    };
    const auto measured = [](const Row& row) { return row.rate(); };
    const auto modeled = [this](const Row& row) { return predicted(row); };
    if (command_.bench_resident) {
      const auto all = [](const Row&) { return true; };
      add("frames and results on the ranks", all, measured);
      add("model", all, modeled);
    } else {
      const auto of = [](bool gather, bool split) {
        return [gather, split](const Row& row) {
          return row.scatter && !row.collective && !row.confidence &&
                 (row.ranks == 1 || (row.gather == gather && row.split == split));
        };
      };
      for (const bool gather : {false, true}) {
        for (const bool split : {true, false}) {
          add(fmt::format("{}{}", gather ? "results at the root" : "results on the ranks",
                          split ? "" : ", no split"),
              of(gather, split), measured);
        }
      }
      add("model, results at the root", of(true, true), modeled);
    }
    write_curves_svg(command_.plot, plot);
  }

  const ClusterFlowCommand& command_;
  MPI_Comm all_;
  bool root_;
  EngineConfig engine_;
  std::vector<InputFrame> clip_;  ///< on the root
  FlowClusterConfig config_;
  int on_host_;
  HostCpus host_cpus_;
  ClusterLink link_;
  std::vector<Row> rows_;
};

}  // namespace

int run_cluster_bench(const ClusterFlowCommand& command, MPI_Comm communicator,
                      const EngineConfig& engine, const FlowClusterConfig& config,
                      FrameInput* input, const InputFrame* first) {
  return Bench(command, communicator, engine, config).run(input, first);
}

}  // namespace ocellus::app
