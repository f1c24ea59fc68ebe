// ocellus compare: compares a result with the truth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>

#include "apps/common/common.h"
#include "apps/common/printable.h"
#include "apps/io/image_io.h"
#include "apps/io/numbered_name.h"
#include "apps/measure/flow_errors.h"
#include "apps/measure/image_errors.h"
#include "apps/program.h"

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
  double min_density = 0.0;  // in percent
  double min_psnr = 0.0;
  double min_hvs_psnr = 0.0;
  double sigma = 1.5;
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
    throw InputError(fmt::format(
        "{}: no pixel with known truth is left inside the mask and the border", o.truth));
  // If no vector can be compared, every finite limit counts as exceeded.
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
  fmt::print("{} against {}, {}\n", printable(o.result), printable(o.truth), size_text(truth.size));
  fmt::print("  pixels           {} of {} of known truth ({:.1f} %), {} invalid in the result\n",
             e.compared, e.counted, 100.0 * e.density(), e.invalid);
  if (e.compared == 0) {
    fmt::print("  nothing to compare: the result has no valid vector\n");
    return good ? kDone : kAnswerIsNo;
  }
  fmt::print("  end-point error  mean {:.4f}  median {:.4f}  sd {:.4f} px\n", e.mean, e.median,
             e.deviation);
  fmt::print("  above            0.5 px {:.2f} %   1 px {:.2f} %   3 px {:.2f} %\n",
             100.0 * e.above_half, 100.0 * e.above_one, 100.0 * e.above_three);
  fmt::print("  angular error    mean {:.3f}  sd {:.3f} degrees\n", e.angle_mean,
             e.angle_deviation);
  if (e.mean > o.max_epe) fmt::print("  above the limit: --max-epe {}\n", o.max_epe);
  if (e.angle_mean > o.max_aae) fmt::print("  above the limit: --max-aae {}\n", o.max_aae);
  if (100.0 * e.density() < o.min_density)
    fmt::print("  below the limit: --min-density {}\n", o.min_density);
  return good ? kDone : kAnswerIsNo;
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string psnr_text(double psnr) {
  return std::isfinite(psnr) ? fmt::format("{:.3f} dB", psnr) : std::string("identical");
}

std::string why_not_seen(const CompareOptions& o, ImageSize size) {
  if (!o.mask.empty()) return "not defined (a blur would reach across the edge of a mask)";
  return fmt::format("not defined (no pixel of {} is left inside a border of {} pixels)",
                     size_text(size), std::max(o.border, kSeenBorder));
}

std::string why_no_anisotropy(const CompareOptions& o, ImageSize size) {
  if (!o.mask.empty()) return "not defined (blocks would reach across the edge of a mask)";
  if (std::min(size.width, size.height) - 2 * o.border >= kAnisotropyBlock)
    return "not defined (the blocks have no error)";
  return fmt::format("not defined (it needs a block of {0}x{0} pixels inside the border)",
                     kAnisotropyBlock);
}

/// The mean square difference inside the border, over the pixels of the mask. Counts them.
double mean_square(const GrayImage& result, const GrayImage& truth, int border,
                   const std::vector<std::uint8_t>& mask, std::int64_t& counted) {
  const ImageSize size = truth.size;
  double squares = 0.0;
  counted = 0;
  for (int y = border; y < size.height - border; ++y) {
    for (int x = border; x < size.width - border; ++x) {
      if (!mask.empty() && mask[static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                                static_cast<std::size_t>(x)] == 0)
        continue;
      const double difference = static_cast<double>(result.brightness(x, y)) -
                                static_cast<double>(truth.brightness(x, y));
      squares += difference * difference;
      ++counted;
    }
  }
  return squares / static_cast<double>(std::max<std::int64_t>(counted, 1));
}

/// Whether a name is a numbered pattern. A percent sign may also be in the name of an image.
bool is_pattern(const std::string& name) {
  return name.find('%') != std::string::npos && !std::filesystem::exists(name) &&
         NumberedName(name).numbered();
}

