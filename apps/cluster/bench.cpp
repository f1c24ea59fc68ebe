#include "apps/cluster/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <optional>
#include <string>

#include "apps/cluster/rank_clip.h"
#include "apps/cluster/ranks.h"
#include "apps/cluster/reports.h"
#include "apps/cluster/run_model.h"
#include "apps/common/printable.h"
#include "apps/measure/curve_plot.h"
#include "apps/measure/machine.h"
#include "ocellus/operators.h"

namespace ocellus::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kClipFrames = 30;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What is measured in turns.
struct Row {
  int ranks = 1;        ///< 0: the operator OpticalFlow in one process
  bool gather = false;  ///< whether the root gets the results
  bool split = true;
  bool collective = false;      ///< MPI_Iscatterv and MPI_Igatherv
  bool scatter = true;          ///< false: the ranks have the frames
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
                                    : "");
  }
};

class Bench {
 public:
  Bench(const ClusterFlowCommand& command, MPI_Comm communicator, const EngineConfig& engine,
        const std::vector<InputFrame>& clip, const FlowClusterConfig& config)
      : command_(command),
        all_(communicator),
        root_(rank_of(communicator) == 0),
        engine_(engine),
        clip_(clip),
        config_(config),
        on_host_(ranks_on_host(communicator)) {
    if (!command.bench_resident) rows_.push_back({0});
    const int ranks = ranks_of(all_);
    for (int p = 1; p <= ranks; p = p < ranks ? std::min(2 * p, ranks) : p + 1) {
      if (!command.bench_resident) add_rows(p);
      rows_.push_back({p, false, true, false, false});
    }
  }

