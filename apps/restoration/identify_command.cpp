// ocellus identify: makes a filter file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/input_guard.h"
#include "apps/common/operator_text.h"
#include "apps/common/printable.h"
#include "apps/io/image_io.h"
#include "apps/io/output_file.h"
#include "ocellus/identification.h"
#include "restoration/filter_file.h"

namespace ocellus::app {
namespace {

struct IdentifyOptions {
  std::string degraded;
  std::string sharp;
  std::string fragment;
  std::string psf;
  std::string edge;
  double noise = 1.0;
  int support = 7;
  double largest_root = IdentificationConfig{}.largest_root;
  int max_response = kMaxFilterResponse;
  int max_shift = 8;
  bool keep_shift = false;
  std::string out;
  std::string show;
  bool blur = false;
  bool json = false;
};

/// Parses numbers that commas separate. Throws InputError that names the option.
std::vector<double> numbers(const std::string& option, std::string_view text, std::size_t count,
                            const char* form) {
  std::vector<double> values;
  for (const std::string& part : split(std::string(text), ','))
    values.push_back(number_of<double>(part).value_or(std::numeric_limits<double>::infinity()));
  const bool good =
      std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  if (!good || values.size() != count)
    throw InputError(fmt::format("{} is \"{}\"; it must be {}", option, printable(text), form));
  return values;
}

/// Parses "x,y,width,height" inside of an image. "" is the whole image.
Rect area_of(const std::string& option, const std::string& text, const std::string& path,
             ImageSize size) {
  if (text.empty()) return {0, 0, size.width, size.height};
  const auto values = numbers(option, text, 4, "x,y,width,height in pixels");
  const auto whole = [](double value) {
    return value >= 0.0 && value <= kMaxImageSide && std::floor(value) == value;
  };
  if (!std::all_of(values.begin(), values.end(), whole) || values[0] + values[2] > size.width ||
      values[1] + values[3] > size.height || values[2] < 1.0 || values[3] < 1.0) {
    throw InputError(fmt::format("{} is {}; it must lie inside of {}, which has {}x{} pixels",
                                 option, printable(text), printable(path), size.width,
                                 size.height));
  }
  return {static_cast<int>(values[0]), static_cast<int>(values[1]), static_cast<int>(values[2]),
          static_cast<int>(values[3])};
}

ImageView view_of(GrayImage& image, const Rect& area) {
  ImageView view;
  view.data = image.pixels.data() + area.y * image.stride() +
              std::ptrdiff_t{area.x} * bytes_per_pixel(image.format);
  view.size = {area.width, area.height};
  view.stride = image.stride();
  view.format = image.format;
  return view;
}

Psf read_kernel(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string values = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (colon != std::string::npos) {
    if (kind == "gaussian")
      return take(gaussian_psf(numbers("--psf", values, 1, "gaussian:SIGMA")[0]), "--psf");
    if (kind == "disk")
      return take(disk_psf(numbers("--psf", values, 1, "disk:RADIUS")[0]), "--psf");
    if (kind == "motion") {
      const auto two = numbers("--psf", values, 2, "motion:LENGTH,ANGLE");
      return take(motion_psf(two[0], two[1]), "--psf");
    }
  }
  note_input(text);
  return take(read_psf(text.c_str()), "--psf");
}

/// An error about a member of the configuration names its flag; others name `context`.
Identification take_identified(Expected<Identification> found, const std::string& context) {
  if (found) return std::move(*found);
  const std::string reason = found.error().text;
  for (const std::string flag :
       {"--support", "--largest-root", "--max-response", "--max-shift", "--noise"}) {
    std::string member = flag.substr(2);
    std::replace(member.begin(), member.end(), '-', '_');
    if (reason.starts_with(member + " is ")) throw InputError(flag + reason.substr(member.size()));
  }
  return take(std::move(found), context);
}

Identification identify(const IdentifyOptions& options) {
  IdentificationConfig config;
  config.support = options.support;
  config.largest_root = options.largest_root;
  config.max_response = options.max_response;
  config.max_shift = options.max_shift;
  config.undo_shift = !options.keep_shift;
  GrayImage degraded;
  Rect area;
  if (!options.degraded.empty()) {
    degraded = read_image(options.degraded);
    area = area_of("--fragment", options.fragment, options.degraded, degraded.size);
  }
  if (!options.sharp.empty()) {
    GrayImage sharp = read_image(options.sharp);
    if (sharp.size != degraded.size) {
      throw InputError(fmt::format("{} has {}x{} pixels and {} has {}x{}; both must be equal",
                                   printable(options.degraded), degraded.size.width,
                                   degraded.size.height, printable(options.sharp), sharp.size.width,
                                   sharp.size.height));
    }
    if (!options.fragment.empty())
      config.picture = view_of(degraded, {0, 0, degraded.size.width, degraded.size.height});
    return take_identified(
        identify_from_pair(view_of(degraded, area), view_of(sharp, area), config),
        options.degraded);
  }
  if (!options.edge.empty()) {
    const Rect edge = area_of("--edge", options.edge, options.degraded, degraded.size);
    const ImageView whole = view_of(degraded, {0, 0, degraded.size.width, degraded.size.height});
    return take_identified(identify_from_edge(whole, edge, config), options.degraded);
  }
  const Psf psf = read_kernel(options.psf);
  if (!options.degraded.empty()) config.picture = view_of(degraded, area);
  return take_identified(
      identify_from_psf(psf.values.data(), psf.width, psf.height, options.noise, config), "--psf");
}

void check(const IdentifyOptions& options) {
  const int sources = (options.sharp.empty() ? 0 : 1) + (options.psf.empty() ? 0 : 1) +
                      (options.edge.empty() ? 0 : 1);
  if (sources != 1)
    throw InputError("one of --sharp, --psf and --edge must be given, and no second one");
  if (options.psf.empty() && options.degraded.empty())
    throw InputError(
        fmt::format("--{} needs --degraded", options.sharp.empty() ? "edge" : "sharp"));
  if (!options.fragment.empty() && (options.degraded.empty() || !options.edge.empty()))
    throw InputError("--fragment needs --degraded, and has no effect with --edge");
  if (options.out.empty()) throw InputError("-o must name the filter file");
  if (!options.out.ends_with(".ocellus"))
    throw InputError(fmt::format("{}: the name must end in .ocellus", printable(options.out)));
}

/// Writes the file, if the library takes the filter. Returns what `analyze_filter` says of it.
FilterProperties write_filter(const std::string& path, const RestorationFilter& filter,
                              double residual) {
  const auto file = std::make_unique<detail::FilterFileBytes>();
  const FilterProperties properties =
      take(detail::encode_filter(filter, static_cast<float>(residual), *file), path);
  write_file(path, {file->bytes, file->count});
  return properties;
}

std::string stability_text(const FilterProperties& properties) {
  return fmt::format("stable: largest root {:.4f}, margin {:.4f}, impulse response of {} pixels",
                     properties.largest_root, 1.0 - properties.largest_root, properties.response);
}

/// The filter that blurs with a kernel: without feedback, each value in the quadrant of its
/// displacement.
RestorationFilter blur_filter(const Psf& psf) {
  RestorationFilter filter;
  filter.support = 1 + std::max(psf.width / 2, psf.height / 2);
  if (filter.support > kMaxFilterSupport) {
    throw InputError(fmt::format("--blur takes kernels of up to {0}x{0} values; --psf has {1}x{2}",
                                 2 * kMaxFilterSupport - 1, psf.width, psf.height));
  }
  for (int y = 0; y < psf.height; ++y) {
    for (int x = 0; x < psf.width; ++x) {
      const int dy = y - psf.height / 2;
      const int dx = x - psf.width / 2;
      const std::size_t quadrant = (dx < 0 ? 1u : 0u) + (dy < 0 ? 2u : 0u);
      filter.feedforward[quadrant]
                        [static_cast<std::size_t>(std::abs(dy) * filter.support + std::abs(dx))] =
          static_cast<float>(psf.values[static_cast<std::size_t>(y * psf.width + x)]);
    }
  }
  return filter;
}

void run_blur(const IdentifyOptions& options) {
  if (options.psf.empty()) throw InputError("--blur needs --psf");
  if (!options.out.ends_with(".ocellus"))
    throw InputError(
        fmt::format("-o is \"{}\"; the name must end in .ocellus", printable(options.out)));
  RestorationFilter filter = blur_filter(read_kernel(options.psf));
  std::snprintf(filter.note, sizeof(filter.note), "blurs with %s", options.psf.c_str());
  write_filter(options.out, filter, -1.0);
  fmt::print("{}: blurs with {}\n", printable(options.out), printable(options.psf));
}

/// What a filter file says, and what its coefficients prove.
void run_show(const IdentifyOptions& options) {
  FilterFileInfo info;
  const std::optional<RestorationFilter> library = find_restoration_filter(options.show);
  const RestorationFilter filter =
      library ? *library : take(read_restoration_filter(options.show.c_str(), &info), "--show");
  const FilterProperties properties = take(analyze_filter(filter), options.show);
  const bool has_residual = info.residual >= 0.0f;
  if (options.json) {
    nlohmann::ordered_json object;
    object["filter"] = options.show;
    object["note"] = filter.note;
    object["support"] = filter.support;
    object["margin"] = 1.0 - properties.largest_root;
    object["response"] = properties.response;
    object["gain_of_constant"] = properties.gain;
    object["residual_rms"] = has_residual ? nlohmann::ordered_json(info.residual) : nullptr;
    print_json(object);
    return;
  }
  fmt::print("{}: {}\n", printable(options.show), printable(filter.note));
  fmt::print("four quadrants of {0}x{0}, gain of a constant image {1:.4f}\n", filter.support,
             properties.gain);
  fmt::print("{}\n", stability_text(properties));
  if (has_residual)
    fmt::print("RMS error of the restored picture {:.2f} gray levels\n", info.residual);
}

void run_identify(const IdentifyOptions& options) {
  check(options);
  Identification found = identify(options);
  const IdentificationReport& report = found.report;
  const std::string source = !options.sharp.empty()  ? "a pair of fragments"
                             : !options.edge.empty() ? "an edge"
                                                     : options.psf;
  RestorationFilter& filter = found.filter;
  std::snprintf(filter.note, sizeof(filter.note), "identified from %s", source.c_str());
  const FilterProperties properties = write_filter(options.out, filter, report.residual_rms);
  if (options.json) {
    nlohmann::ordered_json object;
    object["filter"] = options.out;
    object["support"] = filter.support;
    object["margin"] = 1.0 - properties.largest_root;
    object["largest_root"] = properties.largest_root;
    object["root_bound"] = report.root_bound;
    object["response"] = properties.response;
    object["gain_of_constant"] = properties.gain;
    object["noise"] = report.noise;
    object["residual_rms"] = report.residual_rms;
    object["approximation_loss_db"] = report.approximation_loss_db;
    if (!options.sharp.empty()) {
      object["shift"] = {report.shift_x, report.shift_y};
      object["gain"] = report.gain;
      object["offset"] = report.offset;
    }
    if (options.psf.empty()) {
      object["blur"] = report.blur;
      object["blur_size"] = report.blur_size;
      if (options.edge.empty()) object["blur_angle"] = report.blur_angle;
    }
    print_json(object);
    return;
  }
  if (!options.sharp.empty())
    fmt::print(
        "the degraded fragment is displaced by ({:.2f}, {:.2f}) pixels, gain {:.3f}, offset "
        "{:.2f}\n",
        report.shift_x, report.shift_y, report.gain, report.offset);
  if (report.blur_angle != 0.0)
    fmt::print("the blur is a motion of {:.2f} pixels by {:.1f} degrees\n", report.blur_size,
               report.blur_angle);
  else if (report.blur[0] != '\0')
    fmt::print("the blur is a {} of {:.2f} pixels\n", report.blur, report.blur_size);
  fmt::print("noise {:.2f}, RMS error of the restored picture {:.2f} gray levels\n", report.noise,
             report.residual_rms);
  constexpr double kNoticedLoss = 0.1;
  if (report.approximation_loss_db > kNoticedLoss)
    fmt::print("the filter loses {:.1f} dB to the Wiener filter; a larger --support may help\n",
               report.approximation_loss_db);
  fmt::print("{}\n", stability_text(properties));
  fmt::print("{}: four quadrants of {}x{}\n", printable(options.out), filter.support,
             filter.support);
}

}  // namespace

void add_identify_command(CLI::App& program, int& exit_code) {
  CLI::App* const command = program.add_subcommand(
      "identify", "Makes a filter for restore from pictures or a known blur");
  const auto options = std::make_shared<IdentifyOptions>();
  command->add_option("--degraded", options->degraded, "Blurred picture");
  command->add_option("--sharp", options->sharp, "Sharp picture of the same scene and size");
  command->add_option("--fragment", options->fragment,
                      "x,y,width,height: part of both pictures, at least 64x64; default: all");
  command->add_option(
      "--psf", options->psf,
      "Blur kernel: gaussian:SIGMA, motion:LENGTH,ANGLE, disk:RADIUS or a text file");
  add_value(*command, "--noise", options->noise,
            "With --psf: standard deviation of the noise in gray levels of 8 bits");
  command->add_option("--edge", options->edge,
                      "x,y,width,height: a straight, slanted edge in --degraded");
  add_value(*command, "--support", options->support, "Rows and columns of coefficients, 1 to 31");
  add_value(*command, "--largest-root", options->largest_root,
            "Bound of the roots, 0.5 to 0.98; a smaller one gives a shorter response");
  add_value(*command, "--max-response", options->max_response,
            "Longest impulse response in pixels, 8 to 512; lowers --largest-root");
  add_value(*command, "--max-shift", options->max_shift,
            "Largest displacement of the pair that is searched, 0 to 16 pixels");
  command->add_flag("--keep-shift", options->keep_shift,
                    "Leave whole pixels of the pair's displacement in place");
  command->add_option("-o,--output", options->out, "Filter file (*.ocellus) to write");
  command->add_option("--show", options->show,
                      "Print what a filter file, or a filter of the library, holds; write nothing");
  command->add_flag("--blur", options->blur,
                    "With --psf: write the filter that blurs, to make test pictures");
  add_json_option(*command, options->json);
  command->callback([command, options, &exit_code] {
    check_options(*command, {{!options->show.empty(),
                              {"--degraded", "--sharp", "--fragment", "--psf", "--noise", "--edge",
                               "--support", "--largest-root", "--max-response", "--max-shift",
                               "--keep-shift", "--output", "--blur"},
                              "--show only prints"}});
    check_options(*command, {{options->blur,
                              {"--degraded", "--sharp", "--fragment", "--noise", "--edge",
                               "--support", "--largest-root", "--max-response", "--max-shift",
                               "--keep-shift", "--json", "--json-to"},
                              "--blur takes its filter from --psf alone"}});
    if (!options->show.empty()) {
      run_show(*options);
    } else if (options->blur) {
      run_blur(*options);
    } else {
      run_identify(*options);
    }
    exit_code = 0;
  });
}

}  // namespace ocellus::app
