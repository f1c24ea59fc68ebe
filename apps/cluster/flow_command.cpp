#include "apps/cluster/flow_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "apps/cluster/frame_threads.h"
#include "apps/cluster/ranks.h"
#include "apps/cluster/reports.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/io/output_file.h"
#include "apps/optical_flow/run.h"
#include "ocellus/spatio_temporal_filter.h"

namespace ocellus::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFramesAhead = 4;
constexpr std::size_t kFieldsBehind = 2;
/// Most events of a rank in a trace: 5 stages of 20,000 frames.
constexpr int kTraceEvents = 100'000;

/// What the root tells the other ranks about its source.
struct SourceInfo {
  ImageSize size;
  PixelFormat format = PixelFormat::kGray8;
};

/// Ends all ranks after an error that only this one has.
[[noreturn]] void abort_ranks(MPI_Comm communicator, const std::string& text) {
  tell(fmt::format("ocellus-cluster: rank {}: {}\n", rank_of(communicator), printable(text)));
  std::fflush(stdout);
  MPI_Abort(communicator, kBadInput);
  std::abort();
}

/// The root's part: frames from the source to the cluster, and fields from it to the output.
class RootJob {
 public:
  RootJob(const ClusterFlowCommand& command, FrameInput& input, FramePointer first,
          FlowCluster& cluster, const FlowClusterConfig& config)
      : command_(command),
        input_(input),
        cluster_(cluster),
        config_(config),
        after_(support_of(info_of(OperatorConfig(config.flow))).after()),
        output_(command.frames, FlowFieldOutput::extensions(), input.source().fps()),
        fields_output_(output_, command.draw.config()) {
    fields_output_.set(config.flow, false);
    reader_.emplace(input_, std::move(first), kFramesAhead);
    if (!output_.none() && (output_.video() || !output_.single()))
      writer_.emplace([this](FrameField& f) { fields_output_.write(f.field, *f.frame); },
                      kFieldsBehind);
  }

  int run() {
    const StopsEarly stops_early;
    frames();
    close_output();
    if (stop_signal() != 0) {
      // mpirun ends the other ranks.
      input_.report_interruption(written_, "field");
      return kBadInput;
    }
    take(cluster_.finish());
    report();
    return failed_ ? kBadInput : kDone;
  }

 private:
  std::uint64_t in_flight() const { return submitted_ - released_; }

  /// Moves frames until the source has ended and all fields have come, a signal asks to stop, or
  /// the writer has failed.
  void frames() {
    const auto most = static_cast<std::uint64_t>(config_.frames_in_flight);
    while (stop_signal() == 0) {
      if (writer_ && writer_->failed()) return;
      FramePointer frame = in_flight() < most ? reader_->take() : nullptr;
      if (frame) {
        submit(std::move(frame));
        continue;
      }
      if (in_flight() == 0) {
        if (reader_->ended()) return;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        continue;
      }
      const bool full = in_flight() == most || reader_->ended();
      take_field(full ? std::chrono::microseconds(5000) : std::chrono::microseconds(200));
    }
  }

  void submit(FramePointer frame) {
    const Frame view =
        frame->image.view(static_cast<std::uint64_t>(frame->number), frame->timestamp_ns);
    take(cluster_.submit(view));
    window_.push_back(std::move(frame));
    if (submitted_++ == 0) began_ = Clock::now();
  }

  void take_field(std::chrono::microseconds patience) {
    const Expected<ClusterField> waited = cluster_.wait(Deadline::after(patience));
    if (!waited && waited.error().status == Status::kDeadlineMissed) return;
    const ClusterField field = take(waited);
    if (writer_ && !writer_->room()) {
      // The cluster goes on with its other frames meanwhile.
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      return;
    }
    // Frame n gives the field of frame n - after_.
    while (window_.size() > static_cast<std::size_t>(after_) + in_flight()) window_.pop_front();
    if (!field.warming_up) {
      ++fields_;
      if (writer_) {
        writer_->push(described(field, writer_->reuse()));
      } else if (!output_.none()) {
        last_ = described(field, std::move(last_));
      }
    }
    cluster_.release();
    ++released_;
    ended_ = Clock::now();
  }

