// ocellus flow: computes the motion field of frames.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>

#include "apps/common/common.h"
#include "apps/common/interrupt.h"
#include "apps/common/operator_options.h"
#include "apps/common/printable.h"
#include "apps/io/output_file.h"
#include "apps/io/run_report.h"
#include "apps/optical_flow/flow_output.h"
#include "apps/optical_flow/run.h"
#include "ocellus/moving_objects.h"

namespace ocellus::app {
namespace {

/// All options of the operator but `deviation`, which the command sets when it needs the plane.
std::vector<std::string> offered_options() {
  std::vector<std::string> names;
  for (const Option& option : OpticalFlowConfig::options())
    if (std::string_view(option.name) != "deviation") names.emplace_back(option.name);
  return names;
}

struct FlowCommand {
  CommonOptions common;
  OperatorOptions flow{"flow", offered_options()};
  FrameOptions frames;
  std::string confidence;
  std::string deviation;
  std::optional<long> frame;
  FlowDrawOptions draw;
  bool objects = false;
  TableOptions object_options{MovingObjectsConfig::options()};
};

std::vector<UnusedOptions> unused_options(const FlowCommand& o) {
  const std::string& output = o.frames.output;
  std::vector<UnusedOptions> rules = unused_draw_options(output, is_video_name(output), o.objects);
  rules.push_back({!o.objects, {"--max-objects"}, "it applies to --objects"});
  rules.push_back({!o.objects && !is_video_name(output),
                   {"--min-area"},
                   "it applies to --objects and to a video"});
  rules.push_back(
      {o.frame.has_value(), {"--limit"}, "--frame reads only the frames that it needs"});
  return rules;
}

struct FieldReport {
  long frame = 0;
  Support support;
  double valid = 0.0;  ///< fraction of the pixels
  double mean_u = 0.0;
  double mean_v = 0.0;
  double mean_motion = 0.0;
  double p99_motion = 0.0;
  double compute_ms = 0.0;
  std::string file;
  std::vector<MovingObject> objects;
  int objects_found = 0;
  double finding_ms = 0.0;  // time of the search for objects
};

/// A file of a plane of floats, or of one for each frame.
class PlaneFile {
 public:
  /// An empty `path` writes nothing. Throws InputError.
  PlaneFile(const std::string& flag, const std::string& path)
      : flag_(flag), path_(path), name_(path) {
    if (!path.empty() && file_extension(path) != ".pfm")
      throw InputError(fmt::format("{} is '{}'; it must end in .pfm", flag, path));
  }

  bool none() const { return path_.empty(); }
  /// Whether it is one file for one result.
  bool single() const { return !none() && !name_.numbered(); }
  const std::string& flag() const { return flag_; }
  const std::string& path() const { return path_; }
  void write(long frame, ImageSize size, const std::vector<float>& values) const {
    if (!none()) write_pfm(name_.at(frame), size, values);
  }
  /// The name of one file, or the pattern of several.
  std::string written(long first, std::size_t count) const {
    return name_.numbered() && count != 1 ? path_ : name_.at(first);
  }

