#include "apps/cluster/run_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "apps/common/input_error.h"
#include "apps/common/printable.h"
#include "cluster/regions.h"

namespace ocellus::app {
namespace {

double area(const Rect& rect) {
  return static_cast<double>(rect.width) * rect.height;
}

}  // namespace

ClusterLink parse_link(const std::string& text) {
  // Bandwidths by their names; latencies are usual values of MPI over TCP, over RDMA, and between
  // GPUs of one host.
  const std::array<ClusterLink, 3> known = {
      {{"10GbE", 1.25e9, 20e-6, 1.0}, {"100GbE", 12.5e9, 5e-6, 1.0}, {"NVLink", 450e9, 8e-6, 1.0}}};
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
  double largest = 0.0;
  double most_halo = 0.0;
  double most_bytes = 0.0;  // of a rank's own transfers
  for (int r = 0; r < ranks; ++r) {
    const Rect& region = regions[static_cast<std::size_t>(r)];
    const double slab = area(cluster::grow(region, kernel, flow.size)) * pixel;
    const double halo = 12.0 * (area(cluster::grow(region, window, flow.size)) - area(region));
    largest = std::max(largest, area(region));
    most_halo = std::max(most_halo, halo);
    p.halo_bytes += halo;
    if (r > 0) {
      p.scatter_bytes += config.scatter ? slab : 0.0;
      p.gather_bytes += area(region) * result;
    }
    most_bytes = std::max(
        most_bytes, halo + (r > 0 ? (config.scatter ? slab : 0.0) + area(region) * result : 0.0));
  }
  // A tree sends fewer messages from the root, but not fewer bytes.
  const int children = config.fan_out > 0 ? std::min(config.fan_out, ranks - 1) : ranks - 1;
  const double seconds_of_byte = 1.0 / link.bytes_per_second;
  if (ranks > 1) {
    p.scatter = p.scatter_bytes * seconds_of_byte + children * link.latency_seconds;
    p.halo = most_halo * seconds_of_byte + link.latency_seconds;
    if (config.gather)
      p.gather = p.gather_bytes * seconds_of_byte + children * link.latency_seconds;
  }
  // Where the CPUs copy, the root's transfers take its time, and each rank's its own.
  const double root_bytes = p.scatter_bytes + p.gather_bytes + most_halo;
  const double copies =
      ranks > 1 ? (1.0 - link.overlap) * std::max(root_bytes, most_bytes) * seconds_of_byte : 0.0;
  p.compute = largest / pixels_per_second + copies;
  if (config.split_communication) {
    const std::pair<double, const char*> stages[] = {{p.compute, "computation"},
                                                     {p.scatter, "frames from the root"},
                                                     {p.halo, "halos"},
                                                     {p.gather, "results to the root"}};
    const auto slowest =
        std::max_element(std::begin(stages), std::end(stages),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
    p.rate = 1.0 / slowest->first;
    p.limit = slowest->second;
  } else {
    p.rate = 1.0 / (largest / pixels_per_second + p.scatter + p.halo + p.gather);
    p.limit = "all stages in turn";
  }
  return p;
}

}  // namespace ocellus::app
