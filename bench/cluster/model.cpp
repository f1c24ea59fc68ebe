// A model of the frame rate of a cluster, and ocellus-cluster model, which prints it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/operator_options.h"
#include "apps/common/printable.h"
#include "bench/cluster/cluster_bench.h"
#include "bench/curve_plot.h"
#include "cluster/regions.h"

namespace ocellus::app {
namespace {

double area(const Rect& rect) {
  return static_cast<double>(rect.width) * rect.height;
}

/// "10GbE", "100GbE", "NVLink", or "BYTES_PER_SECOND,LATENCY_SECONDS" such as "1.25e9,2e-5". Throws
/// InputError.
ClusterLink parse_link(const std::string& text) {
  // Bandwidths by their names; latencies are usual values of MPI over TCP, over RDMA, and between
  // GPUs of one host.
  const std::array<ClusterLink, 3> known = {{{"10GbE", 1.25e9, 20e-6, 1.0},
                                             {"100GbE", 12.5e9, 5e-6, 1.0},
                                             {"NVLink", kNvLinkBytesPerSecond, 8e-6, 1.0}}};
  for (const ClusterLink& link : known)
    if (text == link.name) return link;
  ClusterLink link{text, 0.0, 0.0, 1.0};
  char end = 0;
  if (std::sscanf(text.c_str(), "%lf,%lf%c", &link.bytes_per_second, &link.latency_seconds, &end) !=
          2 ||
      !(link.bytes_per_second >= 1.0 && link.bytes_per_second <= 1e15) ||
      !(link.latency_seconds >= 0.0 && link.latency_seconds <= 10.0)) {
    throw InputError(
        fmt::format("--link is '{}'; it must be 10GbE, 100GbE, NVLink, or bytes per second and "
                    "seconds of latency, such as 1.25e9,2e-5",
                    printable(text)));
  }
  return link;
}

/// The divisors of `ranks` for which regions of this image have the least halo.
void choose_grid(ImageSize image, int ranks, int& columns, int& rows) {
  double least = 0.0;
  columns = rows = 0;
  for (int c = 1; c <= ranks; ++c) {
    if (ranks % c != 0 || c > image.width || ranks / c > image.height) continue;
    const int r = ranks / c;
    const double cuts =
        static_cast<double>(c - 1) * image.height + static_cast<double>(r - 1) * image.width;
    if (columns != 0 && cuts >= least) continue;
    least = cuts;
    columns = c;
    rows = r;
  }
}

}  // namespace

ClusterPrediction predict_cluster(const FlowClusterConfig& config, int ranks,
                                  double pixels_per_second, const ClusterLink& link) {
  const OpticalFlowConfig& flow = config.flow;
  ClusterPrediction p;
  p.ranks = ranks;
  p.columns = config.columns;
  p.rows = config.rows;
  if (p.columns == 0) choose_grid(flow.size, ranks, p.columns, p.rows);
  if (p.columns == 0) {
    throw InputError(fmt::format("{} ranks have no grid of regions in {}x{} pixels", ranks,
                                 flow.size.width, flow.size.height));
  }
  const std::vector<double> equal(static_cast<std::size_t>(ranks), 1.0);
  const std::vector<Rect> regions = cluster::cut_regions(flow.size, p.columns, p.rows, equal);
  const auto kernel = cluster::Reach::of_kernel(flow.kernels.nx, flow.kernels.ny);
  const auto window = cluster::Reach::of_window(flow.window);
  const double pixel = bytes_per_pixel(flow.format);
  const double result = config.gather ? (config.confidence ? 12.0 : 8.0) : 0.0;
  const bool by_devices = link.halo_bytes_per_second > 0.0;
  double largest = 0.0;
  double most_halo = 0.0;
  double most_bytes = 0.0;     // of a rank's own transfers, by the link
  double scatter_bytes = 0.0;  // that the root sends
  double gather_bytes = 0.0;   // that the root receives
  for (int r = 0; r < ranks; ++r) {
    const Rect& region = regions[static_cast<std::size_t>(r)];
    const double slab = area(cluster::grow(region, kernel, flow.size)) * pixel;
    const double halo = 12.0 * (area(cluster::grow(region, window, flow.size)) - area(region));
    largest = std::max(largest, area(region));
    most_halo = std::max(most_halo, halo);
    p.halo_bytes += halo;
    const double received = r > 0 && config.scatter ? slab : 0.0;
    const double returned = r > 0 ? area(region) * result : 0.0;
    const double sent_halo = by_devices ? 0.0 : halo;
    scatter_bytes += received;
    gather_bytes += returned;
    most_bytes = std::max(most_bytes, sent_halo + received + returned);
  }
  // A tree sends fewer messages from the root, but not fewer bytes.
  const int children = config.fan_out > 0 ? std::min(config.fan_out, ranks - 1) : ranks - 1;
  const double seconds_of_byte = 1.0 / link.bytes_per_second;
  if (ranks > 1) {
    p.scatter = scatter_bytes * seconds_of_byte + children * link.latency_seconds;
    p.halo = (by_devices ? most_halo / link.halo_bytes_per_second : most_halo * seconds_of_byte) +
             link.latency_seconds;
    if (config.gather) p.gather = gather_bytes * seconds_of_byte + children * link.latency_seconds;
  }
  // Where the CPUs copy, the root's transfers take its time, and each rank's its own.
  const double root_bytes = scatter_bytes + gather_bytes + (by_devices ? 0.0 : most_halo);
  const double copies =
      ranks > 1 ? (1.0 - link.overlap) * std::max(root_bytes, most_bytes) * seconds_of_byte : 0.0;
  if (link.memory_bytes_per_second > 0.0)
    p.memory = take(OpticalFlow::info_for(flow), "flow").least_bytes / link.memory_bytes_per_second;
  p.compute = largest / pixels_per_second + copies;
  if (config.split_communication) {
    const std::pair<double, const char*> stages[] = {{p.compute, "computation"},
                                                     {p.memory, "memory"},
                                                     {p.scatter, "frames from the root"},
                                                     {p.halo, "halos"},
                                                     {p.gather, "results to the root"}};
    const auto slowest =
        std::max_element(std::begin(stages), std::end(stages),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
    p.rate = 1.0 / slowest->first;
    p.limit = slowest->second;
  } else {
    const double computation = std::max(largest / pixels_per_second, p.memory);
    p.rate = 1.0 / (computation + p.scatter + p.halo + p.gather);
    p.limit = "all stages in turn";
  }
  return p;
}

namespace {

struct ModelCommand {
  OperatorOptions flow{"flow", {"kernels", "taps", "window"}};
  std::vector<std::string> sizes{"640x480", "1920x1080", "7680x4320"};
  std::vector<std::string> links{"10GbE", "100GbE", "NVLink"};
  double speed = 0.0;
  double memory = 0.0;
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
      series.link.memory_bytes_per_second = command.memory;
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
                                 {"memory_ms", 1e3 * p.memory},
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
    fmt::print("{:>6} {:>8} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}  {}\n", "ranks", "grid",
               "frames/s", "compute ms", "memory ms", "frame ms", "halo ms", "result ms", "limit");
    for (const ClusterPrediction& p : series.points) {
      fmt::print("{:>6} {:>8} {:>11.1f} {:>11.4f} {:>11.4f} {:>11.4f} {:>11.4f} {:>11.4f}  {}\n",
                 p.ranks, fmt::format("{}x{}", p.columns, p.rows), p.rate, 1e3 * p.compute,
                 1e3 * p.memory, 1e3 * p.scatter, 1e3 * p.halo, 1e3 * p.gather, p.limit);
    }
    fmt::print("the scaling ends at {}: {}\n\n", counted(series.points[series.end()].ranks, "rank"),
               series.limit());
  }
  return kDone;
}

}  // namespace

void add_cluster_model_command(CLI::App& program, int& exit_code) {
  CLI::App* const command = program.add_subcommand("model", kClusterModelSummary);
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
  command
      ->add_option("--memory", o->memory,
                   "Bytes per second that all ranks read together, as those of one host do; 0: as "
                   "much as they need")
      ->check(finite_range(0.0, 1e15))
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
