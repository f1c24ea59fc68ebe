// Videos and cameras. Built on GStreamer; without it every call throws an InputError that says so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "apps/io/frames.h"

namespace ocellus::app {

/// Both wait for the first frame, so that what is wrong with the source is said before anything is
/// made for it.
std::unique_ptr<FrameSource> open_video(const std::string& path, const SourceOptions& options);
std::unique_ptr<FrameSource> open_camera(const std::string& device, const SourceOptions& options);

/// Whether a source could not be closed in time and still runs on threads of its own. The process
/// is then to end without the destructors of what those threads may use.
bool source_left_behind();

/// Writes I420 frames of limited range, luma from 16 to 235, to a .webm or .mp4 file, which is an
/// OutputFile.
class VideoWriter {
 public:
  virtual ~VideoWriter() = default;
  /// `i420`: Y, U and V planes without padding; chroma is (width+1)/2 x (height+1)/2.
  virtual void write(const std::uint8_t* i420) = 0;
  /// Ends the file. Without it there is none.
  virtual void finish() = 0;
};

/// True for the endings that make_video_writer takes.
inline bool is_video_name(const std::string& path) {
  const std::string extension = file_extension(path);
  return extension == ".webm" || extension == ".mp4";
}

/// Throws InputError naming the encoder that is missing.
std::unique_ptr<VideoWriter> make_video_writer(const std::string& path, ImageSize size, double fps);

}  // namespace ocellus::app
