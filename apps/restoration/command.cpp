// ocellus restore: restores frames, in color where the source has color.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/io/color.h"
#include "apps/io/picture_command.h"

namespace ocellus::app {
namespace {

struct RestoreCommand : FrameCommand {
  RestoreCommand() : FrameCommand("restore") {}

  /// "each", "luma" or "gray". Empty: "each", and for a video "luma".
  std::string color;
};

class RestoreJob : public PictureJob {
 public:
  explicit RestoreJob(const RestoreCommand& command) : PictureJob(command), command_(command) {}

 private:
  void change(InputFrame& frame) const override {
    if (command_.color == "each" && !frame.chroma_u.empty()) {
      throw InputError(
          "--color each: the chroma of a video has half the resolution of its luma and is not "
          "restored; use --color luma or gray");
    }
  }

  /// What is done with the color of a frame, as in the option.
  const char* color_of(const InputFrame& frame) const {
    if (frame.color.empty())
      return frame.chroma_u.empty() || command_.color == "gray" ? "gray" : "luma";
    return command_.color == "luma" ? "luma" : "each";
  }
  bool each(const InputFrame& frame) const { return std::string_view(color_of(frame)) == "each"; }
  bool takes_color(const InputFrame& frame) const override {
    return PictureJob::takes_color(frame) && !each(frame);
  }

  std::vector<Frame> parts(const InputFrame& frame) override {
    color_ = color_of(frame);
    if (!each(frame)) return PictureJob::parts(frame);
    std::vector<Frame> planes;
    for (const GrayImage& plane : frame.color)
      planes.push_back(plane.view(static_cast<std::uint64_t>(frame.number), frame.timestamp_ns));
    return planes;
  }

  /// The picture of the restored red, green and blue planes.
  static std::vector<std::uint8_t> rgb_of_planes(const ProcessedFrame& work) {
    std::vector<GrayImage> planes;
    for (const ProcessedFrame::Result& result : work.results) planes.push_back(result.image());
    return rgb_of(planes);
  }

  void write_image(const ProcessedFrame& work, const std::string& path) const override {
    if (!each(work.frame)) return PictureJob::write_image(work, path);
    write_image_rgb(path, work.frame.image.size, rgb_of_planes(work).data());
  }

  void make_picture(const ProcessedFrame& work, InputFrame& picture) const override {
    if (!each(work.frame)) return PictureJob::make_picture(work, picture);
    set_luma_and_chroma(picture, work.frame.image.size, rgb_of_planes(work));
  }

  void add_totals(nlohmann::ordered_json& json) const override { json["color"] = color_; }

  const RestoreCommand& command_;
  const char* color_ = "gray";  // of the last frame
};

}  // namespace

void add_restoration_command(CLI::App& program, int& exit_code) {
  CLI::App* const command =
      program.add_subcommand("restore", "Restoration of blurred images by recursive filters");
  const auto o = std::make_shared<RestoreCommand>();
  add_picture_options(*command, *o, kPictureOutputHelp);
  command
      ->add_option("--color", o->color,
                   "each: restore red, green and blue; luma: restore the luma and keep the chroma; "
                   "gray: restore the luma and write gray. Default: each, for a video luma")
      ->check(CLI::IsMember({"each", "luma", "gray"}));
  command->footer(
      "A video keeps its color when it is written as a video; as images it is written in gray.\n"
      "docs/restoration.md tells what is computed.");
  command->callback([command, o, &exit_code] {
    check_options(*command, {unused_without_video(o->frames.output, {"--fps"})});
    o->frames.source.color = o->color != "gray";
    exit_code = RestoreJob(*o).run();
  });
  add_identify_command(program, exit_code);
}

}  // namespace ocellus::app
