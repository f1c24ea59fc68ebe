#include "apps/io/frame_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "apps/common/device_list.h"
#include "apps/common/interrupt.h"
#include "apps/common/json_sink.h"
#include "apps/common/json_text.h"
#include "apps/common/printable.h"
#include "apps/common/record_text.h"
#include "apps/io/output_file.h"

namespace ocellus::app {
namespace {

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

/// The text of an object that stands `levels` levels deep in another one.
std::string indented(std::string text, int levels) {
  const std::string indent(static_cast<std::size_t>(2 * levels), ' ');
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += indent.size() + 1)
    text.insert(at + 1, indent);
  return text;
}

/// The members of an object without its braces; empty if it has none.
std::string members_of(const nlohmann::ordered_json& object) {
  if (object.empty()) return "";
  const std::string text = json_text(object);
  return text.substr(2, text.size() - 4);  // "{\n" and "\n}"
}

}  // namespace

// ---- RunReport

RunReport::RunReport(const CommonOptions& common)
    : sink_(json_sink()),
      form_(sink_ != nullptr || common.json_lines ? Form::kJsonLines
            : common.json                         ? Form::kJson
                                                  : Form::kText) {}

void RunReport::begin(nlohmann::ordered_json head) {
  if (form_ == Form::kJsonLines) head_ = std::move(head);
  if (form_ != Form::kJson) return;
  const std::string members = members_of(head);
  print("{\n" + members + (members.empty() ? "" : ",\n") + "  \"frames\": [");
  flush();
}

void RunReport::frame(const nlohmann::ordered_json& frame) {
  if (form_ == Form::kJson)
    print((first_ ? "\n    " : ",\n    ") + indented(json_text(frame), 2));
  else
    line(frame);
  first_ = false;
  flush();
}

void RunReport::line(const nlohmann::ordered_json& object) {
  if (sink_ != nullptr)
    sink_->write(object);
  else
    print(json_line(object) + "\n");
}

void RunReport::end(const nlohmann::ordered_json& totals) {
  if (form_ == Form::kJson) {
    const std::string members = members_of(totals);
    print((first_ ? "]" : "\n  ]") + (members.empty() ? "" : ",\n" + members) + "\n}\n");
  } else {
    head_.update(totals);
    line(head_);
  }
  flush();
}

void RunReport::flush() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw InputError("standard output could not be written");
}

void FrameTimes::add(double ms) {
  histogram_->record(std::llround(ms * 1e6));
}

double FrameTimes::percentile(double percent) const {
  const std::int64_t longest = histogram_->max_ns();
  const std::int64_t ns = histogram_->percentile_ns(percent);
  return 1e-6 *
         static_cast<double>(ns > LatencyHistogram::kHighestNs ? longest : std::min(ns, longest));
}

// ---- FrameJob

FrameJob::FrameJob(const FrameCommand& command, const std::vector<std::string>& extensions,
                   bool videos)
    : command_(command),
      config_(command.options.config()),
      input_(command.frames),
      monitor_(command.common.metrics, input_.source().name()),
      output_(command.frames, extensions, input_.source().fps(), videos),
      engines_(engine_configs(command.common)),
      report_(command.common) {
  check_distinct_outputs({{"-o", command.frames.output},
                          {"--json-to", json_target()},
                          {"--metrics", command.common.metrics}});
}

int FrameJob::run() {
  // After a signal, a video of the frames so far is still finished.
  const StopsEarly stops_early;
  try {
    process();
    monitor_.stopping();
  } catch (const std::exception& failed) {
    monitor_.stopping();
    if (frames() == 0) throw;
    try {
      finish();
    } catch (const InputError& second) {
      throw InputError(fmt::format("{}; {}", failed.what(), second.what()));
    }
    throw;
  }
  output_.finish();
  if (stop_signal() != 0) input_.report_interruption(static_cast<std::int64_t>(frames()), "frame");
  if (frames() == 0) return kDone;
  finish();
  print_end();
  return kDone;
}

void FrameJob::start(InputFrame& first) {
  prepare(first);
  range_ = first.range;
  config_.set_input(first.image.size, input_format(first), range_);
  adapt(config_);
  run_ = std::make_unique<FrameRun>(engines_, config_);
  config_ = run_->config();
  for (int device = 0; device < run_->devices(); ++device)
    metrics_.push_back(&monitor_.add_operator(config_.description().name, run_->device(device),
                                              input_.source().name()));
  begin(first);
  monitor_.ready();
}

