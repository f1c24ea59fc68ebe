// FrameJob: the loop of every command that runs one operator on frames. It reads, submits, waits,
// reports and writes. RunReport: what it tells about its frames, as they come, and about all of
// them at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/operator_options.h"
#include "apps/io/frame_output.h"
#include "apps/io/frame_run.h"
#include "apps/io/monitor.h"

namespace ocellus::app {

class JsonSink;

/// Writes the report of a run on standard output, each frame at once. It keeps no frame, so a run
/// may last for ever.
///
/// --json: one object, whose member "frames" grows while frames come. Members about all frames
/// stand behind it. If the run fails, the end of the object is missing. --json-lines: an
/// object for each frame on a line of its own, and a last one with all other members. --json-to:
/// these lines in another place. Text is printed by the command itself.
class RunReport {
 public:
  /// Throws InputError if the place of --json-to cannot be opened.
  explicit RunReport(const CommonOptions& common);

  bool is_text() const { return form_ == Form::kText; }

  /// Called before the first frame. `head`: the members that are known then.
  void begin(nlohmann::ordered_json head);
  void frame(const nlohmann::ordered_json& frame);
  /// Called behind the last frame. `totals`: the other members.
  void end(const nlohmann::ordered_json& totals);

  /// Text of a frame must not wait for the next one. Throws InputError if nobody can read it.
  static void flush();

 private:
  enum class Form { kText, kJson, kJsonLines };

  void line(const nlohmann::ordered_json& object);

  JsonSink* sink_;  ///< null: standard output
  Form form_;
  bool first_ = true;
  nlohmann::ordered_json head_;
};

/// The times of a run's frames, in constant memory.
class FrameTimes {
 public:
  void add(double ms);
  std::uint64_t count() const { return histogram_->count(); }
  /// In milliseconds, at most 0.1 % too long; exact for one frame. 0 without frames.
  double percentile(double percent) const;

 private:
  std::unique_ptr<LatencyHistogram> histogram_ = std::make_unique<LatencyHistogram>();
};

/// Values of the command line.
struct FrameCommand {
  /// `only`: the options of the operator that are offered; all if it is empty.
  explicit FrameCommand(const char* name, const std::vector<std::string>& only = {})
      : options(name, only) {}

  CommonOptions common;
  OperatorOptions options;
  FrameOptions frames;
};

/// Runs a command. The functions are where commands differ.
class FrameJob {
 public:
  /// `extensions`: of the files of one frame that the command writes. `videos`: it writes videos,
  /// too.
  FrameJob(const FrameCommand& command, const std::vector<std::string>& extensions,
           bool videos = true);
  virtual ~FrameJob() = default;
  FrameJob(const FrameJob&) = delete;
  FrameJob& operator=(const FrameJob&) = delete;

  /// Returns the exit code. Throws InputError.
  int run();

 protected:
  /// Makes a frame what the operator takes. The operator does not exist when the first one comes.
  /// Throws InputError.
  virtual void prepare(InputFrame&) {}
  /// The format of the views of `parts`.
  virtual PixelFormat input_format(const InputFrame& frame) const { return frame.image.format; }
  /// Sets what the command needs beside its options.
  virtual void adapt(OperatorConfig&) {}
  /// Called once, when the operator exists.
  virtual void begin(const InputFrame&) {}
  /// Reads the frames and processes them.
  virtual void process();
  /// Creates the operator for frames like the first one.
  void start(InputFrame& first);
  /// Called for each frame that was processed, in their order.
  virtual void take(const ProcessedFrame& work) { report(work, work.frame); }
  /// Writes and reports a result. `described`: the frame that it describes.
  void report(const ProcessedFrame& work, const InputFrame& described);
  /// The views of a frame that the operator processes, each for itself.
  virtual std::vector<Frame> parts(const InputFrame& frame) { return whole_frame(frame); }
  /// Writes the result of a frame to `output`. `path`: of an image file.
  virtual void write(const ProcessedFrame&, const std::string& /*path*/) {}
  /// Adds members about the operator to the JSON report.
  virtual void add_head(nlohmann::ordered_json&) const {}
  /// Adds to the sums over all frames, and to the frame's part of the report.
  virtual void add_frame(const ProcessedFrame&, nlohmann::ordered_json&) {}
  /// Prints a frame's result. This one prints the record.
  virtual void print_frame(const ProcessedFrame& work) const;
  /// Called behind the last frame, also after an error, but not without a frame.
  virtual void finish() {}
  /// Add and print what concerns all frames. `print_totals` of this class prints times.
  virtual void add_totals(nlohmann::ordered_json&) const {}
  virtual void print_totals() const;
  /// The files that were written, as text.
  virtual std::vector<std::string> written() const;

  std::uint64_t frames() const { return times_.count(); }
  const FrameTimes& times() const { return times_; }
  /// "median 1.20 ms per frame, 99th percentile 1.30 ms, 833 frames/s".
  std::string times_text() const;
  /// Exists while there are frames.
  FrameRun& frame_run() const { return *run_; }
  const FrameCommand& command() const { return command_; }
  const std::string& source_name() const { return input_.source().name(); }
  FrameInput& input() { return input_; }
  const FrameInput& input() const { return input_; }
  FrameOutput& output() { return output_; }
  const FrameOutput& output() const { return output_; }
  /// Of the first device.
  const EngineConfig& engine() const { return engines_.front(); }
  const OperatorConfig& config() const { return config_; }
  /// The record of the last result.
  const void* last_record() const { return last_.data(); }
  /// The number of the first frame that has a result.
  long first() const { return first_; }
  bool writes_images() const { return !output_.none() && !output_.video(); }
  const GrayRange& range() const { return range_; }

 private:
  nlohmann::ordered_json head() const;
  void print_end();
  /// The times of a frame for the report.
  static nlohmann::ordered_json times_json(const InputFrame& frame);
  void record_metrics(const ProcessedFrame& work);

  // The files that options name are inputs before an output is opened.
  const FrameCommand& command_;
  OperatorConfig config_;
  FrameInput input_;
  Monitor monitor_;
  FrameOutput output_;
  std::vector<EngineConfig> engines_;
  GrayRange range_;
  std::unique_ptr<FrameRun> run_;
  std::vector<OperatorMetrics*> metrics_;  ///< of each device
  RunReport report_;
  FrameTimes times_;
  long first_ = 0;
  std::vector<std::uint64_t> last_;
  nlohmann::ordered_json times_of_last_;
};

/// Adds the options that such a command has, but those of frames.
void add_job_options(CLI::App& command, FrameCommand& options);

}  // namespace ocellus::app