  int run() {
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
    const HostCpus cpus = host_cpus(all_);
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
    std::string error;
    if (in) {
      FlowClusterConfig config = config_;
      // A grid is given for all ranks.
      if (row.ranks < ranks_of(all_)) config.columns = config.rows = 0;
      config.gather = row.gather;
      config.scatter = row.scatter;
      config.results_on_device = !row.scatter;
      config.split_communication = row.split;
      config.transfer = row.collective ? ClusterTransfer::kCollective : ClusterTransfer::kMessages;
      Expected<FlowCluster> cluster = FlowCluster::create(part, engine_, config);
      std::optional<RankClip> clip;
      if (cluster && !row.scatter) {
        Expected<RankClip> made =
            RankClip::create(part, engine_, clip_, config.flow.size, config.flow.format,
                             cluster->slab(rank_of(part)));
        if (made) {
          clip.emplace(std::move(*made));
          cluster->set_slab_source(RankClip::source, &*clip);
        } else {
          error = made.error().text;
        }
      }
      if (!cluster) {
        error = cluster.error().text;
      } else if (!error.empty()) {
      } else if (!root_) {
        if (Expected<void> served = cluster->serve(); !served) error = served.error().text;
      } else {
        error = feed(*cluster, row);
      }
      if (!error.empty()) {
        tell(fmt::format("ocellus-cluster: rank {}: {}\n", rank_of(all_), error));
        if (cluster) MPI_Abort(all_, kBadInput);
        ok = 0;
      }
    }
    if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
    meet(all_);
    MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, all_);
    return ok != 0;
  }

  /// Returns the text of an error, or "".
  std::string feed(FlowCluster& cluster, Row& row) const {
    Clock::time_point begin;
    std::uint64_t sent = 0;
    for (std::uint64_t done = 0; done < frame_count();) {
      if (sent < frame_count() &&
          sent - done < static_cast<std::uint64_t>(config_.frames_in_flight)) {
        if (Expected<void> ok = cluster.submit(frame(sent)); !ok) return ok.error().text;
        ++sent;
        continue;
      }
      if (Expected<ClusterField> field = cluster.wait(Deadline::never()); !field)
        return field.error().text;
      cluster.release();
      if (++done == static_cast<std::uint64_t>(warm_up())) begin = Clock::now();
    }
    row.rates.push_back(command_.bench_frames / seconds_since(begin));
    if (Expected<void> done = cluster.finish(); !done) return done.error().text;
    row.totals = totals_of(cluster.reports());
    row.frames = frame_count();
    return "";
  }

  /// Latency and bandwidth between the root and the last rank.
  void measure_link() {
    const int ranks = ranks_of(all_);
    link_ = {"measured", 0.0, 0.0, on_host_ == ranks ? 0.0 : 1.0};
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
  }

  const Row& one_rank(bool scatter) const {
    return *std::find_if(rows_.begin(), rows_.end(),
                         [&](const Row& r) { return r.ranks == 1 && r.scatter == scatter; });
  }

  /// The model's rate for a row, from the measured rate of one rank.
  double predicted(const Row& row) const {
    FlowClusterConfig config = config_;
    config.gather = row.gather;
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
    const std::optional<double> one_process =
        rows_.front().ranks == 0 ? std::optional(rows_.front().rate()) : std::nullopt;
    if (command_.common.json) {
      nlohmann::ordered_json json;
      json["bench"] = "cluster";
      json["version"] = version();
      json["size"] = {config_.flow.size.width, config_.flow.size.height};
      json["config"] = config_json(OperatorConfig(config_.flow));
      json["frames_in_flight"] = config_.frames_in_flight;
      json["fan_out"] = config_.fan_out;
      json["threads_per_rank"] = engine_.workers;
      json["ranks_on_host"] = on_host_;
      if (const Expected<EngineInfo> info = Engine::probe(engine_)) {
        json["backend"] = backend_name(info->backend);
        if (info->backend == BackendKind::kCuda) {
          json["device"] = info->device_name;
          json["halo"] = command_.halo;
        }
      }
      json["link"] = {{"bytes_per_second", link_.bytes_per_second},
                      {"latency_seconds", link_.latency_seconds}};
      json["machine"] = machine_json();
      json["rows"] = nlohmann::ordered_json::array();
      for (const Row& row : rows_) json["rows"].push_back(row_json(row, one_process));
      print_json(json);
    } else {
      fmt::print("{}, {} on each rank, {} on the root's host, {} in flight\n",
                 size_text(config_.flow.size), counted(engine_.workers, "thread"),
                 counted(on_host_, "rank"), counted(config_.frames_in_flight, "frame"));
      fmt::print("{}\n", machine_line());
      if (const Expected<EngineInfo> info = Engine::probe(engine_);
          info && info->backend == BackendKind::kCuda)
        fmt::print("{}, halos: {}\n", info->device_name, command_.halo);
      if (ranks_of(all_) > 1)
        fmt::print("between ranks: {:.2f} GB/s, {:.1f} us\n", link_.bytes_per_second * 1e-9,
                   link_.latency_seconds * 1e6);
      fmt::print("{:42} {:>9} {:>9} {:>10} {:>12} {:>9} {:>11}\n", "", "frames/s", "model",
                 "to 1 rank", "to 1 process", "overlap", "halo kB");
      for (const Row& row : rows_) {
        if (row.ranks == 0) {
          fmt::print("{:42} {:>9.2f}\n", row.name(), row.rate());
          continue;
        }
        fmt::print(
            "{:42} {:>9.2f} {:>9.2f} {:>10.2f} {:>12} {:>7.1f} % {:>11.1f}\n", row.name(),
            row.rate(), predicted(row), to_one_rank(row),
            one_process ? fmt::format("{:.3f}", row.rate() / *one_process) : "-",
            100.0 * row.totals.overlap,
            1e-3 * static_cast<double>(row.totals.halo_bytes) / static_cast<double>(row.frames));
      }
      fmt::print("medians of {}\n", counted(command_.bench_rounds, "round"));
    }
    if (!command_.plot.empty()) plot();
  }

  /// The rate as a multiple of that of one rank, whose frames come from the same place.
  double to_one_rank(const Row& row) const { return row.rate() / one_rank(row.scatter).rate(); }

  nlohmann::ordered_json row_json(const Row& row, std::optional<double> one_process) const {
    nlohmann::ordered_json json;
    json["row"] = row.name();
    json["ranks"] = row.ranks;
    json["frames_per_second"] = row.rate();
    json["rounds"] = row.rates;
    if (row.ranks == 0) return json;
    json["results_at_root"] = row.gather;
    json["frames_on_ranks"] = !row.scatter;
    json["split_communication"] = row.split;
    json["collective"] = row.collective;
    json["predicted"] = predicted(row);
    json["to_one_rank"] = to_one_rank(row);
    if (one_process) json["to_one_process"] = row.rate() / *one_process;
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
          return row.scatter && !row.collective &&
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
  const std::vector<InputFrame>& clip_;
  FlowClusterConfig config_;
  int on_host_;
  ClusterLink link_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<InputFrame> read_clip(FrameInput& input, InputFrame first) {
  std::vector<InputFrame> clip;
  clip.push_back(std::move(first));
  InputFrame frame;
  while (clip.size() < kClipFrames && input.next(frame)) clip.push_back(std::move(frame));
  return clip;
}

int run_cluster_bench(const ClusterFlowCommand& command, MPI_Comm communicator,
                      const EngineConfig& engine, const std::vector<InputFrame>& clip,
                      const FlowClusterConfig& config) {
  return Bench(command, communicator, engine, clip, config).run();
}

}  // namespace ocellus::app
