// ocellus restore: restores frames, in color where the source has color.
#include "apps/restoration/command.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/io/picture_command.h"
#include "apps/restoration/color.h"
#include "apps/restoration/identify_command.h"

namespace ocellus::app {
namespace {

struct RestoreCommand : PictureCommand {
  RestoreCommand() : PictureCommand("restore") {}

  /// "each", "luma" or "gray". Empty: "each", and for a video "luma".
  std::string color;
};

class RestoreJob : public PictureJob {
 public:
  explicit RestoreJob(const RestoreCommand& command) : PictureJob(command), command_(command) {}

 private:
  void prepare(InputFrame& frame) const override {
    if (command_.color == "each" && !frame.chroma_u.empty()) {
      throw InputError(
          "--color each: the chroma of a video has half the resolution of its luma and is not "
          "restored; use --color luma or gray");
    }
  }

  std::int64_t process(PictureRun& run, const InputFrame& frame) override {
    frame_ = &frame;
    planes_.clear();
    if (frame.color.empty())
      color_ = frame.chroma_u.empty() || command_.color == "gray" ? "gray" : "luma";
    else
      color_ = command_.color == "luma" ? "luma" : "each";
    if (!each()) return PictureJob::process(run, frame);
    std::int64_t compute_ns = 0;
    const auto number = static_cast<std::uint64_t>(frame.number);
    for (const GrayImage& plane : frame.color) {
      compute_ns += run.step(plane.view(number, frame.timestamp_ns)).compute_ns;
      planes_.push_back(run.image());
    }
    return compute_ns;
  }

  bool each() const { return std::string_view(color_) == "each"; }

  /// The red, green and blue planes of the last frame's result. `luma` is its gray result.
  std::vector<GrayImage> color_of(const GrayImage& luma) const {
    return each() ? planes_ : with_luma(frame_->color, frame_->image, luma);
  }

  void write_image(const PictureRun& run, const std::string& path) const override {
    if (frame_->color.empty()) return PictureJob::write_image(run, path);
    write_image_rgb(path, run.image().size, rgb_of(color_of(run.image())).data());
  }

  void add_color(InputFrame& picture) const override {
    picture.chroma_u.clear();
    picture.chroma_v.clear();
    if (std::string_view(color_) == "gray") return;
    if (!frame_->color.empty()) return set_luma_and_chroma(picture, color_of(picture.image));
    picture.chroma_u = frame_->chroma_u;
    picture.chroma_v = frame_->chroma_v;
  }

  void add_totals(nlohmann::ordered_json& json) const override { json["color"] = color_; }

  const RestoreCommand& command_;
  const InputFrame* frame_ = nullptr;  // the last one; valid until the next one is read
  const char* color_ = "gray";         // what is done with its color, as in the option
  std::vector<GrayImage> planes_;      // of its result, if each is restored
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
