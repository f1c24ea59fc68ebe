/**
 * SECTION:element-ocellusflow
 * @title: ocellusflow
 *
 * Measures the motion of each pixel and attaches it to the buffers as a GstOcellusMeta with the
 * planes u, v, confidence and deviation. Programs read the meta with the header ocellus/gst/meta.h.
 * The picture passes unchanged, or with the flow drawn over it (#GstOcellusFlow:draw).
 *
 * u is the motion to the right and v the motion down, in pixels per frame, toward the frame that is
 * shown next. Where the confidence is too low they are NaN or 0 (#GstOcellusFlow:invalid). The
 * confidence is the smaller eigenvalue of the structure tensor, in (gray levels per pixel)^2. With
 * #GstOcellusFlow:deviation there is the standard deviation of u and v together, in pixels per
 * frame, infinite where they are invalid.
 *
 * #GstOcellusFlow:method selects one of two methods. `pyramid` computes the flow from two frames
 * and follows fast motion. Its presets are `fast` (the default), `quality` and `best`. On two CPU
 * cores `fast` keeps up with a 640x480 camera at 30 frames per second and leaves time to decode and
 * show the video. `kernels` computes the derivatives with long spatio-temporal kernels.
 * #GstOcellusFlow:kernels and #GstOcellusFlow:taps describe them: uniform, per-pixel, foveated,
 * full, or from a file.
 *
 * #GstOcellusFlow:preset and #GstOcellusFlow:method determine the values of all options that are
 * not set. If an option has no meaning together with the others, such as #GstOcellusFlow:levels
 * with method=kernels, the element posts an error and does not start. Setting a text property to
 * NULL unsets it.
 *
 * #GstOcellusBase:config is a JSON file of options, such as
 * {"method": "kernels", "taps": "9x9x5"}. A property that is set takes precedence over the file.
 *
 * A result describes a frame before the newest one: one frame before it with two frames of a
 * pyramid, nine with kernels of 20 frames. With #GstOcellusFlow:align the element holds that many
 * frames back, so that each buffer carries the flow that describes it. If the frame rate is unknown
 * (0/1), the latency is the longest time for which it has held a frame so far. At the end of the
 * stream the last frame is repeated in place of the missing ones, which the meta flags. Where the
 * last frame would only be compared with itself, the buffer carries the field of the previous
 * frame. Without #GstOcellusFlow:align buffers pass at once, and the meta gives the PTS of the
 * frame that it describes. The page "Elements" of the documentation describes depth, budget, the
 * events that reset the temporal state, and reverse playback, where the flow is that of the
 * displayed video.
 *
 * With #GstOcellusFlow:draw, only motion that stands out from its own noise is drawn: that of at
 * least #GstOcellusFlow:min-motion and of #GstOcellusFlow:min-deviations standard deviations, in
 * the boxes of objects of at least #GstOcellusFlow:min-area pixels. For this the element computes
 * the plane of #GstOcellusFlow:deviation, and finds as many #GstOcellusFlow:objects as possible if
 * there are none. So a change of draw is like one of an option: the operator is created again.
 *
 * With #GstOcellusFlow:objects, the meta has a record of the objects that move. Each one is
 * attached as a #GstVideoRegionOfInterestMeta of the type `moving-object`, too. Its #GstStructure
 * `moving-object` has the fields mean-u and mean-v (double, pixels per frame) and area (gint,
 * pixels). The element message has the same structures, with x, y, width and height, in the array
 * `objects`, the largest object first. A box surrounds cells that move by at least min-motion and
 * min-deviations.
 *
 * In memory:CUDAMemory the pictures stay in device memory, but #GstOcellusFlow:draw copies each one
 * to the host and back, which #GstOcellusBase:stats counts. The field is always in host memory.
 *
 * ## Launch lines
 * |[
 * gst-launch-1.0 v4l2src ! video/x-raw,width=640,height=480 ! videoconvert ! ocellusflow draw=true
 * ! videoconvert ! autovideosink
 * ]| Shows the motion in front of the camera.
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=GRAY8 ! ocellusflow
 * post-messages=true ! fakesink
 * ]| Add -m to print the mean motion of every frame.
 * |[
 * gst-launch-1.0 filesrc location=video.mp4 ! decodebin ! videoconvert ! video/x-raw,format=NV12 !
 * ocellusflow backend=cuda depth=3 post-messages=true ! fakesink sync=false
 * ]| Processes a file at the full rate of the device.
 */
#include <cmath>

#include "base/gstocellusmeta.h"
#include "gstocelluskernels.h"
#include "ocellus/flow_draw.h"
#include "ocellus/optical_flow.h"

using namespace ocellus;

struct GstOcellusFlow {
  GstOcellusBase parent_instance;

  // Properties; guarded by the object lock.
  OverlayConfig overlay;

  // Streaming thread; from the configuration.
  gfloat min_motion;
  gint min_motion_side;
  gfloat min_deviations;
  gboolean draws_boxes;  // objects were asked for
  gfloat scale;          // largest motion drawn so far
};

