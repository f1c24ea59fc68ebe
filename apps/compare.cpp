// ocellus compare: a result against the truth.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "common.h"
#include "errors.h"
#include "image_io.h"

namespace ocellus::app {
namespace {

struct CompareOptions {
  std::string result;
  std::string truth;
  std::string mask;
  std::string confidence;
  int border = 0;
  double density = 100.0;
  double max_epe = std::numeric_limits<double>::infinity();
  double max_aae = std::numeric_limits<double>::infinity();
  double min_density = 0.0;  // per cent
  double min_psnr = -std::numeric_limits<double>::infinity();
  bool json = false;
};

int compare_flow(const CompareOptions& o) {
  const FlowField result = read_flo(o.result);
  const FlowField truth = read_flo(o.truth);
  check_same_size(o.result, result.size, o.truth, truth.size);
  check_border(o.border, truth.size);
  ErrorSelection selection;
  selection.border = o.border;
  selection.density = o.density;
  std::vector<std::uint8_t> mask;
  if (!o.mask.empty()) {
    mask = read_mask(o.mask, o.truth, truth.size);
    selection.mask = &mask;
  }
  FloatPlane confidence;
  if (!o.confidence.empty()) {
    confidence = read_pfm(o.confidence);
    check_same_size(o.confidence, confidence.size, o.truth, truth.size);
    selection.confidence = &confidence.values;
  }
  const FlowErrors e = flow_errors(result, truth, selection);
  if (e.counted == 0)
    throw InputError(
        fmt::format("{}: no pixel of known truth is left inside the mask and the border", o.truth));
  // Without a vector to compare, no limit is kept.
  const bool small = e.compared > 0 ? e.mean <= o.max_epe && e.angle_mean <= o.max_aae
                                    : !std::isfinite(o.max_epe) && !std::isfinite(o.max_aae);
  const bool good = small && 100.0 * e.density() >= o.min_density;

  if (o.json) {
    nlohmann::ordered_json json;
    json["result"] = o.result;
    json["truth"] = o.truth;
    json["size"] = {truth.size.width, truth.size.height};
    json["counted"] = e.counted;
    json["compared"] = e.compared;
    json["invalid"] = e.invalid;
    json["density"] = e.density();
    if (e.compared > 0) {
      json["epe"] = {{"mean", e.mean},         {"median", e.median},
                     {"sd", e.deviation},      {"above_0.5", e.above_half},
                     {"above_1", e.above_one}, {"above_3", e.above_three}};
      json["aae"] = {{"mean", e.angle_mean}, {"sd", e.angle_deviation}};
    } else {
      json["epe"] = nullptr;
      json["aae"] = nullptr;
    }
    json["ok"] = good;
    print_json(json);
    return good ? kDone : kAnswerIsNo;
  }
  fmt::print("{} against {}, {}\n", o.result, o.truth, size_text(truth.size));
  fmt::print("  pixels           {} of {} of known truth ({:.1f} %), {} invalid in the result\n",
             e.compared, e.counted, 100.0 * e.density(), e.invalid);
  if (e.compared == 0) {
    fmt::print("  nothing to compare: no vector of the result is valid\n");
    return good ? kDone : kAnswerIsNo;
  }
  fmt::print("  end-point error  mean {:.4f}  median {:.4f}  sd {:.4f} px\n", e.mean, e.median,
             e.deviation);
  fmt::print("  above            0.5 px {:.2f} %   1 px {:.2f} %   3 px {:.2f} %\n",
             100.0 * e.above_half, 100.0 * e.above_one, 100.0 * e.above_three);
  fmt::print("  angular error    mean {:.3f}  sd {:.3f} degrees\n", e.angle_mean,
             e.angle_deviation);
  if (!good) {
    fmt::print("  outside the limits: --max-epe {} --max-aae {} --min-density {}\n", o.max_epe,
               o.max_aae, o.min_density);
  }
  return good ? kDone : kAnswerIsNo;
}

/// Mean structural similarity over an 11x11 Gaussian window of sigma 1.5, K1 0.01, K2 0.03 (Wang et
/// al. 2004), over windows that lie in the image; nothing when the image is smaller than the
/// window.
std::optional<double> ssim(const std::vector<double>& a, const std::vector<double>& b,
                           ImageSize size) {
  constexpr int kRadius = 5;
  if (size.width <= 2 * kRadius || size.height <= 2 * kRadius) return std::nullopt;
  std::array<double, 2 * kRadius + 1> weight{};
  double sum = 0.0;
  for (int k = -kRadius; k <= kRadius; ++k)
    sum += weight[static_cast<std::size_t>(k + kRadius)] = std::exp(-0.5 * k * k / (1.5 * 1.5));
  for (double& w : weight) w /= sum;
  const std::size_t width = static_cast<std::size_t>(size.width);
  const std::size_t height = static_cast<std::size_t>(size.height);
  const std::size_t inner_width = width - 2 * kRadius;
  const std::size_t inner_height = height - 2 * kRadius;
  const auto filter = [&](auto&& value) {
    std::vector<double> rows(inner_width * height);
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < inner_width; ++x) {
        double s = 0.0;
        for (std::size_t k = 0; k < weight.size(); ++k) s += weight[k] * value(y * width + x + k);
        rows[y * inner_width + x] = s;
      }
    }
    std::vector<double> out(inner_width * inner_height);
    for (std::size_t y = 0; y < inner_height; ++y) {
      for (std::size_t x = 0; x < inner_width; ++x) {
        double s = 0.0;
        for (std::size_t k = 0; k < weight.size(); ++k)
          s += weight[k] * rows[(y + k) * inner_width + x];
        out[y * inner_width + x] = s;
      }
    }
    return out;
  };
  const auto mean_a = filter([&](std::size_t i) { return a[i]; });
  const auto mean_b = filter([&](std::size_t i) { return b[i]; });
  const auto aa = filter([&](std::size_t i) { return a[i] * a[i]; });
  const auto bb = filter([&](std::size_t i) { return b[i] * b[i]; });
  const auto ab = filter([&](std::size_t i) { return a[i] * b[i]; });
  constexpr double kC1 = (0.01 * 255.0) * (0.01 * 255.0);
  constexpr double kC2 = (0.03 * 255.0) * (0.03 * 255.0);
  double total = 0.0;
  for (std::size_t i = 0; i < mean_a.size(); ++i) {
    const double ma = mean_a[i];
    const double mb = mean_b[i];
    total += (2.0 * ma * mb + kC1) * (2.0 * (ab[i] - ma * mb) + kC2) /
             ((ma * ma + mb * mb + kC1) * (aa[i] - ma * ma + bb[i] - mb * mb + kC2));
  }
  return total / static_cast<double>(mean_a.size());
}

