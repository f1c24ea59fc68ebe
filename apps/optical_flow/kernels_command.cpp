// ocellus kernels: makes, converts, decomposes and shows kernel bank files.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/input_guard.h"
#include "apps/common/json_sink.h"
#include "apps/common/json_text.h"
#include "apps/common/operator_options.h"
#include "apps/common/printable.h"
#include "apps/io/input_file.h"
#include "apps/optical_flow/kernel_bank_json.h"
#include "apps/optical_flow/kernel_decomposition.h"
#include "ocellus/kernel_taps.h"
#include "optical_flow/kernel_bank_file.h"

namespace ocellus::app {
namespace {

using Json = nlohmann::json;

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
    const KernelConfig& k = self.kernels;
    const bool full = k.form == KernelForm::kFull;
    const std::pair<const float*, int> axes[] = {
        {wx, full ? k.nx * k.ny * k.nt : k.nx}, {wy, k.ny}, {wt, k.nt}};
    for (const auto& [taps, n] : std::span(axes).first(full ? 1 : 3)) {
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

const char* form_word(KernelForm form) {
  return form == KernelForm::kUniform ? "uniform"
         : form == KernelForm::kFull  ? "full"
                                      : "per-pixel";
}

/// Passes all taps of the kernels to `add(convolution, term, wx, wy, wt)`, which may throw.
template <typename Add>
void for_each_term(const KernelConfig& kernels, ImageSize size, const std::string& where,
                   Add&& add) {
  struct Call {
    Add& add;
    std::exception_ptr failure{};  // an exception must not pass through the library
  } call{add};
  const auto visited = visit_kernels(
      kernels, size,
      [](void* user, int, int, int convolution, int term, const float* wx, const float* wy,
         const float* wt) {
        auto& c = *static_cast<Call*>(user);
        try {
          c.add(convolution, term, wx, wy, wt);
        } catch (...) {
          c.failure = std::current_exception();
          return false;
        }
        return true;
      },
      &call);
  if (call.failure) std::rethrow_exception(call.failure);
  take(visited, where);
}

/// Writes a bank of which nothing is known before its first taps.
class BankCopy {
 public:
  BankCopy(const KernelConfig& kernels, ImageSize size, const std::string& note, bool quiet,
           const std::string& out)
      : out_(out), quiet_(quiet) {
    bank_.form = kernels.form;
    bank_.nx = kernels.nx;
    bank_.ny = kernels.ny;
    bank_.nt = kernels.nt;
    bank_.convolutions = kernels.convolutions;
    bank_.terms = kernels.terms;
    bank_.size = size;
    detail::copy_note(bank_.note, sizeof(bank_.note), note.data(), note.size());
  }

  /// The writer is created at the first taps. By then the library has checked the configuration, so
  /// its error texts come first.
  void add(const float* wx, const float* wy, const float* wt) {
    if (!writer_) {
      writer_ = open_kernel_bank(out_, bank_);
      if (!quiet_) fmt::print("{}: {} of taps\n", printable(out_), bytes_text(bank_.tap_bytes()));
      std::fflush(stdout);  // flushed before the long work begins
      progress_ = std::make_unique<Progress>("kernels", static_cast<std::int64_t>(bank_.entries()));
    }
    app::take(writer_->add(wx, wy, wt), "kernels");
    constexpr std::int64_t kBetweenUpdates = 256;  // reading the clock takes as long as a kernel
    if (++done_ % kBetweenUpdates == 0) progress_->update(done_);
  }
  void finish() { app::take(writer_->finish(), "kernels"); }

 private:
  const std::string& out_;
  bool quiet_;
  detail::KernelBankHeader bank_;
  std::unique_ptr<detail::KernelBankWriter> writer_;
  std::unique_ptr<Progress> progress_;
  std::int64_t done_ = 0;
};

// ---- decompose

struct DecomposeOptions {
  std::string in;
  std::string out;
  int rank = kMaxKernelTerms;
  bool json = false;
};

/// Errors of the kernels of a convolution.
struct Errors {
  double sum = 0.0;
  double largest = 0.0;
  int count = 0;

  double mean() const { return sum / count; }
};

/// The whole kernel, of which terms are added.
class WholeKernel {
 public:
  explicit WholeKernel(const KernelConfig& kernels)
      : kernels_(kernels), taps_(static_cast<std::size_t>(kernels.nx * kernels.ny * kernels.nt)) {}

  const float* with_term(int term, const float* wx, const float* wy, const float* wt) {
    if (kernels_.form == KernelForm::kFull) return wx;
    if (term == 0) std::fill(taps_.begin(), taps_.end(), 0.0f);
    float* to = taps_.data();
    for (int t = 0; t < kernels_.nt; ++t)
      for (int y = 0; y < kernels_.ny; ++y)
        for (int x = 0; x < kernels_.nx; ++x) *to++ += wt[t] * wy[y] * wx[x];
    return taps_.data();
  }

 private:
  KernelConfig kernels_;
  std::vector<float> taps_;
};

/// An error of the library with the file's name, which it has only if the file cannot be opened.
std::string with_name(const std::string& path, const std::string& error) {
  return error.find(path) != std::string::npos ? error : fmt::format("{}: {}", path, error);
}

/// The header of a bank as a configuration with the path. Throws InputError.
KernelFileInfo open_bank(const std::string& path) {
  note_input(path);
  auto info = read_kernel_file_info(path.c_str());
  if (!info) throw InputError(with_name(path, info.error().text));
  if (!info->kernels.path.assign(path))
    throw InputError(fmt::format("{}: the name is too long", path));
  return *info;
}

void run_decompose(const CLI::App& command, const DecomposeOptions& options) {
  check_options(command, {});
  const KernelFileInfo file = open_bank(options.in);
  const KernelConfig& from = file.kernels;
  const bool single = from.form == KernelForm::kUniform || file.size == ImageSize{1, 1};
  KernelConfig to = from;
  to.form = single ? KernelForm::kUniform : KernelForm::kPerPixel;
  to.terms = options.rank;
  BankCopy copy(to, single ? ImageSize{1, 1} : file.size,
                fmt::format("rank {} of {}", options.rank, printable(options.in)), options.json,
                options.out);
  WholeKernel whole(from);
  std::vector<std::unique_ptr<KernelDecomposer>> decomposers;
  for (int c = 0; c < from.convolutions; ++c)
    decomposers.push_back(
        std::make_unique<KernelDecomposer>(from.nx, from.ny, from.nt, options.rank));
  std::vector<Errors> errors(decomposers.size());
  for_each_term(from, single ? ImageSize{1, 1} : file.size, options.in,
                [&](int convolution, int term, const float* wx, const float* wy, const float* wt) {
                  const float* const taps = whole.with_term(term, wx, wy, wt);
                  if (term < from.terms - 1) return;
                  const auto c = static_cast<std::size_t>(convolution);
                  const Decomposition found = decomposers[c]->decompose(taps);
                  for (const SeparableTerm& one : found.terms)
                    copy.add(one.x.data(), one.y.data(), one.t.data());
                  errors[c].sum += found.error;
                  errors[c].largest = std::max(errors[c].largest, found.error);
                  ++errors[c].count;
                });
  copy.finish();
  if (options.json) {
    Json root = {{"file", options.out}, {"form", form_word(to.form)}, {"terms", to.terms}};
    for (const Errors& e : errors)
      root["convolutions"].push_back({{"mean_error", e.mean()}, {"largest_error", e.largest}});
    return print_json(root);
  }
  for (std::size_t c = 0; c < errors.size(); ++c) {
    fmt::print("  convolution {}  relative error {:.3g}", c, errors[c].mean());
    if (!single) fmt::print(" in the mean, {:.3g} at most", errors[c].largest);
    fmt::print("\n");
  }
}

// ---- command line

/// Writes the kernels that the library would make for images of `size`.
void make_kernel_bank(const KernelConfig& kernels, ImageSize size, const std::string& note,
                      const std::string& out) {
  BankCopy copy(kernels, size, note, false, out);
  for_each_term(
      kernels, size, "kernels",
      [&](int, int, const float* wx, const float* wy, const float* wt) { copy.add(wx, wy, wt); });
  copy.finish();
}

struct KernelMakeOptions {
  OperatorOptions kernels{
      "filter",
      {"kernels", "taps", "sigma_space", "sigma_time", "fovea_x", "fovea_y", "fovea_radius"}};
  std::string size;
  std::string out;
};

void run_make(const CLI::App& command, const KernelMakeOptions& options) {
  check_options(command, {});
  const OperatorConfig config = options.kernels.config();
  const KernelConfig& kernels = config.get_if<SpatioTemporalFilterConfig>()->kernels;
  const bool foveated = kernels.origin == KernelOrigin::kFoveated;
  if (!foveated && kernels.origin != KernelOrigin::kGaussian) {
    throw InputError(fmt::format(
        "--kernels is '{}'; it must be uniform, per-pixel, foveated or full", kernels.path.view()));
  }
  const bool per_pixel = kernels.form != KernelForm::kUniform;
  if (!per_pixel && !options.size.empty()) {
    throw InputError(
        "--size has no meaning here: a bank of --kernels uniform fits images of every size");
  }
  if (per_pixel && options.size.empty()) {
    throw InputError(fmt::format("--kernels {} needs --size WIDTHxHEIGHT, the size of the images",
                                 foveated ? "foveated" : form_word(kernels.form)));
  }
  const ImageSize size = per_pixel ? parse_size(options.size, "--size") : ImageSize{1, 1};
  std::string note = fmt::format("Gaussian derivatives, sigma {:g} pixels, {:g} frames",
                                 kernels.sigma_space, kernels.sigma_time);
  if (foveated) note += fmt::format(", foveated, radius {:g} pixels", kernels.fovea_radius);
  make_kernel_bank(kernels, size, note, options.out);
}

/// "-" is standard input.
void run_conversion(const std::string& in, const std::string& out) {
  InputText text(in);
  try {
    kernel_bank_from_json(text, out);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", text.name(), error.what()));
  }
}

}  // namespace

void show_kernel_bank(const std::string& path, bool json, std::ostream& to) {
  const KernelFileInfo info = open_bank(path);
  const KernelConfig& k = info.kernels;
  const bool per_pixel = k.form != KernelForm::kUniform;
  const auto summary = std::make_unique<Summary>();
  summary->kernels = k;
  const auto visited =
      visit_kernels(k, per_pixel ? info.size : ImageSize{1, 1}, &Summary::add, summary.get());
  if (!visited) throw InputError(with_name(path, visited.error().text));
  if (json) {
    Json root = {{"file", path},     {"form", form_word(k.form)},   {"taps", {k.nx, k.ny, k.nt}},
                 {"terms", k.terms}, {"tap_bytes", info.tap_bytes}, {"note", info.note}};
    if (per_pixel) root["size"] = {info.size.width, info.size.height};
    for (int c = 0; c < k.convolutions; ++c) {
      const ConvolutionSummary& s = summary->convolutions[static_cast<std::size_t>(c)];
      root["convolutions"].push_back(
          {{"sum", {s.smallest_sum, s.largest_sum}}, {"largest_tap", s.largest_tap}});
    }
    if (json_sink() != nullptr) return print_json(root);
    to << json_text(root) << '\n';
    return;
  }
  to << fmt::format("{}: kernel bank, complete and undamaged\n", printable(path));
  if (per_pixel) {
    to << fmt::format("  form           {}, for images of {}x{}\n",
                      k.form == KernelForm::kFull ? "full" : "per pixel", info.size.width,
                      info.size.height);
  } else {
    to << "  form           uniform\n";
  }
  to << fmt::format("  taps           {} x {} pixels x {} frames\n", k.nx, k.ny, k.nt);
  if (k.form == KernelForm::kFull) {
    to << fmt::format("  convolutions   {}\n", k.convolutions);
  } else {
    to << fmt::format("  convolutions   {}, {} separable term{} each\n", k.convolutions, k.terms,
                      k.terms == 1 ? "" : "s");
  }
  to << fmt::format("  size           {} bytes of taps\n", info.tap_bytes);
  if (info.note[0] != '\0') to << fmt::format("  note           {}\n", info.note);
  for (int c = 0; c < k.convolutions; ++c) {
    const ConvolutionSummary& s = summary->convolutions[static_cast<std::size_t>(c)];
    to << fmt::format("  convolution {}  sum of taps {:.6g} to {:.6g}, largest {} {:.6g}\n", c,
                      s.smallest_sum, s.largest_sum, k.form == KernelForm::kFull ? "tap" : "factor",
                      s.largest_tap);
  }
}

void add_kernels_command(CLI::App& program, int& exit_code) {
  CLI::App* const kernels = program.add_subcommand(
      "kernels", "Make, convert, decompose and show kernel bank files (*.ocellus)");
  kernels->require_subcommand(1);

  auto* const make = kernels->add_subcommand(
      "make", "Write the library's own kernels: Gaussian derivatives for Ix, Iy, It");
  const auto options = std::make_shared<KernelMakeOptions>();
  options->kernels.add_to(*make);
  make->add_option("--size", options->size,
                   "Size of the images, for --kernels per-pixel, foveated and full")
      ->type_name("WIDTHxHEIGHT");
  make->add_option("-o,--output", options->out, "The file to write")
      ->required()
      ->type_name("FILE.ocellus");
  // Bad input is thrown, so a callback that returns was successful.
  const auto done = [&exit_code] { exit_code = kDone; };
  make->callback([make, options, done] {
    run_make(*make, *options);
    done();
  });

  struct Conversion {
    std::string in;
    std::string out;
  };
  auto* const convert = kernels->add_subcommand("from-json", "Write kernels given as JSON");
  const auto files = std::make_shared<Conversion>();
  convert->add_option("IN", files->in, "The file to read; - is standard input")->required();
  convert->add_option("-o,--output", files->out, "The file to write")
      ->required()
      ->type_name("FILE.ocellus");
  convert->footer(kKernelJsonHelp);
  convert->callback([convert, files, done] {
    check_options(*convert, {});
    run_conversion(files->in, files->out);
    done();
  });

  auto* const decompose = kernels->add_subcommand(
      "decompose", "Write the best sums of a few separable terms for the kernels of a bank");
  const auto parts = std::make_shared<DecomposeOptions>();
  decompose->add_option("FILE", parts->in, "The kernel bank")->required();
  decompose->add_option("--rank", parts->rank, "Terms of a sum")
      ->check(CLI::Range(1, kMaxKernelTerms))
      ->capture_default_str();
  decompose->add_option("-o,--output", parts->out, "The file to write")
      ->required()
      ->type_name("FILE.ocellus");
  add_json_option(*decompose, parts->json);
  decompose->footer(
      "Prints the relative error: the norm of what a sum lacks, divided by that of the kernel. A "
      "bank "
      "of\none pixel becomes one of uniform kernels.");
  decompose->callback([decompose, parts, done] {
    run_decompose(*decompose, *parts);
    done();
  });

  auto* const info =
      kernels->add_subcommand("info", "Check a whole kernel bank and print its contents");
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
