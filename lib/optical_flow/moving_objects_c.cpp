// Moving objects in the C interface.
#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "core/c_interface.h"
#include "core/checks.h"
#include "core/failure.h"
#include "ocellus/moving_objects.h"
#include "ocellus/ocellus_c.h"

// NOLINTBEGIN(readability-identifier-naming): the name of the C interface
struct ocellus_moving_objects {
  ocellus::MovingObjects finder;
  ocellus::ImageSize size;
  std::array<ocellus_moving_object, ocellus::kMaxMovingObjects> found;
};
// NOLINTEND(readability-identifier-naming)

using namespace ocellus;
using detail::fail;
using detail::fail_null;
using detail::invalid_argument;

namespace {

constexpr ocellus_moving_objects_config kDefaults = OCELLUS_MOVING_OBJECTS_DEFAULTS(0, 0);
constexpr MovingObjectsConfig kSame;
static_assert(kDefaults.min_motion == kSame.min_motion &&
              kDefaults.min_deviations == kSame.min_deviations &&
              kDefaults.min_area == kSame.min_area && kDefaults.max_objects == kSame.max_objects);

Expected<void> check(const ImageView& plane, const char* name, ImageSize size) noexcept {
  if (plane.space == MemorySpace::kCuda)
    return invalid_argument("plane %s is in device memory; it must be in host memory", name);
  return detail::check_plane("plane", {.name = name, .size = size, .format = PixelFormat::kFloat32},
                             plane);
}

/// The planes u, v and, if there is one, deviation.
Expected<FlowOutput> field_of(const ocellus_plane* planes, std::size_t count,
                              ImageSize size) noexcept {
  FlowOutput flow;
  struct {
    const char* name;
    std::size_t index;
    ImageView& view;
    bool optional;
  } const used[] = {
      {"u", 0, flow.u, false}, {"v", 1, flow.v, false}, {"deviation", 3, flow.deviation, true}};
  for (const auto& plane : used) {
    if (plane.index < count) {
      OCELLUS_TRY_ASSIGN(view, detail::view_of(planes[plane.index], plane.index));
      plane.view = *view;
    }
    if (plane.view.data == nullptr) {
      if (plane.optional) continue;
      return invalid_argument("plane %s is missing; planes u and v are needed", plane.name);
    }
    OCELLUS_TRY(check(plane.view, plane.name, size));
  }
  return flow;
}

}  // namespace

ocellus_status ocellus_moving_objects_create(const ocellus_moving_objects_config* config,
                                             ocellus_moving_objects** objects,
                                             ocellus_error* error) {
  if (config == nullptr) return fail_null("config", error);
  if (objects == nullptr) return fail_null("objects", error);
  const ImageSize size{config->width, config->height};
  Expected<MovingObjects> made = MovingObjects::create({.size = size,
                                                        .min_motion = config->min_motion,
                                                        .min_deviations = config->min_deviations,
                                                        .min_area = config->min_area,
                                                        .max_objects = config->max_objects});
  if (!made) return fail(made.error(), error);
  auto* const handle = new (std::nothrow) ocellus_moving_objects{std::move(*made), size, {}};
  if (handle == nullptr) return fail(detail::no_memory_for_operator().value(), error);
  *objects = handle;
  return OCELLUS_OK;
}

void ocellus_moving_objects_destroy(ocellus_moving_objects* objects) {
  delete objects;
}

ocellus_status ocellus_moving_objects_find(ocellus_moving_objects* objects,
                                           const ocellus_plane* planes, size_t plane_count,
                                           const ocellus_moving_object** found, size_t* count,
                                           ocellus_error* error) {
  if (objects == nullptr) return fail_null("objects", error);
  if (planes == nullptr) return fail_null("planes", error);
  if (found == nullptr) return fail_null("found", error);
  if (count == nullptr) return fail_null("count", error);
  const Expected<FlowOutput> flow = field_of(planes, plane_count, objects->size);
  if (!flow) return fail(flow.error(), error);
  const std::span<const MovingObject> from = objects->finder.find(*flow);
  std::transform(from.begin(), from.end(), objects->found.begin(), [](const MovingObject& one) {
    return ocellus_moving_object{one.box.x, one.box.y, one.box.width, one.box.height,
                                 one.u,     one.v,     one.area};
  });
  *found = objects->found.data();
  *count = from.size();
  return OCELLUS_OK;
}