/// The PSNR of each frame of two numbered sequences.
int compare_frames(const CompareOptions& o) {
  const NumberedName result(o.result);
  const NumberedName truth(o.truth);
  const std::vector<long> numbers = result.existing();
  if (numbers.empty()) throw InputError(fmt::format("{}: there is no such file", o.result));
  if (numbers != truth.existing())
    throw InputError(fmt::format("{} and {} have different numbers", o.result, o.truth));
  nlohmann::ordered_json frames = nlohmann::ordered_json::array();
  double sum = 0.0;
  double least = std::numeric_limits<double>::infinity();
  for (const long number : numbers) {
    const GrayImage a = read_image(result.at(number));
    const GrayImage b = read_image(truth.at(number));
    check_same_size(result.at(number), a.size, truth.at(number), b.size);
    check_border(o.border, b.size);
    std::int64_t counted = 0;
    const double psnr = psnr_of(mean_square(a, b, o.border, {}, counted));
    sum += psnr;
    least = std::min(least, psnr);
    frames.push_back({{"frame", number}, {"psnr", psnr}});
    if (!o.json) fmt::print("  frame {:<6}     {}\n", number, psnr_text(psnr));
  }
  const double mean = sum / static_cast<double>(numbers.size());
  const bool good = least >= o.min_psnr;
  if (o.json) {
    print_json({{"result", o.result},
                {"truth", o.truth},
                {"frames", frames},
                {"mean_psnr", mean},
                {"least_psnr", least},
                {"ok", good}});
  } else {
    fmt::print("{} against {}, {}\n  PSNR             mean {}, least {}\n", printable(o.result),
               printable(o.truth), counted(numbers.size(), "frame"), psnr_text(mean),
               psnr_text(least));
    if (!good) fmt::print("  below the limit: --min-psnr {}\n", o.min_psnr);
  }
  return good ? kDone : kAnswerIsNo;
}

int compare_image(const CompareOptions& o) {
  const GrayImage result = read_image(o.result);
  const GrayImage truth = read_image(o.truth);
  check_same_size(o.result, result.size, o.truth, truth.size);
  check_border(o.border, truth.size);
  const ImageSize size = truth.size;
  std::vector<std::uint8_t> mask;
  if (!o.mask.empty()) mask = read_mask(o.mask, o.truth, size);
  // Windows and blurs need several planes of numbers.
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;
  if (mask.empty() && std::int64_t{size.width} * size.height > kMostPixels) {
    throw InputError(fmt::format("{} is {}; without --mask, at most {} pixels can be compared",
                                 o.truth, size_text(size), kMostPixels));
  }

  std::int64_t counted = 0;
  const double mse = mean_square(result, truth, o.border, mask, counted);
  if (counted == 0)
    throw InputError(fmt::format("{}: no pixel is left inside the mask and the border", o.truth));
  const double psnr = psnr_of(mse);
  // Windows, blurs and blocks would reach across the edge of a mask, so they are left out with a
  // mask.
  std::optional<double> similarity;
  std::optional<SeenErrors> seen;
  std::optional<Anisotropy> direction;
  if (mask.empty()) {
    const GrayPlane a = gray_plane(result, o.border);
    const GrayPlane b = gray_plane(truth, o.border);
    similarity = ssim(a, b);
    seen = seen_errors(gray_plane(result), gray_plane(truth), o.sigma,
                       std::max(o.border, kSeenBorder));
    direction = anisotropy(a, b);
  }
  if (!seen && o.min_hvs_psnr > 0.0) {
    throw InputError(fmt::format("--min-hvs-psnr needs more than {} pixels on each side of {}",
                                 2 * std::max(o.border, kSeenBorder), size_text(size)));
  }
  const bool good = psnr >= o.min_psnr && (!seen || seen->psnr >= o.min_hvs_psnr);
  if (o.json) {
    nlohmann::ordered_json json;
    json["result"] = o.result;
    json["truth"] = o.truth;
    json["size"] = {size.width, size.height};
    json["counted"] = counted;
    json["mse"] = mse;
    json["psnr"] = psnr;  // JSON shows a value that is not finite as null
    json["identical"] = mse == 0.0;
    json["ssim"] = similarity.value_or(kNone);
    json["sigma"] = o.sigma;
    json["hvs_psnr"] = seen ? seen->psnr : kNone;
    json["mean_difference"] = seen ? seen->mean_difference : kNone;
    json["anisotropy_db"] = {{"mean", direction ? direction->mean_db : kNone},
                             {"largest", direction ? direction->largest_db : kNone},
                             {"blocks", direction ? direction->blocks : 0}};
    json["ok"] = good;
    print_json(json);
    return good ? kDone : kAnswerIsNo;
  }
  fmt::print("{} against {}, {}\n", printable(o.result), printable(o.truth), size_text(size));
  fmt::print("  pixels           {}\n  PSNR             {}\n  SSIM             {}\n", counted,
             psnr_text(psnr),
             similarity ? fmt::format("{:.5f}", *similarity)
                        : std::string("not defined (with a mask, or below 11x11)"));
  if (seen) {
    fmt::print("  HVS PSNR         {} after a Gaussian of sigma {:g} on both images\n",
               psnr_text(seen->psnr), o.sigma);
    fmt::print("  mean gray        {:+.5f} of the full range\n", seen->mean_difference);
  } else {
    fmt::print("  HVS, mean gray   {}\n", why_not_seen(o, size));
  }
  if (direction) {
    fmt::print("  anisotropy       mean {:.2f} dB, largest {:.2f} dB at one radius ({})\n",
               direction->mean_db, direction->largest_db, app::counted(direction->blocks, "block"));
  } else {
    fmt::print("  anisotropy       {}\n", why_no_anisotropy(o, size));
  }
  if (psnr < o.min_psnr) fmt::print("  below the limit: --min-psnr {}\n", o.min_psnr);
  if (seen && seen->psnr < o.min_hvs_psnr)
    fmt::print("  below the limit: --min-hvs-psnr {}\n", o.min_hvs_psnr);
  return good ? kDone : kAnswerIsNo;
}

}  // namespace

