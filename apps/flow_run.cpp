#include "flow_run.h"

#include <fmt/format.h>

#include <algorithm>

namespace ocellus::app {
namespace {

Footprint footprint_of(const EngineConfig& engine, const OpticalFlowConfig& config) {
  return take_options(OpticalFlow::footprint(take(Engine::probe(engine), "engine"), config),
                      "optical flow");
}

/// Bytes from row to row of results in the engine's memory.
std::size_t result_stride(ImageSize size) {
  return (static_cast<std::size_t>(size.width) * sizeof(float) + 255) / 256 * 256;
}

std::size_t result_plane(ImageSize size) {
  return result_stride(size) * static_cast<std::size_t>(size.height);
}

/// Bytes from frame to frame in the engine's memory.
std::size_t stored_bytes(const GrayImage& frame) {
  return (frame.pixels.size() + 255) / 256 * 256;
}

Footprint footprint_with_buffers(const EngineConfig& engine, const OpticalFlowConfig& config,
                                 MemorySpace space, const std::vector<GrayImage>& frames) {
  Footprint footprint = footprint_of(engine, config);
  if (space == MemorySpace::kHost) return footprint;
  return footprint + Buffer::footprint(space, 3 * result_plane(output_size(config))) +
         Buffer::footprint(space, frames.size() * stored_bytes(frames.front()));
}

EngineConfig with_memory(EngineConfig engine, const Footprint& memory) {
  engine.memory = memory;
  return engine;
}

}  // namespace

FlowRun::FlowRun(const EngineConfig& engine, const OpticalFlowConfig& config)
    : footprint_(footprint_of(engine, config)),
      engine_(take(Engine::create(with_memory(engine, footprint_)), "engine")),
      flow_(take(OpticalFlow::create(engine_, config), "optical flow")),
      field_(output_size(config), true),
      view_(field_.view()) {}

FlowRun::FlowRun(const EngineConfig& engine, const OpticalFlowConfig& config, MemorySpace space,
                 const std::vector<GrayImage>& frames)
    : footprint_(footprint_with_buffers(engine, config, space, frames)),
      engine_(take(Engine::create(with_memory(engine, footprint_)), "engine")),
      flow_(take(OpticalFlow::create(engine_, config), "optical flow")),
      frames_(&frames) {
  const ImageSize size = output_size(config);
  if (space == MemorySpace::kHost) {
    field_ = FlowField(size, true);
    view_ = field_.view();
    return;
  }
  const std::size_t plane = result_plane(size);
  results_ = take(Buffer::create(engine_, space, 3 * plane), "results");
  auto* const base = static_cast<char*>(results_->data());
  view_.u = reinterpret_cast<float*>(base);
  view_.v = reinterpret_cast<float*>(base + plane);
  view_.confidence = reinterpret_cast<float*>(base + 2 * plane);
  view_.size = size;
  view_.stride = static_cast<std::ptrdiff_t>(result_stride(size));
  view_.space = space;
  const std::size_t each = stored_bytes(frames.front());
  stored_ = take(Buffer::create(engine_, space, frames.size() * each), "frames");
  for (std::size_t i = 0; i < frames.size(); ++i)
    take(stored_->write(i * each, frames[i].pixels.data(), frames[i].pixels.size()), "frames");
}

Frame FlowRun::stored(std::size_t index, std::uint64_t sequence, std::int64_t timestamp_ns) const {
  const GrayImage& image = frames_->at(index);
  Frame frame = image.view(sequence, timestamp_ns);
  if (!stored_) return frame;
  frame.data = static_cast<const char*>(stored_->data()) + index * stored_bytes(image);
  frame.space = stored_->space();
  return frame;
}

FrameInfo FlowRun::step(const Frame& frame) {
  const Ticket ticket = take(flow_.submit(frame, view_), "optical flow");
  return take(flow_.wait(ticket, Deadline::never()), "optical flow");
}

std::optional<Support> choose_support(int wanted, long number, long first, long last) {
  for (Support support{wanted}; support.frames >= 2; --support.frames) {
    if (number - support.before() >= first && number + support.after() <= last) return support;
  }
  return std::nullopt;
}

}  // namespace ocellus::app
