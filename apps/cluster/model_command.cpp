#include "apps/cluster/model_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "apps/cluster/run_model.h"
#include "apps/common/operator_options.h"
#include "apps/measure/curve_plot.h"

namespace ocellus::app {
namespace {

struct ModelCommand {
  OperatorOptions flow{"flow", {"kernels", "taps", "window"}};
  std::vector<std::string> sizes{"640x480", "1920x1080", "7680x4320"};
  std::vector<std::string> links{"10GbE", "100GbE", "NVLink"};
  double speed = 0.0;
  int ranks = 1024;
  int fan_out = 4;
  bool no_split = false;
  bool resident = false;
  bool frames_on_ranks = false;
  bool json = false;
  std::string plot;
};

struct Series {
  ImageSize size;
  ClusterLink link;
  std::vector<ClusterPrediction> points;

  /// The number of the first point that reaches nine tenths of the highest rate.
  std::size_t end() const {
    double best = 0.0;
    for (const ClusterPrediction& p : points) best = std::max(best, p.rate);
    std::size_t i = 0;
    while (points[i].rate < 0.9 * best) ++i;
    return i;
  }
  /// What limits the rate beyond it.
  const char* limit() const { return points[std::min(end() + 1, points.size() - 1)].limit; }
};

int run_model(const ModelCommand& command) {
  std::vector<Series> all;
  for (const std::string& size_given : command.sizes) {
    for (const std::string& link_given : command.links) {
      Series series{parse_size(size_given, "--size"), parse_link(link_given), {}};
      OperatorConfig flow = command.flow.config({{"method", "kernels"}});
      flow.set_input(series.size, PixelFormat::kGray8);
      FlowClusterConfig config;
      config.flow = *flow.get_if<OpticalFlowConfig>();
      config.fan_out = command.fan_out;
      config.split_communication = !command.no_split;
      config.gather = !command.resident;
      config.scatter = !command.frames_on_ranks;
      for (int ranks = 1; ranks <= command.ranks; ranks *= 2) {
        series.points.push_back(predict_cluster(config, ranks, command.speed, series.link));
      }
      all.push_back(std::move(series));
    }
  }
  if (!command.plot.empty()) {
    if (command.sizes.size() != 1 && command.links.size() != 1)
      throw InputError("--plot draws the curves of one --size or of one --link");
    CurvePlot plot;
    plot.title = "Predicted frames per second of optical flow on a cluster";
    plot.subtitle =
        fmt::format("{} pixels per second and rank, {}", command.speed,
                    command.frames_on_ranks && command.resident ? "frames and results on the ranks"
                    : command.frames_on_ranks                   ? "frames on the ranks"
                    : command.resident                          ? "results on the ranks"
                                                                : "results at the root");
    plot.x_label = "ranks";
    plot.y_label = "frames/s";
    plot.logarithmic_x = true;
    for (const Series& series : all) {
      Curve curve{command.links.size() == 1 ? size_text(series.size) : series.link.name, {}};
      for (const ClusterPrediction& p : series.points) curve.points.emplace_back(p.ranks, p.rate);
      plot.curves.push_back(std::move(curve));
    }
    write_curves_svg(command.plot, plot);
  }
  if (command.json) {
    nlohmann::ordered_json json;
    json["pixels_per_second"] = command.speed;
    json["series"] = nlohmann::ordered_json::array();
    for (const Series& series : all) {
      nlohmann::ordered_json one;
      one["size"] = {series.size.width, series.size.height};
      one["link"] = series.link.name;
      one["points"] = nlohmann::ordered_json::array();
      for (const ClusterPrediction& p : series.points) {
        one["points"].push_back({{"ranks", p.ranks},
                                 {"grid", {p.columns, p.rows}},
                                 {"frames_per_second", p.rate},
                                 {"limit", p.limit},
                                 {"compute_ms", 1e3 * p.compute},
                                 {"scatter_ms", 1e3 * p.scatter},
                                 {"halo_ms", 1e3 * p.halo},
                                 {"gather_ms", 1e3 * p.gather},
                                 {"halo_bytes", p.halo_bytes}});
      }
      one["scaling_ends_at"] = series.points[series.end()].ranks;
      one["limit"] = series.limit();
      json["series"].push_back(std::move(one));
    }
    print_json(json);
    return kDone;
  }
  for (const Series& series : all) {
    fmt::print("{}, {}\n", size_text(series.size), series.link.name);
    fmt::print("{:>6} {:>8} {:>11} {:>11} {:>11} {:>11} {:>11}  {}\n", "ranks", "grid", "frames/s",
               "compute ms", "frame ms", "halo ms", "result ms", "limit");
    for (const ClusterPrediction& p : series.points) {
      fmt::print("{:>6} {:>8} {:>11.1f} {:>11.4f} {:>11.4f} {:>11.4f} {:>11.4f}  {}\n", p.ranks,
                 fmt::format("{}x{}", p.columns, p.rows), p.rate, 1e3 * p.compute, 1e3 * p.scatter,
                 1e3 * p.halo, 1e3 * p.gather, p.limit);
    }
    fmt::print("the scaling ends at {}: {}\n\n", counted(series.points[series.end()].ranks, "rank"),
               series.limit());
  }
  return kDone;
}

}  // namespace

void add_cluster_model_command(CLI::App& program, int& exit_code) {
  CLI::App* const command = program.add_subcommand(
      "model", "Predict the frame rate of optical flow on a cluster, without running it");
  const auto o = std::make_shared<ModelCommand>();
  command
      ->add_option("--speed", o->speed,
                   "Pixels per second of one rank, such as 1 / time of a frame x its pixels")
      ->required()
      ->check(finite_range(1.0, 1e15));
  command->add_option("--size", o->sizes, "Sizes of frames")->delimiter(',')->capture_default_str();
  command
      ->add_option("--link", o->links,
                   "10GbE, 100GbE, NVLink, or bytes per second and seconds of latency, such as "
                   "1.25e9,2e-5")
      ->capture_default_str();
  command->add_option("--ranks", o->ranks, "Most ranks")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command
      ->add_option("--fan-out", o->fan_out,
                   "Most ranks that a rank sends frames to; 0: the root sends to all")
      ->check(CLI::Range(0, 65536))
      ->capture_default_str();
  command->add_flag("--no-split", o->no_split, "Wait for each transfer as soon as it is started");
  command->add_flag("--resident", o->resident, "Results stay on the ranks");
  command->add_flag("--frames-on-ranks", o->frames_on_ranks,
                    "The ranks have the frames; the root sends none");
  command->add_option("--plot", o->plot, "Draw the curves to this .svg file");
  o->flow.add_to(*command);
  add_json_option(*command, o->json);
  command->callback([command, o, &exit_code] {
    check_options(*command, {});
    exit_code = run_model(*o);
  });
}

}  // namespace ocellus::app
