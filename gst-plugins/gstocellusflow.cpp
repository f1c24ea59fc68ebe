/**
 * SECTION:element-ocellusflow
 * @title: ocellusflow
 *
 * Measures the motion of every pixel and puts it on the buffers as a GstOcellusFlowMeta, which a
 * program reads with the header ocellus/gst/flow_meta.h. The picture passes as it is, or with the
 * motion drawn over it (#GstOcellusFlow:draw).
 *
 * #GstOcellusFlow:method is one of two. `pyramid` follows fast motion with two frames; its presets
 * are `fast` (the default: on two cores it keeps up with a 640x480 camera at 30 frames a second and
 * leaves room for decoding and showing the video) and `quality`. `kernels` takes the derivatives
 * with long spatio-temporal kernels, which #GstOcellusFlow:kernels and #GstOcellusFlow:taps
 * describe: uniform, per-pixel, foveated, or from a file.
 *
 * #GstOcellusFlow:preset and #GstOcellusFlow:method choose the values of all options that are not
 * set. An option that has no meaning with the others, such as #GstOcellusFlow:levels with
 * method=kernels, stops the start with an error. NULL takes back what a text property was set to.
 *
 * #GstOcellusBase:config is a JSON file of options, such as
 * {"method": "kernels", "taps": "9x9x5"}. A property that is set takes precedence over its option
 * in the file.
 *
 * A result describes a frame that lies a little back (one frame with two frames of a pyramid, nine
 * with kernels of 20 frames). With #GstOcellusFlow:align the element holds that many frames back,
 * so that each buffer carries the motion that describes it, and adds them to the LATENCY of the
 * pipeline. At a frame rate of 0/1 (unknown) it adds the longest time for which it has held a frame
 * so far, 0 at the start. Without #GstOcellusFlow:align buffers pass at once, and the meta says
 * which PTS it describes.
 *
 * At the end of the stream, before a discontinuity, a new segment, a gap and new caps the frames
 * held back go out with the last frame standing in for those to come (flagged in the meta); where
 * it would only be compared with itself, with the field of the frame before. PTS that step against
 * the direction of playing by more than one and a half frames are taken as a discontinuity. A flush
 * drops the frames. All of these reset the temporal state; a frame that is skipped because
 * downstream is late does not: it is computed, and then dropped. That costs its time, but the next
 * frames' motion is right.
 *
 * Before the queries DRAIN and ALLOCATION, which come in the stream and want the pictures back, and
 * before caps that say something else of the same pictures, the frames held back go out with the
 * newest field there is (flagged as repeated and reused). The temporal state remains.
 *
 * In reverse playback (a segment of a negative rate) frames come last first, and the motion is that
 * of what is shown: from a frame to the one shown next, so that it points the other way than when
 * playing forward. "Before", "after" and "delay" are of the order in which frames come; what a
 * field describes lies later in the stream than the newest frame it was computed from. Kernels from
 * a file are applied in that order, too. GStreamer's sources flag every buffer as a discontinuity
 * there; the flag counts only where the PTS do not go on from frame to frame.
 *
 * I420 and NV12 may come in memory:CUDAMemory, when the plugin was built for it and the backend is
 * a CUDA device: the pictures stay where they are. The element offers the CUDA context in which no
 * copy is needed; pictures from another one are copied, which #GstOcellusBase:stats counts, as it
 * does for #GstOcellusFlow:draw, which goes through the host. The field is in the host's memory in
 * any case.
 *
 * ## Launch lines
 * |[
 * gst-launch-1.0 v4l2src ! video/x-raw,width=640,height=480 ! videoconvert ! ocellusflow draw=true
 * ! videoconvert ! autovideosink
 * ]| The motion in front of the camera.
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=GRAY8 ! ocellusflow
 * post-messages=true ! fakesink
 * ]| Add -m to see the mean motion of every frame.
 */
#include "gstocellusflow.h"

#include <cmath>

#include "gstocellusflowmeta.h"
#include "ocellus/optical_flow.h"

GST_DEBUG_CATEGORY_STATIC(gst_ocellus_flow_debug);
#define GST_CAT_DEFAULT gst_ocellus_flow_debug

#define DEFAULT_ALIGN TRUE
#define DEFAULT_DRAW FALSE

enum {
  PROP_0,
  PROP_ALIGN,
  PROP_DRAW,
};

struct _GstOcellusFlow {
  GstOcellusBase parent_instance;

  ocellus::Rect region;  // of the planes in the picture; streaming thread
};

G_DEFINE_TYPE(GstOcellusFlow, gst_ocellus_flow, GST_TYPE_OCELLUS_BASE)
GST_ELEMENT_REGISTER_DEFINE(ocellusflow, "ocellusflow", GST_RANK_NONE, GST_TYPE_OCELLUS_FLOW)

