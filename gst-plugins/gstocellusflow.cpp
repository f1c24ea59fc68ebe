/**
 * SECTION:element-ocellusflow
 * @title: ocellusflow
 *
 * Measures the motion of each pixel and attaches it to the buffers as a GstOcellusFlowMeta.
 * Programs read the meta with the header ocellus/gst/flow_meta.h. The picture passes unchanged, or
 * with the flow drawn over it (#GstOcellusFlow:draw).
 *
 * #GstOcellusFlow:method selects one of two methods. `pyramid` computes the flow from two frames
 * and follows fast motion. It has two presets, `fast` (the default) and `quality`. On two CPU cores
 * `fast` keeps up with a 640x480 camera at 30 frames per second and leaves time to decode and show
 * the video. `kernels` computes the derivatives with long spatio-temporal kernels.
 * #GstOcellusFlow:kernels and #GstOcellusFlow:taps describe them: uniform, per-pixel, foveated, or
 * from a file.
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
 * frames back, so that each buffer carries the flow that describes it. It adds the time of these
 * frames to the LATENCY query. If the frame rate is unknown (0/1), it adds the longest time for
 * which it has held a frame so far, which is 0 at the start. Without #GstOcellusFlow:align buffers
 * pass at once, and the meta gives the PTS of the frame that it describes.
 *
 * #GstOcellusFlow:depth (1 to 8, default 1) is the number of frames that the operator has at the
 * same time. With more than 1, a GPU computes one frame while the next one is uploaded and the
 * results of the previous one are downloaded. So a pipeline reaches the full rate of the device.
 * When a frame arrives, the element pushes the buffers of all frames that are done. A buffer is
 * pushed at the latest when depth - 1 more frames have arrived, and the LATENCY query includes this
 * time. #GstOcellusBase:budget counts from the arrival of a frame at the element. With a depth
 * above 1 it therefore includes the time until the next frames arrive. For a live camera that the
 * device keeps up with, a depth of 1 gives the least latency.
 *
 * At the end of the stream, and before a discontinuity, a new segment, a gap or new caps, the
 * element pushes the frames that it holds back. It computes their results with the last frame
 * repeated in place of the missing ones, which the meta flags. Where the last frame would only be
 * compared with itself, the buffer carries the field of the previous frame. A PTS that steps
 * against the direction of playback by more than one and a half frames is a discontinuity. A flush
 * drops the frames that are held back. All of these events reset the temporal state.
 *
 * The element also computes a frame that it skips because downstream is late, and then drops it.
 * This takes the time of a frame, but keeps the temporal state complete, so that the flow of the
 * next frames is correct.
 *
 * The serialized queries DRAIN and ALLOCATION ask for the buffers back. Before them, and before new
 * caps that describe the same pictures, the element pushes the frames that it holds back with the
 * newest field. The meta flags it as repeated and reused. The temporal state is kept.
 *
 * In reverse playback (a segment with a negative rate) the frames arrive in descending order of
 * time. The flow is that of the displayed video: it points from a frame to the one that is shown
 * next, which is opposite to forward playback. "Before", "after" and "delay" refer to the order of
 * arrival. So a field describes a frame that is later in the stream than the newest frame it was
 * computed from. Kernels from a file are also applied in the order of arrival. GStreamer's sources
 * set the DISCONT flag on every buffer in reverse playback. The element ignores the flag if the PTS
 * continue from frame to frame.
 *
 * The element accepts I420 and NV12 in memory:CUDAMemory, if the plugin was built with CUDA support
 * and the backend is a CUDA device. The pictures then stay in device memory. The element offers its
 * neighbors the CUDA context in which no copy is needed. It copies pictures from other contexts,
 * and #GstOcellusBase:stats counts these copies. #GstOcellusFlow:draw copies each picture to the
 * host and back, which is counted, too. The field is always in host memory.
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

  ocellus::Rect region;    // of the flow planes in the picture; streaming thread
  gboolean has_deviation;  // whether the operator writes this plane; streaming thread
};

G_DEFINE_TYPE(GstOcellusFlow, gst_ocellus_flow, GST_TYPE_OCELLUS_BASE)
GST_ELEMENT_REGISTER_DEFINE(ocellusflow, "ocellusflow", GST_RANK_NONE, GST_TYPE_OCELLUS_FLOW)

// ---- GstOcellusBase

static void gst_ocellus_flow_adapt(GstOcellusBase* base, ocellus::OperatorConfig& config,
                                   const GstVideoInfo& video) {
  const auto& flow = *config.get_if<ocellus::OpticalFlowConfig>();
  const ocellus::Rect& roi = flow.roi;
  GST_OCELLUS_FLOW(base)->has_deviation = flow.deviation;
  GST_OCELLUS_FLOW(base)->region =
      roi.empty() ? ocellus::Rect{0, 0, GST_VIDEO_INFO_WIDTH(&video), GST_VIDEO_INFO_HEIGHT(&video)}
                  : roi;
}

static GstOcellusFlowMeta* meta_of(GstBuffer* buffer) {
  // The first meta is the one of this element's pool. Metas of upstream elements are copied after
  // it.
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
    GST_ERROR_OBJECT(base, "the memory of the flow planes cannot be mapped");
    return;
  }
  // Host memory, ordinary or pinned, keeps its address after unmapping.
  const auto plane = [base, &map](int index) {
    return gst_ocellus_base_get_plane(base, map.data, index);
  };
  const ocellus::FlowOutput field = {
      plane(0), plane(1), plane(2),
      GST_OCELLUS_FLOW(base)->has_deviation ? plane(3) : ocellus::ImageView{}};
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
  meta->deviation = field.deviation.data != nullptr ? field.deviation.row<const float>(0) : nullptr;
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
  // About 40 arrows along the shorter side, but at least 12 pixels apart so that they do not touch.
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
      g_param_spec_boolean("align", "Align",
                           "Hold each frame back until the flow that describes it is computed, and "
                           "report the latency",
                           DEFAULT_ALIGN,
                           static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                    GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property(
      object_class, PROP_DRAW,
      g_param_spec_boolean("draw", "Draw", "Draw the flow over the picture", DEFAULT_DRAW,
                           static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                    GST_PARAM_MUTABLE_PLAYING)));

  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Ocellus optical flow", "Filter/Analyzer/Video",
      "Measures the motion of each pixel and attaches it to the buffers as GstOcellusFlowMeta",
      "The Ocellus authors");

  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("flow"));
  base_class->message_name = "ocellusflow";
  base_class->adapt = gst_ocellus_flow_adapt;
  base_class->attach_meta = gst_ocellus_flow_attach_meta;
  base_class->clear_meta = gst_ocellus_flow_clear_meta;
  base_class->set_result = gst_ocellus_flow_set_result;
  base_class->draw = gst_ocellus_flow_draw;
  base_class->describe = gst_ocellus_flow_describe;

  // Readers find the meta by its name, so it is registered before the first buffer.
  gst_ocellus_flow_meta_get_info();
}

static void gst_ocellus_flow_init(GstOcellusFlow* self) {
  gst_ocellus_base_set_align(GST_OCELLUS_BASE(self), DEFAULT_ALIGN);
}