int compare_image(const CompareOptions& o) {
  const GrayImage result = read_image(o.result);
  const GrayImage truth = read_image(o.truth);
  check_same_size(o.result, result.size, o.truth, truth.size);
  check_border(o.border, truth.size);
  const ImageSize size = truth.size;
  std::vector<std::uint8_t> mask;
  if (!o.mask.empty()) mask = read_mask(o.mask, o.truth, size);

  std::vector<double> a;
  std::vector<double> b;
  double squares = 0.0;
  std::int64_t counted = 0;
  for (int y = o.border; y < size.height - o.border; ++y) {
    for (int x = o.border; x < size.width - o.border; ++x) {
      a.push_back(result.brightness(x, y));
      b.push_back(truth.brightness(x, y));
      if (!mask.empty() && mask[static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                                static_cast<std::size_t>(x)] == 0)
        continue;
      const double difference = a.back() - b.back();
      squares += difference * difference;
      ++counted;
    }
  }
  if (counted == 0)
    throw InputError(fmt::format("{}: no pixel is left inside the mask and the border", o.truth));
  const double mse = squares / static_cast<double>(counted);
  const double psnr =
      mse > 0.0 ? 10.0 * std::log10(255.0 * 255.0 / mse) : std::numeric_limits<double>::infinity();
  // The windows of SSIM reach over a mask's edge, so with a mask there is none.
  const std::optional<double> similarity =
      mask.empty() ? ssim(a, b, {size.width - 2 * o.border, size.height - 2 * o.border})
                   : std::nullopt;
  const bool good = psnr >= o.min_psnr;
  if (o.json) {
    nlohmann::ordered_json json;
    json["result"] = o.result;
    json["truth"] = o.truth;
    json["size"] = {size.width, size.height};
    json["counted"] = counted;
    json["mse"] = mse;
    json["psnr"] =
        std::isfinite(psnr) ? nlohmann::ordered_json(psnr) : nlohmann::ordered_json(nullptr);
    json["identical"] = mse == 0.0;
    json["ssim"] =
        similarity.value_or(std::numeric_limits<double>::quiet_NaN());  // NaN is null in JSON
    json["ok"] = good;
    print_json(json);
    return good ? kDone : kAnswerIsNo;
  }
  fmt::print("{} against {}, {}\n", o.result, o.truth, size_text(size));
  fmt::print("  pixels  {}\n  PSNR    {}\n  SSIM    {}\n", counted,
             mse == 0.0 ? "identical" : fmt::format("{:.3f} dB", psnr),
             similarity ? fmt::format("{:.5f}", *similarity)
                        : std::string("not defined (with a mask, or below 11x11)"));
  return good ? kDone : kAnswerIsNo;
}

}  // namespace

