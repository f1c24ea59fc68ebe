#include "apps/measure/device_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "apps/common/operator_run.h"
#include "apps/optical_flow/bench.h"
#include "kernels/halftone/paper_cellular_network.h"
#include "kernels/optical_flow/paper_flow.h"

namespace ocellus::app {
namespace {

constexpr int kRuns = 5;
constexpr double kRunSeconds = 0.1;
constexpr double kAloneSeconds = 0.4;

/// Frames that so many seconds have room for, within limits.
int frames_for(double seconds, double frame_seconds, int least, int most) {
  const double frames = seconds / std::max(frame_seconds, 1e-9);
  return std::max(std::min(least, most),
                  static_cast<int>(std::min(frames, static_cast<double>(most))));
}

/// A lack of memory is the row's, anything else the end.
template <typename T>
T take_or_refuse(Expected<T> made, const char* context) {
  if (!made && made.error().status == Status::kOutOfMemory) throw RowRefused(made.error().text);
  if (!made) throw InputError(std::string(context) + ": " + with_option_name(made.error().text));
  return std::move(*made);
}

/// Views of `planes` planes that lie one after the other.
FlowView view_of(const OpticalFlowConfig& config, float* first, std::size_t plane, int planes) {
  FlowView view;
  view.u = first;
  view.v = first + plane;
  view.confidence = planes > 2 ? first + 2 * plane : nullptr;
  view.size = config.size;
  return view;
}
FilterView view_of(const SpatioTemporalFilterConfig& config, float* first, std::size_t plane,
                   int planes) {
  FilterView view;
  for (int p = 0; p < planes; ++p)
    view.planes[static_cast<std::size_t>(p)] = first + static_cast<std::size_t>(p) * plane;
  view.size = config.size;
  return view;
}

CellView view_of(const CellularNetworkConfig& config, float* first, std::size_t, int) {
  CellView view;
  view.data = first;
  view.size = config.size;
  return view;
}

}  // namespace

double DeviceTimes::rate() const {
  return percentile(rates, 50.0);
}

template <typename Operator>
typename DeviceRun<Operator>::Place DeviceRun<Operator>::place_of(const Config& config) {
  const auto width = static_cast<std::size_t>(config.size.width);
  const auto height = static_cast<std::size_t>(config.size.height);
  const auto pixel = static_cast<std::size_t>(bytes_per_pixel(config.format));
  Place place{};
  place.image_bytes = rounded_up(width * height * pixel);
  place.stride = rounded_up(width * sizeof(float));
  place.plane = place.stride * height;
  return place;
}

template <typename Operator>
Footprint DeviceRun<Operator>::footprint_of(const EngineConfig& engine, const Config& config,
                                            MemorySpace space, int planes) {
  const Place place = place_of(config);
  const auto depth = static_cast<std::size_t>(config.depth);
  return take_or_refuse(Operator::footprint(take(Engine::probe(engine), "engine"), config),
                        "operator") +
         Buffer::footprint(space, depth * place.image_bytes) +
         Buffer::footprint(space, depth * static_cast<std::size_t>(planes) * place.plane);
}

template <typename Operator>
Engine DeviceRun<Operator>::make_engine(EngineConfig engine, const Footprint& memory) {
  engine.memory = memory;
  return take_or_refuse(Engine::create(engine), "engine");
}

template <typename Operator>
DeviceRun<Operator>::DeviceRun(const EngineConfig& engine, const Config& config, MemorySpace space,
                               int planes, const std::vector<const GrayImage*>& frames)
    : footprint_(footprint_of(engine, config, space, planes)),
      place_(place_of(config)),
      planes_(planes),
      engine_(make_engine(engine, footprint_)),
      op_(take_or_refuse(Operator::create(engine_, config), "operator")),
      images_(take(Buffer::create(engine_, space,
                                  static_cast<std::size_t>(config.depth) * place_.image_bytes),
                   "frames")),
      results_(take(Buffer::create(engine_, space,
                                   static_cast<std::size_t>(config.depth) *
                                       static_cast<std::size_t>(planes) * place_.plane),
                    "results")) {
  for (std::size_t i = 0; i < depth(); ++i) {
    const GrayImage& image = *frames[i % frames.size()];
    take(images_.write(i * place_.image_bytes, image.pixels.data(), image.pixels.size()), "frames");
  }
}

template <typename Operator>
void DeviceRun<Operator>::submit() {
  const std::size_t slot = submitted_ % depth();
  Frame frame;
  frame.data = static_cast<const char*>(images_.data()) + slot * place_.image_bytes;
  frame.size = config().size;
  frame.stride =
      static_cast<std::ptrdiff_t>(config().size.width) * bytes_per_pixel(config().format);
  frame.format = config().format;
  frame.space = images_.space();
  frame.sequence = submitted_;
  auto* const first =
      reinterpret_cast<float*>(static_cast<char*>(results_.data()) +
                               slot * static_cast<std::size_t>(planes_) * place_.plane);
  auto view = view_of(config(), first, place_.plane / sizeof(float), planes_);
  view.stride = static_cast<std::ptrdiff_t>(place_.stride);
  view.space = results_.space();
  tickets_[slot] = take(op_.submit(frame, view), "operator");
  ++submitted_;
}

template <typename Operator>
FrameInfo DeviceRun<Operator>::wait() {
  const Ticket ticket = tickets_[waited_ % depth()];
  ++waited_;
  return take(op_.wait(ticket, Deadline::never()), "operator");
}

template <typename Operator>
double DeviceRun<Operator>::run(int frames) {
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < frames; ++i) {
    if (submitted_ - waited_ == depth()) wait();
    submit();
  }
  while (waited_ != submitted_) wait();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <typename Operator>
DeviceTimes DeviceRun<Operator>::measure(int most_frames) {
  constexpr int kTrial = 20;
  run(3 * kMaxKernelTaps);  // fills the ring; wakes a device that had slowed its clock
  const double frame_seconds = run(kTrial) / kTrial;
  DeviceTimes times;
  times.frames_in_run = frames_for(kRunSeconds, frame_seconds, kTrial, most_frames);
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

template <typename Operator>
FlowField DeviceRun<Operator>::flow_after(
    const std::vector<const GrayImage*>& frames) requires GivesFlow<Operator> {
  op_.reset();
  std::size_t slot = 0;
  for (const GrayImage* image : frames) {
    slot = submitted_ % depth();
    take(images_.write(slot * place_.image_bytes, image->pixels.data(), image->pixels.size()),
         "frames");
    submit();
    wait();
  }
  FlowField field(config().size, false);
  const auto width = static_cast<std::size_t>(field.size.width);
  for (std::size_t y = 0; y < static_cast<std::size_t>(field.size.height); ++y) {
    const std::size_t at =
        slot * static_cast<std::size_t>(planes_) * place_.plane + y * place_.stride;
    take(results_.read(at, &field.u[y * width], width * sizeof(float)), "results");
    take(results_.read(at + place_.plane, &field.v[y * width], width * sizeof(float)), "results");
  }
  return field;
}

template class DeviceRun<OpticalFlow>;
template class DeviceRun<CellularNetwork>;
template class DeviceRun<paper::PaperFlow>;
template class DeviceRun<paper::PaperFilter>;
template class DeviceRun<paper::PaperCellularNetwork>;

}  // namespace ocellus::app
