// ocellus halftone and ocellus cnn: run the operator on frames and write the gray values of its
// cells.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "apps/common/interrupt.h"
#include "apps/common/operator_options.h"
#include "apps/common/printable.h"
#include "apps/halftone/run.h"
#include "apps/io/frame_output.h"

namespace ocellus::app {
namespace {

struct CellCommand {
  explicit CellCommand(const char* name) : cells(name) {}

  CommonOptions common;
  OperatorOptions cells;
  FrameOptions frames;
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

struct CellReport {
  long frame = 0;
  CellularNetworkRecord record;
  double ms = 0.0;  ///< from submit to the return of wait
  double compute_ms = 0.0;
  std::string file;
};

nlohmann::ordered_json report_json(const CellReport& r, const RecordInfo& record) {
  nlohmann::ordered_json json;
  json["frame"] = r.frame;
  json.update(record_json(record, &r.record));
  json["ms"] = r.ms;
  json["compute_ms"] = r.compute_ms;
  if (!r.file.empty()) json["file"] = r.file;
  return json;
}

/// Runs one of the two commands.
class CellJob {
 public:
  explicit CellJob(const CellCommand& command)
      : command_(command),
        input_(command.frames, false),
        output_(command.frames, {".png"}, input_.source().fps()),
        engine_(engine_config(command.common)) {}

  int run() {
    // After a signal, a video of the frames so far is still finished.
    const StopsEarly stops_early;
    frames();
    output_.finish();
    if (stop_signal() != 0)
      input_.report_interruption(static_cast<std::int64_t>(reports_.size()), "frame");
    if (!reports_.empty()) print();
    return kDone;
  }

 private:
  void frames() {
    Progress progress(input_.source().name(), input_.expected());
    InputFrame frame;
    if (!input_.next(frame)) return;
    prepare(frame);
    config_ = command_.cells.config();
    range_ = frame.range;
    config_.set_input(frame.image.size, frame.image.format, range_);
    run_ = std::make_unique<CellRun>(engine_, config_);
    if (output_.single()) {
      const long number = frame.number;
      InputFrame second;
      if (input_.next(second)) {
        throw InputError(fmt::format(
            "-o {} is one file, {} has more than one frame; put a number such as %03d into the "
            "name, or write frame {} alone with --limit 1",
            output_.path(), input_.source().name(), number));
      }
    }
    do {
      if (!reports_.empty()) prepare(frame);
      step(frame);
      progress.update(input_.read());
    } while (stop_signal() == 0 && !output_.single() && input_.next(frame));
  }

  void prepare(InputFrame& frame) const {
    if (command_.binarize) binarize(frame, *command_.binarize);
  }

  void step(const InputFrame& frame) {
    using Clock = std::chrono::steady_clock;
    CellRun& cells = *run_;
    const Clock::time_point begin = Clock::now();
    const FrameInfo info =
        cells.step(frame.image.view(static_cast<std::uint64_t>(frame.number), frame.timestamp_ns));
    CellReport report;
    report.ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    report.frame = frame.number;
    report.record = cells.record();
    report.compute_ms = static_cast<double>(info.compute_ns) * 1e-6;
    if (!output_.none()) {
      report.file = output_.name_of(frame.number);
      write(cells.image(), report.file);
    }
    reports_.push_back(std::move(report));
  }

  void write(const GrayImage& image, const std::string& path) {
    if (!output_.video()) {
      write_png_gray(path, image, run_->info().planes[0].levels == 2 ? 1 : 8);
      return;
    }
    picture_.image = image;
    output_.video_picture(picture_);
    output_.write_video_picture();
  }

