// The drawing functions of the C interface, which only libocellus_c.so has.
#include <cstring>

#include "core/c_interface.h"
#include "ocellus/character_draw.h"
#include "ocellus/flow_draw.h"
#include "ocellus/ocellus_c.h"
#include "ocellus/optical_flow.h"

namespace ocellus {
namespace {

using detail::fail;
using detail::invalid_argument;
using detail::refuse_null;

/// A plane in memory of the host, whose rows are complete.
Expected<ImageView> host_view(const char* name, const ocellus_plane& plane) noexcept {
  OCELLUS_TRY_ASSIGN(view, detail::view_of(plane, 0));
  if (view->data == nullptr) return invalid_argument("%s.data is null", name);
  if (view->space == MemorySpace::kCuda)
    return invalid_argument("%s is in device memory; drawing needs memory of the host", name);
  if (view->size.width < 1 || view->size.height < 1 || view->size.width > kMaxImageSide ||
      view->size.height > kMaxImageSide) {
    return invalid_argument("%s is %dx%d; both sides must be 1 to %d", name, view->size.width,
                            view->size.height, kMaxImageSide);
  }
  const std::ptrdiff_t least = row_bytes(view->format, view->size.width);
  if (view->stride < least)
    return invalid_argument("%s.stride is %td bytes; it must be at least %td", name, view->stride,
                            least);
  return *view;
}

/// An image of `size` to draw on, in the format RGB.
Expected<OverlayImage> image_of(const ocellus_plane& plane, ImageSize size) noexcept {
  OCELLUS_TRY_ASSIGN(view, host_view("image", plane));
  if (view->format != PixelFormat::kRgb)
    return invalid_argument("image.format must be OCELLUS_RGB");
  if (view->size != size) {
    return invalid_argument("image is %dx%d; it must be %dx%d", view->size.width, view->size.height,
                            size.width, size.height);
  }
  OverlayImage image;
  image.format = OverlayImage::Format::kRgb;
  image.size = size;
  image.planes[0] = static_cast<std::uint8_t*>(view->data);
  image.strides[0] = view->stride;
  return image;
}

Expected<void> draw_flow(const ocellus_plane& u, const ocellus_plane& v, bool over,
                         const ocellus_plane& on) noexcept {
  FlowOutput flow;
  OCELLUS_TRY_ASSIGN(right, host_view("u", u));
  OCELLUS_TRY_ASSIGN(down, host_view("v", v));
  if (right->format != PixelFormat::kFloat32 || down->format != PixelFormat::kFloat32 ||
      right->size != down->size)
    return invalid_argument("u and v must be OCELLUS_FLOAT32 and of one size");
  OCELLUS_TRY_ASSIGN(image, image_of(on, right->size));
  flow.u = *right;
  flow.v = *down;
  if (over) {
    OverlayConfig config;
    config.legend = true;
    draw_flow_overlay(flow, config, *image);
  } else {
    draw_flow_wheel(flow, grown_flow_scale(flow, 0.0f), image->planes[0], image->strides[0]);
  }
  return {};
}

}  // namespace
}  // namespace ocellus

using namespace ocellus;

ocellus_status ocellus_draw_flow(const ocellus_plane* u, const ocellus_plane* v, int32_t over,
                                 const ocellus_plane* image, ocellus_error* error) {
  if (const auto bad = refuse_null({{"u", u}, {"v", v}, {"image", image}}, error)) return bad;
  const Expected<void> drawn = draw_flow(*u, *v, over != 0, *image);
  return drawn ? OCELLUS_OK : fail(drawn.error(), error);
}

ocellus_status ocellus_operator_draw(const ocellus_operator* op, const void* record,
                                     const ocellus_plane* image, ocellus_error* error) {
  if (const auto bad = refuse_null({{"op", op}, {"record", record}, {"image", image}}, error))
    return bad;
  const OperatorInfo& info = op->handle.info();
  const Expected<OverlayImage> on = image_of(*image, info.size);
  if (!on) return fail(on.error(), error);
  if (std::strcmp(info.name, "flow") == 0 && info.record != nullptr)
    draw_moving_objects(*static_cast<const MovingObjectsRecord*>(record), *on);
  else
    draw_items(info, record, *on);
  return OCELLUS_OK;
}
