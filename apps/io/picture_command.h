// The command of an operator whose output is one gray picture per frame.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/operator_options.h"
#include "apps/io/frame_output.h"
#include "apps/io/frame_run.h"
#include "apps/io/operator_run.h"

namespace ocellus::app {

/// An engine with one operator on it, whose only plane is a gray picture of 8 or 16 bits.
class PictureRun {
 public:
  /// Throws InputError with the library's reason.
  PictureRun(const EngineConfig& engine, const OperatorConfig& config);

  FrameInfo step(const Frame& frame) { return run_.op().step(frame); }
  const RunningOperator& op() const { return run_.op(); }
  const GrayImage& image() const { return image_; }
  const OperatorInfo& info() const { return run_.op().info(); }
  const EngineInfo& engine() const { return run_.engine(); }
  const Footprint& footprint() const { return run_.footprint(); }

 private:
  static OperatorOutput output_of(GrayImage& image);

  GrayImage image_;
  OperatorOutput output_;
  OperatorRun run_;
};

/// Values of the command line.
struct PictureCommand {
  explicit PictureCommand(const char* name) : options(name) {}

  CommonOptions common;
  OperatorOptions options;
  FrameOptions frames;
};

/// Runs the command. A command that reports more than times derives from it.
class PictureJob {
 public:
  explicit PictureJob(const PictureCommand& command);
  virtual ~PictureJob() = default;
  PictureJob(const PictureJob&) = delete;
  PictureJob& operator=(const PictureJob&) = delete;

  /// Returns the exit code. Throws InputError.
  int run();

 protected:
  struct Report {
    long frame = 0;
    double ms = 0.0;  ///< from submit to the return of wait
    double compute_ms = 0.0;
    std::string file;
    std::vector<std::uint64_t> record;  ///< the operator's, if it has one
  };

  /// Changes a frame before it is submitted.
  virtual void prepare(InputFrame&) const {}
  /// The planes of a frame that the operator processes, each for itself.
  virtual std::vector<Frame> parts(const InputFrame& frame);
  /// Writes the result of a frame as an image file.
  virtual void write_image(const ProcessedFrame& work, const std::string& path) const;
  /// Adds the color of a frame's result to a picture of a video. The picture's image is the gray
  /// result.
  virtual void add_color(const ProcessedFrame&, InputFrame&) const {}
  /// Returns the gray values of a result that are black and white, for frames of this range.
  virtual GrayRange result_range(const GrayRange& frames) const { return frames; }
  /// Adds members about all frames to the JSON report.
  virtual void add_totals(nlohmann::ordered_json&) const {}
  /// Prints about all frames. `median` and `p99` are those of Report::ms.
  virtual void print_totals(double median, double p99) const;

  /// Not empty in `add_totals` and `print_totals`.
  const std::vector<Report>& reports() const { return reports_; }
  /// Exists while there are reports.
  const FrameRun& frame_run() const { return *run_; }

 private:
  void frames();
  void finish(const ProcessedFrame& work);
  void write(const ProcessedFrame& work, const std::string& path);
  void print() const;
  nlohmann::ordered_json report_json(const Report& report) const;

  const PictureCommand& command_;
  FrameInput input_;
  FrameOutput output_;
  std::vector<EngineConfig> engines_;
  OperatorConfig config_;
  GrayRange range_;
  std::unique_ptr<FrameRun> run_;
  InputFrame picture_;  // the next picture of the video
  std::vector<Report> reports_;
};

/// The picture in 8 bits.
GrayImage in_8_bits(const GrayImage& image);

/// What the help of -o says.
inline constexpr const char* kPictureOutputHelp =
    "out.png: one frame; out_%03d.png: all frames; out.webm, out.mp4 or out.y4m: a video; -: PNM "
    "or, of a video, Y4M on standard output. Images are PNG, PGM, PBM (two levels) or PPM";

/// Adds the options of such a command to it.
void add_picture_options(CLI::App& command, PictureCommand& options,
                         const std::string& output_help);

/// Adds the command of the operator `name`, which runs a PictureJob.
CLI::App* add_picture_command(CLI::App& program, int& exit_code, const char* name,
                              const std::string& help);

}  // namespace ocellus::app