  FrameField described(const ClusterField& field, FrameField to) {
    to.field.size = field.planes.u.size;
    copy_plane(field.planes.u, to.field.u);
    copy_plane(field.planes.v, to.field.v);
    to.frame = window_.front();
    return to;
  }

  /// Writes what has come, and closes the files, also after an error or a signal.
  void close_output() {
    try {
      if (writer_) {
        writer_->drain();
        output_.finish();
      } else if (!output_.none() && last_.frame) {
        fields_output_.write(last_.field, *last_.frame);
      }
      written_ = output_.none() ? 0 : static_cast<std::int64_t>(writer_ ? fields_ : 1);
    } catch (const std::exception& error) {
      fail(error.what());
    }
    try {
      reader_->rethrow();
    } catch (const std::exception& error) {
      fail(error.what());
    }
    dropped_ = reader_->dropped() + static_cast<std::uint64_t>(input_.source().dropped());
    reader_.reset();
    if (stop_signal() == 0 && fields_ == 0 && !failed_) {
      fail(fmt::format("{}: contains {}; flow with these kernels needs {}", input_.source().name(),
                       counted(input_.read(), "frame"), config_.flow.kernels.nt));
    }
  }

  void fail(const std::string& text) {
    tell(fmt::format("ocellus-cluster: {}\n", printable(text)));
    failed_ = true;
  }

  void report() {
    const std::span<const ClusterRankReport> ranks = cluster_.reports();
    const ClusterTotals totals = totals_of(ranks);
    const double seconds = std::chrono::duration<double>(ended_ - began_).count();
    const double rate = seconds > 0.0 ? static_cast<double>(released_) / seconds : 0.0;
    if (!command_.trace.empty()) write_trace(command_.trace, cluster_.trace(), ranks);
    if (command_.common.json) {
      nlohmann::ordered_json json;
      json["input"] = input_.source().name();
      json["size"] = {config_.flow.size.width, config_.flow.size.height};
      json["frames"] = submitted_;
      json["fields"] = fields_;
      json["dropped"] = dropped_;
      add_engine_json(json, cluster_.engine());
      json["config"] = config_json(OperatorConfig(config_.flow));
      json["frames_per_second"] = rate;
      json["overlap"] = totals.overlap;
      json["halo_bytes"] = totals.halo_bytes;
      json["frame_bytes"] = totals.frame_bytes;
      json["result_bytes"] = totals.result_bytes;
      json["ranks"] = ranks_json(ranks);
      print_json(json);
      return;
    }
    print_input(input_, config_.flow.size, counted(cluster_.ranks(), "rank"), cluster_.engine());
    fmt::print("{} of {} frames, {:.1f} frames/s, {:.1f} % of the transfers overlapped\n",
               counted(fields_, "field"), submitted_, rate, 100.0 * totals.overlap);
    if (input_.source().live())
      fmt::print("{} dropped, because the source was faster than the cluster\n",
                 counted(dropped_, "frame"));
    if (command_.ranks_report) print_ranks(ranks);
    if (fields_output_.colored())
      fmt::print("colors are saturated at {:.2f} px per frame\n", fields_output_.max_motion());
    if (!command_.frames.output.empty() && written_ > 0)
      fmt::print("written: {}\n", printable(command_.frames.output));
  }

  const ClusterFlowCommand& command_;
  FrameInput& input_;
  FlowCluster& cluster_;
  const FlowClusterConfig& config_;
  const int after_;
  FrameOutput output_;
  FlowFieldOutput fields_output_;
  std::deque<FramePointer> window_;  ///< from the frame that the next field describes
  FrameField last_;
  std::uint64_t submitted_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t fields_ = 0;
  std::uint64_t dropped_ = 0;
  std::int64_t written_ = 0;
  bool failed_ = false;
  Clock::time_point began_{};
  Clock::time_point ended_{};
  // The threads end before what they use.
  std::optional<FieldWriter> writer_;
  std::optional<FrameReader> reader_;
};

