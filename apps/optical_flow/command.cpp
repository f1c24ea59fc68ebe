// ocellus flow: computes the motion field of frames.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "apps/common/interrupt.h"
#include "apps/common/record_text.h"
#include "apps/io/frame_job.h"
#include "apps/io/output_file.h"
#include "apps/optical_flow/flow_output.h"
#include "apps/optical_flow/run.h"

namespace ocellus::app {
namespace {

/// All options of the operator but `deviation`, which the command sets when it needs the plane.
std::vector<std::string> offered_options() {
  std::vector<std::string> names;
  for (const Option& option : OpticalFlowConfig::options())
    if (std::string_view(option.name) != "deviation") names.emplace_back(option.name);
  return names;
}

struct FlowCommand : FrameCommand {
  FlowCommand() : FrameCommand("flow", offered_options()) {}

  std::string confidence;
  std::string deviation;
  std::optional<long> frame;
  FlowDrawOptions draw;
};

const OpticalFlowConfig& flow_of(const OperatorConfig& config) {
  return *config.get_if<OpticalFlowConfig>();
}

std::vector<UnusedOptions> unused_options(const FlowCommand& o) {
  const std::string& output = o.frames.output;
  std::vector<UnusedOptions> rules =
      unused_draw_options(output, is_video_name(output), flow_of(o.options.config()).objects > 0);
  rules.push_back(
      {o.frame.has_value(), {"--limit"}, "--frame reads only the frames that it needs"});
  return rules;
}

/// What a field tells about motion.
struct FieldSummary {
  double valid = 0.0;  ///< fraction of the pixels
  double mean_u = 0.0;
  double mean_v = 0.0;
  double mean_motion = 0.0;
  double p99_motion = 0.0;
};

FieldSummary summary_of(FlowField& field) {
  FieldSummary sum;
  std::size_t valid = 0;
  for (std::size_t i = 0; i < field.pixels(); ++i) {
    if (!std::isfinite(field.u[i]) || !std::isfinite(field.v[i])) continue;
    ++valid;
    sum.mean_u += field.u[i];
    sum.mean_v += field.v[i];
    const double u = field.u[i];
    const double v = field.v[i];
    sum.mean_motion += std::sqrt(u * u + v * v);
  }
  if (valid > 0) {
    sum.mean_u /= static_cast<double>(valid);
    sum.mean_v /= static_cast<double>(valid);
    sum.mean_motion /= static_cast<double>(valid);
    sum.p99_motion = flow_magnitude_percentile(field.output(), 99.0f);
  }
  sum.valid = static_cast<double>(valid) / static_cast<double>(field.pixels());
  return sum;
}

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
  std::string written(long first, std::size_t count) const { return name_.of(first, count); }

 private:
  std::string flag_;
  std::string path_;
  NumberedName name_;
};

/// Does what `invalid` = zero does in the operator.
void set_invalid_to_zero(FlowField& field) {
  for (std::size_t i = 0; i < field.pixels(); ++i) {
    if (std::isfinite(field.u[i]) && std::isfinite(field.v[i])) continue;
    field.u[i] = 0.0f;
    field.v[i] = 0.0f;
  }
}

/// Writes the field of each frame, of one, or of the last one. At both ends of a sequence, a field
/// is computed by an operator whose temporal support is reduced to the frames that are there.
class FlowJob : public FrameJob {
 public:
  explicit FlowJob(const FlowCommand& command)
      : FrameJob(command, FlowFieldOutput::extensions()),
        command_(command),
        fields_(output(), command.draw.config()),
        planes_{PlaneFile("--confidence", command.confidence),
                PlaneFile("--deviation", command.deviation)} {
    if (output().video() && command.frame) {
      throw InputError(fmt::format("--frame selects one field, but -o {} is a video of all fields",
                                   output().path()));
    }
    check_distinct_outputs({{"-o", output().path()},
                            {"--confidence", command.confidence},
                            {"--deviation", command.deviation}});
  }

