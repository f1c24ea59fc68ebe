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

EngineConfig with_memory(EngineConfig engine, const Footprint& memory) {
  engine.memory = memory;
  return engine;
}

}  // namespace

// ---- memory

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

Footprint FlowResults::footprint(MemorySpace space, ImageSize size) {
  if (space == MemorySpace::kHost) return {};
  return Buffer::footprint(space, 3 * result_plane(size));
}

FlowResults::FlowResults(Engine& engine, MemorySpace space, ImageSize size) {
  if (space == MemorySpace::kHost) {
    field_ = FlowField(size, true);
    view_ = field_.view();
    return;
  }
  const std::size_t plane = result_plane(size);
  memory_ = take(Buffer::create(engine, space, 3 * plane), "results");
  auto* const base = static_cast<char*>(memory_->data());
  view_.u = reinterpret_cast<float*>(base);
  view_.v = reinterpret_cast<float*>(base + plane);
  view_.confidence = reinterpret_cast<float*>(base + 2 * plane);
  view_.size = size;
  view_.stride = static_cast<std::ptrdiff_t>(result_stride(size));
  view_.space = space;
}

// ---- FlowRun

FlowRun::FlowRun(const EngineConfig& engine, const OpticalFlowConfig& config)
    : footprint_(footprint_of(engine, config)),
      engine_(take(Engine::create(with_memory(engine, footprint_)), "engine")),
      results_(engine_, MemorySpace::kHost, output_size(config)),
      flow_(take(OpticalFlow::create(engine_, config), "optical flow")) {}

FrameInfo FlowRun::step(const Frame& frame) {
  const Ticket ticket = take(flow_.submit(frame, results_.view()), "optical flow");
  return take(flow_.wait(ticket, Deadline::never()), "optical flow");
}

// ---- FlowChain

namespace {

Footprint footprint_of_chain(const EngineConfig& engine,
                             const std::vector<OpticalFlowConfig>& configs, MemorySpace space,
                             const std::vector<GrayImage>& frames) {
  Footprint sum = StoredFrames::footprint(space, frames);
  for (const OpticalFlowConfig& config : configs)
    sum += footprint_of(engine, config) + FlowResults::footprint(space, output_size(config));
  return sum;
}

}  // namespace

FlowChain::FlowChain(const EngineConfig& engine, const std::vector<OpticalFlowConfig>& configs,
                     MemorySpace space, const std::vector<GrayImage>& frames)
    : footprint_(footprint_of_chain(engine, configs, space, frames)),
      engine_(take(Engine::create(with_memory(engine, footprint_)), "engine")),
      frames_(engine_, space, frames) {
  for (const OpticalFlowConfig& config : configs) {
    links_.push_back(
        std::make_unique<Link>(Link{FlowResults(engine_, space, output_size(config)),
                                    take(OpticalFlow::create(engine_, config), "optical flow")}));
  }
}

FrameInfo FlowChain::step(std::size_t op, std::size_t index, std::uint64_t sequence,
                          std::int64_t timestamp_ns) {
  Link& link = *links_[op];
  const Frame frame = frames_.at(index, sequence, timestamp_ns);
  const Ticket ticket = take(link.flow.submit(frame, link.results.view()), "optical flow");
  return take(link.flow.wait(ticket, Deadline::never()), "optical flow");
}

std::optional<Support> choose_support(int wanted, long number, long first, long last) {
  for (Support support{wanted}; support.frames >= 2; --support.frames) {
    if (number - support.before() >= first && number + support.after() <= last) return support;
  }
  return std::nullopt;
}

}  // namespace ocellus::app
