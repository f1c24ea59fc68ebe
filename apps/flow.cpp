// ocellus flow: frames in, motion field out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>

#include "common.h"
#include "flow_file.h"
#include "flow_options.h"
#include "flow_run.h"
#include "frames.h"
#include "interrupt.h"
#include "ocellus/flow_draw.h"
#include "video.h"

namespace ocellus::app {
namespace {

struct FlowCommand {
  CommonOptions common;
  FlowOptions flow;
  std::vector<std::string> inputs;
  std::string output;
  std::string confidence;
  std::optional<long> frame;
  std::optional<long> limit;
  double max_motion = 0.0;
  int arrow_step = 16;
  double arrow_scale = 4.0;
  double min_motion = 0.5;
  double fps = 0.0;
};

/// Where the fields of one or all frames go.
class Output {
 public:
  enum class Kind { kNone, kFlo, kPng, kVideo };

  Output(const FlowCommand& command, double source_fps)
      : command_(command), path_(command.output), max_motion_(command.max_motion) {
    if (path_.empty()) return;
    const std::string extension = file_extension(path_);
    if (extension == ".flo") {
      kind_ = Kind::kFlo;
    } else if (extension == ".png") {
      kind_ = Kind::kPng;
    } else if (is_video_name(path_)) {
      kind_ = Kind::kVideo;
    } else {
      throw InputError(fmt::format("-o is '{}'; it must end in .flo, .png, .webm or .mp4", path_));
    }
    pattern_ = NumberedName::parse(path_);
    if (kind_ == Kind::kVideo && pattern_)
      throw InputError(
          fmt::format("-o is '{}'; a video holds all frames and has no number", path_));
    if (kind_ == Kind::kVideo && command.frame)
      throw InputError(fmt::format("--frame asks for one field, -o {} is a video of all", path_));
    fps_ = command.fps > 0.0 ? command.fps : source_fps > 0.0 ? source_fps : 25.0;
  }

  Kind kind() const { return kind_; }
  /// One file for one field.
  bool single() const { return (kind_ == Kind::kFlo || kind_ == Kind::kPng) && !pattern_; }
  std::string name_of(long number) const { return pattern_ ? pattern_->at(number) : path_; }
  double max_motion() const { return max_motion_; }

  void write(FlowField& field, const InputFrame& frame, const Rect& roi) {
    switch (kind_) {
      case Kind::kNone:
        return;
      case Kind::kFlo:
        write_flo(name_of(frame.number), field);
        return;
      case Kind::kPng: {
        update_scale(field);
        std::vector<std::uint8_t> rgb(field.pixels() * 3);
        draw_flow_wheel(field.view(), static_cast<float>(max_motion_), rgb.data(),
                        static_cast<std::ptrdiff_t>(field.size.width) * 3);
        write_png_rgb(name_of(frame.number), field.size, rgb.data());
        return;
      }
      case Kind::kVideo:
        update_scale(field);
        write_video(field, frame, roi);
        return;
    }
  }

  void finish() {
    if (video_) video_->finish();
  }

 private:
  /// Without --max-motion the scale follows the largest motion so far, so that colours do not
  /// flicker from frame to frame.
  void update_scale(FlowField& field) {
    if (command_.max_motion > 0.0) return;
    max_motion_ = std::max(
        {max_motion_, 0.5, static_cast<double>(flow_magnitude_percentile(field.view(), 99.0f))});
  }

  void write_video(FlowField& field, const InputFrame& frame, const Rect& roi) {
    const ImageSize size = frame.image.size;
    if (!video_) video_ = make_video_writer(path_, size, fps_);
    const std::size_t luma =
        static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
    const std::ptrdiff_t half_width = (size.width + 1) / 2;
    const std::size_t chroma =
        static_cast<std::size_t>(half_width) * static_cast<std::size_t>((size.height + 1) / 2);
    i420_.resize(luma + 2 * chroma);
    if (frame.image.format == PixelFormat::kGray8) {
      std::memcpy(i420_.data(), frame.image.pixels.data(), luma);
    } else {
      for (std::size_t i = 0; i < luma; ++i)
        i420_[i] = frame.image.pixels[2 * i + 1];  // the upper byte
    }
    if (frame.chroma_u.size() == chroma) {
      std::memcpy(i420_.data() + luma, frame.chroma_u.data(), chroma);
      std::memcpy(i420_.data() + luma + chroma, frame.chroma_v.data(), chroma);
    } else {
      std::memset(i420_.data() + luma, 128, 2 * chroma);
    }
    OverlayImage image;
    image.format = OverlayImage::Format::kI420;
    image.size = size;
    image.planes = {i420_.data(), i420_.data() + luma, i420_.data() + luma + chroma};
    image.strides = {size.width, half_width, half_width};
    OverlayConfig overlay;
    overlay.step = command_.arrow_step;
    overlay.scale = static_cast<float>(command_.arrow_scale);
    overlay.min_motion = static_cast<float>(command_.min_motion);
    overlay.max_motion = static_cast<float>(max_motion_);
    overlay.roi = roi;
    draw_flow_overlay(field.view(), overlay, image);
    video_->write(i420_.data());
  }