void add_compare_command(CLI::App& program, int& exit_code) {
  CLI::App* const compare = program.add_subcommand("compare", "Compare a result with the truth");
  compare->require_subcommand(1);
  add_executed_command(*compare, "latency",
                       "Print reports of ocellus latency --json beside each other",
                       {"compare", "latency"});
  const auto o = std::make_shared<CompareOptions>();

  CLI::App* const flow = compare->add_subcommand("flow",
                                                 "Print the end-point and angular error of a flow "
                                                 "field; pixels with unknown truth are left out");
  const auto add_files = [o](CLI::App& command, const char* result, const char* truth) {
    command.add_option("RESULT", o->result, result)->required();
    command.add_option("TRUTH", o->truth, truth)->required();
    command.add_option("--mask", o->mask,
                       "Image of the same size; only its pixels of 128 and more are compared");
    command.add_option("--border", o->border, "Pixels to leave out on all sides")
        ->check(CLI::Range(0, kMaxImageSide));
  };
  add_files(*flow, ".flo file", ".flo file");
  flow->add_option("--confidence", o->confidence,
                   "PFM file, as written by ocellus flow --confidence");
  flow->add_option("--density", o->density,
                   "Percentage of the pixels to compare: the most confident ones")
      ->check(finite_range(0.001, 100.0));
  flow->add_option(
          "--max-epe", o->max_epe,
          "Exit with code 1 if the mean end-point error of the valid vectors is above this")
      ->check(finite_range(0.0, 1e9));
  flow->add_option("--max-aae", o->max_aae,
                   "Exit with code 1 if the mean angular error of the valid vectors is above this")
      ->check(finite_range(0.0, 180.0));
  flow->add_option(
          "--min-density", o->min_density,
          "Exit with code 1 if a smaller percentage of the known pixels has a valid vector")
      ->check(finite_range(0.0, 100.0));
  add_json_option(*flow, o->json);
  flow->callback([flow, o, &exit_code] {
    check_options(
        *flow,
        {{o->confidence.empty(), {"--density"}, "it needs --confidence, which ranks the pixels"},
         {flow->count("--density") == 0,
          {"--confidence"},
          "it ranks the pixels for --density, without which all pixels are kept"}});
    exit_code = compare_flow(*o);
  });

  CLI::App* const image = compare->add_subcommand(
      "image", "Print PSNR and SSIM of an image, and how visible a halftone's error is");
  image->footer(
      "Gray values have the range of 8 bits. The HVS PSNR (for the human visual system) is the\n"
      "PSNR after a Gaussian of --sigma on both images; 8 pixels (or --border, if larger) are\n"
      "left out on all sides. The mean gray is taken over the same pixels. The anisotropy is\n"
      "Ulichney's, computed from the power spectrum of the error.");
  add_files(*image, "PNG, PGM, PPM, PBM or JPEG; or a numbered pattern such as f%02d.png",
            "The same");
  image
      ->add_option("--min-psnr", o->min_psnr,
                   "Exit with code 1 if the PSNR of an image is below this")
      ->check(finite_range(0.0, 1000.0));
  add_value(*image, "--sigma", o->sigma,
            "Standard deviation in pixels of the Gaussian that models the eye: larger for a "
            "greater distance")
      ->check(finite_range(0.1, 50.0));
  image
      ->add_option("--min-hvs-psnr", o->min_hvs_psnr,
                   "Exit with code 1 if the HVS PSNR is below this")
      ->check(finite_range(0.0, 1000.0));
  add_json_option(*image, o->json);
  image->callback([image, o, &exit_code] {
    check_options(*image, {{!o->mask.empty(),
                            {"--sigma", "--min-hvs-psnr"},
                            "a blur would reach across the edge of --mask"}});
    const bool sequence = is_pattern(o->result);
    if (sequence != is_pattern(o->truth))
      throw InputError("RESULT and TRUTH must both be images, or both be numbered patterns");
    check_options(*image, {{sequence,
                            {"--mask", "--sigma", "--min-hvs-psnr"},
                            "of a sequence, only the PSNR of each frame is printed"}});
    exit_code = sequence ? compare_frames(*o) : compare_image(*o);
  });
}

}  // namespace ocellus::app