void add_compare_command(CLI::App& program, int& exit_code) {
  CLI::App* const compare = program.add_subcommand("compare", "Compare a result with the truth");
  compare->require_subcommand(1);
  const auto o = std::make_shared<CompareOptions>();

  CLI::App* const flow = compare->add_subcommand(
      "flow", "End-point and angular error of a flow field; unknown truth is left out");
  flow->add_option("RESULT", o->result, ".flo file")->required();
  flow->add_option("TRUTH", o->truth, ".flo file")->required();
  flow->add_option("--mask", o->mask, "Image of the same size: pixels of 128 and more count");
  flow->add_option("--border", o->border, "Pixels left out on all sides")
      ->check(CLI::Range(0, kMaxImageSide));
  flow->add_option("--confidence", o->confidence,
                   "PFM file, as ocellus flow --confidence writes it");
  flow->add_option("--density", o->density,
                   "Percent of the pixels to keep, the most confident ones")
      ->check(finite_range(0.001, 100.0));
  flow->add_option("--max-epe", o->max_epe,
                   "Exit with 1 when the mean end-point error of the valid vectors is above this")
      ->check(finite_range(0.0, 1e9));
  flow->add_option("--max-aae", o->max_aae,
                   "Exit with 1 when the mean angular error of the valid vectors is above this")
      ->check(finite_range(0.0, 180.0));
  flow->add_option("--min-density", o->min_density,
                   "Exit with 1 when fewer per cent of the known pixels have a valid vector")
      ->check(finite_range(0.0, 100.0));
  add_json_option(*flow, o->json);
  flow->callback([flow, o, &exit_code] {
    check_options(*flow,
                  {{o->confidence.empty(), {"--density"}, "--confidence says what pixels to keep"},
                   {flow->count("--density") == 0,
                    {"--confidence"},
                    "it ranks the pixels for --density; without that all are kept"}});
    exit_code = compare_flow(*o);
  });

  CLI::App* const image =
      compare->add_subcommand("image", "PSNR and SSIM of an image, in the range of 8 bits");
  image->add_option("RESULT", o->result, "PNG, PGM or JPEG")->required();
  image->add_option("TRUTH", o->truth, "PNG, PGM or JPEG")->required();
  image->add_option("--mask", o->mask, "Image of the same size: pixels of 128 and more count");
  image->add_option("--border", o->border, "Pixels left out on all sides")
      ->check(CLI::Range(0, kMaxImageSide));
  image->add_option("--min-psnr", o->min_psnr, "Exit with 1 when the PSNR is below this")
      ->check(finite_range(0.0, 1000.0));
  add_json_option(*image, o->json);
  image->callback([image, o, &exit_code] {
    check_options(*image, {});
    exit_code = compare_image(*o);
  });
}

}  // namespace ocellus::app
