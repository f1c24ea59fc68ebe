#include "ocellus/window_flow.h"

#include "core/failure.h"
#include "image/separable_filter.h"
#include "optical_flow/backend.h"

namespace ocellus {

WindowFlowConfig WindowFlowConfig::of(const OpticalFlowConfig& flow, ImageSize size,
                                      const Rect& roi) noexcept {
  WindowFlowConfig config;
  config.size = size;
  config.roi = roi;
  config.depth = flow.depth;
  config.window = flow.window;
  config.window_weight = flow.window_weight;
  config.window_sigma = flow.window_sigma;
  config.confidence_threshold = flow.confidence_threshold;
  config.invalid = flow.invalid;
  return config;
}

int WindowFlow::row_floats(int width) noexcept {
  return static_cast<int>(detail::row_stride(width));
}

Expected<OperatorInfo> WindowFlow::info_for(const WindowFlowConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  return detail::window_info_of(*plan);
}

Expected<Footprint> WindowFlow::footprint(const EngineInfo& engine,
                                          const WindowFlowConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  return detail::footprint_of(detail::make_window_flow(engine, *plan));
}

Expected<WindowFlow> WindowFlow::create(Engine& engine, const WindowFlowConfig& config) noexcept {
  OCELLUS_TRY_ASSIGN(plan, detail::make_plan(config));
  OCELLUS_TRY_ASSIGN(made, detail::make_operator(engine, detail::window_info_of(*plan),
                                                 detail::make_window_flow(engine.info(), *plan)));
  return WindowFlow(std::move(*made));
}

}  // namespace ocellus
