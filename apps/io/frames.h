// FrameSource: the program's input frames from images, numbered patterns, videos, cameras and the
// test scenes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/io/image_io.h"
#include "ocellus/cellular_network.h"

namespace CLI {
class App;
}

namespace ocellus::app {

/// Options for opening FRAMES.
struct SourceOptions {
  double timeout_s = 10.0;  ///< how long a video or a camera may take to open, and for each frame
  bool color = false;       ///< whether the colors of frames are needed
};

/// Adds --source-timeout. Every command that reads FRAMES has it.
void add_source_options(CLI::App& command, SourceOptions& options);
/// The name of that option, for commands where FRAMES may be missing.
inline constexpr const char* kSourceTimeout = "--source-timeout";

struct InputFrame {
  GrayImage image;
  std::vector<GrayImage> color;   ///< the red, green and blue planes of an image file, or empty
  std::vector<std::uint8_t> rgb;  ///< the same in 8 bits, for an operator that takes it, or empty
  std::vector<std::uint8_t> chroma_u;  ///< half the size, rounded up, without padding; empty when
                                       ///< the source has no color, and for image files
  std::vector<std::uint8_t> chroma_v;
  GrayRange range;  ///< the values of `image` for black and white: 16 and 235 in most videos
  long number = 0;  ///< the number in the pattern; otherwise counted from 0
  std::int64_t timestamp_ns = 0;
  bool timed = false;  ///< whether the source gave the timestamp, as a video does
  /// The frame's time since the start of its source: GStreamer's running time. Nothing for a source
  /// without times.
  std::optional<std::int64_t> running_ns;
  std::int64_t wall_clock_ns = 0;  ///< when the frame was read
  bool interlaced = false;         ///< whether its even and odd rows are of different times
  std::string text;          ///< the characters in the frame if the source knows them, or empty
  std::vector<Rect> fields;  ///< in which they are, or empty: anywhere
};

/// Frames in order. All must have the size, format and range of the first one, and none may be
/// interlaced; otherwise InputError.
class FrameSource {
 public:
  virtual ~FrameSource() = default;

  /// Reads the next frame. Returns false at the end, and when a signal asks to stop during the
  /// wait. Throws InputError, also if the source gives no frame within SourceOptions::timeout_s.
  bool next(InputFrame& frame);

  virtual long first_number() const { return 0; }
  /// The number of the last frame, if it is known in advance.
  virtual std::optional<long> last_number() const { return std::nullopt; }
  /// Frames per second; 0 if the source has no rate.
  virtual double fps() const { return 0.0; }
  /// Makes `number` the next frame if the source can skip to it without reading the frames before.
  /// Must be called before the first `next`.
  virtual void start_at(long number) { (void)number; }
  /// Whether the source has no end, as a camera.
  virtual bool endless() const { return false; }
  /// Whether the source produces frames at its own pace, as a camera does: frames that nobody takes
  /// are lost.
  virtual bool live() const { return false; }
  /// Frames of a live source that a newer one replaced before they were read.
  virtual std::int64_t dropped() const { return 0; }

  const std::string& name() const { return name_; }

 protected:
  explicit FrameSource(std::string name) : name_(std::move(name)) {}
  /// The frame comes without color and time. Its other memory may be reused.
  virtual bool read(InputFrame& frame) = 0;

 private:
  std::string name_;
  bool started_ = false;
  ImageSize size_;
  PixelFormat format_ = PixelFormat::kGray8;
  GrayRange range_;
};

/// The index of the frame shown at `time`. The `count` frames are shown forwards and backwards in
/// turn, so that the motion never jumps.
constexpr std::size_t back_and_forth(std::size_t time, std::size_t count) {
  if (count < 2) return 0;
  const std::size_t period = 2 * (count - 1);
  const std::size_t phase = time % period;
  return phase < count ? phase : period - phase;
}

/// Opens FRAMES: one text, or several image files, which become frames 0, 1, ... Throws InputError.
std::unique_ptr<FrameSource> open_frames(const std::vector<std::string>& inputs,
                                         const SourceOptions& options = {});

}  // namespace ocellus::app