 private:
  std::string flag_;
  std::string path_;
  NumberedName name_;
};

FieldReport report_of(FlowField& field, const InputFrame& frame, Support support,
                      const FrameInfo& info, const FlowFieldOutput& output) {
  FieldReport report;
  report.frame = frame.number;
  report.support = support;
  std::size_t valid = 0;
  for (std::size_t i = 0; i < field.pixels(); ++i) {
    if (!std::isfinite(field.u[i]) || !std::isfinite(field.v[i])) continue;
    ++valid;
    report.mean_u += field.u[i];
    report.mean_v += field.v[i];
    const double u = field.u[i];
    const double v = field.v[i];
    report.mean_motion += std::sqrt(u * u + v * v);
  }
  if (valid > 0) {
    report.mean_u /= static_cast<double>(valid);
    report.mean_v /= static_cast<double>(valid);
    report.mean_motion /= static_cast<double>(valid);
    report.p99_motion = flow_magnitude_percentile(field.output(), 99.0f);
  }
  report.valid = static_cast<double>(valid) / static_cast<double>(field.pixels());
  report.compute_ms = static_cast<double>(info.compute_ns) * 1e-6;
  if (!output.none()) report.file = output.name_of(frame.number);
  return report;
}

/// Does what `invalid` = zero does in the operator.
void set_invalid_to_zero(FlowField& field) {
  for (std::size_t i = 0; i < field.pixels(); ++i) {
    if (std::isfinite(field.u[i]) && std::isfinite(field.v[i])) continue;
    field.u[i] = 0.0f;
    field.v[i] = 0.0f;
  }
}

MovingObjectsConfig objects_config(const FlowCommand& command) {
  MovingObjectsConfig config;
  command.object_options.set(&config);
  return config;
}

/// Runs the command: reads the frames, runs the operator, writes the outputs.
class FlowJob {
 public:
  explicit FlowJob(const FlowCommand& command)
      : command_(command),
        input_(command.frames),
        source_(input_.source()),
        draw_(command.draw.config()),
        output_(command.frames, draw_, objects_config(command), source_.fps()),
        planes_{PlaneFile("--confidence", command.confidence),
                PlaneFile("--deviation", command.deviation)},
        report_(command.common) {
    if (output_.video() && command.frame) {
      throw InputError(fmt::format("--frame selects one field, but -o {} is a video of all fields",
                                   output_.path()));
    }
    check_distinct_outputs({{"-o", output_.path()},
                            {"--confidence", command.confidence},
                            {"--deviation", command.deviation}});
    engine_ = engine_config(command.common);
  }

  int run() {
    if (command_.frame) {
      one(*command_.frame);
    } else if (output_.single() ||
               std::any_of(planes_.begin(), planes_.end(), [](auto& p) { return p.single(); })) {
      for (const PlaneFile& plane : planes_) {
        if (!plane.single() || output_.none() || output_.single()) continue;
        throw InputError(fmt::format(
            "{} {} is one file, -o {} are several; put a number such as %03d into its name",
            plane.flag(), plane.path(), output_.path()));
      }
      last();
    } else {
      all();
    }
    if (fields_ > 0) print_end();  // a signal may come before the first field
    return kDone;
  }

 private:
  /// Appends the next frame to the window, and removes the oldest ones beyond `keep`.
  bool read(std::size_t keep) {
    InputFrame frame;
    if (window_.size() >= keep && !window_.empty()) {
      frame = std::move(window_.front());  // its memory is reused
      window_.pop_front();
    }
    const bool reused = !frame.image.pixels.empty();
    if (!input_.next(frame)) {
      if (reused)
        window_.push_front(std::move(frame));  // at its end, a source does not change the frame
      return false;
    }
    if (input_.read() == 1) {
      first_ = frame.number;
      OperatorConfig config = command_.flow.config();
      config.set_input(frame.image.size, frame.image.format);
      // Errors in the options are reported before frames are collected.
      op_ = info_of(config);
      config_ = *config.get_if<OpticalFlowConfig>();
      const bool thresholds = draw_.min_deviations > 0.0f && (output_.video() || command_.objects);
      config_.deviation |= thresholds || !planes_[1].none();
      zero_invalid_ = config_.invalid == InvalidFlow::kZero;
      config_.invalid = InvalidFlow::kNan;
    }
    window_.push_back(std::move(frame));
    return true;
  }

  [[noreturn]] void too_few(std::int64_t frames) const {
    throw InputError(
        fmt::format("{}: contains {}; flow needs two or more (a numbered pattern, several "
                    "images, a video, test:)",
                    source_.name(), counted(frames, "frame")));
  }

