#include "apps/io/picture_command.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "apps/common/device_list.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/common/rounding.h"

namespace ocellus::app {

GrayImage in_8_bits(const GrayImage& image) {
  GrayImage out(image.size, PixelFormat::kGray8);
  std::size_t i = 0;
  for (int y = 0; y < image.size.height; ++y)
    for (int x = 0; x < image.size.width; ++x)
      out.pixels[i++] = nearest_byte(double{image.brightness(x, y)});
  return out;
}

// ---- PictureRun

PictureRun::PictureRun(const EngineConfig& engine, const OperatorConfig& config)
    : image_(info_of(config).planes[0].size, info_of(config).planes[0].format),
      output_(output_of(image_)),
      run_(engine, config, &output_) {}

OperatorOutput PictureRun::output_of(GrayImage& image) {
  OperatorOutput output;
  output.planes[0] = {image.pixels.data(), image.size,         image.stride(),
                      image.format,        MemorySpace::kHost, nullptr};
  return output;
}

// ---- PictureJob

void PictureJob::write_image(const ProcessedFrame& work, const std::string& path) const {
  const GrayImage image = work.results.front().image();
  const bool wide = image.format != PixelFormat::kGray8;
  const int levels = frame_run().info().planes[0].levels;
  const int bits = levels == 2 ? 1 : levels == 4 ? 2 : levels == 16 ? 4 : 8;
  write_image_gray(path, wide ? in_8_bits(image) : image, bits);
}

void PictureJob::write(const ProcessedFrame& work, const std::string& path) {
  if (!output().video()) return write_image(work, path);
  picture_.image = work.results.front().image();
  picture_.timestamp_ns = work.frame.timestamp_ns;
  picture_.timed = work.frame.timed;
  picture_.range = result_range(range());
  add_color(work, picture_);
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
