#include "apps/common/operator_run.h"

namespace ocellus::app {

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

namespace {

/// Bytes from row to row of results in the engine's memory.
std::size_t result_stride(ImageSize size, int pixel_bytes) {
  return rounded_up(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(pixel_bytes));
}

std::size_t result_plane(ImageSize size, int pixel_bytes) {
  return result_stride(size, pixel_bytes) * static_cast<std::size_t>(size.height);
}

/// Bytes from frame to frame in the engine's memory.
std::size_t stored_bytes(const GrayImage& frame) {
  return rounded_up(frame.pixels.size());
}

Engine make_engine(EngineConfig engine, const Footprint& memory) {
  engine.memory = memory;
  return take(Engine::create(engine), "engine");
}

Footprint footprint_of(const EngineConfig& engine, const OperatorPlan& plan, MemorySpace results) {
  return plan.footprint(take(Engine::probe(engine), "engine"), results);
}

Footprint footprint_of(const EngineConfig& engine,
                       const std::vector<std::unique_ptr<OperatorPlan>>& plans, MemorySpace space,
                       const std::vector<GrayImage>& frames) {
  Footprint sum = StoredFrames::footprint(space, frames);
  for (const auto& plan : plans) sum += footprint_of(engine, *plan, space);
  return sum;
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

Footprint ResultPlanes::footprint(MemorySpace space, ImageSize size, int planes, int pixel_bytes) {
  return Buffer::footprint(space,
                           static_cast<std::size_t>(planes) * result_plane(size, pixel_bytes));
}

ResultPlanes::ResultPlanes(Engine& engine, MemorySpace space, ImageSize size, int planes,
                           int pixel_bytes)
    : stride_(result_stride(size, pixel_bytes)),
      plane_(result_plane(size, pixel_bytes)),
      memory_(take(Buffer::create(engine, space, static_cast<std::size_t>(planes) * plane_),
                   "results")) {}

void* ResultPlanes::plane(int index) const {
  return static_cast<char*>(memory_.data()) + static_cast<std::size_t>(index) * plane_;
}

// ---- one operator, and several

OperatorRun::OperatorRun(const EngineConfig& engine, const OperatorPlan& plan)
    : footprint_(footprint_of(engine, plan, MemorySpace::kHost)),
      engine_(make_engine(engine, footprint_)),
      operator_(plan.create(engine_, MemorySpace::kHost)) {}

OperatorChain::OperatorChain(const EngineConfig& engine,
                             const std::vector<std::unique_ptr<OperatorPlan>>& plans,
                             MemorySpace space, const std::vector<GrayImage>& frames)
    : footprint_(footprint_of(engine, plans, space, frames)),
      engine_(make_engine(engine, footprint_)),
      frames_(engine_, space, frames) {
  for (const auto& plan : plans) operators_.push_back(plan->create(engine_, space));
}

FrameInfo OperatorChain::step(std::size_t op, std::size_t index, std::uint64_t sequence,
                              std::int64_t timestamp_ns) {
  return operators_[op]->step(frames_.at(index, sequence, timestamp_ns));
}

}  // namespace ocellus::app
