// What commands share that take frames in and give pictures out: their options, the frames up to a
// limit, the files and the video that are written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/frames.h"
#include "apps/io/numbered_name.h"
#include "apps/io/video.h"
#include "ocellus/flow_draw.h"

namespace ocellus::app {

struct FrameOptions {
  std::vector<std::string> inputs;
  std::string output;
  std::optional<long> limit;
  double fps = 0.0;
  SourceOptions source;
};

/// FRAMES, --output, --limit, --fps and --source-timeout.
void add_frame_options(CLI::App& command, FrameOptions& options, const std::string& output_help,
                       long least_limit);

/// "-o out.png", or "nothing is written without -o": for what has no meaning with such an output.
std::string output_text(const std::string& output);
/// Those that are for a video where `output` is none.
UnusedOptions unused_without_video(const std::string& output, std::vector<const char*> names);

/// FRAMES up to --limit.
class FrameInput {
 public:
  /// Throws InputError, also for a camera when nothing says after how many frames to stop.
  FrameInput(const FrameOptions& options, bool stops_by_itself);

  FrameSource& source() { return *source_; }
  const FrameSource& source() const { return *source_; }
  /// False at the end or the limit, and when a signal asked to stop. Throws InputError.
  bool next(InputFrame& frame);

  std::int64_t read() const { return read_; }
  /// The number of frames to come, for a progress bar; 0 when unknown.
  std::int64_t expected() const;
  /// Says on stderr that a signal ended the work after so many results.
  void report_interruption(std::int64_t count, const std::string& result) const;

 private:
  std::unique_ptr<FrameSource> source_;
  std::optional<long> limit_;
  std::int64_t read_ = 0;
};

/// Where the results of one or all frames go: nowhere, a file, a file for each by a numbered
/// pattern, or a video.
class FrameOutput {
 public:
  /// `extensions`: of files with one result each. Throws InputError.
  FrameOutput(const FrameOptions& options, const std::vector<std::string>& extensions,
              double source_fps);

  bool none() const { return path_.empty(); }
  bool video() const { return video_; }
  /// One file for one result.
  bool single() const { return !none() && !video_ && !name_.numbered(); }
  const std::string& path() const { return path_; }
  const std::string& extension() const { return extension_; }
  std::string name_of(long number) const { return name_.at(number); }
  /// What is there after `count` results from frame `first` on: a file, or the pattern of several.
  std::string written(long first, std::size_t count) const {
    return count == 1 || !name_.numbered() ? name_of(first) : path_;
  }

  /// The frame as the video's next picture, to be drawn on: of limited range whatever the frame's;
  /// 16 bits lose the lower eight, and what has no color is gray.
  OverlayImage video_picture(const InputFrame& frame);
  /// Writes it. Throws InputError.
  void write_video_picture();
  /// Ends a video. Throws InputError.
  void finish();

 private:
  std::string path_;
  std::string extension_;
  bool video_ = false;
  NumberedName name_;
  double fps_ = 25.0;
  std::unique_ptr<VideoWriter> writer_;
  std::vector<std::uint8_t> i420_;
};

/// What every report begins with: what was read, with what it was computed.
void print_summary(const FrameInput& input, ImageSize size, const std::string& how,
                   const EngineInfo& info);
/// Adds the engine's part to a report.
void add_engine_json(nlohmann::ordered_json& json, const EngineInfo& info);

}  // namespace ocellus::app
