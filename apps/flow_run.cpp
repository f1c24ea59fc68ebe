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

Footprint footprint_with_buffers(const EngineConfig& engine, const OpticalFlowConfig& config,
                                 MemorySpace space, const std::vector<GrayImage>& frames) {
  Footprint footprint = footprint_of(engine, config);
  footprint += Buffer::footprint(space, 3 * result_plane(output_size(config)));
  for (const GrayImage& frame : frames) footprint += Buffer::footprint(space, frame.pixels.size());
  return footprint;
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
      flow_(take(OpticalFlow::create(engine_, config), "optical flow")) {
  const ImageSize size = output_size(config);
  const std::size_t plane = result_plane(size);
  results_ = take(Buffer::create(engine_, space, 3 * plane), "results");
  auto* const base = static_cast<char*>(results_->data());
  view_.u = reinterpret_cast<float*>(base);
  view_.v = reinterpret_cast<float*>(base + plane);
  view_.confidence = reinterpret_cast<float*>(base + 2 * plane);
  view_.size = size;
  view_.stride = static_cast<std::ptrdiff_t>(result_stride(size));
  view_.space = space;
  for (const GrayImage& frame : frames) {
    frames_.push_back(take(Buffer::create(engine_, space, frame.pixels.size()), "frames"));
    take(frames_.back().write(0, frame.pixels.data(), frame.pixels.size()), "frames");
  }
}

Frame FlowRun::stored(std::size_t index, std::uint64_t sequence, std::int64_t timestamp_ns) const {
  const Buffer& buffer = frames_.at(index);
  Frame frame;
  frame.data = buffer.data();
  frame.size = config().size;
  frame.format = config().format;
  frame.stride = static_cast<std::ptrdiff_t>(frame.size.width) * bytes_per_pixel(frame.format);
  frame.space = buffer.space();
  frame.sequence = sequence;
  frame.timestamp_ns = timestamp_ns;
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
