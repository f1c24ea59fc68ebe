#include "frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "common.h"
#include "interrupt.h"
#include "output_file.h"
#include "test_scene.h"
#include "video.h"

namespace ocellus::app {
namespace {

namespace fs = std::filesystem;

const char* format_name(PixelFormat format) {
  return format == PixelFormat::kGray16 ? "16 bits" : "8 bits";
}

class ImageFiles : public FrameSource {
 public:
  ImageFiles(std::string name, std::vector<std::string> paths, long first)
      : FrameSource(std::move(name)), paths_(std::move(paths)), first_(first) {}

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
    frame.image = read_image(paths_[position_]);
    frame.chroma_u.clear();
    frame.chroma_v.clear();
    frame.number = first_ + static_cast<long>(position_++);
    frame.timestamp_ns = 0;
    return true;
  }

 private:
  std::vector<std::string> paths_;
  long first_;
  std::size_t position_ = 0;
};

class SceneFrames : public FrameSource {
 public:
  SceneFrames(std::string name, TestScene scene)
      : FrameSource(std::move(name)), scene_(std::move(scene)) {}

  std::optional<long> last_number() const override { return scene_.frames() - 1; }
  double fps() const override { return scene_.fps(); }
  void start_at(long number) override {
    position_ = static_cast<int>(std::clamp<long>(number, 0, scene_.frames()));
  }

 protected:
  bool read(InputFrame& frame) override {
    if (position_ == scene_.frames()) return false;
    frame.image = scene_.frame(position_);
    frame.number = position_++;
    frame.timestamp_ns =
        static_cast<std::int64_t>(1e9 / scene_.fps() * static_cast<double>(frame.number));
    return true;
  }

 private:
  TestScene scene_;
  int position_ = 0;
};

std::unique_ptr<FrameSource> open_pattern(const std::string& text, const NumberedName& pattern) {
  const std::vector<long> numbers = pattern.existing();
  if (numbers.empty())
    throw InputError(fmt::format("{}: no file has such a name (the first would be {} or so)", text,
                                 pattern.at(0)));
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
  return std::make_unique<ImageFiles>(text, std::move(paths), numbers.front());
}

}  // namespace

bool FrameSource::next(InputFrame& frame) {
  if (!read(frame)) {
    if (!started_ && stop_signal() == 0) throw InputError(fmt::format("{}: holds no frame", name_));
    return false;
  }
  if (!started_) {
    started_ = true;
    size_ = frame.image.size;
    format_ = frame.image.format;
    range_ = frame.range;
  } else if (frame.image.size != size_) {
    throw InputError(fmt::format(
        "{}: frame {} is {}x{}, the frames before it are {}x{}; all must have one size", name_,
        frame.number, frame.image.size.width, frame.image.size.height, size_.width, size_.height));
  } else if (frame.image.format != format_) {
    throw InputError(
        fmt::format("{}: frame {} has {} a pixel, the frames before it have {}; all must be alike",
                    name_, frame.number, format_name(frame.image.format), format_name(format_)));
  } else if (frame.range != range_) {
    throw InputError(fmt::format(
        "{}: frame {} has luma from {:g} to {:g}, the frames before it from {:g} to {:g}; all must "
        "be alike",
        name_, frame.number, frame.range.black, frame.range.white, range_.black, range_.white));
  }
  return true;
}

void add_source_options(CLI::App& command, SourceOptions& options) {
  command
      .add_option(kSourceTimeout, options.timeout_s,
                  "Seconds that a video or a camera may take for a frame; after them the command "
                  "ends with an error")
      ->check(finite_range(0.1, 86400.0))
      ->capture_default_str();
}

std::unique_ptr<FrameSource> open_frames(const std::vector<std::string>& inputs,
                                         const SourceOptions& options) {
  if (inputs.empty()) throw InputError("FRAMES is missing");
  if (inputs.size() > 1) {
    for (const std::string& path : inputs) {
      if (!fs::exists(path)) throw InputError(fmt::format("{}: no such file", path));
      if (is_special_file(path))
        throw InputError(fmt::format("{}: is a device or a pipe; FRAMES must be files", path));
      if (!is_image_file(path))
        throw InputError(fmt::format("{}: several FRAMES must all be image files", path));
    }
    return std::make_unique<ImageFiles>(inputs.front() + " ...", inputs, 0);
  }
  const std::string& text = inputs.front();
  if (text.empty()) throw InputError("FRAMES is empty");
  if (text.rfind("test:", 0) == 0)
    return std::make_unique<SceneFrames>(text, TestScene::parse(text));
  std::error_code code;
  if (is_special_file(text) && !fs::is_character_file(text, code)) {
    throw InputError(fmt::format(
        "{}: is a pipe or a block device; write its frames to a file and name that", text));
  }
  if (fs::is_character_file(text, code) || text.rfind("/dev/video", 0) == 0) {
    if (!fs::exists(text, code)) throw InputError(fmt::format("{}: no such camera", text));
    return open_camera(text, options);
  }
  // A file of that very name is taken first: a % is allowed in file names.
  if (!fs::exists(text, code)) {
    if (const auto pattern = NumberedName::parse(text)) return open_pattern(text, *pattern);
    throw InputError(fmt::format("{}: no such file", text));
  }
  if (fs::is_directory(text, code)) {
    throw InputError(fmt::format(
        "{}: is a folder; name a file, or a numbered pattern such as {}/f%02d.pgm", text, text));
  }
  if (fs::file_size(text, code) == 0 && !code)
    throw InputError(fmt::format("{}: the file is empty", text));
  if (is_image_file(text))
    return std::make_unique<ImageFiles>(text, std::vector<std::string>{text}, 0);
  return open_video(text, options);
}

std::optional<NumberedName> NumberedName::parse(const std::string& text) {
  NumberedName name;
  bool found = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& part = found ? name.after_ : name.before_;
    if (text[i] != '%') {
      part += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '%') {
      part += '%';
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    int width = 0;
    if (end < text.size() && text[end] == '0') {
      ++end;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) &&
             width < 100)
        width = width * 10 + (text[end++] - '0');
    }
    if (found || end >= text.size() || text[end] != 'd' || width > 18) {
      throw InputError(
          fmt::format("{}: a numbered pattern has one %d or %0Nd (N digits, as in f%02d.pgm), and "
                      "%% for a percent sign",
                      text));
    }
    found = true;
    name.width_ = width;
    i = end;
  }
  if (!found) return std::nullopt;
  return name;
}

std::string NumberedName::at(long number) const {
  return fmt::format("{}{:0{}}{}", before_, number, std::max(1, width_), after_);
}

std::vector<long> NumberedName::existing() const {
  // The number may stand in the file's name only: a folder with a number in it holds one file of
  // each pattern.
  const fs::path sample = at(0);
  const fs::path folder = sample.parent_path();
  const std::string prefix = fs::path(before_ + "x").filename().string();
  const std::string begin = prefix.substr(0, prefix.size() - 1);
  std::vector<long> numbers;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? fs::path(".") : folder, code)) {
    const std::string file = entry.path().filename().string();
    if (file.size() <= begin.size() + after_.size() || file.rfind(begin, 0) != 0) continue;
    long number = 0;
    const char* const first = file.data() + begin.size();
    const char* const last = file.data() + file.size() - after_.size();
    const auto [end, error] = std::from_chars(first, last, number);
    if (error != std::errc() || end != last || number < 0) continue;
    if (fs::path(at(number)).filename() == file) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace ocellus::app
