// ocellus kernels: makes, converts and shows kernel bank files.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/json_text.h"
#include "apps/common/operator_options.h"
#include "apps/common/printable.h"
#include "apps/io/input_file.h"
#include "apps/optical_flow/kernel_bank_json.h"
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

/// Writes the kernels that the library would make for images of `size`.
void make_kernel_bank(const KernelConfig& kernels, ImageSize size, const std::string& note,
                      const std::string& out) {
  // The writer is created at the first taps. By then the library has checked the configuration, so
  // its error texts come first.
  struct Copy {
    detail::KernelBankHeader bank;
    const std::string& out;
    std::unique_ptr<detail::KernelBankWriter> writer;
    std::unique_ptr<Progress> progress;
    std::int64_t done;
    std::exception_ptr failure;

    void add(const float* wx, const float* wy, const float* wt) {
      if (!writer) {
        writer = open_kernel_bank(out, bank);
        fmt::print("{}: {} of taps\n", printable(out), bytes_text(bank.tap_bytes()));
        std::fflush(stdout);  // flushed before the long work begins
        progress = std::make_unique<Progress>("kernels", static_cast<std::int64_t>(bank.entries()));
      }
      app::take(writer->add(wx, wy, wt), "kernels");
      constexpr std::int64_t kBetweenUpdates =
          4096;  // reading the clock takes longer than one kernel
      if (++done % kBetweenUpdates == 0) progress->update(done);
    }
  } copy{{}, out, nullptr, nullptr, 0, nullptr};
  detail::KernelBankHeader& bank = copy.bank;
  bank.form = kernels.form;
  bank.nx = kernels.nx;
  bank.ny = kernels.ny;
  bank.nt = kernels.nt;
  bank.convolutions = kernels.convolutions;
  bank.terms = kernels.terms;
  bank.size = size;
  detail::copy_note(bank.note, sizeof(bank.note), note.data(), note.size());
  const auto visited = visit_kernels(
      kernels, size,
      [](void* user, int, int, int, int, const float* wx, const float* wy, const float* wt) {
        auto& c = *static_cast<Copy*>(user);
        try {
          c.add(wx, wy, wt);
        } catch (...) {
          c.failure = std::current_exception();  // an exception must not pass through the library
          return false;
        }
        return true;
      },
      &copy);
  if (copy.failure) std::rethrow_exception(copy.failure);
  take(visited, "kernels");
  take(copy.writer->finish(), "kernels");
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
    throw InputError(fmt::format("--kernels is '{}'; it must be uniform, per-pixel or foveated",
                                 kernels.path.view()));
  }
  const bool per_pixel = kernels.form == KernelForm::kPerPixel;
  if (!per_pixel && !options.size.empty()) {
    throw InputError(
        "--size has no meaning here: a bank of --kernels uniform fits images of every size");
  }
  if (per_pixel && options.size.empty()) {
    throw InputError(fmt::format("--kernels {} needs --size WIDTHxHEIGHT, the size of the images",
                                 foveated ? "foveated" : "per-pixel"));
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

/// An error of the library with the file's name, which it has only if the file cannot be opened.
std::string with_name(const std::string& path, const std::string& error) {
  return error.find(path) != std::string::npos ? error : fmt::format("{}: {}", path, error);
}

}  // namespace

void show_kernel_bank(const std::string& path, bool json, std::ostream& to) {
  auto info = read_kernel_file_info(path.c_str());
  if (!info) throw InputError(with_name(path, info.error().text));
  if (!info->kernels.path.assign(path))
    throw InputError(fmt::format("{}: the name is too long", path));
  const bool per_pixel = info->kernels.form == KernelForm::kPerPixel;
  const auto summary = std::make_unique<Summary>();
  summary->kernels = info->kernels;
  const auto visited = visit_kernels(info->kernels, per_pixel ? info->size : ImageSize{1, 1},
                                     &Summary::add, summary.get());
  if (!visited) throw InputError(with_name(path, visited.error().text));
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
    to << json_text(root) << '\n';
    return;
  }
  to << fmt::format("{}: kernel bank, complete and undamaged\n", printable(path));
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
      program.add_subcommand("kernels", "Make, convert and show kernel bank files (*.ocellus)");
  kernels->require_subcommand(1);

  auto* const make = kernels->add_subcommand(
      "make", "Write the library's own kernels: Gaussian derivatives for Ix, Iy, It");
  const auto options = std::make_shared<KernelMakeOptions>();
  options->kernels.add_to(*make);
  make->add_option("--size", options->size,
                   "Size of the images, for --kernels per-pixel and foveated")
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