  /// Computes the flow of frame `number` from the window, by an operator whose temporal support is
  /// reduced to the available frames.
  void from_window(long number, Support support) {
    OpticalFlowConfig config = config_;
    set_temporal_support(config, support.frames);
    FlowRun run(engine_, config);
    remember(run);
    FrameInfo info;
    for (const InputFrame& frame : window_) {
      if (frame.number < number - support.before() || frame.number > number + support.after())
        continue;
      info =
          run.step(frame.image.view(static_cast<std::uint64_t>(frame.number), frame.timestamp_ns));
    }
    emit(run.field(), number, support, info);
  }

  void emit(FlowField& field, long number, Support support, const FrameInfo& info) {
    const InputFrame& frame = window_[static_cast<std::size_t>(number - window_.front().number)];
    FieldReport report = report_of(field, frame, support, info, output_);
    std::optional<std::span<const MovingObject>> found;
    if (command_.objects) {
      found = output_.find_objects(field);
      report.objects.assign(found->begin(), found->end());
      report.objects_found = output_.objects_found();
      report.finding_ms = output_.finding_ms();
    }
    if (zero_invalid_) set_invalid_to_zero(field);
    output_.write(field, frame, config_.roi, found);
    planes_[0].write(number, field.size, field.confidence);
    planes_[1].write(number, field.size, field.deviation);
    tell_frame(std::move(report));
  }

  void tell_frame(FieldReport report) {
    if (fields_++ == 0) {
      first_field_ = report.frame;
      fewest_objects_ = report.objects_found;
      report_.begin(head());
      if (report_.is_text()) {
        print_input(input_, config_.size, op_.summary, info_);
        if (!note_.empty()) fmt::print("{}\n", note_);
      }
    }
    if (!report_.is_text()) report_.frame(report_json(report));
    RunReport::flush();
    cut_ += report.support.frames != op_.support_frames ? 1 : 0;
    motion_ += report.mean_motion;
    valid_ += report.valid;
    fewest_objects_ = std::min(fewest_objects_, report.objects_found);
    most_objects_ = std::max(most_objects_, report.objects_found);
    if (command_.objects) finding_times_.add(report.finding_ms);
    last_ = std::move(report);
  }

  /// In coordinates of the image.
  MovingObject placed(MovingObject object) const {
    object.box.x += config_.roi.x;
    object.box.y += config_.roi.y;
    return object;
  }

  void remember(const FlowRun& run) {
    info_ = run.engine();
    footprint_ = std::max(footprint_, run.footprint().host);
  }

  Support support_for(long number, long first, long last) const {
    const int wanted = op_.support_frames;
    const auto support = choose_support(config_, number, first, last);
    if (!support) {
      throw InputError(
          fmt::format("--frame {}: the flow from frame N to N+1 needs both; {} has frames {} to {}",
                      number, source_.name(), source_.first_number(), last));
    }
    if (support->frames != wanted && temporal_support_is_fixed(config_)) {
      throw InputError(
          fmt::format("--frame {}: the kernel file needs {} frames around it, but only {} fit in "
                      "frames {} to {}",
                      number, wanted, support->frames, first, last));
    }
    return *support;
  }

  void one(long number) {
    if (number < source_.first_number() ||
        (source_.last_number() && number >= *source_.last_number())) {
      if (source_.last_number() && *source_.last_number() == source_.first_number()) {
        too_few(1);
      }
      throw InputError(fmt::format(
          "--frame {}: the flow from frame N to N+1 needs both; {} begins at {}{}", number,
          source_.name(), source_.first_number(),
          source_.last_number() ? fmt::format(" and ends at {}, so N goes to {}",
                                              *source_.last_number(), *source_.last_number() - 1)
                                : ""));
    }
    source_.start_at(number - kMaxKernelTaps);
    Progress progress(fmt::format("reading {}", source_.name()), 0);
    while (window_.empty() || window_.back().number < number + support_of(op_).after()) {
      if (!read(kMaxKernelTaps)) break;
      progress.update(input_.read());
    }
    from_window(number, support_for(number, window_.front().number, window_.back().number));
  }

