#include "kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "common.h"
#include "flow_options.h"
#include "json_text.h"
#include "kernel_bank_writer.h"

namespace ocellus::app {
namespace {

using Json = nlohmann::json;

constexpr const char* kTextHelp =
    "TEXT holds words and numbers apart by white space; # begins a comment:\n"
    "  uniform  or  per-pixel WIDTH HEIGHT\n"
    "  taps NX NY NT\n"
    "  convolutions C\n"
    "  terms R               (1 when left out)\n"
    "  note WORDS            (to the end of the line; may be left out)\n"
    "  data                  then, for each pixel (row by row), convolution and term:\n"
    "                        NX numbers wx, NY numbers wy, NT numbers wt";
constexpr const char* kJsonHelp =
    "JSON is one object:\n"
    "  {\"note\": \"...\", \"form\": \"uniform\", \"kernels\": K}  or\n"
    "  {\"note\": \"...\", \"form\": \"per-pixel\", \"size\": [WIDTH, HEIGHT], \"pixels\": [K, K, "
    "...]}  row by row,\n"
    "  K = [convolution, ...], convolution = [term, ...], term = {\"x\": [...], \"y\": [...], "
    "\"t\": [...]}";

/// Numbers are read as double, so that one beyond float's range can be named as it was written.
float checked_tap(double value, const std::string& where) {
  if (std::fabs(value) <= kMaxTap) return static_cast<float>(value);  // false for NaN
  throw InputError(
      fmt::format("{}: a tap is {:g}; taps must be finite and at most 1e6", where, value));
}

// ---- text

/// Words of a text with the line that each stands in.
class Words {
 public:
  explicit Words(std::istream& text) : text_(text) {}

  bool next(std::string& word) {
    for (;;) {
      if (in_line_ >> word) {
        if (word[0] != '#') return true;
        in_line_.str("");
      }
      std::string line;
      if (!std::getline(text_, line)) return false;
      ++line_;
      in_line_ = std::istringstream(line);
    }
  }

  std::string need(const char* what) {
    std::string word;
    if (!next(word)) throw InputError(fmt::format("the text ends where {} should be", what));
    return word;
  }

  template <typename T>
  T number(const std::string& what) {
    const std::string word = need(what.c_str());
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (end != word.data() + word.size() || error == std::errc::invalid_argument)
      throw InputError(fmt::format("line {}: \"{}\" is not {}", line_, word, what));
    if (error != std::errc{})
      throw InputError(fmt::format("line {}: \"{}\" is out of range for {}", line_, word, what));
    return value;
  }

  std::string rest_of_line() {
    std::string rest;
    std::getline(in_line_ >> std::ws, rest);
    return rest;
  }

  int line() const { return line_; }

 private:
  std::istream& text_;
  std::istringstream in_line_;
  int line_ = 0;
};

// ---- JSON

std::vector<float> json_taps(const Json& term, const char* axis, int expected,
                             const std::string& where) {
  const auto found = term.find(axis);
  if (found == term.end() || !found->is_array() || found->empty()) {
    throw InputError(fmt::format("{}: \"{}\" must be an array of taps", where, axis));
  }
  if (expected > 0 && found->size() != static_cast<std::size_t>(expected)) {
    throw InputError(fmt::format("{}: \"{}\" has {} taps; the first kernel has {}", where, axis,
                                 found->size(), expected));
  }
  std::vector<float> taps;
  for (const Json& tap : *found) {
    if (!tap.is_number())
      throw InputError(fmt::format("{}: \"{}\" holds something else than numbers", where, axis));
    taps.push_back(checked_tap(tap.get<double>(), fmt::format("{}: \"{}\"", where, axis)));
  }
  return taps;
}

const Json& json_array(const Json& parent, const char* name, std::size_t expected,
                       const std::string& where) {
  if (!parent.is_array() || parent.empty())
    throw InputError(fmt::format("{} must be an array of {}s", where, name));
  if (expected > 0 && parent.size() != expected) {
    throw InputError(
        fmt::format("{} has {} {}s; it must have {}", where, parent.size(), name, expected));
  }
  return parent;
}

// ---- info

struct ConvolutionSummary {
  double smallest_sum = std::numeric_limits<double>::infinity();
  double largest_sum = -std::numeric_limits<double>::infinity();
  double largest_tap = 0.0;
};

struct Summary {
  KernelConfig kernels;
  std::array<ConvolutionSummary, kMaxConvolutions> convolutions;
  double sum = 0.0;

