#include "apps/io/picture_command.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "apps/common/interrupt.h"
#include "apps/common/printable.h"

namespace ocellus::app {

GrayImage in_8_bits(const GrayImage& image) {
  GrayImage out(image.size, PixelFormat::kGray8);
  std::size_t i = 0;
  for (int y = 0; y < image.size.height; ++y)
    for (int x = 0; x < image.size.width; ++x)
      out.pixels[i++] = static_cast<std::uint8_t>(std::lround(image.brightness(x, y)));
  return out;
}

// ---- PictureRun

PictureRun::PictureRun(const EngineConfig& engine, const OperatorConfig& config)
    : image_(info_of(config).planes[0].size, info_of(config).planes[0].format),
      output_(output_of(image_)),
      run_(engine, config, &output_) {}

OperatorOutput PictureRun::output_of(GrayImage& image) {
  OperatorOutput output;
  output.planes[0] = {image.pixels.data(), image.size,         image.stride(),
                      image.format,        MemorySpace::kHost, nullptr};
  return output;
}

// ---- PictureJob

PictureJob::PictureJob(const PictureCommand& command)
    : command_(command),
      input_(command.frames, false),
      output_(command.frames, {".png", ".pgm", ".pbm", ".ppm"}, input_.source().fps()),
      engine_(engine_config(command.common)),
      config_(command.options.description()) {}

int PictureJob::run() {
  // After a signal, a video of the frames so far is still finished.
  const StopsEarly stops_early;
  frames();
  output_.finish();
  if (stop_signal() != 0)
    input_.report_interruption(static_cast<std::int64_t>(reports_.size()), "frame");
  if (!reports_.empty()) print();
  return kDone;
}

void PictureJob::frames() {
  Progress progress(input_.source().name(), input_.expected());
  InputFrame frame;
  if (!input_.next(frame)) return;
  prepare(frame);
  config_ = command_.options.config();
  range_ = frame.range;
  config_.set_input(frame.image.size, frame.image.format, range_);
  run_ = std::make_unique<PictureRun>(engine_, config_);
  if (output_.single()) input_.require_no_more(output_.path(), frame.number);
  do {
    if (!reports_.empty()) prepare(frame);
    step(frame);
    progress.update(input_.read());
  } while (stop_signal() == 0 && !output_.single() && input_.next(frame));
}

void PictureJob::step(const InputFrame& frame) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const std::int64_t compute_ns = process(*run_, frame);
  Report report;
  report.ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  report.frame = frame.number;
  report.compute_ms = static_cast<double>(compute_ns) * 1e-6;
  report.record = run_->op().stored_record();
  if (!output_.none()) {
    report.file = output_.name_of(frame.number);
    write(frame, report.file);
  }
  reports_.push_back(std::move(report));
}

std::int64_t PictureJob::process(PictureRun& run, const InputFrame& frame) {
  const auto number = static_cast<std::uint64_t>(frame.number);
  return run.step(frame.image.view(number, frame.timestamp_ns)).compute_ns;
}

void PictureJob::write_image(const PictureRun& run, const std::string& path) const {
  const bool wide = run.image().format != PixelFormat::kGray8;
  write_image_gray(path, wide ? in_8_bits(run.image()) : run.image(),
                   run.info().planes[0].levels == 2 ? 1 : 8);
}

void PictureJob::write(const InputFrame& frame, const std::string& path) {
  if (!output_.video()) return write_image(*run_, path);
  picture_.image = run_->image();
  picture_.timestamp_ns = frame.timestamp_ns;
  picture_.timed = frame.timed;
  picture_.range = result_range(range_);
  add_color(picture_);
  output_.video_picture(picture_);
  output_.write_video_picture();
}

nlohmann::ordered_json PictureJob::report_json(const Report& report) const {
  nlohmann::ordered_json json;
  json["frame"] = report.frame;
  if (const RecordInfo* record = run_->info().record)
    json.update(record_json(*record, report.record.data()));
  json["ms"] = report.ms;
  json["compute_ms"] = report.compute_ms;
  if (!report.file.empty()) json["file"] = report.file;
  return json;
}

void PictureJob::print_totals(double median, double p99) const {
  if (reports_.size() == 1) {
    fmt::print("{:.2f} ms\n", median);
    return;
  }
  fmt::print("{}, median {:.2f} ms per frame, 99th percentile {:.2f} ms, {:.0f} frames/s\n",
             counted(static_cast<std::int64_t>(reports_.size()), "frame"), median, p99,
             1000.0 / median);
}

void PictureJob::print() const {
  const OperatorInfo& op = run_->info();
  std::vector<double> ms;
  ms.reserve(reports_.size());
  for (const Report& report : reports_) ms.push_back(report.ms);
  const double median = percentile(ms, 50.0);
  const double p99 = percentile(ms, 99.0);
  if (command_.common.json) {
    nlohmann::ordered_json json;
    json["input"] = input_.source().name();
    json["size"] = {op.size.width, op.size.height};
    json["frames_read"] = input_.read();
    add_engine_json(json, run_->engine());
    json["input_range"] = {range_.black, range_.white};
    json["config"] = config_json(config_);
    json["memory_bytes"] = run_->footprint().host;
    json["output"] =
        output_.none() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(output_.path());
    json["median_ms"] = median;
    json["p99_ms"] = p99;
    add_totals(json);
    json["frames"] = nlohmann::ordered_json::array();
    for (const Report& report : reports_) json["frames"].push_back(report_json(report));
    print_json(json);
    return;
  }
  print_summary(input_, op.size, printable(op.summary), run_->engine());
  print_totals(median, p99);
  if (!output_.none())
    fmt::print("written: {}\n",
               printable(output_.written(reports_.front().frame, reports_.size())));
}

// ---- the command line

void add_picture_options(CLI::App& command, PictureCommand& options,
                         const std::string& output_help) {
  add_frame_options(command, options.frames, output_help, 1);
  options.options.add_to(command);
  add_common_options(command, options.common);
}

CLI::App* add_picture_command(CLI::App& program, int& exit_code, const char* name,
                              const std::string& help) {
  CLI::App* const command = program.add_subcommand(name, help);
  const auto o = std::make_shared<PictureCommand>(name);
  add_picture_options(*command, *o, kPictureOutputHelp);
  command->callback([command, o, &exit_code] {
    check_options(*command, {unused_without_video(o->frames.output, {"--fps"})});
    exit_code = PictureJob(*o).run();
  });
  return command;
}

}  // namespace ocellus::app
