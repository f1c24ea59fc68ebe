#include "bench/device_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ocellus/kernel_bank.h"

namespace ocellus::app {
namespace {

constexpr int kRuns = 5;
constexpr double kRunSeconds = 0.1;
constexpr double kAloneSeconds = 0.4;
constexpr double kWarmSeconds = 0.1;
constexpr int kWarmFrames = 3 * kMaxKernelTaps;

/// The number of frames that take `seconds`, limited to a range.
int frames_for(double seconds, double frame_seconds, int least, int most) {
  const double frames = seconds / std::max(frame_seconds, 1e-9);
  return std::max(std::min(least, most),
                  static_cast<int>(std::min(frames, static_cast<double>(most))));
}

/// A lack of memory refuses this row only. Any other error ends the program.
template <typename T>
T take_or_refuse(Expected<T> made, const char* context) {
  if (!made && made.error().status == Status::kOutOfMemory) throw RowRefused(made.error().text);
  if (!made) throw InputError(std::string(context) + ": " + made.error().text);
  return std::move(*made);
}

Engine make_engine(EngineConfig engine, const Footprint& memory) {
  engine.memory = memory;
  return take_or_refuse(Engine::create(engine), "engine");
}

}  // namespace

OperatorMaker maker_of(const OperatorConfig& config) {
  const auto kept = std::make_shared<const OperatorConfig>(config);
  return {[kept] { return kept->info(); },
          [kept](const EngineInfo& engine) { return kept->footprint(engine); },
          [kept](Engine& engine) { return kept->create(engine); }};
}

double DeviceTimes::rate() const {
  return percentile(rates, 50.0);
}

void add_times(nlohmann::ordered_json& row, const DeviceTimes& t) {
  row["frames_per_s"] = t.rate();
  row["frames_per_s_min"] = percentile(t.rates, 0.0);
  row["frames_per_s_max"] = percentile(t.rates, 100.0);
  row["frames_in_run"] = t.frames_in_run;
  row["frame_ms"] = t.frame_ms();
  row["frames_alone"] = t.alone_ms.size();
  row["median_ms"] = percentile(t.alone_ms, 50.0);
  row["p99_ms"] = percentile(t.alone_ms, 99.0);
  row["p99.9_ms"] = percentile(t.alone_ms, 99.9);
  row["min_ms"] = percentile(t.alone_ms, 0.0);
  if (t.device_ms.empty()) return;  // measured by the clock of the host alone
  row["device_median_ms"] = percentile(t.device_ms, 50.0);
  row["device_p99_ms"] = percentile(t.device_ms, 99.0);
}

Footprint DeviceRun::footprint_of(const EngineConfig& engine, const OperatorMaker& maker,
                                  const RunMemory& memory) {
  return take_or_refuse(maker.footprint(take(Engine::probe(engine), "engine")), "operator") +
         Buffer::footprint(memory.frames, depth() * image_bytes_) +
         Buffer::footprint(memory.results, depth() * layout_.bytes());
}

DeviceRun::DeviceRun(const EngineConfig& engine, const OperatorMaker& maker,
                     const RunMemory& memory, const std::vector<const GrayImage*>& frames,
                     int planes)
    : info_(take_or_refuse(maker.info(), "operator")),
      layout_(info_, true, planes),
      image_bytes_(rounded_up(static_cast<std::size_t>(info_.size.width) *
                              static_cast<std::size_t>(info_.size.height) *
                              static_cast<std::size_t>(bytes_per_pixel(info_.format)))),
      footprint_(footprint_of(engine, maker, memory)),
      engine_(make_engine(engine, footprint_)),
      op_(take_or_refuse(maker.create(engine_), "operator")),
      images_(take(Buffer::create(engine_, memory.frames, depth() * image_bytes_), "frames")),
      results_(
          take(Buffer::create(engine_, memory.results, depth() * layout_.bytes()), "results")) {
  for (std::size_t i = 0; i < depth(); ++i) {
    const GrayImage& image = *frames[i % frames.size()];
    take(images_.write(i * image_bytes_, image.pixels.data(), image.pixels.size()), "frames");
  }
}

void DeviceRun::submit() {
  const std::size_t slot = submitted_ % depth();
  Frame frame;
  frame.data = static_cast<const char*>(images_.data()) + slot * image_bytes_;
  frame.size = info_.size;
  frame.stride = static_cast<std::ptrdiff_t>(info_.size.width) * bytes_per_pixel(info_.format);
  frame.format = info_.format;
  frame.space = images_.space();
  frame.sequence = submitted_;
  const OperatorOutput output = layout_.output(
      static_cast<char*>(results_.data()) + slot * layout_.bytes(), results_.space());
  tickets_[slot] = take(op_.submit(frame, output), "operator");
  ++submitted_;
}

FrameInfo DeviceRun::wait() {
  const Ticket ticket = tickets_[waited_ % depth()];
  ++waited_;
  return take(op_.wait(ticket, Deadline::never()), "operator");
}

double DeviceRun::run(int frames) {
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < frames; ++i) {
    if (submitted_ - waited_ == depth()) wait();
    submit();
  }
  while (waited_ != submitted_) wait();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

DeviceTimes DeviceRun::measure(int most_frames) {
  // Fills the ring, and lets an idle device raise its clock.
  run(frames_for(kWarmSeconds, run(1), info_.support_frames, kWarmFrames));
  const int trial = std::min(20, most_frames);
  const double frame_seconds = run(trial) / trial;
  DeviceTimes times;
  times.frames_in_run = frames_for(kRunSeconds, frame_seconds, trial, most_frames);
  times.rates.reserve(kRuns);
  const int alone = frames_for(kAloneSeconds, frame_seconds, 100, most_frames);
  times.alone_ms.resize(static_cast<std::size_t>(alone));
  times.device_ms.resize(static_cast<std::size_t>(alone));
  for (int i = 0; i < kRuns; ++i)
    times.rates.push_back(times.frames_in_run / run(times.frames_in_run));
  for (std::size_t i = 0; i < times.alone_ms.size(); ++i) {
    const Clock::time_point begin = Clock::now();
    submit();
    const FrameInfo info = wait();
    times.alone_ms[i] = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    times.device_ms[i] = static_cast<double>(info.compute_ns) * 1e-6;
  }
  return times;
}

std::vector<std::vector<float>> DeviceRun::planes_after(const std::vector<const GrayImage*>& frames,
                                                        int planes) {
  op_.reset();
  std::size_t slot = 0;
  for (const GrayImage* image : frames) {
    slot = submitted_ % depth();
    take(images_.write(slot * image_bytes_, image->pixels.data(), image->pixels.size()), "frames");
    submit();
    wait();
  }
  std::vector<std::vector<float>> values;
  for (int p = 0; p < planes; ++p) {
    const ImageSize size = info_.planes[static_cast<std::size_t>(p)].size;
    const auto width = static_cast<std::size_t>(size.width);
    const auto height = static_cast<std::size_t>(size.height);
    std::vector<float>& plane = values.emplace_back(width * height);
    for (std::size_t y = 0; y < height; ++y) {
      const std::size_t at = slot * layout_.bytes() + layout_.offset(p) + y * layout_.stride(p);
      take(results_.read(at, &plane[y * width], width * sizeof(float)), "results");
    }
  }
  return values;
}

}  // namespace ocellus::app
