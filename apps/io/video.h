// Videos and cameras, read and written by GStreamer. In a build without it, every call throws an
// InputError that says so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "apps/io/frames.h"

namespace ocellus::app {

/// Both wait for the first frame, so that a failing source is reported before any other work
/// begins.
std::unique_ptr<FrameSource> open_video(const std::string& path, const SourceOptions& options);
std::unique_ptr<FrameSource> open_camera(const std::string& device, const SourceOptions& options);
/// The output of a pipeline such as "v4l2src ! videoconvert ! video/x-raw,format=GRAY8".
std::unique_ptr<FrameSource> open_pipeline(const std::string& text, const SourceOptions& options);

/// Whether a source could not be closed in time and still runs on its own threads. Then the process
/// must exit without running destructors of objects that these threads may use.
bool source_left_behind();

/// Writes I420 frames of limited range (luma from 16 to 235) to a video. A file is an OutputFile.
class VideoWriter {
 public:
  virtual ~VideoWriter() = default;
  /// `i420`: the Y, U and V planes without padding. Chroma planes have (width+1)/2 x (height+1)/2
  /// pixels. `time_ns`: the time of the frame on the source's clock. The first frame is at 0 in the
  /// video. Without it, and where times do not increase, frames are 1 / fps apart.
  virtual void write(const std::uint8_t* i420, std::optional<std::int64_t> time_ns) = 0;
  /// Finishes the file. Without this call no file is created.
  virtual void finish() = 0;
};

/// Whether the name is that of a video that can be written: .webm, .mp4 or .y4m, or "-", which is
/// Y4M on standard output.
inline bool is_video_name(const std::string& path) {
  const std::string extension = file_extension(path);
  return extension == ".webm" || extension == ".mp4" || extension == ".y4m" || path == "-";
}

/// A .webm or .mp4 file. Throws InputError that names the missing encoder.
std::unique_ptr<VideoWriter> make_video_writer(const std::string& path, ImageSize size, double fps);
/// Writes to a pipeline such as "videoconvert ! autovideosink". It shows or stores each frame when
/// it comes, whatever `fps`, which its caps name. Throws InputError with GStreamer's reason.
std::unique_ptr<VideoWriter> make_pipeline_writer(const std::string& text, ImageSize size,
                                                  double fps);

}  // namespace ocellus::app
