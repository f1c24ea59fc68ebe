// FrameSource: where the program's frames come from - images, numbered patterns, videos, cameras,
// the test scene.
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

/// How FRAMES are opened.
struct SourceOptions {
  double timeout_s = 10.0;  ///< how long a video or a camera may take for a frame, and to open
};

/// --source-timeout: for every command that reads FRAMES.
void add_source_options(CLI::App& command, SourceOptions& options);
/// Its name, for commands where FRAMES may be missing.
inline constexpr const char* kSourceTimeout = "--source-timeout";

struct InputFrame {
  GrayImage image;
  std::vector<std::uint8_t> chroma_u;  ///< half the size, rounded up, without padding; empty when
                                       ///< the source has no color
  std::vector<std::uint8_t> chroma_v;
  GrayRange range;  ///< which values of `image` are black and white: 16 and 235 in most videos
  long number = 0;  ///< the pattern's number; from 0 elsewhere
  std::int64_t timestamp_ns = 0;
};

/// Frames in order. All have the first one's size, format and range; a change is an InputError.
class FrameSource {
 public:
  virtual ~FrameSource() = default;

  /// The next frame; false at the end, and when a signal asked to stop while it was waited for.
  /// Throws InputError, also when the source gives no frame within SourceOptions::timeout_s.
  bool next(InputFrame& frame);

  virtual long first_number() const { return 0; }
  /// Number of the last frame, where it is known beforehand.
  virtual std::optional<long> last_number() const { return std::nullopt; }
  /// Frames per second; 0 when the source has no rate.
  virtual double fps() const { return 0.0; }
  /// Lets the next frame be `number` where that is cheaper than reading up to it. Only before the
  /// first `next`.
  virtual void start_at(long number) { (void)number; }
  /// A camera has no end.
  virtual bool endless() const { return false; }

  const std::string& name() const { return name_; }

 protected:
  explicit FrameSource(std::string name) : name_(std::move(name)) {}
  virtual bool read(InputFrame& frame) = 0;

 private:
  std::string name_;
  bool started_ = false;
  ImageSize size_;
  PixelFormat format_ = PixelFormat::kGray8;
  GrayRange range_;
};

/// Which of `count` frames is shown at a time, when they are shown forwards and backwards, so that
/// the motion never jumps.
constexpr std::size_t back_and_forth(std::size_t time, std::size_t count) {
  if (count < 2) return 0;
  const std::size_t period = 2 * (count - 1);
  const std::size_t phase = time % period;
  return phase < count ? phase : period - phase;
}

/// Opens FRAMES: one text, or several image files that are taken as frames 0, 1, ... Throws
/// InputError.
std::unique_ptr<FrameSource> open_frames(const std::vector<std::string>& inputs,
                                         const SourceOptions& options = {});

}  // namespace ocellus::app
