#include "apps/io/operator_run.h"

#include <fmt/format.h>

#include "apps/common/operator_options.h"

namespace ocellus::app {
namespace {

/// The distance in bytes between two frames in the engine's memory.
std::size_t stored_bytes(const GrayImage& frame) {
  return rounded_up(frame.pixels.size());
}

EngineConfig with_memory(EngineConfig engine, const Footprint& memory) {
  engine.memory = memory;
  return engine;
}

Footprint footprint_of(const EngineConfig& engine, const std::vector<OperatorConfig>& configs,
                       MemorySpace space, const std::vector<GrayImage>& frames) {
  const EngineInfo info = take(Engine::probe(engine), "engine");
  Footprint sum = StoredFrames::footprint(space, frames);
  for (const OperatorConfig& config : configs)
    sum += RunningOperator::footprint(info, config, space);
  return sum;
}

template <typename T>
T take_of(Expected<T> value, const OperatorConfig& config) {
  if (!value) {
    throw InputError(fmt::format("{}: {}", config.description().name,
                                 with_flag(config.options(), value.error().text)));
  }
  return std::move(*value);
}

}  // namespace

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

std::string device_name(const EngineInfo& info) {
  return info.backend == BackendKind::kCpu ? std::string("cpu")
                                           : fmt::format("cuda:{}", info.device);
}

OperatorInfo info_of(const OperatorConfig& config) {
  return take_of(config.info(), config);
}

// ---- memory

ResultLayout::ResultLayout(const OperatorInfo& info, bool padded, int planes)
    : info_(info), planes_(planes > 0 ? planes : info.plane_count) {
  for (int p = 0; p < planes_; ++p) {
    const auto i = static_cast<std::size_t>(p);
    PlaneInfo& plane = info_.planes[i];
    // A picture of the frame has its color.
    if (plane.follows_frame) plane.format = info.format;
    const auto row = static_cast<std::size_t>(row_bytes(plane.format, plane.size.width));
    offsets_[i] = bytes_;
    strides_[i] = padded ? rounded_up(row) : row;
    bytes_ += rounded_up(strides_[i] * static_cast<std::size_t>(plane.size.height));
  }
}

OperatorOutput ResultLayout::output(void* memory, MemorySpace space) const {
  OperatorOutput output;
  for (int p = 0; p < planes_; ++p) {
    const auto i = static_cast<std::size_t>(p);
    output.planes[i] = {static_cast<char*>(memory) + offsets_[i],
                        info_.planes[i].size,
                        static_cast<std::ptrdiff_t>(strides_[i]),
                        info_.planes[i].format,
                        space,
                        nullptr};
  }
  return output;
}

Footprint StoredFrames::footprint(MemorySpace space, const std::vector<GrayImage>& frames) {
  if (space == MemorySpace::kHost) return {};
  return Buffer::footprint(space, frames.size() * stored_bytes(frames.front()));
}

StoredFrames::StoredFrames(Engine& engine, MemorySpace space, const std::vector<GrayImage>& frames)
    : frames_(&frames) {
  if (space == MemorySpace::kHost) return;
  const std::size_t each = stored_bytes(frames.front());
  memory_ = take(Buffer::create(engine, space, frames.size() * each), "frames");
  for (std::size_t i = 0; i < frames.size(); ++i)
    take(memory_->write(i * each, frames[i].pixels.data(), frames[i].pixels.size()), "frames");
}

Frame StoredFrames::at(std::size_t index, std::uint64_t sequence, std::int64_t timestamp_ns) const {
  const GrayImage& image = frames_->at(index);
  Frame frame = image.view(sequence, timestamp_ns);
  if (!memory_) return frame;
  frame.data = static_cast<const char*>(memory_->data()) + index * stored_bytes(image);
  frame.space = memory_->space();
  return frame;
}

// ---- operators

Footprint RunningOperator::footprint(const EngineInfo& engine, const OperatorConfig& config,
                                     MemorySpace results) {
  Footprint sum = take_of(config.footprint(engine), config);
  if (results != MemorySpace::kHost)
    sum += Buffer::footprint(results, ResultLayout(info_of(config), true).bytes());
  return sum;
}

RunningOperator::RunningOperator(Engine& engine, const OperatorConfig& config, MemorySpace results,
                                 const OperatorOutput* output)
    : handle_(take_of(config.create(engine), config)) {
  const ResultLayout layout(info(), results != MemorySpace::kHost);
  if (output != nullptr) {
    output_ = *output;
  } else if (results == MemorySpace::kHost) {
    host_.resize(layout.bytes());
    output_ = layout.output(host_.data(), results);
  } else {
    memory_ = take(Buffer::create(engine, results, layout.bytes()), "results");
    output_ = layout.output(memory_->data(), results);
  }
  if (const RecordInfo* record = info().record) {
    record_.resize((record->bytes + sizeof(record_[0]) - 1) / sizeof(record_[0]));
    output_.record = record_.data();
  }
}

void RunningOperator::save_model(const std::string& path) {
  take(handle_.save_model(path.c_str()), info().name);
}

FrameInfo RunningOperator::step(const Frame& frame) {
  const Ticket ticket = take(handle_.submit(frame, output_), info().name);
  return take(handle_.wait(ticket, Deadline::never()), info().name);
}

OperatorRun::OperatorRun(const EngineConfig& engine, const std::vector<OperatorConfig>& configs,
                         MemorySpace space, const std::vector<GrayImage>& frames,
                         const OperatorOutput* output)
    : footprint_(footprint_of(engine, configs, space, frames)),
      engine_(take(Engine::create(with_memory(engine, footprint_)), "engine")),
      frames_(engine_, space, frames) {
  for (const OperatorConfig& config : configs)
    operators_.push_back(std::make_unique<RunningOperator>(engine_, config, space, output));
}

FrameInfo OperatorRun::step(std::size_t op, std::size_t index, std::uint64_t sequence,
                            std::int64_t timestamp_ns) {
  return operators_[op]->step(frames_.at(index, sequence, timestamp_ns));
}

}  // namespace ocellus::app