  void last() {
    input_.require_end();
    Progress progress(fmt::format("reading {}", source_.name()), 0);
    if (const auto end = source_.last_number(); end && !command_.frames.limit)
      source_.start_at(std::max(source_.first_number(), *end - kMaxKernelTaps));
    while (read(kMaxKernelTaps)) progress.update(input_.read());
    if (window_.size() < 2) too_few(input_.read());
    const long end = window_.back().number;
    const int frames = std::min<int>(op_.support_frames, static_cast<int>(window_.size()));
    OpticalFlowConfig config = config_;
    set_temporal_support(config, frames);
    const long number = end - support_of(info_of(config)).after();
    note_ = frames == op_.support_frames
                ? fmt::format(
                      "-o is one file and --frame is not given: the last frame with the full "
                      "temporal support is {}",
                      number)
                : fmt::format(
                      "-o is one file and --frame is not given: there are too few frames for the "
                      "full temporal support; frame {} has the largest",
                      number);
    from_window(number, support_for(number, window_.front().number, end));
  }

  void all() {
    // After a signal, a video of the fields so far is still finished.
    const StopsEarly stops_early;
    try {
      fields();
    } catch (const Stopped&) {  // the fields before it are complete
    }
    output_.finish();
    if (stop_signal() != 0) input_.report_interruption(fields_, "field");
  }

  void fields() {
    Progress progress(fmt::format("flow of {}", source_.name()), input_.expected());
    const bool any = read(1);
    if (stop_signal() != 0) return;
    if (!any) too_few(input_.read());
    const Support full = support_of(op_);
    const std::size_t keep = static_cast<std::size_t>(full.frames);
    while (window_.size() < keep && read(keep)) progress.update(input_.read());
    if (stop_signal() != 0) return;
    if (window_.size() < 2) too_few(input_.read());
    const bool whole = window_.size() == keep;
    if (!whole && temporal_support_is_fixed(config_)) {
      throw InputError(fmt::format("{}: the kernel file needs {} frames, but there are {}",
                                   source_.name(), keep, window_.size()));
    }
    // At both ends of the sequence, the support is reduced to the available frames. That of a
    // kernel file cannot be reduced.
    const bool cut = !temporal_support_is_fixed(config_);
    if (!whole) {
      for (long n = first_; n < window_.back().number && stop_signal() == 0; ++n)
        from_window(n, support_for(n, first_, window_.back().number));
      return;
    }
    if (cut) {
      for (long n = first_; n < first_ + full.before() && stop_signal() == 0; ++n)
        from_window(n, support_for(n, first_, window_.back().number));
    }
    if (stop_signal() == 0) {
      FlowRun run(engine_, config_);
      remember(run);
      FrameInfo info;
      for (const InputFrame& frame : window_)
        info = run.step(
            frame.image.view(static_cast<std::uint64_t>(frame.number), frame.timestamp_ns));
      emit(run.field(), window_.back().number - full.after(), full, info);
      while (stop_signal() == 0 && read(keep)) {
        const InputFrame& frame = window_.back();
        info = run.step(
            frame.image.view(static_cast<std::uint64_t>(frame.number), frame.timestamp_ns));
        emit(run.field(), frame.number - full.after(), full, info);
        streamed_times_.add(static_cast<double>(info.compute_ns) * 1e-6);
        progress.update(input_.read());
      }
    }
    if (cut) {
      const long newest = window_.back().number;
      for (long n = newest - full.after() + 1; n < newest && stop_signal() == 0; ++n)
        from_window(n, support_for(n, window_.front().number, newest));
    }
  }