  const FlowCommand& command_;
  std::string path_;
  Kind kind_ = Kind::kNone;
  std::optional<NumberedName> pattern_;
  double fps_ = 25.0;
  double max_motion_ = 0.0;
  std::unique_ptr<VideoWriter> video_;
  std::vector<std::uint8_t> i420_;
};

std::vector<UnusedOptions> unused_options(const FlowCommand& o) {
  const bool video = is_video_name(o.output);
  const std::string output =
      o.output.empty() ? "nothing is written without -o" : fmt::format("-o {}", o.output);
  return {
      {!video,
       {"--fps", "--arrow-step", "--arrow-scale", "--min-motion"},
       fmt::format("it is for a video, {}{}", output, o.output.empty() ? "" : " is none")},
      {!video && file_extension(o.output) != ".png",
       {"--max-motion"},
       fmt::format("it is for the colours of a .png or a video, {}{}", output,
                   o.output.empty() ? "" : " has none")},
      {o.frame.has_value(), {"--limit"}, "--frame reads the frames that it needs"},
  };
}

struct FieldReport {
  long frame = 0;
  Support support;
  double valid = 0.0;  ///< fraction
  double mean_u = 0.0;
  double mean_v = 0.0;
  double mean_motion = 0.0;
  double p99_motion = 0.0;
  double compute_ms = 0.0;
  std::string file;
};

FieldReport report_of(FlowField& field, const InputFrame& frame, Support support,
                      const FrameInfo& info, const Output& output) {
  FieldReport report;
  report.frame = frame.number;
  report.support = support;
  std::size_t valid = 0;
  for (std::size_t i = 0; i < field.pixels(); ++i) {
    if (!std::isfinite(field.u[i]) || !std::isfinite(field.v[i])) continue;
    ++valid;
    report.mean_u += field.u[i];
    report.mean_v += field.v[i];
    report.mean_motion += std::hypot(field.u[i], field.v[i]);
  }
  if (valid > 0) {
    report.mean_u /= static_cast<double>(valid);
    report.mean_v /= static_cast<double>(valid);
    report.mean_motion /= static_cast<double>(valid);
    report.p99_motion = flow_magnitude_percentile(field.view(), 99.0f);
  }
  report.valid = static_cast<double>(valid) / static_cast<double>(field.pixels());
  report.compute_ms = static_cast<double>(info.compute_ns) * 1e-6;
  if (output.kind() != Output::Kind::kNone) report.file = output.name_of(frame.number);
  return report;
}

nlohmann::ordered_json report_json(const FieldReport& r) {
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
  return json;
}

/// The command at work: the frames at hand, the operator, the outputs.
class FlowJob {
 public:
  explicit FlowJob(const FlowCommand& command)
      : command_(command), source_(open_frames(command.inputs)), output_(command, source_->fps()) {
    if (!command.confidence.empty()) {
      if (file_extension(command.confidence) != ".pfm") {
        throw InputError(
            fmt::format("--confidence is '{}'; it must end in .pfm", command.confidence));
      }
      confidence_pattern_ = NumberedName::parse(command.confidence);
    }
    if (source_->endless() && !command.limit && !command.frame) {
      throw InputError(fmt::format("{}: a camera has no end; say how many frames with --limit N",
                                   source_->name()));
    }
    engine_ = engine_config(command.common);
  }

