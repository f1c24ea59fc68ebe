// ocellus restore: restores frames, in color where the source has color.
#include "apps/restoration/command.h"

#include <cstdint>
#include <memory>
#include <string>
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
    color_.clear();
    const bool gray = command_.color == "gray";
    chroma_u_ = gray ? std::vector<std::uint8_t>() : frame.chroma_u;
    chroma_v_ = gray ? std::vector<std::uint8_t>() : frame.chroma_v;
    if (frame.color.empty() || command_.color == "luma") {
      const std::int64_t compute_ns = PictureJob::process(run, frame);
      if (!frame.color.empty()) color_ = with_luma(frame.color, frame.image, run.image());
      return compute_ns;
    }
    std::int64_t compute_ns = 0;
    const auto number = static_cast<std::uint64_t>(frame.number);
    for (const GrayImage& plane : frame.color) {
      compute_ns += run.step(plane.view(number, frame.timestamp_ns)).compute_ns;
      color_.push_back(run.image());
    }
    return compute_ns;
  }

  void write_png(const PictureRun& run, const std::string& path) const override {
    if (color_.empty()) return PictureJob::write_png(run, path);
    write_png_rgb(path, run.image().size, rgb_of(color_).data());
  }

  void add_color(InputFrame& picture) const override {
    picture.chroma_u = chroma_u_;
    picture.chroma_v = chroma_v_;
    if (!color_.empty()) set_luma_and_chroma(picture, color_);
  }

  void add_totals(nlohmann::ordered_json& json) const override {
    const bool video = !chroma_u_.empty();
    if (color_.empty() && !video)
      json["color"] = "gray";
    else
      json["color"] = video || command_.color == "luma" ? "luma" : "each";
  }

  const RestoreCommand& command_;
  // Of the last frame; empty without color.
  std::vector<GrayImage> color_;
  std::vector<std::uint8_t> chroma_u_;
  std::vector<std::uint8_t> chroma_v_;
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
