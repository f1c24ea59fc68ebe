#include "halftone/backend.h"

#include "core/backend.h"

namespace ocellus::detail {
namespace {

Expected<const CellularNetworkBackend*> find_cell_backend(const EngineInfo& engine) noexcept {
  const Backend* backend = find_backend(engine.backend);
  if (backend == nullptr || backend->cellular_network == nullptr) {
    return tl::unexpected(make_error(Status::kUnsupported,
                                     "the cellular network is not built for the backend %s",
                                     backend_name(engine.backend)));
  }
  return backend->cellular_network;
}

}  // namespace

OperatorShape shape_of(const CellularNetworkPlan& plan) noexcept {
  OperatorShape shape;
  shape.name = "cellular network";
  shape.size = plan.size;
  shape.format = plan.format;
  shape.out_size = plan.size;
  shape.element_bytes = bytes_per_pixel(plan.output_format);
  shape.element_name = plan.output_format == PixelFormat::kGray8    ? "a pixel of kGray8"
                       : plan.output_format == PixelFormat::kGray16 ? "a pixel of kGray16"
                                                                    : "a float";
  shape.depth = plan.depth;
  // The frame before counts for a warm start only.
  shape.frames = plan.warm_start ? 2 : 1;
  return shape;
}

Expected<Footprint> cell_footprint(const EngineInfo& engine,
                                   const CellularNetworkPlan& plan) noexcept {
  const auto backend = find_cell_backend(engine);
  if (!backend) return tl::unexpected(backend.error());
  return (*backend)->footprint(engine, plan);
}

Expected<void> create_cells(OperatorHandle& handle, const CellularNetworkPlan& plan,
                            const CellSources& sources) noexcept {
  const auto backend = find_cell_backend(handle.engine().info());
  if (!backend) return tl::unexpected(backend.error());
  const Expected<void*> instance = (*backend)->create(handle.engine(), plan, sources);
  if (!instance) return tl::unexpected(instance.error());
  handle.adopt(*(*backend)->calls, *instance);
  return {};
}

}  // namespace ocellus::detail
