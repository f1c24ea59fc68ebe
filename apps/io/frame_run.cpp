#include "apps/io/frame_run.h"

#include <fmt/format.h>

#include <utility>

#include "apps/common/operator_options.h"

namespace ocellus::app {
namespace {

OperatorConfig with_depth(OperatorConfig config, std::size_t devices) {
  if (devices > 1)
    take(config.set_option("depth", std::to_string(FrameRun::kDepthOfSeveral)), "depth");
  return config;
}

OperatorGroup make_group(const std::vector<EngineConfig>& engines, const OperatorConfig& config) {
  Expected<OperatorGroup> made = OperatorGroup::create(engines, config);
  if (!made) {
    // The name of the operator may be a part of the text already.
    const std::string text = with_flag(config.options(), made.error().text);
    const std::string name = config.description().name;
    throw InputError(text.rfind(name + " ", 0) == 0 ? text : name + ": " + text);
  }
  return std::move(*made);
}

}  // namespace

std::vector<std::uint8_t> ProcessedFrame::Result::bytes() const {
  const ImageView& view = output.planes[0];
  const std::ptrdiff_t row = row_bytes(view.format, view.size.width);
  std::vector<std::uint8_t> bytes;
  bytes.reserve(static_cast<std::size_t>(row * view.size.height));
  for (int y = 0; y < view.size.height; ++y)
    bytes.insert(bytes.end(), view.row<std::uint8_t>(y), view.row<std::uint8_t>(y) + row);
  return bytes;
}

GrayImage ProcessedFrame::Result::image() const {
  GrayImage image;
  image.size = output.planes[0].size;
  image.format = output.planes[0].format;
  image.pixels = bytes();
  return image;
}

std::vector<Frame> whole_frame(const InputFrame& frame) {
  return {frame.image.view(static_cast<std::uint64_t>(frame.number), frame.timestamp_ns)};
}

FrameRun::FrameRun(const std::vector<EngineConfig>& engines, const OperatorConfig& config)
    : config_(with_depth(config, engines.size())),
      group_(make_group(engines, config_)),
      layout_(group_.info(), false),
      slots_(static_cast<std::size_t>(group_.frames_in_flight())),
      parts_of_engine_(engines.size(), 0) {}

std::size_t FrameRun::host_bytes() const {
  std::size_t bytes = 0;
  for (int number = 0; number < group_.engine_count(); ++number)
    bytes += group_.engine(number).memory_use().capacity.host;
  return bytes;
}

std::string FrameRun::device(int number) const {
  return device_name(group_.engine(number).info());
}

void FrameRun::save_model(const std::string& path) {
  take(group_.save_model(0, path.c_str()), config_.description().name);
}

void FrameRun::process(InputFrame first, const std::function<bool(InputFrame&)>& read,
                       const std::function<std::vector<Frame>(const InputFrame&)>& parts,
                       const std::function<void(const ProcessedFrame&)>& done) {
  const Clock::time_point start = Clock::now();
  slots_[0].work.frame = std::move(first);
  try {
    process_all(read, parts, done);
  } catch (const Stopped&) {
    pass_on_done(done);
  }
  seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
}

void FrameRun::process_all(const std::function<bool(InputFrame&)>& read,
                           const std::function<std::vector<Frame>(const InputFrame&)>& parts,
                           const std::function<void(const ProcessedFrame&)>& done) {
  bool more = true;
  while (more) {
    Slot& slot = slots_[read_ % slots_.size()];
    submit(slot, parts(slot.work.frame));
    // What is done is passed on at once, because the next frame may come late.
    while (waiting_ < read_ && take_result(Deadline::immediate())) {
    }
    pass_on_done(done);
    while (read_ - passed_on_ == slots_.size()) {
      while (!has_done()) take_result(Deadline::never());
      pass_on(done);
    }
    more = read(slots_[read_ % slots_.size()].work.frame);
  }
  while (passed_on_ < read_) {
    while (!has_done()) take_result(Deadline::never());
    pass_on(done);
  }
}

void FrameRun::pass_on(const std::function<void(const ProcessedFrame&)>& done) {
  done(slots_[passed_on_ % slots_.size()].work);
  ++passed_on_;
}

void FrameRun::pass_on_done(const std::function<void(const ProcessedFrame&)>& done) {
  while (has_done()) pass_on(done);
}

void FrameRun::submit(Slot& slot, const std::vector<Frame>& parts) {
  slot.begun = slot.ended = 0;
  slot.whole = false;
  slot.work.compute_ns = 0;
  slot.work.flags = 0;
  slot.work.results.resize(parts.size());
  ++read_;
  slot.begin = Clock::now();
  for (const Frame& part : parts) {
    ProcessedFrame::Result& result = slot.work.results[slot.begun];
    result.planes.resize(layout_.bytes());
    result.output = layout_.output(result.planes.data(), MemorySpace::kHost);
    if (const RecordInfo* record = info().record) {
      result.record.assign((record->bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t), 0);
      result.output.record = result.record.data();
    }
    while (group_.next_engine(0) < 0) take_result(Deadline::never());
    take(group_.submit(0, part, result.output), config_.description().name);
    ++slot.begun;
  }
  slot.whole = true;
}

bool FrameRun::take_result(Deadline deadline) {
  Slot& slot = slots_[waiting_ % slots_.size()];
  const Expected<GroupResult> result = group_.wait(0, deadline);
  if (!result && result.error().status == Status::kDeadlineMissed) return false;
  const GroupResult done = take(result, config_.description().name);
  slot.work.results[slot.ended].done = done;
  slot.work.compute_ns += done.info.compute_ns;
  slot.work.flags |= done.info.flags;
  slot.work.ms = std::chrono::duration<double, std::milli>(Clock::now() - slot.begin).count();
  ++parts_of_engine_[static_cast<std::size_t>(done.engine)];
  ++slot.ended;
  if (slot.whole && slot.ended == slot.begun) ++waiting_;
  return true;
}

bool FrameRun::has_done() const {
  return passed_on_ < waiting_;
}

void FrameRun::add_to(nlohmann::ordered_json& json) const {
  if (!several()) return;
  json["devices"] = nlohmann::ordered_json::array();
  for (int number = 0; number < devices(); ++number) {
    json["devices"].push_back(
        {{"name", device(number)}, {"frames", parts_of_engine_[static_cast<std::size_t>(number)]}});
  }
  json["frames_per_s"] = frames_per_s();
}

std::string FrameRun::rate_text(double median) const {
  if (!several()) return fmt::format("{:.0f} frames/s", 1000.0 / median);
  return fmt::format("{:.0f} frames/s with reading and writing, on {} devices", frames_per_s(),
                     devices());
}

}  // namespace ocellus::app