  int run() {
    if (command_.frame) {
      one(*command_.frame);
    } else if (output_.single() || (!command_.confidence.empty() && !confidence_pattern_)) {
      if (output_.kind() != Output::Kind::kNone && !output_.single()) {
        throw InputError(fmt::format(
            "--confidence {} is one file, -o {} are many; put a number such as %03d into it",
            command_.confidence, command_.output));
      }
      last();
    } else {
      all();
    }
    if (!reports_.empty()) print();  // a signal may come before the first field
    return kDone;
  }

 private:
  /// Reads the next frame to the end of the window, and drops the oldest beyond `keep`.
  bool read(std::size_t keep) {
    if (command_.limit && frames_read_ >= *command_.limit) return false;
    InputFrame frame;
    if (window_.size() >= keep && !window_.empty()) {
      frame = std::move(window_.front());  // its memory is taken again
      window_.pop_front();
    }
    const bool reused = !frame.image.pixels.empty();
    if (!source_->next(frame)) {
      if (reused)
        window_.push_front(std::move(frame));  // a source at its end leaves the frame as it was
      return false;
    }
    if (frames_read_++ == 0) {
      first_ = frame.number;
      config_ = flow_config(command_.flow, frame.image.size, frame.image.format);
      // What is wrong with the options is said before frames are collected.
      take_options(OpticalFlow::footprint(take(Engine::probe(engine_), "engine"), config_),
                   "optical flow");
    }
    window_.push_back(std::move(frame));
    return true;
  }

  [[noreturn]] void too_few() const {
    throw InputError(
        fmt::format("{}: holds {} frame{}; flow needs two or more (a numbered pattern, several "
                    "images, a video, test:)",
                    source_->name(), frames_read_, frames_read_ == 1 ? "" : "s"));
  }

  /// The flow of frame `number` out of the window, by an operator whose support is cut to what is
  /// there.
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
    output_.write(field, frame, config_.roi);
    if (!command_.confidence.empty()) {
      write_pfm(confidence_pattern_ ? confidence_pattern_->at(number) : command_.confidence,
                field.size, field.confidence);
    }
    reports_.push_back(report_of(field, frame, support, info, output_));
  }

  void remember(const FlowRun& run) {
    info_ = run.engine();
    footprint_ = std::max(footprint_, run.footprint().host);
  }

  Support support_for(long number, long first, long last) const {
    const int wanted = temporal_support(config_);
    const auto support = choose_support(wanted, number, first, last);
    if (!support) {
      throw InputError(
          fmt::format("--frame {}: the flow from frame N to N+1 needs both; {} has frames {} to {}",
                      number, source_->name(), source_->first_number(), last));
    }
    if (support->frames != wanted && temporal_support_is_fixed(config_)) {
      throw InputError(fmt::format(
          "--frame {}: the kernel file needs {} frames around it, {} fit into frames {} to {}",
          number, wanted, support->frames, first, last));
    }
    return *support;
  }

  void one(long number) {
    if (number < source_->first_number() ||
        (source_->last_number() && number >= *source_->last_number())) {
      if (source_->last_number() && *source_->last_number() == source_->first_number()) {
        frames_read_ = 1;
        too_few();
      }
      throw InputError(fmt::format(
          "--frame {}: the flow from frame N to N+1 needs both; {} begins at {}{}", number,
          source_->name(), source_->first_number(),
          source_->last_number() ? fmt::format(" and ends at {}, so N goes to {}",
                                               *source_->last_number(), *source_->last_number() - 1)
                                 : ""));
    }
    source_->start_at(number - kMaxKernelTaps);
    Progress progress(fmt::format("reading {}", source_->name()), 0);
    while (window_.empty() ||
           window_.back().number < number + Support{temporal_support(config_)}.after()) {
      if (!read(kMaxKernelTaps)) break;
      progress.update(frames_read_);
    }
    from_window(number, support_for(number, window_.front().number, window_.back().number));
  }

  void last() {
    Progress progress(fmt::format("reading {}", source_->name()), 0);
    if (const auto end = source_->last_number(); end && !command_.limit)
      source_->start_at(std::max(source_->first_number(), *end - kMaxKernelTaps));
    while (read(kMaxKernelTaps)) progress.update(frames_read_);
    if (window_.size() < 2) too_few();
    const long end = window_.back().number;
    const int frames = std::min<int>(temporal_support(config_), static_cast<int>(window_.size()));
    const long number = end - Support{frames}.after();
    from_window(number, support_for(number, window_.front().number, end));
    note_ = frames == temporal_support(config_)
                ? fmt::format(
                      "one file and no --frame: the last frame that the whole temporal "
                      "support describes is {}",
                      number)
                : fmt::format(
                      "one file and no --frame: too few frames for the whole temporal "
                      "support; frame {} has the most",
                      number);
  }

