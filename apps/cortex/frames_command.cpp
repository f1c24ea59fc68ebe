// ocellus cortex FRAMES: classifies frames, or the tiles of frames.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/device_list.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/cortex/cortex_command.h"
#include "apps/io/frame_run.h"
#include "apps/io/output_file.h"

namespace ocellus::app {
namespace {

struct FrameReport {
  long frame = 0;
  double ms = 0.0;  // from submit to the return of wait
  double compute_ms = 0.0;
  std::vector<std::uint64_t> record;

  const CortexRecord& result() const {
    return *reinterpret_cast<const CortexRecord*>(record.data());
  }
};

/// The answers of a frame, with the tiles of a row in a line.
void print_frame(const FrameReport& report, const CortexNames& names, int columns) {
  const CortexRecord& record = report.result();
  const auto name = [&](int i) {
    return printable(names.name(record.label[static_cast<std::size_t>(i)]));
  };
  const std::string where = fmt::format("frame {}: ", report.frame);
  if (record.count == 0) fmt::print("{}values that are not finite\n", where);
  if (record.count == 1)
    fmt::print("{}{}, confidence {:.3f}\n", where, name(0), record.confidence[0]);
  for (int i = 0; i < record.count && record.count > 1; ++i) {
    if (i % columns == 0) fmt::print("{}", i == 0 ? where : std::string(where.size(), ' '));
    fmt::print("{}{}", name(i), i % columns == columns - 1 || i == record.count - 1 ? "\n" : " ");
  }
  if (record.truncated)
    fmt::print("frame {}: it has more than {} tiles\n", report.frame, kMaxCortexPatches);
}

nlohmann::ordered_json frame_json(const FrameReport& report) {
  const CortexRecord& record = report.result();
  nlohmann::ordered_json json;
  json["frame"] = report.frame;
  json["labels"] = std::vector<int>(record.label.begin(), record.label.begin() + record.count);
  json["confidences"] =
      std::vector<float>(record.confidence.begin(), record.confidence.begin() + record.count);
  json["truncated"] = record.truncated;
  json["ms"] = report.ms;
  json["compute_ms"] = report.compute_ms;
  return json;
}

}  // namespace

int classify_frames(const CortexCommand& command) {
  FrameInput input(command.frames, false);
  const StopsEarly stops_early;
  Progress progress(input.source().name(), input.expected());
  OperatorConfig config = command.options.config();
  const std::string model = config.get_if<CortexConfig>()->model.c_str();
  if (!command.save_model.empty()) require_writable_model(command.save_model, model);
  const CortexNames names(model);
  const std::vector<EngineConfig> engines = engine_configs(command.common);
  std::unique_ptr<FrameRun> run;
  std::vector<FrameReport> reports;
  const auto next = [&](InputFrame& frame) { return stop_signal() == 0 && input.next(frame); };
  const auto save = [&] {
    if (command.save_model.empty() || run == nullptr) return;
    run->save_model(command.save_model);
  };
  const auto classify = [&] {
    InputFrame first;
    if (!next(first)) return;
    config.set_input(first.image.size, first.image.format, first.range);
    run = std::make_unique<FrameRun>(engines, config);
    config = run->config();
    run->process(std::move(first), next, whole_frame, [&](const ProcessedFrame& work) {
      FrameReport report;
      report.ms = work.ms;
      report.frame = work.frame.number;
      report.compute_ms = static_cast<double>(work.compute_ns) * 1e-6;
      report.record = work.results.front().record;
      reports.push_back(std::move(report));
      progress.update(input.read());
    });
  };
  try {
    classify();
  } catch (const InputError& failed) {
    // The frames before have taught all the same.
    try {
      save();
    } catch (const InputError& unsaved) {
      throw InputError(fmt::format("{}; {}", failed.what(), unsaved.what()));
    }
    throw;
  }
  if (stop_signal() != 0)
    input.report_interruption(static_cast<std::int64_t>(reports.size()), "frame");
  if (reports.empty()) return kDone;
  save();

  std::vector<double> ms;
  ms.reserve(reports.size());
  for (const FrameReport& report : reports) ms.push_back(report.ms);
  const double median = percentile(ms, 50.0);
  const OperatorInfo& op = run->info();
  const auto& settings = *config.get_if<CortexConfig>();
  if (command.common.json) {
    nlohmann::ordered_json json;
    json["input"] = input.source().name();
    json["size"] = {op.size.width, op.size.height};
    add_input_json(json, input);
    add_engine_json(json, run->engine());
    json["config"] = config_json(config);
    json["class_names"] = nlohmann::ordered_json::array();
    for (int label = 0; label < names.classes(); ++label)
      json["class_names"].push_back(names.name(label));
    json["median_ms"] = median;
    json["p99_ms"] = percentile(ms, 99.0);
    run->add_to(json);
    json["frames"] = nlohmann::ordered_json::array();
    for (const FrameReport& report : reports) json["frames"].push_back(frame_json(report));
    print_json(json);
    return kDone;
  }
  print_summary(input, op.size, printable(op.summary), run->engine());
  const int columns =
      settings.layout == CortexLayout::kTiles ? op.size.width / settings.tile_width : 1;
  for (const FrameReport& report : reports) print_frame(report, names, columns);
  fmt::print("{}, median {:.3f} ms per frame{}\n",
             counted(static_cast<std::int64_t>(reports.size()), "frame"), median,
             run->several() ? ", " + run->rate_text(median) : "");
  return kDone;
}

}  // namespace ocellus::app