 private:
  void adapt(OperatorConfig& operator_config) override {
    OpticalFlowConfig& config = *operator_config.get_if<OpticalFlowConfig>();
    fields_.set(config, config.objects > 0);
    // In a video, what belongs to no object is not drawn.
    if (output().video() && config.objects == 0) config.objects = kMaxMovingObjects;
    config.deviation = !planes_[1].none() || (output().video() && config.min_deviations > 0.0f &&
                                              command_.draw.config().style != FlowStyle::kNone);
    // Zeros would hide which pixels are invalid from the report.
    zero_invalid_ = config.invalid == InvalidFlow::kZero;
    config.invalid = InvalidFlow::kNan;
  }

  void process() override {
    if (command_.frame) return one(*command_.frame);
    const bool single = std::any_of(planes_.begin(), planes_.end(),
                                    [](const PlaneFile& plane) { return plane.single(); });
    if (!output().single() && !single) {
      FrameJob::process();
      if (stop_signal() == 0) finish_fields();
      return;
    }
    for (const PlaneFile& plane : planes_) {
      if (!plane.single() || output().none() || output().single()) continue;
      throw InputError(
          fmt::format("{} {} is one file, -o {} are several; put a number such as %03d into its "
                      "name",
                      plane.flag(), plane.path(), output().path()));
    }
    last();
  }

  const OpticalFlowConfig& flow() const { return flow_of(config()); }
  bool is_fixed() const { return temporal_support_is_fixed(flow()); }
  Support full() const { return support_of(frame_run().info()); }

  /// Appends a frame to the window, and removes the oldest ones beyond `keep`.
  void keep(const InputFrame& frame, std::size_t keep) {
    if (window_.size() < keep) {
      window_.push_back(frame);
      return;
    }
    window_.push_back(std::move(window_.front()));  // its memory is reused
    window_.pop_front();
    window_.back() = frame;
  }

  /// Reads a frame for a window of all frames that a result may need.
  bool read() {
    if (!input().next(frame_)) return false;
    if (input().read() == 1) start(frame_);
    keep(frame_, kMaxKernelTaps);
    return true;
  }

  [[noreturn]] void too_few(std::int64_t frames) const {
    throw InputError(
        fmt::format("{}: contains {}; flow needs two or more (a numbered pattern, several "
                    "images, a video, test:)",
                    source_name(), counted(frames, "frame")));
  }

  void take(const ProcessedFrame& work) override {
    const auto frames = static_cast<std::size_t>(full().frames);
    keep(work.frame, frames);
    if (window_.size() < frames) return;
    if (this->frames() == 0 && !is_fixed())
      reduced_fields(window_.front().number, window_.front().number + full().before());
    emit(work, window_.back().number - full().after(), full());
  }

  /// The last fields of a sequence, or all of one that is too short for the temporal support.
  void finish_fields() {
    if (window_.size() < 2) too_few(input().read());
    const long newest = window_.back().number;
    const bool whole = window_.size() == static_cast<std::size_t>(full().frames);
    if (!whole && is_fixed()) {
      throw InputError(fmt::format("{}: the kernel file needs {} frames, but there are {}",
                                   source_name(), full().frames, window_.size()));
    }
    if (!is_fixed())
      reduced_fields(whole ? newest - full().after() + 1 : window_.front().number, newest);
  }

  /// Fields `first` to `end` - 1, from the frames of the window.
  void reduced_fields(long first, long end) {
    for (long n = first; n < end && stop_signal() == 0; ++n)
      from_window(n, support_for(n, window_.front().number, window_.back().number));
  }

  /// Computes the flow of frame `number` from the window. An operator of its own does it if the
  /// support is reduced.
  void from_window(long number, Support support) {
    std::optional<FrameRun> reduced;
    if (support.frames != full().frames) {
      OpticalFlowConfig config = flow();
      config.kernels.nt = support.frames;
      reduced.emplace(std::vector<EngineConfig>{engine()}, OperatorConfig(config));
    }
    FrameRun& run = reduced ? *reduced : frame_run();
    long next = number - support.before();
    const auto frame = [&]() -> const InputFrame& {
      return window_[static_cast<std::size_t>(next++ - window_.front().number)];
    };
    const long last = number + support.after();
    run.process(
        frame(),
        [&](InputFrame& to) {
          if (next > last) return false;
          to = frame();
          return true;
        },
        whole_frame,
        [&](const ProcessedFrame& work) {
          if (work.frame.number == last) emit(work, number, support);
        });
  }

