#include "apps/io/picture_command.h"

#include <fmt/format.h>

#include "apps/common/rounding.h"
#include "apps/io/color.h"

namespace ocellus::app {

GrayImage in_8_bits(const GrayImage& image) {
  GrayImage out(image.size, PixelFormat::kGray8);
  std::size_t i = 0;
  for (int y = 0; y < image.size.height; ++y)
    for (int x = 0; x < image.size.width; ++x)
      out.pixels[i++] = nearest_byte(double{image.brightness(x, y)});
  return out;
}

// ---- PictureJob

void PictureJob::prepare(InputFrame& frame) {
  change(frame);
  if (!in_color_) in_color_ = takes_color(frame);
  if (!*in_color_ && takes_color(frame)) {
    throw InputError(fmt::format(
        "{}: frame {} has color, but the first frame has none; give the frame with color first, or "
        "process both apart",
        source_name(), frame.number));
  }
  frame.rgb.clear();
  if (!*in_color_) return;
  const GrayImage& gray = frame.image;  // of a file without color
  frame.rgb = rgb_of(frame.color.empty() ? std::vector<GrayImage>{gray, gray, gray} : frame.color);
}

std::vector<Frame> PictureJob::parts(const InputFrame& frame) {
  std::vector<Frame> whole = whole_frame(frame);
  if (*in_color_) {
    whole.front().data = frame.rgb.data();
    whole.front().format = PixelFormat::kRgb;
    whole.front().stride = row_bytes(PixelFormat::kRgb, frame.image.size.width);
  }
  return whole;
}

void PictureJob::write_image(const ProcessedFrame& work, const std::string& path) const {
  const ProcessedFrame::Result& result = work.results.front();
  if (result.has_color())
    return write_image_rgb(path, work.frame.image.size, result.bytes().data());
  const GrayImage image = result.image();
  const bool wide = image.format != PixelFormat::kGray8;
  const int levels = frame_run().info().planes[0].levels;
  const int bits = levels == 2 ? 1 : levels == 4 ? 2 : levels == 16 ? 4 : 8;
  write_image_gray(path, wide ? in_8_bits(image) : image, bits);
}

void PictureJob::make_picture(const ProcessedFrame& work, InputFrame& picture) const {
  const ProcessedFrame::Result& result = work.results.front();
  if (result.has_color())
    return set_luma_and_chroma(picture, work.frame.image.size, result.bytes());
  picture.image = result.image();
  picture.chroma_u.clear();
  picture.chroma_v.clear();
  // Some sources give chroma although nobody needs it.
  if (!command().frames.source.color) return;
  picture.chroma_u = work.frame.chroma_u;
  picture.chroma_v = work.frame.chroma_v;
  if (picture.range == range()) return;
  // The result has full range, and the frame has not.
  widen_chroma(picture.chroma_u);
  widen_chroma(picture.chroma_v);
}

void PictureJob::write(const ProcessedFrame& work, const std::string& path) {
  if (!output().video()) return write_image(work, path);
  picture_.timestamp_ns = work.frame.timestamp_ns;
  picture_.timed = work.frame.timed;
  picture_.range = result_range(range());
  make_picture(work, picture_);
  output().video_picture(picture_);
  output().write_video_picture();
}

// ---- the command line

void add_picture_options(CLI::App& command, FrameCommand& options, const std::string& output_help) {
  add_frame_options(command, options.frames, output_help, 1);
  add_job_options(command, options);
}

CLI::App* add_picture_command(CLI::App& program, int& exit_code, const char* name,
                              const std::string& help) {
  CLI::App* const command = program.add_subcommand(name, help);
  const auto o = std::make_shared<FrameCommand>(name);
  add_picture_options(*command, *o, kPictureOutputHelp);
  command->callback([command, o, &exit_code] {
    check_options(*command, {unused_without_video(o->frames.output, {"--fps"})});
    exit_code = PictureJob(*o).run();
  });
  return command;
}

}  // namespace ocellus::app