std::pair<int, int> parse_grid(const std::string& text) {
  int columns = 0;
  int rows = 0;
  char end = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &columns, &rows, &end) != 2 || columns < 1 || rows < 1)
    throw InputError(
        fmt::format("--grid is '{}'; it must be COLUMNSxROWS, such as 2x2", printable(text)));
  return {columns, rows};
}

std::vector<UnusedOptions> unused_options(const ClusterFlowCommand& o) {
  std::vector<UnusedOptions> rules = unused_draw_options(
      o.frames.output, is_video_name(o.frames.output) || !o.frames.sink_pipeline.empty());
  rules.push_back({true,
                   {"--min-deviations", "--min-area"},
                   "a cluster computes no deviation and finds no objects"});
  rules.push_back({!o.bench,
                   {"--bench-frames", "--bench-rounds", "--bench-resident", "--plot"},
                   "it applies to --bench, which is not given"});
  rules.push_back({o.bench,
                   {"--output", "--sink", "--source", "--trace", "--ranks-report"},
                   "--bench writes nothing but its report, and needs frames that it can repeat"});
  return rules;
}

/// The configuration for frames of this size. Throws InputError.
FlowClusterConfig cluster_config(const ClusterFlowCommand& command, ImageSize size,
                                 PixelFormat format, int ranks) {
  OperatorConfig flow = command.flow.config({{"method", "kernels"}});
  flow.set_input(size, format);
  FlowClusterConfig config;
  config.flow = *flow.get_if<OpticalFlowConfig>();
  if (!command.grid.empty()) {
    std::tie(config.columns, config.rows) = parse_grid(command.grid);
    if (ranks % config.columns != 0 || config.rows != ranks / config.columns) {
      throw InputError(fmt::format("--grid is {}; its product must be the number of ranks, {}",
                                   command.grid, ranks));
    }
  }
  config.fan_out = command.fan_out;
  config.frames_in_flight = command.frames_in_flight;
  config.split_communication = !command.no_split;
  if (command.collective) config.transfer = ClusterTransfer::kCollective;
  if (command.halo == "staged") config.halo_transfer = HaloTransfer::kStaged;
  if (command.halo == "direct") config.halo_transfer = HaloTransfer::kDirect;
  if (command.halo == "peer") config.halo_transfer = HaloTransfer::kPeer;
  config.measure_speed = !command.equal_regions;
  return config;
}

int run_flow(const ClusterFlowCommand& command, MPI_Comm communicator, ClusterBench bench) {
  const bool root = rank_of(communicator) == 0;
  std::unique_ptr<FrameInput> input;
  FramePointer first;
  SourceInfo source;
  const auto open = [&] {
    if (command.frames.inputs.empty() && command.frames.source_pipeline.empty())
      throw InputError("FRAMES or --source is required");
    check_distinct_outputs({{"-o", command.frames.output}, {"--trace", command.trace}});
    input = std::make_unique<FrameInput>(command.frames);
    first = std::make_shared<InputFrame>();
    if (!input->next(*first))
      throw InputError(fmt::format("{}: contains no frame", input->source().name()));
    source = {first->image.size, first->image.format};
    // Errors in the name of the output are reported before the ranks start.
    FrameOutput(command.frames, FlowFieldOutput::extensions(), input->source().fps());
    command.draw.config();
  };
  if (!prepared_by_root(communicator, open)) return kBadInput;
  MPI_Bcast(&source, sizeof(source), MPI_BYTE, 0, communicator);
  FlowClusterConfig config;
  // Another host may lack a file that the root has.
  const bool prepared = prepared_by_all(communicator, [&] {
    config = cluster_config(command, source.size, source.format, ranks_of(communicator));
  });
  if (!prepared) return kBadInput;
  const EngineConfig engine = rank_engine(communicator, command.common);
  if (command.bench) return bench(command, communicator, engine, config, input.get(), first.get());
  if (!command.trace.empty()) config.trace_events = kTraceEvents;
  Expected<FlowCluster> cluster = FlowCluster::create(communicator, engine, config);
  if (!cluster) {
    // All ranks have the same error.
    if (root) throw InputError(cluster.error().text);
    return kBadInput;
  }
  if (!root) {
    const EndsAfterRoot ends_after_root;
    if (Expected<void> served = cluster->serve(); !served)
      abort_ranks(communicator, served.error().text);
    return kDone;
  }
  std::optional<RootJob> job;
  try {
    job.emplace(command, *input, std::move(first), *cluster, config);
    return job->run();
  } catch (const std::exception& error) {
    job.reset();
    abort_ranks(communicator, error.what());
  }
}

}  // namespace