  static bool add(void* user, int, int, int convolution, int term, const float* wx, const float* wy,
                  const float* wt) {
    auto& self = *static_cast<Summary*>(user);
    ConvolutionSummary& summary = self.convolutions[static_cast<std::size_t>(convolution)];
    if (term == 0) self.sum = 0.0;
    double product = 1.0;
    for (const auto& [taps, n] :
         {std::pair{wx, self.kernels.nx}, {wy, self.kernels.ny}, {wt, self.kernels.nt}}) {
      double sum = 0.0;
      for (int i = 0; i < n; ++i) {
        sum += static_cast<double>(taps[i]);
        summary.largest_tap =
            std::max(summary.largest_tap, std::fabs(static_cast<double>(taps[i])));
      }
      product *= sum;
    }
    self.sum += product;
    if (term == self.kernels.terms - 1) {
      summary.smallest_sum = std::min(summary.smallest_sum, self.sum);
      summary.largest_sum = std::max(summary.largest_sum, self.sum);
    }
    return true;
  }
};

// ---- command line

struct MakeOptions {
  std::string form = "uniform";
  std::string size;
  std::string taps = "15x15x20";
  float sigma_space = KernelConfig{}.sigma_space;
  float sigma_time = KernelConfig{}.sigma_time;
  std::vector<float> fovea;
  float fovea_radius = KernelConfig{}.fovea_radius;
  std::string out;
};

void run_make(const CLI::App& command, const MakeOptions& options) {
  check_options(command, {{options.form != "foveated",
                           {"--size", "--fovea", "--fovea-radius"},
                           "it belongs to --form foveated; a uniform bank fits every image"}});
  KernelConfig kernels;
  const std::vector<int> taps = parse_taps(options.taps);
  kernels.nx = taps[0];
  kernels.ny = taps[1];
  kernels.nt = taps[2];
  kernels.sigma_space = options.sigma_space;
  kernels.sigma_time = options.sigma_time;
  ImageSize size{1, 1};
  std::string note = fmt::format("Gaussian derivatives, sigma {:g} pixels, {:g} frames",
                                 options.sigma_space, options.sigma_time);
  if (options.form == "foveated") {
    if (options.size.empty())
      throw InputError("--form foveated needs --size WIDTHxHEIGHT, the image that the bank is for");
    size = parse_size(options.size, "--size");
    kernels.form = KernelForm::kPerPixel;
    kernels.origin = KernelOrigin::kFoveated;
    kernels.fovea_radius = options.fovea_radius;
    if (!options.fovea.empty()) {
      kernels.fovea_x = options.fovea[0];
      kernels.fovea_y = options.fovea[1];
    }
    note += fmt::format(", foveated, radius {:g} pixels", options.fovea_radius);
  }
  make_kernel_bank(kernels, size, note, options.out);
}

/// "-" is the standard input.
void run_conversion(const std::string& in, const std::string& out,
                    void (*convert)(std::istream&, const std::string&)) {
  if (in == "-") {
    convert(std::cin, out);
    return;
  }
  std::error_code code;
  if (std::filesystem::is_directory(in, code))
    throw InputError(fmt::format("{}: is a folder; name the file that holds the kernels", in));
  std::ifstream file(in);
  if (!file) throw InputError(fmt::format("{}: {}", in, std::strerror(errno)));
  try {
    convert(file, out);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", in, error.what()));
  }
}

}  // namespace

void make_kernel_bank(const KernelConfig& kernels, ImageSize size, const std::string& note,
                      const std::string& out) {
  const bool per_pixel = kernels.form == KernelForm::kPerPixel;
  // The library checks the configuration; a writer with a size out of range would name another
  // field first. So the writer is made at the first taps.
  struct Copy {
    KernelBankShape shape;
    const std::string& out;
    std::unique_ptr<KernelBankWriter> writer;
    std::unique_ptr<Progress> progress;
    std::int64_t done;
    std::exception_ptr failure;

    void add(const float* wx, const float* wy, const float* wt) {
      if (!writer) {
        writer = std::make_unique<KernelBankWriter>(out, shape);
        fmt::print("{}: {} of taps\n", out, bytes_text(KernelBankWriter::tap_bytes(shape)));
        std::fflush(stdout);  // it is said before the work begins
        progress = std::make_unique<Progress>(
            "kernels", static_cast<std::int64_t>(KernelBankWriter::entries(shape)));
      }
      writer->add(wx, wy, wt);
      constexpr std::int64_t kBetweenUpdates =
          4096;  // asking for the time costs more than a kernel
      if (++done % kBetweenUpdates == 0) progress->update(done);
    }
  } copy{{kernels.form, kernels.nx, kernels.ny, kernels.nt, kernels.convolutions, kernels.terms,
          per_pixel ? size : ImageSize{}, note},
         out,
         nullptr,
         nullptr,
         0,
         nullptr};
  const auto visited = visit_kernels(
      kernels, size,
      [](void* user, int, int, int, int, const float* wx, const float* wy, const float* wt) {
        auto& c = *static_cast<Copy*>(user);
        try {
          c.add(wx, wy, wt);
        } catch (...) {
          c.failure = std::current_exception();  // the library must not be unwound
          return false;
        }
        return true;
      },
      &copy);
  if (copy.failure) std::rethrow_exception(copy.failure);
  take_options(visited, "kernels");
  copy.writer->finish();
}

void kernel_bank_from_text(std::istream& text, const std::string& out) {
  Words words(text);
  KernelBankShape shape;
  shape.terms = 1;
  bool have_form = false;
  for (;;) {
    const std::string word = words.need("\"data\"");
    if (word == "data") break;
    if (word == "uniform") {
      shape.form = KernelForm::kUniform;
      have_form = true;
    } else if (word == "per-pixel") {
      shape.form = KernelForm::kPerPixel;
      shape.size.width = words.number<int>("the image's width");
      shape.size.height = words.number<int>("the image's height");
      have_form = true;
    } else if (word == "taps") {
      shape.nx = words.number<int>("a number of taps");
      shape.ny = words.number<int>("a number of taps");
      shape.nt = words.number<int>("a number of taps");
    } else if (word == "convolutions") {
      shape.convolutions = words.number<int>("a number of convolutions");
    } else if (word == "terms") {
      shape.terms = words.number<int>("a number of terms");
    } else if (word == "note") {
      shape.note = words.rest_of_line();
    } else {
      throw InputError(fmt::format(
          "line {}: \"{}\"; it must be uniform, per-pixel, taps, convolutions, terms, note or data",
          words.line(), word));
    }
  }
  if (!have_form) throw InputError("neither \"uniform\" nor \"per-pixel\" stands before \"data\"");
  if (shape.nx == 0) throw InputError("\"taps\" is missing before \"data\"");
  if (shape.convolutions == 0) throw InputError("\"convolutions\" is missing before \"data\"");
  KernelBankWriter writer(out, shape);
  std::vector<float> taps(static_cast<std::size_t>(shape.nx + shape.ny + shape.nt));
  for (std::uint64_t i = 0; i < KernelBankWriter::entries(shape); ++i) {
    for (float& tap : taps) {
      const double value = words.number<double>("a tap (a number)");
      tap = checked_tap(value, fmt::format("line {}", words.line()));
    }
    writer.add(taps.data(), taps.data() + shape.nx, taps.data() + shape.nx + shape.ny);
  }
  if (std::string word; words.next(word)) {
    throw InputError(fmt::format("line {}: \"{}\" follows after the last tap", words.line(), word));
  }
  writer.finish();
}

void kernel_bank_from_json(std::istream& json, const std::string& out) {
  const Json root = json_object(json);
  for (const auto& [key, value] : root.items()) {
    static const std::set<std::string> kKnown = {"note", "form", "size", "kernels", "pixels"};
    if (!kKnown.contains(key)) {
      throw InputError(
          fmt::format("\"{}\" is not known; there are note, form, size, kernels, pixels", key));
    }
  }
  const std::string form =
      root.contains("form") && root["form"].is_string() ? root["form"].get<std::string>() : "";
  if (form != "uniform" && form != "per-pixel")
    throw InputError("\"form\" must be \"uniform\" or \"per-pixel\"");
  const bool per_pixel = form == "per-pixel";
  KernelBankShape shape;
  shape.form = per_pixel ? KernelForm::kPerPixel : KernelForm::kUniform;
  if (root.contains("note")) {
    if (!root["note"].is_string()) throw InputError("\"note\" must be text");
    shape.note = root["note"].get<std::string>();
  }
  std::size_t pixels = 1;
  if (per_pixel) {
    const Json size = root.value("size", Json());
    if (!size.is_array() || size.size() != 2 || !size[0].is_number_unsigned() ||
        !size[1].is_number_unsigned() || size[0] > kMaxImageSide || size[1] > kMaxImageSide) {
      throw InputError(
          fmt::format("\"size\" must be [width, height], each 1 to {}", kMaxImageSide));
    }
    shape.size = {size[0].get<int>(), size[1].get<int>()};
    pixels =
        static_cast<std::size_t>(shape.size.width) * static_cast<std::size_t>(shape.size.height);
    if (pixels == 0)
      throw InputError(
          fmt::format("\"size\" must be [width, height], each 1 to {}", kMaxImageSide));
  }
  const char* const list = per_pixel ? "pixels" : "kernels";
  if (!root.contains(list) || root.contains(per_pixel ? "kernels" : "pixels")) {
    throw InputError(fmt::format("a {} bank has its taps in \"{}\"", form, list));
  }
  if (per_pixel) json_array(root[list], "pixel", pixels, "\"pixels\"");

  std::unique_ptr<KernelBankWriter> writer;
  for (std::size_t p = 0; p < pixels; ++p) {
    const std::string at_pixel = per_pixel ? fmt::format("pixels[{}]", p) : "kernels";
    const Json& kernels = json_array(per_pixel ? root[list][p] : root[list], "convolution",
                                     static_cast<std::size_t>(shape.convolutions), at_pixel);
    if (kernels.size() > kMaxConvolutions) {
      throw InputError(fmt::format("{} has {} convolutions; at most {} are allowed", at_pixel,
                                   kernels.size(), kMaxConvolutions));
    }
    shape.convolutions = static_cast<int>(kernels.size());
    for (std::size_t c = 0; c < kernels.size(); ++c) {
      const std::string at_convolution = fmt::format("{}[{}]", at_pixel, c);
      const Json& terms =
          json_array(kernels[c], "term", static_cast<std::size_t>(shape.terms), at_convolution);
      if (terms.size() > kMaxKernelTerms) {
        throw InputError(fmt::format("{} has {} terms; at most {} are allowed", at_convolution,
                                     terms.size(), kMaxKernelTerms));
      }
      shape.terms = static_cast<int>(terms.size());
      for (std::size_t r = 0; r < terms.size(); ++r) {
        const std::string where = fmt::format("{}[{}]", at_convolution, r);
        if (!terms[r].is_object())
          throw InputError(fmt::format("{} must be an object with x, y and t", where));
        const std::vector<float> x = json_taps(terms[r], "x", shape.nx, where);
        const std::vector<float> y = json_taps(terms[r], "y", shape.ny, where);
        const std::vector<float> t = json_taps(terms[r], "t", shape.nt, where);
        if (!writer) {
          const auto clamp = [](std::size_t n) {
            return static_cast<int>(std::min<std::size_t>(n, 1000));
          };
          shape.nx = clamp(x.size());
          shape.ny = clamp(y.size());
          shape.nt = clamp(t.size());
          writer = std::make_unique<KernelBankWriter>(out, shape);
        }
        writer->add(x.data(), y.data(), t.data());
      }
    }
  }
  writer->finish();
}

void show_kernel_bank(const std::string& path, bool json, std::ostream& to) {
  auto info = read_kernel_file_info(path.c_str());
  if (!info) throw InputError(info.error().text);
  info->kernels.path = path.c_str();
  const bool per_pixel = info->kernels.form == KernelForm::kPerPixel;
  const auto summary = std::make_unique<Summary>();
  summary->kernels = info->kernels;
  const auto visited = visit_kernels(info->kernels, per_pixel ? info->size : ImageSize{1, 1},
                                     &Summary::add, summary.get());
  if (!visited) throw InputError(visited.error().text);
  const KernelConfig& k = info->kernels;
  if (json) {
    Json root = {{"file", path},
                 {"form", per_pixel ? "per-pixel" : "uniform"},
                 {"taps", {k.nx, k.ny, k.nt}},
                 {"terms", k.terms},
                 {"tap_bytes", info->tap_bytes},
                 {"note", info->note}};
    if (per_pixel) root["size"] = {info->size.width, info->size.height};
    for (int c = 0; c < k.convolutions; ++c) {
      const ConvolutionSummary& s = summary->convolutions[static_cast<std::size_t>(c)];
      root["convolutions"].push_back(
          {{"sum", {s.smallest_sum, s.largest_sum}}, {"largest_tap", s.largest_tap}});
    }
    // A file's name need not be UTF-8.
    to << root.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    return;
  }
  to << fmt::format("{}: kernel bank, whole and undamaged\n", path);
  if (per_pixel) {
    to << fmt::format("  form           per pixel, for images of {}x{}\n", info->size.width,
                      info->size.height);
  } else {
    to << "  form           uniform\n";
  }
  to << fmt::format("  taps           {} x {} pixels x {} frames\n", k.nx, k.ny, k.nt);
  to << fmt::format("  convolutions   {}, {} separable term{} each\n", k.convolutions, k.terms,
                    k.terms == 1 ? "" : "s");
  to << fmt::format("  size           {} bytes of taps\n", info->tap_bytes);
  if (info->note[0] != '\0') to << fmt::format("  note           {}\n", info->note);
  for (int c = 0; c < k.convolutions; ++c) {
    const ConvolutionSummary& s = summary->convolutions[static_cast<std::size_t>(c)];
    to << fmt::format("  convolution {}  sum of taps {:.6g} to {:.6g}, largest factor {:.6g}\n", c,
                      s.smallest_sum, s.largest_sum, s.largest_tap);
  }
}

void add_kernels_command(CLI::App& program, int& exit_code) {
  CLI::App* const kernels =
      program.add_subcommand("kernels", "Makes, converts and shows kernel bank files (*.ocl)");
  kernels->require_subcommand(1);

  auto* const make = kernels->add_subcommand(
      "make", "Writes kernels that the library makes: Ix, Iy, It by Gaussian derivatives");
  const auto options = std::make_shared<MakeOptions>();
  make->add_option("--form", options->form,
                   "The same kernels everywhere, or sigma growing with the distance from the fovea")
      ->check(CLI::IsMember({"uniform", "foveated"}))
      ->capture_default_str();
  make->add_option("--size", options->size, "foveated: the image's size")
      ->type_name("WIDTHxHEIGHT");
  make->add_option("--taps", options->taps, "Support, each 2 to 25")
      ->type_name("NXxNYxNT")
      ->capture_default_str();
  make->add_option("--sigma-space", options->sigma_space,
                   "Sigma in pixels (foveated: in the fovea)")
      ->capture_default_str();
  make->add_option("--sigma-time", options->sigma_time, "Sigma in frames")->capture_default_str();
  make->add_option("--fovea", options->fovea,
                   "foveated: centre in pixels; the image's centre when left out")
      ->expected(2)
      ->delimiter(',')
      ->type_name("X,Y");
  make->add_option("--fovea-radius", options->fovea_radius,
                   "foveated: pixels from the centre to twice the sigma")
      ->capture_default_str();
  make->add_option("-o,--output", options->out, "The file to write")
      ->required()
      ->type_name("FILE.ocl");
  // All that can go wrong here is bad input, which is thrown.
  const auto done = [&exit_code] { exit_code = kDone; };
  make->callback([make, options, done] {
    run_make(*make, *options);
    done();
  });

  struct Conversion {
    std::string in;
    std::string out;
  };
  const struct {
    const char* name;
    const char* what;
    const char* help;
    void (*convert)(std::istream&, const std::string&);
  } conversions[] = {
      {"from-text", "Writes kernels given as text", kTextHelp, &kernel_bank_from_text},
      {"from-json", "Writes kernels given as JSON", kJsonHelp, &kernel_bank_from_json}};
  for (const auto& conversion : conversions) {
    auto* const command = kernels->add_subcommand(conversion.name, conversion.what);
    const auto files = std::make_shared<Conversion>();
    command->add_option("IN", files->in, "The file to read, - for standard input")->required();
    command->add_option("-o,--output", files->out, "The file to write")
        ->required()
        ->type_name("FILE.ocl");
    command->footer(conversion.help);
    command->callback([command, files, done, convert = conversion.convert] {
      check_options(*command, {});
      run_conversion(files->in, files->out, convert);
      done();
    });
  }

  auto* const info =
      kernels->add_subcommand("info", "Checks a kernel bank to its end and tells what is in it");
  struct Info {
    std::string path;
    bool json = false;
  };
  const auto shown = std::make_shared<Info>();
  info->add_option("FILE", shown->path, "The kernel bank")->required();
  add_json_option(*info, shown->json);
  info->callback([info, shown, done] {
    check_options(*info, {});
    show_kernel_bank(shown->path, shown->json, std::cout);
    done();
  });
}

}  // namespace ocellus::app