// ---- GstOcellusBase

static void gst_ocellus_flow_adapt(GstOcellusBase* base, ocellus::OperatorConfig& config,
                                   const GstVideoInfo& video) {
  const ocellus::Rect& roi = config.get_if<ocellus::OpticalFlowConfig>()->roi;
  GST_OCELLUS_FLOW(base)->region =
      roi.empty() ? ocellus::Rect{0, 0, GST_VIDEO_INFO_WIDTH(&video), GST_VIDEO_INFO_HEIGHT(&video)}
                  : roi;
}

static GstOcellusFlowMeta* meta_of(GstBuffer* buffer) {
  // The pool's own is the first; those of elements further up were copied after it.
  return reinterpret_cast<GstOcellusFlowMeta*>(
      gst_buffer_get_meta(buffer, gst_ocellus_flow_meta_api_get_type()));
}

static void gst_ocellus_flow_attach_meta(GstBuffer* buffer) {
  gst_buffer_add_ocellus_flow_meta(buffer);
}

static void gst_ocellus_flow_clear_meta(GstBuffer* buffer) {
  gst_ocellus_flow_meta_clear(meta_of(buffer));
}

static void gst_ocellus_flow_set_result(GstOcellusBase* base, GstBuffer* buffer,
                                        const GstOcellusResult& result) {
  const ocellus::Rect& region = GST_OCELLUS_FLOW(base)->region;
  GstMapInfo map;
  if (!gst_buffer_map(result.data, &map, GST_MAP_READ)) {
    GST_ERROR_OBJECT(base, "the planes cannot be mapped");
    return;
  }
  // Memory of the host, ordinary or pinned, stays where it is after unmapping.
  const auto plane = [base, &map](int index) {
    return gst_ocellus_base_get_plane(base, map.data, index);
  };
  const ocellus::FlowOutput field = {plane(0), plane(1), plane(2)};
  gst_buffer_unmap(result.data, &map);

  GstOcellusFlowMeta* meta = meta_of(buffer);
  gst_ocellus_flow_meta_clear(meta);
  meta->planes = gst_buffer_ref(result.data);
  meta->source = g_quark_from_string(GST_OBJECT_NAME(base));
  meta->x = region.x;
  meta->y = region.y;
  meta->width = region.width;
  meta->height = region.height;
  meta->stride = static_cast<gsize>(field.u.stride);
  meta->u = field.u.row<const float>(0);
  meta->v = field.v.row<const float>(0);
  meta->confidence = field.confidence.row<const float>(0);
  meta->pts = static_cast<GstClockTime>(result.info.timestamp_ns);
  meta->described_pts = static_cast<GstClockTime>(result.info.described_timestamp_ns);
  meta->delay_frames = result.info.delay_frames;
  meta->compute_time = static_cast<GstClockTime>(result.info.compute_ns);
  guint flags = GST_OCELLUS_FLOW_FLAG_NONE;
  if (result.info.warming_up()) flags |= GST_OCELLUS_FLOW_FLAG_WARMING_UP;
  if (result.info.bad_pixels()) flags |= GST_OCELLUS_FLOW_FLAG_BAD_PIXELS;
  if (result.repeated) flags |= GST_OCELLUS_FLOW_FLAG_REPEATED;
  if (result.reused) flags |= GST_OCELLUS_FLOW_FLAG_REUSED;
  if (result.late) flags |= GST_OCELLUS_FLOW_FLAG_LATE;
  meta->flags = flags;
}

static ocellus::FlowOutput field_of(const GstOcellusFlowMeta* meta) {
  const auto plane = [meta](const float* values) {
    ocellus::ImageView view;
    view.data = const_cast<float*>(values);
    view.size = {meta->width, meta->height};
    view.stride = static_cast<std::ptrdiff_t>(meta->stride);
    view.format = ocellus::PixelFormat::kFloat32;
    return view;
  };
  return {plane(meta->u), plane(meta->v), plane(meta->confidence)};
}

static void gst_ocellus_flow_draw(GstOcellusBase*, GstBuffer* buffer,
                                  const ocellus::OverlayImage& image) {
  const GstOcellusFlowMeta* meta = meta_of(buffer);
  ocellus::OverlayConfig overlay;
  // About 40 arrows along the shorter side, but never so dense that they touch.
  overlay.step = CLAMP(MIN(image.size.width, image.size.height) / 40, 12, 64);
  overlay.roi = {meta->x, meta->y, meta->width, meta->height};
  ocellus::draw_flow_overlay(field_of(meta), overlay, image);
}