  void all() {
    const std::optional<long> end = source_->last_number();
    const std::int64_t expected = command_.limit ? *command_.limit
                                  : end          ? *end - source_->first_number() + 1
                                                 : 0;
    // After a signal the fields so far are still worth something: a video of them is ended.
    const StopsEarly stops_early;
    fields(expected);
    output_.finish();
    if (stop_signal() != 0) {
      fmt::print(stderr, "ocellus: interrupted after {} of {}\n",
                 counted(static_cast<std::int64_t>(reports_.size()), "field"), source_->name());
    }
  }

  void fields(std::int64_t expected) {
    Progress progress(fmt::format("flow of {}", source_->name()), expected);
    if (!read(1)) too_few();
    const Support full{temporal_support(config_)};
    const std::size_t keep = static_cast<std::size_t>(full.frames);
    while (window_.size() < keep && read(keep)) progress.update(frames_read_);
    if (window_.size() < 2) too_few();
    const bool whole = window_.size() == keep;
    if (!whole && temporal_support_is_fixed(config_)) {
      throw InputError(fmt::format("{}: the kernel file needs {} frames, {} are there",
                                   source_->name(), keep, window_.size()));
    }
    // At both ends of the sequence the support is cut to the frames at hand; a kernel file's cannot
    // be cut.
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
        streamed_ms_.push_back(static_cast<double>(info.compute_ns) * 1e-6);
        progress.update(frames_read_);
      }
    }
    if (cut) {
      const long newest = window_.back().number;
      for (long n = newest - full.after() + 1; n < newest && stop_signal() == 0; ++n)
        from_window(n, support_for(n, window_.front().number, newest));
    }
  }

  void print() {
    const ImageSize size = output_size(config_);
    double median_ms = 0.0;
    if (!streamed_ms_.empty()) {
      const auto middle =
          streamed_ms_.begin() + static_cast<std::ptrdiff_t>(streamed_ms_.size() / 2);
      std::nth_element(streamed_ms_.begin(), middle, streamed_ms_.end());
      median_ms = *middle;
    }
    if (command_.common.json) {
      nlohmann::ordered_json json;
      json["input"] = source_->name();
      json["size"] = {config_.size.width, config_.size.height};
      if (!config_.roi.empty())
        json["roi"] = {config_.roi.x, config_.roi.y, config_.roi.width, config_.roi.height};
      json["frames_read"] = frames_read_;
      json["backend"] = backend_name(info_.backend);
      json["workers"] = info_.workers;
      json["simd"] = info_.simd_target;
      json["config"] = config_json(config_);
      json["memory_bytes"] = footprint_;
      json["output"] = command_.output.empty() ? nlohmann::ordered_json(nullptr)
                                               : nlohmann::ordered_json(command_.output);
      if (!command_.confidence.empty()) json["confidence"] = command_.confidence;
      if (output_.max_motion() > 0.0) json["max_motion"] = output_.max_motion();
      if (!note_.empty()) json["note"] = note_;
      if (!streamed_ms_.empty()) json["median_compute_ms"] = median_ms;
      json["frames"] = nlohmann::ordered_json::array();
      for (const FieldReport& report : reports_) json["frames"].push_back(report_json(report));
      print_json(json);
      return;
    }
    fmt::print("{}: {} of {}x{} read, {}, {} with {} ({})\n", source_->name(),
               counted(frames_read_, "frame"), config_.size.width, config_.size.height,
               describe(config_), backend_name(info_.backend), counted(info_.workers, "thread"),
               info_.simd_target);
    if (!note_.empty()) fmt::print("{}\n", note_);
    if (reports_.size() == 1) {
      const FieldReport& r = reports_.front();
      fmt::print(
          "frame {} -> {}, out of {} frames, {} to {}{}\n", r.frame, r.frame + 1, r.support.frames,
          r.frame - r.support.before(), r.frame + r.support.after(),
          r.support.frames != temporal_support(config_)
              ? fmt::format(" (of {} asked for, what fits around it)", temporal_support(config_))
              : "");
      fmt::print(
          "motion: mean ({:.3f}, {:.3f}), mean length {:.3f}, 99 % up to {:.3f} px per frame; "
          "{:.2f} % of {}x{} valid\n",
          r.mean_u, r.mean_v, r.mean_motion, r.p99_motion, 100.0 * r.valid, size.width,
          size.height);
    } else if (!reports_.empty()) {
      std::size_t cut = 0;
      double motion = 0.0;
      double valid = 0.0;
      for (const FieldReport& r : reports_) {
        cut += r.support.frames != temporal_support(config_) ? 1 : 0;
        motion += r.mean_motion / static_cast<double>(reports_.size());
        valid += r.valid / static_cast<double>(reports_.size());
      }
      fmt::print("fields of frames {} to {}: mean length {:.3f} px per frame, {:.2f} % valid",
                 reports_.front().frame, reports_.back().frame, motion, 100.0 * valid);
      if (cut > 0)
        fmt::print("; {} at the ends out of fewer than {} frames", cut, temporal_support(config_));
      fmt::print("\n");
      if (median_ms > 0.0)
        fmt::print("median {:.2f} ms a frame, {:.0f} frames/s\n", median_ms, 1000.0 / median_ms);
    }
    if (output_.kind() == Output::Kind::kPng || output_.kind() == Output::Kind::kVideo)
      fmt::print("colours are full at {:.2f} px per frame\n", output_.max_motion());
    if (!command_.output.empty())
      fmt::print("written: {}{}\n",
                 reports_.size() == 1 ? output_.name_of(reports_.front().frame) : command_.output,
                 command_.confidence.empty() ? "" : ", " + command_.confidence);
  }

  const FlowCommand& command_;
  std::unique_ptr<FrameSource> source_;
  Output output_;
  std::optional<NumberedName> confidence_pattern_;
  EngineConfig engine_;
  OpticalFlowConfig config_;
  std::deque<InputFrame> window_;
  std::int64_t frames_read_ = 0;
  long first_ = 0;
  EngineInfo info_;
  std::size_t footprint_ = 0;
  std::vector<FieldReport> reports_;
  std::vector<double> streamed_ms_;
  std::string note_;
};

}  // namespace