  nlohmann::ordered_json report_json(const FieldReport& r) const {
    nlohmann::ordered_json json;
    json["frame"] = r.frame;
    json["support"] = {{"frames", r.support.frames},
                       {"first", r.frame - r.support.before()},
                       {"last", r.frame + r.support.after()}};
    json["valid"] = r.valid;
    json["mean_u"] = r.mean_u;
    json["mean_v"] = r.mean_v;
    json["mean_motion"] = r.mean_motion;
    json["p99_motion"] = r.p99_motion;
    json["compute_ms"] = r.compute_ms;
    if (!r.file.empty()) json["file"] = r.file;
    if (!command_.objects) return json;
    json["objects_found"] = r.objects_found;
    json["objects_ms"] = r.finding_ms;
    json["objects"] = nlohmann::ordered_json::array();
    for (const MovingObject& found : r.objects) {
      const MovingObject object = placed(found);
      json["objects"].push_back(
          {{"box", {object.box.x, object.box.y, object.box.width, object.box.height}},
           {"mean_u", object.u},
           {"mean_v", object.v},
           {"area", object.area}});
    }
    return json;
  }

  /// The members of the report that are known before the first field.
  nlohmann::ordered_json head() const {
    nlohmann::ordered_json json;
    json["input"] = source_.name();
    json["size"] = {config_.size.width, config_.size.height};
    if (!config_.roi.empty())
      json["roi"] = {config_.roi.x, config_.roi.y, config_.roi.width, config_.roi.height};
    add_engine_json(json, info_);
    OpticalFlowConfig config = config_;
    if (zero_invalid_) config.invalid = InvalidFlow::kZero;
    json["config"] = config_json(OperatorConfig(config));
    json["output"] =
        output_.none() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(output_.path());
    if (!note_.empty()) json["note"] = note_;
    return json;
  }

  void print_end() {
    const double median_ms = streamed_times_.percentile(50.0);
    if (report_.is_text()) return print_totals(median_ms);
    nlohmann::ordered_json json;
    add_input_json(json, input_);
    json["memory_bytes"] = footprint_;
    if (!planes_[0].none()) json["confidence"] = written(planes_[0]);
    if (!planes_[1].none()) json["deviation"] = written(planes_[1]);
    if (output_.max_motion() > 0.0) json["max_motion"] = output_.max_motion();
    if (streamed_times_.count() > 0) json["median_compute_ms"] = median_ms;
    report_.end(json);
  }

  void print_totals(double median_ms) const {
    print_dropped(input_);
    if (fields_ == 1)
      print_field();
    else
      print_fields(median_ms);
    if (command_.objects) print_objects();
    if (output_.colored())
      fmt::print("colors are saturated at {:.2f} px per frame\n", output_.max_motion());
    std::vector<std::string> files;
    if (!output_.none())
      files.push_back(output_.written(first_field_, static_cast<std::size_t>(fields_)));
    for (const PlaneFile& plane : planes_)
      if (!plane.none()) files.push_back(written(plane));
    if (!files.empty())
      fmt::print("written: {}\n", printable(fmt::format("{}", fmt::join(files, ", "))));
  }

  void print_field() const {
    const ImageSize size = op_.planes[0].size;
    const FieldReport& r = last_;
    fmt::print("frame {} -> {}, computed from {} frames, {} to {}{}\n", r.frame, r.frame + 1,
               r.support.frames, r.frame - r.support.before(), r.frame + r.support.after(),
               r.support.frames != op_.support_frames
                   ? fmt::format(" (reduced from {}, which do not fit)", op_.support_frames)
                   : "");
    fmt::print(
        "motion: mean ({:.3f}, {:.3f}), mean length {:.3f}, 99th percentile {:.3f} px per frame; "
        "{:.2f} % of {}x{} valid\n",
        r.mean_u, r.mean_v, r.mean_motion, r.p99_motion, 100.0 * r.valid, size.width, size.height);
  }

