// What commands that read frames and write pictures share: their options, the frames up to a limit,
// and the files or the video that they write.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/io/frames.h"
#include "apps/io/numbered_name.h"
#include "apps/io/video.h"
#include "ocellus/overlay_image.h"

namespace ocellus::app {

struct FrameOptions {
  std::vector<std::string> inputs;
  std::string output;
  std::string source_pipeline;  ///< GStreamer elements in place of `inputs`
  std::string sink_pipeline;    ///< GStreamer elements that take pictures, in place of `output`
  std::optional<long> limit;
  double fps = 0.0;
  SourceOptions source;
};

/// Adds FRAMES, --limit and --source-timeout.
void add_input_options(CLI::App& command, FrameOptions& options, long least_limit);
/// These and --output and --fps.
void add_frame_options(CLI::App& command, FrameOptions& options, const std::string& output_help,
                       long least_limit);

/// Adds --source and --sink. FRAMES is then not required.
void add_pipeline_options(CLI::App& command, FrameOptions& options);

/// "-o out.png", or "without -o, nothing is written", for errors about options without effect.
std::string output_text(const std::string& output);
/// The given options, which apply to a video only, if `output` is not a video.
UnusedOptions unused_without_video(const std::string& output, std::vector<const char*> names,
                                   const char* applies = "a video");

/// The frames of FRAMES up to --limit.
class FrameInput {
 public:
  /// Throws InputError.
  explicit FrameInput(const FrameOptions& options);

  /// For a result that is that of the last frames. Throws InputError for a camera without --limit.
  void require_end() const;

  FrameSource& source() { return *source_; }
  const FrameSource& source() const { return *source_; }
  /// Reads the next frame. Returns false at the end, at the limit, and after a signal that asks to
  /// stop. Throws InputError.
  bool next(InputFrame& frame);

  /// Throws InputError if another frame follows frame `number`, whose result `output` is.
  void require_no_more(const std::string& output, long number);

  std::int64_t read() const { return read_; }
  /// The number of frames to come, for a progress bar; 0 if it is unknown.
  std::int64_t expected() const;
  /// Reports on stderr that a signal ended the work after so many results.
  void report_interruption(std::int64_t count, const std::string& result) const;

 private:
  std::unique_ptr<FrameSource> source_;
  std::optional<long> limit_;
  std::int64_t read_ = 0;
};

/// Where the results of one or all frames go: nowhere, one file, numbered files, or a video.
class FrameOutput {
 public:
  /// `extensions`: endings of files that hold one result. "-", standard output, takes PNM images if
  /// .pgm is one of them and the source has no frame rate, otherwise a video. Throws InputError.
  /// `videos`: a video may be written, too.
  FrameOutput(const FrameOptions& options, const std::vector<std::string>& extensions,
              double source_fps, bool videos = true);

  bool none() const { return path_.empty() && sink_.empty(); }
  bool video() const { return video_; }
  /// Whether the output is one file for one result.
  bool single() const { return !none() && !video_ && !images_ && !name_.numbered(); }
  const std::string& path() const { return path_; }
  const std::string& extension() const { return extension_; }
  std::string name_of(long number) const { return name_.at(number); }
  /// The output after `count` results from frame `first` on.
  std::string written(long first, std::size_t count) const { return name_.of(first, count); }

  /// The frame as a picture to draw on. It has limited range, whatever range the frame has. 16-bit
  /// values lose the lower eight bits. A frame without color is gray.
  OverlayImage picture(const InputFrame& frame);
  /// Writes the last picture as a PNG file in color and full range. Throws InputError.
  void write_picture_png(const std::string& path) const;
  /// The frame as the next picture of the video.
  OverlayImage video_picture(const InputFrame& frame);
  /// Writes the picture. Throws InputError.
  void write_video_picture();
  /// Finishes a video. Throws InputError.
  void finish();

 private:
  std::string path_;
  std::string sink_;
  std::string extension_;
  bool images_ = false;  ///< PNM images on standard output
  bool video_ = false;
  NumberedName name_;
  double fps_ = 25.0;
  bool own_fps_ = false;                      ///< whether --fps gives the times of the frames
  std::optional<std::int64_t> picture_time_;  ///< the source's time of the last video_picture
  std::unique_ptr<VideoWriter> writer_;
  ImageSize picture_size_;
  std::vector<std::uint8_t> i420_;
  std::vector<std::uint8_t> chroma_u_;  ///< of an image file's colors
  std::vector<std::uint8_t> chroma_v_;
};

/// Adds "frames_read" to a report, and "frames_dropped" if the source is live.
void add_input_json(nlohmann::ordered_json& json, const FrameInput& input);
/// Prints the first line of every report: the input, its size, and the backend.
void print_input(const FrameInput& input, ImageSize size, const std::string& how,
                 const EngineInfo& info);
/// Prints how many frames of a live source were dropped, if any.
void print_dropped(const FrameInput& input);
/// Adds a description of the engine to a report.
void add_engine_json(nlohmann::ordered_json& json, const EngineInfo& info);

}  // namespace ocellus::app
