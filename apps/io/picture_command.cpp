#include "apps/io/picture_command.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "apps/common/device_list.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/common/rounding.h"
#include "apps/io/color.h"

namespace ocellus::app {

GrayImage in_8_bits(const GrayImage& image) {
  GrayImage out(image.size, PixelFormat::kGray8);
  std::size_t i = 0;
  for (int y = 0; y < image.size.height; ++y)
    for (int x = 0; x < image.size.width; ++x)
      out.pixels[i++] = nearest_byte(double{image.brightness(x, y)});
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
      engines_(engine_configs(command.common)),
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
  in_color_ = takes_color(frame);
  make_ready(frame);
  config_ = command_.options.config();
  range_ = frame.range;
  config_.set_input(frame.image.size, in_color_ ? PixelFormat::kRgb : frame.image.format, range_);
  run_ = std::make_unique<FrameRun>(engines_, config_);
  config_ = run_->config();
  if (output_.single()) input_.require_no_more(output_.path(), frame.number);
  const auto next = [this](InputFrame& read) {
    if (stop_signal() != 0 || output_.single() || !input_.next(read)) return false;
    prepare(read);
    make_ready(read);
    return true;
  };
  run_->process(
      std::move(frame), next, [this](const InputFrame& read) { return parts(read); },
      [&](const ProcessedFrame& work) {
        finish(work);
        progress.update(input_.read());
      });
}

void PictureJob::make_ready(InputFrame& frame) const {
  if (!in_color_ && takes_color(frame)) {
    throw InputError(fmt::format(
        "{}: frame {} has color, but the first frame has none; give the frame with color first, or "
        "process both apart",
        input_.source().name(), frame.number));
  }
  frame.rgb.clear();
  if (!in_color_) return;
  const GrayImage& gray = frame.image;  // of a file without color
  frame.rgb = rgb_of(frame.color.empty() ? std::vector<GrayImage>{gray, gray, gray} : frame.color);
}

void PictureJob::finish(const ProcessedFrame& work) {
  Report report;
  report.ms = work.ms;
  report.frame = work.frame.number;
  report.compute_ms = static_cast<double>(work.compute_ns) * 1e-6;
  report.record = work.results.back().record;
  if (!output_.none()) {
    report.file = output_.name_of(work.frame.number);
    write(work, report.file);
  }
  reports_.push_back(std::move(report));
}

std::vector<Frame> PictureJob::parts(const InputFrame& frame) {
  std::vector<Frame> whole = whole_frame(frame);
  if (in_color_) {
    whole.front().data = frame.rgb.data();
    whole.front().format = PixelFormat::kRgb;
    whole.front().stride = row_bytes(PixelFormat::kRgb, frame.image.size.width);
  }
  return whole;
}

void PictureJob::write_image(const ProcessedFrame& work, const std::string& path) const {
  const ProcessedFrame::Result& result = work.results.front();
  if (result.has_color()) return write_image_rgb(path, work.frame.image.size, result.rgb().data());
  const GrayImage image = result.image();
  const bool wide = image.format != PixelFormat::kGray8;
  const int levels = run_->info().planes[0].levels;
  const int bits = levels == 2 ? 1 : levels == 4 ? 2 : levels == 16 ? 4 : 8;
  write_image_gray(path, wide ? in_8_bits(image) : image, bits);
}

void PictureJob::make_picture(const ProcessedFrame& work, InputFrame& picture) const {
  const ProcessedFrame::Result& result = work.results.front();
  if (result.has_color()) return set_luma_and_chroma(picture, work.frame.image.size, result.rgb());
  picture.image = result.image();
  picture.chroma_u.clear();
  picture.chroma_v.clear();
  // Some sources give chroma although nobody needs it.
  if (!command_.frames.source.color) return;
  picture.chroma_u = work.frame.chroma_u;
  picture.chroma_v = work.frame.chroma_v;
  if (picture.range == range_) return;
  // The result has full range, and the frame has not.
  widen_chroma(picture.chroma_u);
  widen_chroma(picture.chroma_v);
}

void PictureJob::write(const ProcessedFrame& work, const std::string& path) {
  if (!output_.video()) return write_image(work, path);
  picture_.timestamp_ns = work.frame.timestamp_ns;
  picture_.timed = work.frame.timed;
  picture_.range = result_range(range_);
  make_picture(work, picture_);
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
  fmt::print("{}, median {:.2f} ms per frame, 99th percentile {:.2f} ms, {}\n",
             counted(static_cast<std::int64_t>(reports_.size()), "frame"), median, p99,
             run_->rate_text(median));
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
    add_input_json(json, input_);
    add_engine_json(json, run_->engine());
    json["input_range"] = {range_.black, range_.white};
    json["config"] = config_json(config_);
    json["memory_bytes"] = run_->host_bytes();
    json["output"] =
        output_.none() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(output_.path());
    json["median_ms"] = median;
    json["p99_ms"] = p99;
    run_->add_to(json);
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
  add_devices_option(command, options.common);
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