static GstOcellusFlow* flow_of(gpointer element) {
  return static_cast<GstOcellusFlow*>(element);
}

static void begin(GstOcellusBase* base, const OperatorConfig& config) {
  GstOcellusFlow* self = flow_of(base);
  const auto& flow = *config.get_if<OpticalFlowConfig>();
  self->min_motion = flow.min_motion;
  self->min_motion_side = flow.min_motion_side;
  self->min_deviations = flow.min_deviations;
  self->draws_boxes = flow.objects > 0;
  self->scale = 0.0f;
}

static void adapt(GstOcellusBase* base, OperatorConfig& config) {
  auto& flow = *config.get_if<OpticalFlowConfig>();
  if (!gst_ocellus_base_get_draw(base)) return;
  // What belongs to no object is not drawn, and each arrow needs the deviation of its pixel.
  if (flow.objects == 0) flow.objects = kMaxMovingObjects;
  flow.deviation = flow.deviation || flow.min_deviations > 0.0f;
}

static FlowOutput field_of(GstBuffer* buffer) {
  const GstOcellusMeta* meta = gst_ocellus_meta_of(buffer);
  const auto plane = [meta](const gchar* name) {
    ImageView view;
    const GstOcellusPlane* found = gst_ocellus_meta_get_plane(meta, name);
    if (found == nullptr) return view;
    view.data = const_cast<gpointer>(found->data);
    view.size = {found->width, found->height};
    view.stride = static_cast<std::ptrdiff_t>(found->stride);
    view.format = PixelFormat::kFloat32;
    return view;
  };
  return {plane("u"), plane("v"), plane("confidence"), plane("deviation")};
}

static void draw(GstOcellusBase* base, GstBuffer* buffer, const OverlayImage& image) {
  GstOcellusFlow* self = flow_of(base);
  OverlayConfig overlay = [self] {
    const GstOcellusLock lock(self);
    return self->overlay;
  }();
  const FlowOutput field = field_of(buffer);
  const GstOcellusMeta* meta = gst_ocellus_meta_of(buffer);
  overlay.roi = {meta->planes[0].x, meta->planes[0].y, meta->planes[0].width,
                 meta->planes[0].height};
  overlay.min_motion = self->min_motion;
  overlay.min_motion_side = self->min_motion_side;
  overlay.min_deviations = self->min_deviations;
  if (meta->info->record_bytes > 0)
    overlay.objects =
        static_cast<const MovingObjectsRecord*>(static_cast<gconstpointer>(meta->record));
  if (overlay.max_motion == 0.0f && overlay.style != FlowStyle::kNone)
    overlay.max_motion = self->scale = grown_flow_scale(field, self->scale);
  if (self->draws_boxes && overlay.objects != nullptr) draw_moving_objects(*overlay.objects, image);
  // The legend covers boxes, not the other way round.
  draw_flow_overlay(field, overlay, image);
}

static void describe(GstOcellusBase*, GstBuffer* buffer, GstStructure* message) {
  const FlowOutput field = field_of(buffer);
  const ImageSize size = field.u.size;
  gdouble u = 0.0;
  gdouble v = 0.0;
  guint64 valid = 0;
  for (gint y = 0; y < size.height; ++y) {
    for (gint x = 0; x < size.width; ++x) {
      const gfloat du = field.u.row<const gfloat>(y)[x];
      const gfloat dv = field.v.row<const gfloat>(y)[x];
      if (std::isnan(du) || std::isnan(dv)) continue;
      u += static_cast<gdouble>(du);
      v += static_cast<gdouble>(dv);
      ++valid;
    }
  }
  const auto count = static_cast<gdouble>(MAX(valid, guint64{1}));
  const gdouble pixels = static_cast<gdouble>(size.width) * static_cast<gdouble>(size.height);
  gst_structure_set(message, "mean-u", G_TYPE_DOUBLE, u / count, "mean-v", G_TYPE_DOUBLE, v / count,
                    "valid", G_TYPE_DOUBLE, static_cast<gdouble>(valid) / pixels, nullptr);
}

static void class_init(GstOcellusBaseClass* klass) {
  gst_ocellus::install_kernels(klass);
  gst_ocellus_base_class_install_draw(klass, "Draw the flow over the picture");
  const OverlayConfig defaults;
  gst_ocellus_base_class_install_drawing(
      klass, OverlayConfig::options(), &defaults,
      [](GstOcellusBase* self) -> gpointer { return &flow_of(self)->overlay; });
  klass->adapt = adapt;
  klass->begin = begin;
  klass->draw = draw;
  klass->describe = describe;
}

extern const GstOcellusElement gst_ocellus_flow = {
    "flow",
    "Ocellus optical flow",
    "Filter/Analyzer/Video",
    "Measures the motion of each pixel and attaches it to the buffers as GstOcellusMeta",
    class_init,
    sizeof(GstOcellusFlow),
    [](GTypeInstance* self, gpointer) { flow_of(self)->overlay = {}; }};