void add_flow_command(CLI::App& program, int& exit_code) {
  CLI::App* const command =
      program.add_subcommand("flow", "Compute the motion field of an image sequence");
  const auto o = std::make_shared<FlowCommand>();
  command->add_option("FRAMES", o->inputs, "Numbered pattern, image files, video, test: or camera")
      ->required();
  command->add_option("-o,--output", o->output,
                      "out.flo or out.png: one field; out_%03d.flo or out_%03d.png: all; out.webm "
                      "or out.mp4: the video with the field over it");
  command->add_option("--frame", o->frame,
                      "The flow from frame N to N+1 (the pattern's number; from 0 in a video)");
  command->add_option("--limit", o->limit, "Stop after N frames")
      ->check(CLI::Range(2L, 1000000000L));
  command->add_option("--confidence", o->confidence, "Write the confidence to a .pfm file");
  command
      ->add_option("--max-motion", o->max_motion,
                   "Motion of full colour, pixels per frame; 0 = the largest seen (99 %)")
      ->check(finite_range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--arrow-step", o->arrow_step, "Pixels between the arrows of a video")
      ->check(CLI::Range(4, 256))
      ->capture_default_str();
  command
      ->add_option("--arrow-scale", o->arrow_scale, "Length of an arrow for a motion of one pixel")
      ->check(finite_range(0.01, 1000.0))
      ->capture_default_str();
  command
      ->add_option("--min-motion", o->min_motion, "Shorter motions get no arrow, pixels per frame")
      ->check(finite_range(0.0, 1000.0))
      ->capture_default_str();
  command->add_option("--fps", o->fps, "Frame rate of a written video; 0 = the source's, or 25")
      ->check(finite_range(0.0, 1000.0))
      ->capture_default_str();
  add_flow_options(*command, o->flow);
  add_common_options(*command, o->common);
  command->callback([command, o, &exit_code] {
    check_options(*command, unused_flow_options(o->flow));
    check_options(*command, unused_options(*o));
    exit_code = FlowJob(*o).run();
  });
}

}  // namespace ocellus::app
