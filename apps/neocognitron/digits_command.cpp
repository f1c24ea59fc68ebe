#include "apps/neocognitron/digits_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "apps/common/device_list.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/io/frame_run.h"
#include "apps/neocognitron/reading.h"
#include "ocellus/character_draw.h"

namespace ocellus::app {
namespace {

/// Text for a terminal. Lines after the first one begin with `indent`.
std::string in_lines(const std::string& text, const std::string& indent) {
  std::string shown;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    shown += (begin > 0 ? "\n" + indent : "") + printable(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return shown;
}

/// Runs the command on FRAMES.
class DigitsJob {
 public:
  explicit DigitsJob(const DigitsCommand& command)
      : command_(command),
        input_(command.frames, false),
        output_(command.frames, {".png"}, input_.source().fps()),
        engines_(engine_configs(command.common)),
        config_(command.options.description()) {}

  int run() {
    // After a signal, a video of the frames so far is still finished.
    const StopsEarly stops_early;
    frames();
    output_.finish();
    if (stop_signal() != 0)
      input_.report_interruption(static_cast<std::int64_t>(reports_.size()), "frame");
    if (!reports_.empty()) print();
    return kDone;
  }

 private:
  struct Report {
    long frame = 0;
    double ms = 0.0;  // from submit to the return of wait
    double compute_ms = 0.0;
    std::string file;
    std::string expected;  // the text in the frame, if it is known
    std::vector<std::uint64_t> record;

    const NeocognitronRecord& result() const {
      return *reinterpret_cast<const NeocognitronRecord*>(record.data());
    }
  };

  void frames() {
    Progress progress(input_.source().name(), input_.expected());
    InputFrame frame;
    if (!input_.next(frame)) return;
    config_ = command_.options.config();
    config_.set_input(frame.image.size, frame.image.format, frame.range);
    run_ = std::make_unique<FrameRun>(engines_, config_);
    config_ = run_->config();
    const auto& config = *config_.get_if<NeocognitronConfig>();
    names_.emplace(config.model.c_str());
    fields_ = config.layout == CharacterLayout::kTiles ? 0 : config.fields.count;
    if (output_.single()) input_.require_no_more(output_.path(), frame.number);
    const auto next = [this](InputFrame& read) {
      return stop_signal() == 0 && !output_.single() && input_.next(read);
    };
    run_->process(std::move(frame), next, whole_frame, [&](const ProcessedFrame& work) {
      finish(work);
      progress.update(input_.read());
    });
  }

  void finish(const ProcessedFrame& work) {
    const InputFrame& frame = work.frame;
    Report report;
    report.ms = work.ms;
    report.frame = frame.number;
    report.compute_ms = static_cast<double>(work.compute_ns) * 1e-6;
    report.expected = frame.text;
    report.record = work.results.front().record;
    if (!output_.none()) {
      report.file = output_.name_of(frame.number);
      write(frame, report);
    }
    reports_.push_back(std::move(report));
  }

  void write(const InputFrame& frame, const Report& report) {
    const OverlayImage picture =
        output_.video() ? output_.video_picture(frame) : output_.picture(frame);
    if (!command_.plain) draw_characters(report.result(), names_->info(), picture);
    if (output_.video())
      output_.write_video_picture();
    else
      output_.write_picture_png(report.file);
  }

  /// The fields of a frame's result, or one that is the whole frame.
  int parts() const { return std::max(1, fields_); }

  bool as_expected(const Report& report) const {
    return fields_ == 0 && names_->text_of(report.result(), 0) == report.expected;
  }
  /// How many frames of known text were read correctly. Nothing if no text is known.
  std::optional<long> correct() const {
    if (fields_ > 0 || reports_.front().expected.empty()) return std::nullopt;
    return std::count_if(reports_.begin(), reports_.end(),
                         [this](const Report& report) { return as_expected(report); });
  }

  nlohmann::ordered_json report_json(const Report& report) const {
    const NeocognitronRecord& record = report.result();
    const auto part_json = [&](int field) {
      nlohmann::ordered_json part;
      part["string"] = names_->text_of(record, field);
      part["digits"] = characters_json(record, field);
      return part;
    };
    nlohmann::ordered_json json;
    json["frame"] = report.frame;
    if (fields_ == 0) {
      json.update(part_json(0));
    } else {
      json["fields"] = nlohmann::ordered_json::array();
      for (int field = 0; field < fields_; ++field) json["fields"].push_back(part_json(field));
    }
    json["truncated"] = record.truncated;
    if (!report.expected.empty()) json["expected"] = report.expected;
    json["ms"] = report.ms;
    json["compute_ms"] = report.compute_ms;
    if (!report.file.empty()) json["file"] = report.file;
    return json;
  }

  void print_frame(const Report& report) const {
    const NeocognitronRecord& record = report.result();
    for (int field = 0; field < parts(); ++field) {
      const std::string where = fields_ == 0
                                    ? fmt::format("frame {}: ", report.frame)
                                    : fmt::format("frame {}, field {}: ", report.frame, field);
      const std::string text = names_->text_of(record, field);
      fmt::print("{}{}\n", where,
                 text.empty() ? "no characters" : in_lines(text, std::string(where.size(), ' ')));
    }
    if (record.truncated)
      fmt::print("frame {}: it has more characters or more ink than is read\n", report.frame);
    if (!report.expected.empty() && fields_ == 0 && !as_expected(report))
      fmt::print("frame {}: wrong; the scene has {}\n", report.frame, report.expected);
  }

  /// Every character of one frame.
  void print_characters(const NeocognitronRecord& record) const {
    if (record.count == 0) return;
    fmt::print("  {:<10} {:>10} {:>8}   box\n", "class", "confidence", "margin");
    for (int i = 0; i < record.count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::uint32_t flags = record.flags[at];
      fmt::print(
          "  {:<10} {:>10.3f} {:>8.3f}   {},{},{},{}{}{}\n",
          (flags & kCharacterEmpty) != 0 ? "empty" : printable(names_->name(record.label[at])),
          record.confidence[at], record.margin[at], record.x[at], record.y[at], record.width[at],
          record.height[at], (flags & kCharacterRejected) != 0 ? "  rejected" : "",
          (flags & kCharacterCapped) != 0 ? "  capped" : "");
    }
  }

  void print() const {
    std::vector<double> ms;
    ms.reserve(reports_.size());
    for (const Report& report : reports_) ms.push_back(report.ms);
    const double median = percentile(ms, 50.0);
    const double p99 = percentile(ms, 99.0);
    const OperatorInfo& op = run_->info();
    const std::optional<long> right = correct();
    if (command_.common.json) {
      nlohmann::ordered_json json;
      json["input"] = input_.source().name();
      json["size"] = {op.size.width, op.size.height};
      add_input_json(json, input_);
      add_engine_json(json, run_->engine());
      json["config"] = config_json(config_);
      json["class_names"] = nlohmann::ordered_json::array();
      for (int label = 0; label < names_->classes(); ++label)
        json["class_names"].push_back(names_->name(label));
      json["memory_bytes"] = run_->host_bytes();
      json["output"] =
          output_.none() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(output_.path());
      json["median_ms"] = median;
      json["p99_ms"] = p99;
      run_->add_to(json);
      if (right) json["frames_correct"] = *right;
      json["frames"] = nlohmann::ordered_json::array();
      for (const Report& report : reports_) json["frames"].push_back(report_json(report));
      print_json(json);
      return;
    }
    print_summary(input_, op.size, printable(op.summary), run_->engine());
    for (const Report& report : reports_) print_frame(report);
    if (reports_.size() == 1) print_characters(reports_.front().result());
    if (right) {
      fmt::print("{} of {} read correctly\n", *right,
                 counted(static_cast<std::int64_t>(reports_.size()), "frame"));
    }
    if (reports_.size() == 1)
      fmt::print("{:.2f} ms\n", median);
    else
      fmt::print("{}, median {:.2f} ms per frame, 99th percentile {:.2f} ms, {}\n",
                 counted(static_cast<std::int64_t>(reports_.size()), "frame"), median, p99,
                 run_->rate_text(median));
    if (!output_.none())
      fmt::print("written: {}\n",
                 printable(output_.written(reports_.front().frame, reports_.size())));
  }

  const DigitsCommand& command_;
  FrameInput input_;
  FrameOutput output_;
  std::vector<EngineConfig> engines_;
  OperatorConfig config_;
  std::unique_ptr<FrameRun> run_;
  std::optional<CharacterNames> names_;
  int fields_ = 0;  // 0: the whole frame
  std::vector<Report> reports_;
};

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
  command->add_option("--images", o->images,
                      "In place of FRAMES: IDX file of images of one character each (idx3 of "
                      "unsigned bytes), plain or gzip");
  command->add_option("--labels", o->labels,
                      "IDX file of the labels of --images (idx1 of unsigned bytes), plain or gzip");
  command->add_option(
      "--mistakes", o->mistakes,
      "Write a picture of the images that are read wrongly, each with its label and "
      "the answer (.png)");
  o->options.add_to(*command);
  add_common_options(*command, o->common);
  add_devices_option(*command, o->common);
  command->footer(
      "The text has the string of each frame, and of a single frame the characters. --json has\n"
      "the characters of all frames. A rejected character is a question mark.\n"
      "docs/neocognitron_method.md tells how characters are found and read.");
  command->callback([command, o, &exit_code] {
    const bool with_images = !o->images.empty();
    check_options(*command,
                  {{with_images,
                    {"--output", "--limit", "--fps", kSourceTimeout, "--plain", "--layout",
                     "--fields", "--tile-width", "--tile-height", "--min-height", "--max-height"},
                    "--images has images of one character each"},
                   {with_images, {"--devices"}, "with --images, one device computes"},
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
