// ocellus digits: finds and reads the digits of frames, or recognizes the images of an IDX file.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "apps/common/printable.h"
#include "apps/common/record_text.h"
#include "apps/io/frame_job.h"
#include "apps/neocognitron/printed_boxes.h"
#include "apps/neocognitron/recognition_report.h"
#include "ocellus/character_draw.h"

namespace ocellus::app {
namespace {

/// Values of the command line.
struct DigitsCommand : FrameCommand {
  DigitsCommand() : FrameCommand("digits") {}

  bool plain = false;
  bool find_fields = false;
  std::string images;
  std::string labels;
  std::string mistakes;
};

/// Runs the command on FRAMES. Scenes tell what is in them.
class DigitsJob : public FrameJob {
 public:
  explicit DigitsJob(const DigitsCommand& command)
      : FrameJob(command, {".png"}), command_(command) {}

 private:
  void prepare(InputFrame& frame) override {
    scene_fields_ = frame.fields;
    if (!command_.find_fields || !found_fields_.empty()) return;
    found_fields_ = find_printed_boxes(frame.image);
    if (found_fields_.empty())
      throw InputError(fmt::format("--find-fields: {} has no printed box", source_name()));
    if (found_fields_.size() > kMaxTextFields) {
      throw InputError(fmt::format(
          "--find-fields: {} has {}; at most {} can be read", source_name(),
          counted(found_fields_.size(), "printed box", "printed boxes"), kMaxTextFields));
    }
  }

  void adapt(OperatorConfig& config) override {
    NeocognitronConfig& digits = *config.get_if<NeocognitronConfig>();
    if (digits.fields.count > 0 || digits.layout != CharacterLayout::kFind) {
      if (command_.find_fields)
        throw InputError(
            "--find-fields has no meaning here: it needs layout=find, and no --fields");
      return;
    }
    const std::vector<Rect>& fields = command_.find_fields ? found_fields_ : scene_fields_;
    digits.fields.count = std::min(static_cast<int>(fields.size()), kMaxTextFields);
    std::copy_n(fields.begin(), digits.fields.count, digits.fields.fields.begin());
    reads_scene_fields_ = digits.fields.count > 0 && fields.size() == scene_fields_.size();
  }

  void begin(const InputFrame& frame) override {
    knows_text_ =
        !frame.text.empty() && (reads_scene_fields_ || frame_run().info().text_parts == 0);
  }

  void write(const ProcessedFrame& work, const std::string& path) override {
    const bool video = output().video();
    const OverlayImage picture =
        video ? output().video_picture(work.frame) : output().picture(work.frame);
    if (!command_.plain)
      draw_items(frame_run().info(), work.results.front().record.data(), picture);
    if (video)
      output().write_video_picture();
    else
      output().write_picture_png(path);
  }

  bool is_right(const ProcessedFrame& work) const {
    return record_string(frame_run().info(), work.results.front().record.data()) == work.frame.text;
  }

  void add_frame(const ProcessedFrame& work, nlohmann::ordered_json& json) override {
    if (knows_text_ && is_right(work)) ++right_;
    if (reads_scene_fields_)
      add_fields(work, json);
    else if (!work.frame.text.empty())
      json["expected"] = work.frame.text;
  }

  void print_frame(const ProcessedFrame& work) const override {
    FrameJob::print_frame(work);
    if (knows_text_ && !reads_scene_fields_ && !is_right(work))
      fmt::print("frame {}: wrong; the scene has {}\n", work.frame.number, work.frame.text);
  }

  void add_totals(nlohmann::ordered_json& json) const override {
    if (knows_text_) json["frames_correct"] = right_;
    if (reads_scene_fields_) {
      json["fields_correct"] = right_fields_;
      json["field_count"] = fields_;
    }
  }

  void print_totals() const override {
    if (reads_scene_fields_)
      fmt::print("{} of {} read correctly\n", right_fields_, counted(fields_, "field"));
    else if (knows_text_)
      fmt::print("{} of {} read correctly\n", right_, counted(frames(), "frame"));
    FrameJob::print_totals();
  }

  /// Adds what each field has to those of the report, and counts the right ones.
  void add_fields(const ProcessedFrame& work, nlohmann::ordered_json& json) {
    const OperatorInfo& info = frame_run().info();
    std::istringstream lines(work.frame.text);
    std::string expected;
    for (int part = 0; std::getline(lines, expected); ++part, ++fields_) {
      if (record_string(info, work.results.front().record.data(), part) == expected)
        ++right_fields_;
      if (json.contains("fields"))
        json["fields"][static_cast<std::size_t>(part)]["expected"] = expected;
    }
  }