static void gst_ocellus_flow_describe(GstOcellusBase*, GstBuffer* buffer, GstStructure* message) {
  const GstOcellusFlowMeta* meta = meta_of(buffer);
  gdouble u = 0.0;
  gdouble v = 0.0;
  guint64 valid = 0;
  for (gint y = 0; y < meta->height; ++y) {
    const gsize row = static_cast<gsize>(y) * (meta->stride / sizeof(gfloat));
    for (gint x = 0; x < meta->width; ++x) {
      const gfloat du = meta->u[row + static_cast<gsize>(x)];
      const gfloat dv = meta->v[row + static_cast<gsize>(x)];
      if (std::isnan(du) || std::isnan(dv)) continue;
      u += static_cast<gdouble>(du);
      v += static_cast<gdouble>(dv);
      ++valid;
    }
  }
  const auto count = static_cast<gdouble>(MAX(valid, guint64{1}));
  const gdouble pixels = static_cast<gdouble>(meta->width) * static_cast<gdouble>(meta->height);
  gst_structure_set(message, "described-timestamp", G_TYPE_UINT64, meta->described_pts, "delay",
                    G_TYPE_DOUBLE, static_cast<gdouble>(meta->delay_frames), "warming-up",
                    G_TYPE_BOOLEAN, (meta->flags & GST_OCELLUS_FLOW_FLAG_WARMING_UP) != 0,
                    "compute-time", G_TYPE_UINT64, meta->compute_time, "mean-u", G_TYPE_DOUBLE,
                    u / count, "mean-v", G_TYPE_DOUBLE, v / count, "valid", G_TYPE_DOUBLE,
                    static_cast<gdouble>(valid) / pixels, nullptr);
}

// ---- GObject

static void gst_ocellus_flow_set_property(GObject* object, guint id, const GValue* value,
                                          GParamSpec* pspec) {
  GstOcellusBase* base = GST_OCELLUS_BASE(object);
  switch (id) {
    case PROP_ALIGN:
      if (gst_ocellus_base_may_configure(base, pspec))
        gst_ocellus_base_set_align(base, g_value_get_boolean(value));
      break;
    case PROP_DRAW:
      gst_ocellus_base_set_draw(base, g_value_get_boolean(value));
      break;
    default:
      G_OBJECT_CLASS(gst_ocellus_flow_parent_class)->set_property(object, id, value, pspec);
      break;
  }
}

static void gst_ocellus_flow_get_property(GObject* object, guint id, GValue* value,
                                          GParamSpec* pspec) {
  GstOcellusBase* base = GST_OCELLUS_BASE(object);
  switch (id) {
    case PROP_ALIGN:
      g_value_set_boolean(value, gst_ocellus_base_get_align(base));
      break;
    case PROP_DRAW:
      g_value_set_boolean(value, gst_ocellus_base_get_draw(base));
      break;
    default:
      G_OBJECT_CLASS(gst_ocellus_flow_parent_class)->get_property(object, id, value, pspec);
      break;
  }
}

static void gst_ocellus_flow_class_init(GstOcellusFlowClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);

  GST_DEBUG_CATEGORY_INIT(gst_ocellus_flow_debug, "ocellusflow", 0, "Optical flow");

  object_class->set_property = gst_ocellus_flow_set_property;
  object_class->get_property = gst_ocellus_flow_get_property;
  g_object_class_install_property(
      object_class, PROP_ALIGN,
      g_param_spec_boolean(
          "align", "Align",
          "Hold frames back until the flow that describes them is there, and report the latency",
          DEFAULT_ALIGN,
          static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                   GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property(
      object_class, PROP_DRAW,
      g_param_spec_boolean("draw", "Draw", "Draw the result over the picture", DEFAULT_DRAW,
                           static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                    GST_PARAM_MUTABLE_PLAYING)));

  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Ocellus optical flow", "Filter/Analyzer/Video",
      "Measures the motion of every pixel and puts it on the buffers as GstOcellusFlowMeta",
      "The Ocellus authors");

  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("flow"));
  base_class->message_name = "ocellusflow";
  base_class->adapt = gst_ocellus_flow_adapt;
  base_class->attach_meta = gst_ocellus_flow_attach_meta;
  base_class->clear_meta = gst_ocellus_flow_clear_meta;
  base_class->set_result = gst_ocellus_flow_set_result;
  base_class->draw = gst_ocellus_flow_draw;
  base_class->describe = gst_ocellus_flow_describe;

  // Readers find the meta by its name; it must be there before the first buffer is.
  gst_ocellus_flow_meta_get_info();
}

static void gst_ocellus_flow_init(GstOcellusFlow* self) {
  gst_ocellus_base_set_align(GST_OCELLUS_BASE(self), DEFAULT_ALIGN);
}
