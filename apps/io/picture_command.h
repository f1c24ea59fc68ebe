// The command of an operator whose output is one picture per frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/common.h"
#include "apps/common/operator_options.h"
#include "apps/io/frame_job.h"

namespace ocellus::app {

/// Runs the command: writes the operator's picture of each frame.
class PictureJob : public FrameJob {
 public:
  explicit PictureJob(const FrameCommand& command)
      : FrameJob(command, {".png", ".pgm", ".pbm", ".ppm"}) {}

 protected:
  /// Changes a frame before it is submitted.
  virtual void change(InputFrame&) const {}
  /// Whether the operator takes a frame with its color, in 8 bits. Otherwise it takes gray images.
  virtual bool takes_color(const InputFrame& frame) const { return !frame.color.empty(); }
  std::vector<Frame> parts(const InputFrame& frame) override;
  void write(const ProcessedFrame& work, const std::string& path) final;
  /// Writes the result of a frame as an image file.
  virtual void write_image(const ProcessedFrame& work, const std::string& path) const;
  /// Sets image and color of a picture of a video. The picture has the range of the result.
  virtual void make_picture(const ProcessedFrame& work, InputFrame& picture) const;
  /// Returns the gray values of a result that are black and white, for frames of this range.
  virtual GrayRange result_range(const GrayRange& frames) const { return frames; }

 private:
  void prepare(InputFrame& frame) final;
  PixelFormat input_format(const InputFrame& frame) const final {
    return *in_color_ ? PixelFormat::kRgb : frame.image.format;
  }

  std::optional<bool> in_color_;  // whether the operator takes RGB; the first frame decides
  InputFrame picture_;            // the next picture of the video
};

/// The picture in 8 bits.
GrayImage in_8_bits(const GrayImage& image);

/// What the help of -o says.
inline constexpr const char* kPictureOutputHelp =
    "out.png: one frame; out_%03d.png: all frames; out.webm, out.mp4 or out.y4m: a video; -: PNM "
    "or, of a video, Y4M on standard output. Images are PNG, PGM, PBM (two levels) or PPM";

/// Adds the options of such a command to it.
void add_picture_options(CLI::App& command, FrameCommand& options, const std::string& output_help);

/// Adds the command of the operator `name`, which runs a PictureJob.
CLI::App* add_picture_command(CLI::App& program, int& exit_code, const char* name,
                              const std::string& help);

}  // namespace ocellus::app