  const DigitsCommand& command_;
  std::vector<Rect> scene_fields_;
  std::vector<Rect> found_fields_;  // in the first frame
  bool reads_scene_fields_ = false;
  long fields_ = 0;
  long right_fields_ = 0;
  bool knows_text_ = false;
  long right_ = 0;  // frames
};

/// Recognizes images of one character each, in batches of tiles. Returns the exit code. Throws
/// InputError.
int recognize_images(const DigitsCommand& command) {
  if (!command.mistakes.empty() && file_extension(command.mistakes) != ".png")
    throw InputError(fmt::format("--mistakes is '{}'; it must end in .png", command.mistakes));
  const EngineConfig engine = engine_config(command.common);
  OperatorConfig config = command.options.config();
  NeocognitronConfig& digits = *config.get_if<NeocognitronConfig>();
  const CharacterNames names(digits.model.c_str());
  const FileImages read = read_file_images(command.images, command.labels, ink_color(digits.ink),
                                           kLeastCharacterSide, kLargestCharacterSide);
  const std::vector<int> classes = read.classes(names, digits.model.c_str());
  digits.fields = {};
  const int batch = set_batches(
      digits, read.images, digits.max_characters > 0 ? digits.max_characters : kMaxFieldCharacters);
  OperatorRun run(engine, config);
  const RecognitionResult result = recognize_batches(run, read.images, batch, classes);
  if (result.count() == 0) return kDone;
  if (!command.mistakes.empty()) write_mistakes(command.mistakes, read.images, result, names);

  if (command.common.json) {
    nlohmann::ordered_json json =
        batches_json(read, run, result, names, batch, {{"config", config_json(config)}},
                     {{"memory_bytes", run.footprint().host}});
    if (result.labeled()) add_accuracy_json(json, result, names);
    json["predictions"] = result.answers;
    json["confidences"] = result.confidences;
    if (!command.mistakes.empty()) json["mistakes"] = command.mistakes;
    print_json(json);
    return kDone;
  }
  print_batches(read, run, result);
  fmt::print("{:.3f} ms per image, in batches of {}: median {:.2f} ms\n", result.ms_per_image(),
             batch, percentile(result.batch_ms, 50.0));
  if (result.labeled()) print_accuracy(result, names);
  if (!command.mistakes.empty()) fmt::print("written: {}\n", printable(command.mistakes));
  return kDone;
}

}  // namespace

void add_digits_command(CLI::App& program, int& exit_code) {
  CLI::App* const command = program.add_subcommand("digits", "Finds and reads handwritten digits");
  const auto o = std::make_shared<DigitsCommand>();
  add_frame_options(*command, o->frames,
                    "Frames with boxes and characters. out.png: one frame; out_%03d.png: all "
                    "frames; out.webm or out.mp4: a video",
                    1);
  command->get_option("FRAMES")->required(false);
  command->add_flag("--plain", o->plain, "Write the frames without boxes and characters");
  command->add_flag("--find-fields", o->find_fields,
                    "The printed boxes of the first frame are the fields");
  command->add_option("--images", o->images,
                      "In place of FRAMES: IDX file of images of one character each (idx3 of "
                      "unsigned bytes), plain or gzip");
  command->add_option("--labels", o->labels,
                      "IDX file of the labels of --images (idx1 of unsigned bytes), plain or gzip");
  command->add_option(
      "--mistakes", o->mistakes,
      "Write a picture of the images that are read wrongly, each with its label and "
      "the answer (.png)");
  add_job_options(*command, *o);
  command->footer(
      "The text has the string of each frame, and of a single frame the characters. --json has\n"
      "the characters of all frames. A rejected character is a question mark.\n"
      "docs/neocognitron_method.md tells how characters are found and read.");
  command->callback([command, o, &exit_code] {
    const bool with_images = !o->images.empty();
    check_options(
        *command,
        {{with_images,
          {"--output", "--limit", "--fps", kSourceTimeout, "--plain", "--layout", "--fields",
           "--find-fields", "--tile-width", "--tile-height", "--min-height", "--max-height"},
          "--images has images of one character each"},
         {with_images,
          {"--devices", "--json-lines", "--metrics"},
          "with --images, one device computes, and there is one report"},
         {!with_images, {"--labels", "--mistakes"}, "they are those of --images"},
         {with_images && o->labels.empty(),
          {"--mistakes"},
          "without --labels, no mistake is known"},
         {o->frames.output.empty(), {"--plain"}, "without -o, nothing is written"},
         unused_without_video(o->frames.output, {"--fps"})});
    if (with_images == !o->frames.inputs.empty())
      throw InputError(with_images
                           ? "give either FRAMES or --images, not both"
                           : "FRAMES is missing; give frames, or an IDX file with --images");
    o->frames.source.color = !o->frames.output.empty();
    exit_code = with_images ? recognize_images(*o) : DigitsJob(*o).run();
  });
}

}  // namespace ocellus::app
