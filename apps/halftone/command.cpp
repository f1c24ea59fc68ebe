// ocellus halftone and ocellus cnn: run the operator on frames and write the gray values of its
// cells.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "apps/io/picture_command.h"
#include "ocellus/halftone.h"

namespace ocellus::app {
namespace {

struct CellCommand : FrameCommand {
  using FrameCommand::FrameCommand;

  std::optional<double> binarize;
};

/// Sets gray values of at least `threshold` (on a scale of 0, black, to 255, white) to white and
/// the others to black.
void binarize(InputFrame& frame, double threshold) {
  const GrayImage& image = frame.image;
  const auto black = static_cast<double>(frame.range.black);
  const double least = black + threshold * (static_cast<double>(frame.range.white) - black) / 255.0;
  GrayImage out(image.size, PixelFormat::kGray8);
  std::size_t i = 0;
  for (int y = 0; y < image.size.height; ++y) {
    for (int x = 0; x < image.size.width; ++x)
      out.pixels[i++] = static_cast<double>(image.brightness(x, y)) >= least ? 255 : 0;
  }
  frame.image = std::move(out);
  frame.range = {};
}

bool keeps_color(const CellCommand& command) {
  const OperatorConfig config = command.options.config();
  const ChainConfig* chain = config.get_if<HalftoneConfig>();
  if (chain == nullptr) chain = config.get_if<CnnConfig>();
  return chain->chroma == PictureColor::kKept;
}

/// Runs one of the two commands and reports the sweeps.
class CellJob : public PictureJob {
 public:
  explicit CellJob(const CellCommand& command) : PictureJob(command), command_(command) {}

 private:
  void change(InputFrame& frame) const override {
    if (keeps_color(command_) && !frame.chroma_u.empty() && writes_images()) {
      throw InputError(
          "--chroma keep: the chroma of a video has half the resolution of its luma; write a "
          "video, "
          "or leave out --chroma keep");
    }
    if (command_.binarize) binarize(frame, *command_.binarize);
  }

  GrayRange result_range(const GrayRange&) const override { return {}; }

  void add_frame(const ProcessedFrame& work, nlohmann::ordered_json&) override {
    last_ = *reinterpret_cast<const CellularNetworkRecord*>(work.results.back().record.data());
    sweeps_ += last_.sweeps;
    converged_ += last_.converged ? 1 : 0;
    finished_ += last_.finished ? 1 : 0;
    most_changed_ = std::max(most_changed_, last_.changed);
  }

  double mean_sweeps() const {
    return static_cast<double>(sweeps_) / static_cast<double>(frames());
  }

  void add_totals(nlohmann::ordered_json& json) const override {
    json["mean_sweeps"] = mean_sweeps();
    json["converged"] = converged_ == frames();
    json["finished"] = finished_ == frames();
  }

  void print_totals() const override {
    if (frames() == 1) {
      fmt::print("{}{}, {}; {:.2f} ms\n", counted(last_.sweeps, "sweep"),
                 last_.passes > 0 ? " in " + counted(last_.passes, "pass", "passes") : "",
                 last_.converged
                     ? std::string("converged")
                     : fmt::format("{}: {} changed at the end",
                                   last_.finished ? "not converged" : "ended by --max-sweeps",
                                   counted(last_.changed, "cell")),
                 times().percentile(50.0));
      return;
    }
    const auto all = static_cast<std::int64_t>(frames());
    fmt::print("{:.1f} sweeps per frame on average, {} of {} converged", mean_sweeps(), converged_,
               counted(all, "frame"));
    if (converged_ < frames())
      fmt::print("; in the others, up to {} changed at the end", counted(most_changed_, "cell"));
    if (finished_ < frames())
      fmt::print("; --max-sweeps ended {}", counted(frames() - finished_, "frame"));
    fmt::print("\n{}\n", times_text());
  }

  CellularNetworkRecord last_{};
  std::int64_t sweeps_ = 0;
  std::uint64_t converged_ = 0;  // frames whose last stage or group converged
  std::uint64_t finished_ = 0;   // frames that --max-sweeps did not end
  std::uint32_t most_changed_ = 0;
  const CellCommand& command_;
};

CLI::App* add_command(CLI::App& program, int& exit_code, const char* name, const char* help) {
  CLI::App* const command = program.add_subcommand(name, help);
  const auto o = std::make_shared<CellCommand>(name);
  add_picture_options(*command, *o,
                      std::string(kPictureOutputHelp) +
                          ". A PNG file with 2, 4 or 16 levels has 1, 2 or 4 bits per pixel");
  if (std::string_view(name) == "cnn") {
    command
        ->add_option("--binarize", o->binarize,
                     "Make the frames black and white first: gray values from this one on (0 to "
                     "255) become white")
        ->check(finite_range(0.0, 255.0));
  }
  command->callback([command, o, &exit_code] {
    check_options(*command, {unused_without_video(o->frames.output, {"--fps"})});
    o->frames.source.color = keeps_color(*o);
    if (o->binarize && keeps_color(*o)) {
      throw InputError(
          "--binarize makes the frames black and white, so they have no color; leave out "
          "--binarize or --chroma keep");
    }
    exit_code = CellJob(*o).run();
  });
  return command;
}

}  // namespace

void add_cell_commands(CLI::App& program, int& exit_code) {
  add_command(program, exit_code, "halftone", "Convert gray frames to black and white halftones")
      ->footer(
          "Of a color frame, the luma is used, and --chroma keep keeps the color. The time of a\n"
          "frame is measured from the call of submit to the result. docs/halftone.md describes "
          "the\n"
          "presets.");
  add_command(program, exit_code, "cnn",
              "Run a chain of templates of a cellular neural network on frames")
      ->footer(
          "Of a color frame, the luma is used, and --chroma keep keeps the color. `ocellus "
          "template\n"
          "list` prints the names of the templates. Levels, boundary and update, if given, apply "
          "to\n"
          "all stages of the chain; a template's own limit of sweeps is written in the chain:\n"
          "\"hole(sweeps=50)\".");
}

}  // namespace ocellus::app