  void print_fields(double median_ms) const {
    const auto count = static_cast<double>(fields_);
    fmt::print("fields of frames {} to {}: mean length {:.3f} px per frame, {:.2f} % valid",
               first_field_, last_.frame, motion_ / count, 100.0 * valid_ / count);
    if (cut_ > 0)
      fmt::print("; {} at the ends computed from fewer than {} frames", cut_, op_.support_frames);
    fmt::print("\n");
    if (median_ms > 0.0)
      fmt::print("median {:.2f} ms per frame, {:.0f} frames/s\n", median_ms, 1000.0 / median_ms);
  }

  void print_objects() const {
    if (fields_ > 1) {
      fmt::print("moving objects: {} to {} per frame, median {:.2f} ms to find them\n",
                 fewest_objects_, most_objects_, finding_times_.percentile(50.0));
      return;
    }
    fmt::print("moving objects: {}\n", last_.objects_found);
    for (const MovingObject& found : last_.objects) {
      const MovingObject object = placed(found);
      fmt::print("  {}x{} at ({}, {}): mean motion ({:.2f}, {:.2f}) px per frame, {} pixels\n",
                 object.box.width, object.box.height, object.box.x, object.box.y,
                 static_cast<double>(object.u), static_cast<double>(object.v), object.area);
    }
  }

  std::string written(const PlaneFile& plane) const {
    return plane.written(first_field_, static_cast<std::size_t>(fields_));
  }

  const FlowCommand& command_;
  FrameInput input_;
  FrameSource& source_;
  OverlayConfig draw_;
  FlowFieldOutput output_;
  std::array<PlaneFile, 2> planes_;  ///< of the confidence and of the deviation
  EngineConfig engine_;
  /// `invalid` is always NaN here, because zeros would hide which pixels are invalid from the
  /// report.
  OpticalFlowConfig config_;
  bool zero_invalid_ = false;  ///< whether the files get zeros in place of NaN
  OperatorInfo op_;
  std::deque<InputFrame> window_;
  long first_ = 0;
  EngineInfo info_;
  std::size_t footprint_ = 0;
  std::string note_;
  RunReport report_;
  FieldReport last_;  ///< of the last field
  std::int64_t fields_ = 0;
  long first_field_ = 0;
  std::int64_t cut_ = 0;  ///< fields with less than the full temporal support
  double motion_ = 0.0;   ///< sums over the fields
  double valid_ = 0.0;
  int fewest_objects_ = 0;
  int most_objects_ = 0;
  FrameTimes streamed_times_;
  FrameTimes finding_times_;
};

}  // namespace

void add_flow_command(CLI::App& program, int& exit_code) {
  CLI::App* const command =
      program.add_subcommand("flow", "Compute the motion field of an image sequence");
  const auto o = std::make_shared<FlowCommand>();
  add_frame_options(
      *command, o->frames,
      "out.flo or out.png: one field; out_%03d.flo or out_%03d.png: all fields; "
      "out.webm, out.mp4 or out.y4m: the video with the field drawn over it; -: the same as Y4M "
      "on standard output",
      2);
  command
      ->add_option("--frame", o->frame,
                   "Compute only the flow from frame N to N+1 (N is the number in the pattern; in "
                   "a video, it counts from 0)")
      ->check(frame_number());
  command->add_option("--confidence", o->confidence, "Write the confidence to this .pfm file");
  command->add_option("--deviation", o->deviation,
                      "Write the standard deviation in pixels per frame to this .pfm file");
  command->add_flag("--objects", o->objects,
                    "Find the objects that move, report them, and draw their boxes in a video; "
                    "--min-motion and --min-deviations apply");
  const MovingObjectsConfig object_defaults;
  o->object_options.add_to(*command, "Moving objects", &object_defaults);
  o->draw.add_to(*command);
  o->flow.add_to(*command);
  add_common_options(*command, o->common);
  add_json_lines_option(*command, o->common);
  command->callback([command, o, &exit_code] {
    check_options(*command, unused_options(*o));
    o->frames.source.color = is_video_name(o->frames.output);
    exit_code = FlowJob(*o).run();
  });
}

}  // namespace ocellus::app
