#include "flow_run.h"

#include <fmt/format.h>

#include <algorithm>

namespace ocellus::app {
namespace {

Footprint footprint_of(const EngineConfig& engine, const OpticalFlowConfig& config) {
  return take_options(OpticalFlow::footprint(take(Engine::probe(engine), "engine"), config),
                      "optical flow");
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
