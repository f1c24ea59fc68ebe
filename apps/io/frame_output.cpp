#include "apps/io/frame_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "apps/common/input_guard.h"
#include "apps/common/printable.h"
#include "apps/common/rounding.h"
#include "apps/io/color.h"
#include "apps/io/frame_stream.h"
#include "apps/io/output_file.h"

namespace ocellus::app {
namespace {

/// Luma from 16 to 235, the usual range of videos.
constexpr GrayRange kLimited{16.0f, 235.0f};
/// The scale of chroma relative to luma in limited range.
constexpr double kChromaOfLimited = 224.0 / 219.0;

/// Maps each value v to `to` + (v - `from`) * `scale`.
void rescale(std::uint8_t* values, std::size_t count, double from, double to, double scale) {
  std::array<std::uint8_t, 256> table;
  for (std::size_t v = 0; v < table.size(); ++v) {
    table[v] = nearest_byte(to + (static_cast<double>(v) - from) * scale);
  }
  for (std::size_t i = 0; i < count; ++i) values[i] = table[values[i]];
}

}  // namespace

void add_input_options(CLI::App& command, FrameOptions& o, long least_limit) {
  command
      .add_option("FRAMES", o.inputs,
                  "Numbered pattern, image files, video, test:, camera, or - for "
                  "Y4M or PNM on standard input")
      ->required();
  command.add_option("--limit", o.limit, "Stop after N frames")
      ->check(CLI::Range(least_limit, 1000000000L));
  add_source_options(command, o.source);
}

void add_frame_options(CLI::App& command, FrameOptions& o, const std::string& output_help,
                       long least_limit) {
  add_input_options(command, o, least_limit);
  command.add_option("-o,--output", o.output, output_help);
  add_value(command, "--fps", o.fps, "Frame rate of a written video; 0: that of the source, or 25")
      ->check(finite_range(0.0, 1000.0));
}

void add_pipeline_options(CLI::App& command, FrameOptions& o) {
  CLI::Option* const frames = command.get_option("FRAMES")->required(false);
  command
      .add_option("--source", o.source_pipeline,
                  "GStreamer elements that produce the frames, in place of FRAMES, such as "
                  "\"v4l2src ! videoconvert ! video/x-raw,format=GRAY8\"")
      ->excludes(frames);
  command
      .add_option("--sink", o.sink_pipeline,
                  "GStreamer elements that take the video with the field drawn over it, in place "
                  "of -o, such as \"videoconvert ! autovideosink\"")
      ->excludes(command.get_option("--output"));
}

std::string output_text(const std::string& output) {
  return output.empty() ? "without -o, nothing is written" : fmt::format("-o {}", output);
}

UnusedOptions unused_without_video(const std::string& output, std::vector<const char*> names,
                                   const char* applies) {
  return {!is_video_name(output), std::move(names),
          fmt::format("it applies to {}, {}{}", applies, output_text(output),
                      output.empty() ? "" : " is not a video")};
}

// ---- input

FrameInput::FrameInput(const FrameOptions& options)
    : source_(options.source_pipeline.empty()
                  ? open_frames(options.inputs, options.source)
                  : open_pipeline(options.source_pipeline, options.source)),
      limit_(options.limit) {}

void FrameInput::require_end() const {
  if (!source_->endless() || limit_) return;
  throw InputError(
      fmt::format("{}: a camera has no end, and an output is one file for the last "
                  "frame; give the number of frames with --limit N",
                  source_->name()));
}

bool FrameInput::next(InputFrame& frame) {
  if (limit_ && read_ >= *limit_) return false;
  if (!source_->next(frame)) return false;
  ++read_;
  return true;
}

void FrameInput::require_no_more(const std::string& output, long number) {
  InputFrame second;
  if (!next(second)) return;
  throw InputError(fmt::format(
      "-o {} is one file, {} has more than one frame; put a number such as %03d into the name, "
      "or write frame {} alone with --limit 1",
      output, source_->name(), number));
}

std::int64_t FrameInput::expected() const {
  if (limit_) return *limit_;
  const std::optional<long> last = source_->last_number();
  return last ? *last - source_->first_number() + 1 : 0;
}

void FrameInput::report_interruption(std::int64_t count, const std::string& result) const {
  tell(fmt::format("ocellus: interrupted after {} of {}\n", counted(count, result),
                   printable(source_->name())));
}

// ---- output

FrameOutput::FrameOutput(const FrameOptions& options, const std::vector<std::string>& extensions,
                         double source_fps, bool videos)
    : path_(options.output),
      sink_(options.sink_pipeline),
      extension_(file_extension(path_)),
      images_(is_standard_stream(path_) && source_fps == 0.0 &&
              std::find(extensions.begin(), extensions.end(), ".pgm") != extensions.end()),
      video_(!images_ && (is_video_name(path_) || !sink_.empty())),
      name_(path_) {
  if (none()) return;
  if (is_standard_stream(path_)) reserve_standard_output();
  const bool one_frame =
      std::find(extensions.begin(), extensions.end(), extension_) != extensions.end();
  if (!images_ && !one_frame && !(video_ && videos)) {
    throw InputError(
        fmt::format("-o is '{}'; it must end in {}{}", path_, fmt::join(extensions, ", "),
                    videos ? ", .webm, .mp4 or .y4m, or be - for standard output" : ""));
  }
  if (video_ && name_.numbered())
    throw InputError(fmt::format(
        "-o is '{}'; one video holds all frames, so its name must have no number", path_));
  // A slower video cannot store the times of its frames.
  constexpr double kLeastFps = 0.01;
  if (options.fps > 0.0 && options.fps < kLeastFps) {
    throw InputError(
        fmt::format("--fps is {:g}; it must be 0, or {:g} to 1000", options.fps, kLeastFps));
  }
  own_fps_ = options.fps > 0.0;
  if (!name_.numbered()) check_not_input(name_.at(0));
  fps_ = options.fps > 0.0 ? options.fps : source_fps >= kLeastFps ? source_fps : 25.0;
}

OverlayImage FrameOutput::video_picture(const InputFrame& frame) {
  if (!writer_) {
    const std::string name = name_.at(0);
    const ImageSize size = frame.image.size;
    if (!sink_.empty())
      writer_ = make_pipeline_writer(sink_, size, fps_);
    else if (is_standard_stream(name) || file_extension(name) == ".y4m")
      writer_ = make_y4m_writer(name, size, fps_);
    else
      writer_ = make_video_writer(name, size, fps_);
  }
  picture_time_.reset();
  if (frame.timed && !own_fps_) picture_time_ = frame.timestamp_ns;
  return picture(frame);
}

OverlayImage FrameOutput::picture(const InputFrame& frame) {
  const ImageSize size = frame.image.size;
  picture_size_ = size;
  const std::size_t luma = pixels_of(size);
  const ImageSize half = half_of(size);
  const std::size_t chroma = pixels_of(half);
  i420_.resize(luma + 2 * chroma);
  if (frame.image.format == PixelFormat::kGray8) {
    std::memcpy(i420_.data(), frame.image.pixels.data(), luma);
  } else {
    for (std::size_t i = 0; i < luma; ++i)
      i420_[i] = frame.image.pixels[2 * i + 1];  // the upper byte of a 16-bit value
  }
  if (!frame.color.empty()) make_chroma(frame.color, chroma_u_, chroma_v_);
  const std::vector<std::uint8_t>& u = frame.color.empty() ? frame.chroma_u : chroma_u_;
  const std::vector<std::uint8_t>& v = frame.color.empty() ? frame.chroma_v : chroma_v_;
  if (u.size() == chroma) {
    std::memcpy(i420_.data() + luma, u.data(), chroma);
    std::memcpy(i420_.data() + luma + chroma, v.data(), chroma);
  } else {
    std::memset(i420_.data() + luma, 128, 2 * chroma);
  }
  if (frame.range != kLimited) {
    const double black = static_cast<double>(frame.range.black);
    const double scale = static_cast<double>(kLimited.white - kLimited.black) /
                         (static_cast<double>(frame.range.white) - black);
    rescale(i420_.data(), luma, black, static_cast<double>(kLimited.black), scale);
    // Chroma of limited range, in 16 bits, is as it must be.
    if (frame.range.black == 0.0f)
      rescale(i420_.data() + luma, 2 * chroma, 128.0, 128.0, scale * kChromaOfLimited);
  }
  OverlayImage image;
  image.format = OverlayImage::Format::kI420;
  image.size = size;
  image.planes = {i420_.data(), i420_.data() + luma, i420_.data() + luma + chroma};
  image.strides = {size.width, half.width, half.width};
  return image;
}

void FrameOutput::write_picture_png(const std::string& path) const {
  const auto width = static_cast<std::size_t>(picture_size_.width);
  const auto height = static_cast<std::size_t>(picture_size_.height);
  const std::size_t half_width = (width + 1) / 2;
  const std::uint8_t* const u = i420_.data() + width * height;
  const std::uint8_t* const v = u + half_width * ((height + 1) / 2);
  std::vector<std::uint8_t> rgb;
  rgb.reserve(3 * width * height);
  const auto add = [&rgb](double value) { rgb.push_back(nearest_byte(value)); };
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t chroma = y / 2 * half_width + x / 2;
      // BT.601 in limited range.
      const double luma = (i420_[y * width + x] - 16.0) * 255.0 / 219.0;
      const double blue = (u[chroma] - 128.0) * 255.0 / 224.0;
      const double red = (v[chroma] - 128.0) * 255.0 / 224.0;
      add(luma + 1.402 * red);
      add(luma - 0.344136 * blue - 0.714136 * red);
      add(luma + 1.772 * blue);
    }
  }
  write_png_rgb(path, picture_size_, rgb.data());
}

void FrameOutput::write_video_picture() {
  writer_->write(i420_.data(), picture_time_);
}

void FrameOutput::finish() {
  if (writer_) writer_->finish();
}

// ---- reports

void add_input_json(nlohmann::ordered_json& json, const FrameInput& input) {
  json["frames_read"] = input.read();
  if (input.source().live()) json["frames_dropped"] = input.source().dropped();
}

void print_input(const FrameInput& input, ImageSize size, const std::string& how,
                 const EngineInfo& info) {
  fmt::print("{}: {}, {}, {} with {}\n", printable(input.source().name()), size_text(size), how,
             backend_name(info.backend), cpu_text(info));
}

void print_dropped(const FrameInput& input) {
  if (input.source().live() && input.source().dropped() > 0) {
    fmt::print("{} dropped, because a newer one was there before the work on the last one ended\n",
               counted(input.source().dropped(), "frame"));
  }
}

void add_engine_json(nlohmann::ordered_json& json, const EngineInfo& info) {
  json["backend"] = backend_name(info.backend);
  json["workers"] = info.workers;
  json["simd"] = info.simd_target;
}

}  // namespace ocellus::app