  void emit(const ProcessedFrame& work, long number, Support support) {
    described_ = &window_[static_cast<std::size_t>(number - window_.front().number)];
    support_ = support;
    const std::array<ImageView, kMaxOutputPlanes>& planes = work.results.back().output.planes;
    field_.size = planes[0].size;
    copy_plane(planes[0], field_.u);
    copy_plane(planes[1], field_.v);
    copy_plane(planes[2], field_.confidence);
    copy_plane(planes[3], field_.deviation);
    summary_ = summary_of(field_);
    if (zero_invalid_) set_invalid_to_zero(field_);
    report(work, *described_);
  }

  Support support_for(long number, long first, long last) const {
    const int wanted = full().frames;
    const auto support = choose_support(flow(), number, first, last);
    if (!support) {
      throw InputError(
          fmt::format("--frame {}: the flow from frame N to N+1 needs both; {} has frames {} to {}",
                      number, source_name(), input().source().first_number(), last));
    }
    if (support->frames != wanted && is_fixed()) {
      throw InputError(
          fmt::format("--frame {}: the kernel file needs {} frames around it, but only {} fit in "
                      "frames {} to {}",
                      number, wanted, support->frames, first, last));
    }
    return *support;
  }

  void one(long number) {
    FrameSource& source = input().source();
    if (number < source.first_number() ||
        (source.last_number() && number >= *source.last_number())) {
      if (source.last_number() && *source.last_number() == source.first_number()) too_few(1);
      throw InputError(fmt::format(
          "--frame {}: the flow from frame N to N+1 needs both; {} begins at {}{}", number,
          source.name(), source.first_number(),
          source.last_number() ? fmt::format(" and ends at {}, so N goes to {}",
                                             *source.last_number(), *source.last_number() - 1)
                               : ""));
    }
    source.start_at(number - kMaxKernelTaps);
    Progress progress(fmt::format("reading {}", source.name()), 0);
    while (window_.empty() || window_.back().number < number + full().after()) {
      if (!read()) break;
      progress.update(input().read());
    }
    if (stop_signal() != 0) return;
    if (window_.empty()) too_few(input().read());
    from_window(number, support_for(number, window_.front().number, window_.back().number));
  }

  void last() {
    input().require_end();
    FrameSource& source = input().source();
    Progress progress(fmt::format("reading {}", source.name()), 0);
    if (const auto end = source.last_number(); end && !command_.frames.limit)
      source.start_at(std::max(source.first_number(), *end - kMaxKernelTaps));
    while (read()) progress.update(input().read());
    if (stop_signal() != 0) return;
    if (window_.size() < 2) too_few(input().read());
    const long end = window_.back().number;
    const int frames = std::min<int>(full().frames, static_cast<int>(window_.size()));
    OpticalFlowConfig config = flow();
    config.kernels.nt = frames;
    const long number = end - support_of(info_of(OperatorConfig(config))).after();
    note_ =
        frames == full().frames
            ? fmt::format(
                  "one field is written and --frame is not given: the last frame with the full "
                  "temporal support is {}",
                  number)
            : fmt::format(
                  "one field is written and --frame is not given: there are too few frames for the "
                  "full temporal support; frame {} has the largest",
                  number);
    from_window(number, support_for(number, window_.front().number, end));
  }

  const MovingObjectsRecord* objects_of(const ProcessedFrame& work) const {
    return flow().objects == 0
               ? nullptr
               : reinterpret_cast<const MovingObjectsRecord*>(work.results.back().record.data());
  }

  void write(const ProcessedFrame& work, const std::string&) override {
    fields_.write(field_, *described_, objects_of(work));
  }

  void add_frame(const ProcessedFrame& work, nlohmann::ordered_json& json) override {
    planes_[0].write(described_->number, field_.size, field_.confidence);
    planes_[1].write(described_->number, field_.size, field_.deviation);
    json["support"] = {{"frames", support_.frames},
                       {"first", described_->number - support_.before()},
                       {"last", described_->number + support_.after()}};
    json["valid"] = summary_.valid;
    json["mean_u"] = summary_.mean_u;
    json["mean_v"] = summary_.mean_v;
    json["mean_motion"] = summary_.mean_motion;
    json["p99_motion"] = summary_.p99_motion;
    newest_ = described_->number;
    cut_ += support_.frames != full().frames ? 1 : 0;
    motion_ += summary_.mean_motion;
    valid_ += summary_.valid;
    const MovingObjectsRecord* const objects = objects_of(work);
    if (objects == nullptr) return;
    fewest_objects_ = frames() == 1 ? objects->found : std::min(fewest_objects_, objects->found);
    most_objects_ = std::max(most_objects_, objects->found);
  }