  void print() const {
    const OperatorInfo& op = run_->info();
    std::vector<double> ms;
    double sweeps = 0.0;
    std::size_t settled = 0;
    std::uint32_t most_changed = 0;
    for (const CellReport& r : reports_) {
      ms.push_back(r.ms);
      sweeps += r.record.sweeps / static_cast<double>(reports_.size());
      settled += r.record.converged ? 1 : 0;
      most_changed = std::max(most_changed, r.record.changed);
    }
    const double median = percentile(ms, 50.0);
    const double p99 = percentile(ms, 99.0);
    if (command_.common.json) {
      nlohmann::ordered_json json;
      json["input"] = input_.source().name();
      json["size"] = {op.size.width, op.size.height};
      json["frames_read"] = input_.read();
      add_engine_json(json, run_->engine());
      json["input_range"] = {range_.black, range_.white};
      json["config"] = config_json(config_);
      json["memory_bytes"] = run_->footprint().host;
      json["output"] =
          output_.none() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(output_.path());
      json["median_ms"] = median;
      json["p99_ms"] = p99;
      json["mean_sweeps"] = sweeps;
      json["converged"] = settled == reports_.size();
      json["frames"] = nlohmann::ordered_json::array();
      for (const CellReport& report : reports_)
        json["frames"].push_back(report_json(report, *op.record));
      print_json(json);
      return;
    }
    print_summary(input_, op.size, printable(op.summary), run_->engine());
    if (reports_.size() == 1) {
      const CellularNetworkRecord& info = reports_.front().record;
      fmt::print("{}, {}; {:.2f} ms\n", counted(info.sweeps, "sweep"),
                 info.converged ? std::string("converged")
                                : fmt::format("not converged: {} changed in the last sweep",
                                              counted(info.changed, "cell")),
                 median);
    } else {
      fmt::print("{:.1f} sweeps per frame on average, {} of {} converged", sweeps, settled,
                 counted(static_cast<std::int64_t>(reports_.size()), "frame"));
      if (settled < reports_.size())
        fmt::print("; in the others, up to {} changed in the last sweep",
                   counted(most_changed, "cell"));
      fmt::print("\nmedian {:.2f} ms per frame, 99th percentile {:.2f} ms, {:.0f} frames/s\n",
                 median, p99, 1000.0 / median);
    }
    if (!output_.none())
      fmt::print("written: {}\n",
                 printable(output_.written(reports_.front().frame, reports_.size())));
  }

  const CellCommand& command_;
  FrameInput input_;
  FrameOutput output_;
  EngineConfig engine_;
  OperatorConfig config_{command_.cells.description()};
  GrayRange range_;
  std::unique_ptr<CellRun> run_;
  InputFrame picture_;  // the next picture of the video
  std::vector<CellReport> reports_;
};

CLI::App* add_command(CLI::App& program, int& exit_code, const char* name, const char* help) {
  CLI::App* const command = program.add_subcommand(name, help);
  const auto o = std::make_shared<CellCommand>(name);
  add_frame_options(*command, o->frames,
                    "out.png: one frame; out_%03d.png: all frames; out.webm or out.mp4: a video. A "
                    "PNG file with two levels has one bit per pixel",
                    1);
  if (std::string_view(name) == "cnn") {
    command
        ->add_option("--binarize", o->binarize,
                     "Make the frames black and white first: gray values from this one on (0 to "
                     "255) become white")
        ->check(finite_range(0.0, 255.0));
  }
  o->cells.add_to(*command);
  add_common_options(*command, o->common);
  command->callback([command, o, &exit_code] {
    check_options(*command, {unused_without_video(o->frames.output, {"--fps"})});
    exit_code = CellJob(*o).run();
  });
  return command;
}

}  // namespace

void add_cell_commands(CLI::App& program, int& exit_code) {
  add_command(program, exit_code, "halftone", "Convert gray frames to black and white halftones")
      ->footer(
          "Of a color frame, the luma is used. The time of a frame is measured from the call of\n"
          "submit to the result. docs/halftone.md describes the presets.");
  add_command(program, exit_code, "cnn",
              "Run a chain of templates of a cellular neural network on frames")
      ->footer(
          "Of a color frame, the luma is used. `ocellus template list` prints the names of the\n"
          "templates. Sweeps, levels, boundary and update, if given, apply to all stages of the\n"
          "chain.");
}

}  // namespace ocellus::app
