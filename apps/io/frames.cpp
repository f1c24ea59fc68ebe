#include "apps/io/frames.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>

#include "apps/common/common.h"
#include "apps/common/input_guard.h"
#include "apps/common/interrupt.h"
#include "apps/io/digit_sequence.h"
#include "apps/io/frame_stream.h"
#include "apps/io/input_file.h"
#include "apps/io/numbered_name.h"
#include "apps/io/output_file.h"
#include "apps/io/test_scene.h"
#include "apps/io/video.h"

namespace ocellus::app {
namespace {

namespace fs = std::filesystem;

class ImageFiles : public FrameSource {
 public:
  ImageFiles(std::string name, std::vector<std::string> paths, long first, bool color)
      : FrameSource(std::move(name)), paths_(std::move(paths)), first_(first), color_(color) {
    // All of them at once: a result must not replace a frame that is still to be read.
    for (const std::string& path : paths_) note_input(path);
  }

  long first_number() const override { return first_; }
  std::optional<long> last_number() const override {
    return first_ + static_cast<long>(paths_.size()) - 1;
  }
  void start_at(long number) override {
    position_ = static_cast<std::size_t>(
        std::clamp<long>(number - first_, 0, static_cast<long>(paths_.size())));
  }

 protected:
  bool read(InputFrame& frame) override {
    if (position_ == paths_.size()) return false;
    frame.image = read_image(paths_[position_], color_ ? &frame.color : nullptr);
    frame.number = first_ + static_cast<long>(position_++);
    return true;
  }

 private:
  std::vector<std::string> paths_;
  long first_;
  bool color_;
  std::size_t position_ = 0;
};

void set_frame(InputFrame& frame, GrayImage image) {
  frame.image = std::move(image);
}
void set_frame(InputFrame& frame, DigitScene scene) {
  frame.image = std::move(scene.image);
  frame.text = std::move(scene.string);
  frame.fields = std::move(scene.fields);
}

/// The frames of a TestScene or of a DigitSequence.
template <typename Scene>
class SyntheticFrames : public FrameSource {
 public:
  SyntheticFrames(std::string name, Scene scene)
      : FrameSource(std::move(name)), scene_(std::move(scene)) {}

  std::optional<long> last_number() const override { return scene_.frames() - 1; }
  double fps() const override { return scene_.fps(); }
  void start_at(long number) override {
    position_ = static_cast<int>(std::clamp<long>(number, 0, scene_.frames()));
  }

 protected:
  bool read(InputFrame& frame) override {
    if (position_ == scene_.frames()) return false;
    set_frame(frame, scene_.frame(position_));
    frame.number = position_++;
    frame.timestamp_ns =
        static_cast<std::int64_t>(1e9 / scene_.fps() * static_cast<double>(frame.number));
    frame.running_ns = frame.timestamp_ns;
    return true;
  }

 private:
  Scene scene_;
  int position_ = 0;
};

/// Whether a character device has the major number of video devices.
bool is_video_device(const std::string& path) {
  constexpr unsigned kVideoMajor = 81;
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode) &&
         major(status.st_rdev) == kVideoMajor;
}

std::unique_ptr<FrameSource> open_pattern(const std::string& text, const NumberedName& pattern,
                                          const SourceOptions& options) {
  const std::vector<long> numbers = pattern.existing();
  if (numbers.empty())
    throw InputError(
        fmt::format("{}: no file has such a name (the first could be {})", text, pattern.at(0)));
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const long expected = numbers.front() + static_cast<long>(i);
    if (is_special_file(pattern.at(numbers[i]))) {
      throw InputError(fmt::format("{}: is a device or a pipe; the frames of a pattern are files",
                                   pattern.at(numbers[i])));
    }
    if (numbers[i] != expected) {
      throw InputError(fmt::format("{}: {} is missing; the frames go from {} to {}", text,
                                   pattern.at(expected), numbers.front(), numbers.back()));
    }
    paths.push_back(pattern.at(expected));
  }
  return std::make_unique<ImageFiles>(text, std::move(paths), numbers.front(), options.color);
}

}  // namespace

void add_source_options(CLI::App& command, SourceOptions& options) {
  add_value(command, kSourceTimeout, options.timeout_s,
            "Seconds to wait for a frame of a video or a camera; after that the command fails")
      ->check(finite_range(0.1, 86400.0));
}

std::unique_ptr<FrameSource> open_frames(const std::vector<std::string>& inputs,
                                         const SourceOptions& options) {
  if (inputs.empty()) throw InputError("FRAMES is missing");
  if (inputs.size() > 1) {
    for (const std::string& path : inputs) {
      std::error_code code;
      if (!fs::exists(path, code))
        throw InputError(fmt::format("{}: {}", path, code ? code.message() : "no such file"));
      if (is_special_file(path))
        throw InputError(fmt::format("{}: is a device or a pipe; FRAMES must be files", path));
      if (!is_image_file(path))
        throw InputError(fmt::format("{}: several FRAMES must all be image files", path));
    }
    return std::make_unique<ImageFiles>(inputs.front() + " ...", inputs, 0, options.color);
  }
  const std::string& text = inputs.front();
  if (text.empty()) throw InputError("FRAMES is empty");
  if (is_standard_stream(text)) return open_frame_stream(text, options);
  if (is_digit_sequence(text))
    return std::make_unique<SyntheticFrames<DigitSequence>>(
        text, DigitSequence(DigitSequenceConfig::parse(text)));
  if (text.rfind("test:", 0) == 0)
    return std::make_unique<SyntheticFrames<TestScene>>(text, TestScene::parse(text));
  std::error_code code;
  if (is_special_file(text) && !fs::is_character_file(text, code)) {
    throw InputError(fmt::format(
        "{}: is a pipe or a block device; for a pipe, give - and let standard input read it",
        text));
  }
  if (fs::is_character_file(text, code) || text.rfind("/dev/video", 0) == 0) {
    if (!fs::exists(text, code)) throw InputError(fmt::format("{}: no such camera", text));
    if (!is_video_device(text)) {
      throw InputError(fmt::format(
          "{}: is a device, but not a camera (a V4L2 device such as /dev/video0)", text));
    }
    return open_camera(text, options);
  }
  // The file of exactly this name is preferred, because file names may contain %.
  if (!fs::exists(text, code)) {
    if (code) throw InputError(fmt::format("{}: {}", text, code.message()));
    const NumberedName pattern(text);
    if (pattern.numbered()) return open_pattern(text, pattern, options);
    // With %% in the pattern, a file of a different name may be meant.
    if (pattern.at(0) != text && fs::exists(pattern.at(0), code))
      return open_frames({pattern.at(0)}, options);
    throw InputError(fmt::format("{}: no such file", text));
  }
  if (fs::is_directory(text, code)) {
    throw InputError(fmt::format(
        "{}: is a folder; name a file, or a numbered pattern such as {}/f%02d.pgm", text, text));
  }
  if (fs::file_size(text, code) == 0 && !code)
    throw InputError(fmt::format("{}: the file is empty", text));
  if (is_image_file(text))
    return std::make_unique<ImageFiles>(text, std::vector<std::string>{text}, 0, options.color);
  if (is_y4m_file(text)) return open_frame_stream(text, options);
  if (const std::string kind = unread_image(first_bytes(text, kHeadBytes)); !kind.empty())
    throw InputError(fmt::format("{}: {}", text, kind));
  note_input(text);
  return open_video(text, options);
}

}  // namespace ocellus::app