void FrameJob::process() {
  Progress progress(input_.source().name(), input_.expected());
  InputFrame frame;
  if (!input_.next(frame)) return;
  start(frame);
  if (output_.single()) input_.require_no_more(output_.path(), frame.number);
  const auto next = [this](InputFrame& read) {
    if (stop_signal() != 0 || output_.single() || !input_.next(read)) return false;
    prepare(read);
    return true;
  };
  run_->process(
      std::move(frame), next, [this](const InputFrame& read) { return parts(read); },
      [&](const ProcessedFrame& work) {
        record_metrics(work);
        take(work);
        monitor_.frame_done(input_.read(), input_.source().dropped());
        progress.update(input_.read());
      });
}

void FrameJob::record_metrics(const ProcessedFrame& work) {
  const auto latency_ns = std::llround(work.ms * 1e6);
  for (const ProcessedFrame::Result& result : work.results)
    metrics_[static_cast<std::size_t>(result.done.engine)]->record(latency_ns, result.done.info);
}

nlohmann::ordered_json FrameJob::times_json(const InputFrame& frame) {
  const auto or_null = [](bool known, std::int64_t ns) {
    return known ? nlohmann::ordered_json(ns) : nlohmann::ordered_json(nullptr);
  };
  return {{"pts_ns", or_null(frame.timed || frame.running_ns, frame.timestamp_ns)},
          {"running_time_ns", or_null(frame.running_ns.has_value(), frame.running_ns.value_or(0))},
          {"wall_clock_ns", frame.wall_clock_ns}};
}

void FrameJob::report(const ProcessedFrame& work, const InputFrame& described) {
  const OperatorInfo& info = run_->info();
  std::string path;
  if (!output_.none()) {
    path = output_.name_of(described.number);
    write(work, path);
  }
  times_.add(work.ms);
  last_ = work.results.back().record;
  const bool begins = times_.count() == 1;
  nlohmann::ordered_json json;
  if (begins) first_ = described.number;
  if (!report_.is_text()) {
    json["frame"] = described.number;
    times_of_last_ = times_json(described);
    json.update(times_of_last_);
    json.update(record_json(info, last_.data()));
  }
  add_frame(work, json);
  if (begins && report_.is_text())
    print_input(input_, info.size, printable(info.summary), run_->engine());
  else if (begins)
    report_.begin(head());
  if (!report_.is_text()) {
    json["ms"] = work.ms;
    json["compute_ms"] = static_cast<double>(work.compute_ns) * 1e-6;
    if (!path.empty()) json["file"] = path;
    return report_.frame(json);
  }
  if ((work.flags & kBadPixels) != 0)
    fmt::print("frame {}: values that are not finite\n", described.number);
  else
    print_frame(work);
  RunReport::flush();
}

void FrameJob::print_frame(const ProcessedFrame& work) const {
  print_record(work.frame.number, run_->info(), work.results.back().record.data());
}

nlohmann::ordered_json FrameJob::head() const {
  const OperatorInfo& info = run_->info();
  nlohmann::ordered_json json;
  json["input"] = input_.source().name();
  json["size"] = {info.size.width, info.size.height};
  add_engine_json(json, run_->engine());
  json["input_range"] = {range_.black, range_.white};
  json["config"] = config_json(config_);
  for (int label = 0; label < info.classes; ++label)
    json["class_names"].push_back(info.class_name(label));
  json["memory_bytes"] = run_->host_bytes();
  json["output"] =
      output_.none() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(output_.path());
  add_head(json);
  return json;
}

std::string FrameJob::times_text() const {
  const double median = times_.percentile(50.0);
  return fmt::format("median {:.2f} ms per frame, 99th percentile {:.2f} ms, {}", median,
                     times_.percentile(99.0), run_->rate_text(median));
}

void FrameJob::print_totals() const {
  if (frames() > 1) return fmt::print("{}, {}\n", counted(frames(), "frame"), times_text());
  print_items(run_->info(), last_.data());
  fmt::print("{:.2f} ms\n", times_.percentile(50.0));
}

void FrameJob::print_end() {
  if (!report_.is_text()) {
    nlohmann::ordered_json json;
    add_input_json(json, input_);
    json["median_ms"] = times_.percentile(50.0);
    json["p99_ms"] = times_.percentile(99.0);
    run_->add_to(json);
    add_totals(json);
    json.update(times_of_last_);
    return report_.end(json);
  }
  print_dropped(input_);
  print_totals();
  if (const std::vector<std::string> files = written(); !files.empty())
    fmt::print("written: {}\n", printable(fmt::format("{}", fmt::join(files, ", "))));
}

std::vector<std::string> FrameJob::written() const {
  return output_.none() ? std::vector<std::string>{}
                        : std::vector<std::string>{output_.written(first_, frames())};
}

void add_job_options(CLI::App& command, FrameCommand& options) {
  options.options.add_to(command);
  add_common_options(command, options.common);
  add_json_lines_option(command, options.common);
  add_metrics_option(command, options.common);
  add_devices_option(command, options.common);
}

}  // namespace ocellus::app