  void add_head(nlohmann::ordered_json& json) const override {
    const Rect& roi = flow().roi;
    if (!roi.empty()) json["roi"] = {roi.x, roi.y, roi.width, roi.height};
    if (zero_invalid_) json["config"]["invalid"] = "zero";
    if (!note_.empty()) json["note"] = note_;
  }

  void add_totals(nlohmann::ordered_json& json) const override {
    if (!planes_[0].none()) json["confidence"] = planes_[0].written(first(), frames());
    if (!planes_[1].none()) json["deviation"] = planes_[1].written(first(), frames());
    if (fields_.max_motion() > 0.0f) json["max_motion"] = fields_.max_motion();
  }

  void print_totals() const override {
    if (!note_.empty()) fmt::print("{}\n", note_);
    if (frames() == 1)
      print_field();
    else
      print_fields();
    if (fields_.colored())
      fmt::print("colors are saturated at {:.2f} px per frame\n", fields_.max_motion());
  }

  void print_field() const {
    fmt::print("frame {} -> {}, computed from {} frames, {} to {}{}\n", newest_, newest_ + 1,
               support_.frames, newest_ - support_.before(), newest_ + support_.after(),
               cut_ > 0 ? fmt::format(" (reduced from {}, which do not fit)", full().frames) : "");
    fmt::print(
        "motion: mean ({:.3f}, {:.3f}), mean length {:.3f}, 99th percentile {:.3f} px per frame; "
        "{:.2f} % of {}x{} valid\n",
        summary_.mean_u, summary_.mean_v, summary_.mean_motion, summary_.p99_motion,
        100.0 * summary_.valid, field_.size.width, field_.size.height);
    if (flow().objects == 0) return;
    fmt::print("moving objects: {}\n", most_objects_);
    print_items(frame_run().info(), last_record());
  }

  void print_fields() const {
    const auto count = static_cast<double>(frames());
    fmt::print("fields of frames {} to {}: mean length {:.3f} px per frame, {:.2f} % valid",
               first(), newest_, motion_ / count, 100.0 * valid_ / count);
    if (cut_ > 0)
      fmt::print("; {} at the ends computed from fewer than {} frames", cut_, full().frames);
    fmt::print("\n{}\n", times_text());
    if (flow().objects > 0)
      fmt::print("moving objects: {} to {} per frame\n", fewest_objects_, most_objects_);
  }

  std::vector<std::string> written() const override {
    std::vector<std::string> files = FrameJob::written();
    for (const PlaneFile& plane : planes_)
      if (!plane.none()) files.push_back(plane.written(first(), frames()));
    return files;
  }

  const FlowCommand& command_;
  FlowFieldOutput fields_;
  std::array<PlaneFile, 2> planes_;  ///< of the confidence and of the deviation
  bool zero_invalid_ = false;        ///< whether the files get zeros in place of NaN
  InputFrame frame_;
  std::deque<InputFrame> window_;  ///< the newest frames
  std::string note_;
  // Of the result that is reported.
  const InputFrame* described_ = nullptr;
  Support support_;
  FlowField field_;
  FieldSummary summary_;
  // Of all results.
  long newest_ = 0;
  std::int64_t cut_ = 0;  ///< fields with less than the full temporal support
  double motion_ = 0.0;   ///< sums over the fields
  double valid_ = 0.0;
  int fewest_objects_ = 0;
  int most_objects_ = 0;
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
  o->draw.add_to(*command);
  add_job_options(*command, *o);
  command->callback([command, o, &exit_code] {
    check_options(*command, unused_options(*o));
    o->frames.source.color = is_video_name(o->frames.output);
    exit_code = FlowJob(*o).run();
  });
}

}  // namespace ocellus::app