void add_cluster_flow_command(CLI::App& program, MPI_Comm communicator, int& exit_code,
                              ClusterBench bench) {
  CLI::App* const command = program.add_subcommand(
      "flow", "Compute the motion field of an image sequence on all ranks, with kernels");
  const auto o = std::make_shared<ClusterFlowCommand>();
  add_frame_options(
      *command, o->frames,
      "out.flo or out.png: the last field; out_%03d.flo or out_%03d.png: all fields; "
      "out.webm, out.mp4 or out.y4m: the video with the field drawn over it; -: the same as Y4M "
      "on standard output",
      1);
  add_pipeline_options(*command, o->frames);
  o->draw.add_to(*command);
  command->add_option("--grid", o->grid,
                      "Regions as COLUMNSxROWS; their product is the number of ranks (default: one "
                      "column)");
  add_value(*command, "--fan-out", o->fan_out,
            "Most ranks that a rank sends frames to: frames and results take a tree; 0: the "
            "root sends to all")
      ->check(CLI::Range(0, 1024));
  add_value(*command, "--frames-in-flight", o->frames_in_flight, "Frames that the ranks work on")
      ->check(CLI::Range(1, kMaxClusterFrames));
  command->add_flag("--no-split", o->no_split,
                    "Wait for each transfer as soon as it is started, as in the paper's pipeline "
                    "of five stages");
  command->add_flag("--collective", o->collective,
                    "Send frames and results by MPI_Iscatterv and MPI_Igatherv in place of "
                    "messages; one column of regions only");
  add_value(*command, "--halo", o->halo,
            "How halos leave a CUDA device: peer (copies between the devices of a host), "
            "direct (a CUDA-aware MPI), staged (through page-locked memory), or auto: the "
            "first that is possible")
      ->check(CLI::IsMember({"auto", "peer", "direct", "staged"}));
  command->add_flag("--equal-regions", o->equal_regions,
                    "Do not measure the ranks: all regions have the same size");
  command->add_flag("--ranks-report", o->ranks_report, "Print times and bytes of each rank");
  command->add_option("--trace", o->trace,
                      "Write the stages of all frames to this file, for Chrome and Perfetto");
  command->add_flag("--bench", o->bench,
                    "Measure frames per second on one rank and on all, with and without results "
                    "at the root");
  add_value(*command, "--bench-frames", o->bench_frames, "Frames of each measurement")
      ->check(CLI::Range(5, 100000));
  add_value(*command, "--bench-rounds", o->bench_rounds, "Measurements of each row, in turns")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--bench-resident", o->bench_resident,
                    "Measure only rows whose frames and results stay on the ranks");
  command->add_option("--plot", o->plot, "Draw the rates of --bench to this .svg file");
  o->flow.add_to(*command);
  add_common_options(*command, o->common);
  command->callback([command, o, communicator, &exit_code, bench] {
    check_options(*command, unused_options(*o));
    exit_code = run_flow(*o, communicator, bench);
  });
}

}  // namespace ocellus::app
