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
 * With #GstOcellusFlow:draw, only motion that stands out from its own noise is drawn: that of at
 * least #GstOcellusFlow:min-motion and of #GstOcellusFlow:min-deviations standard deviations, and
 * of at least #GstOcellusFlow:min-area connected pixels. If draw is set when the caps are
 * negotiated, the element computes the plane of #GstOcellusFlow:deviation for this. If it is set
 * later, there is no such plane without the properties deviation or objects, and only min-motion
 * applies.
 *
 * With #GstOcellusFlow:objects, each object that moves is attached as a
 * #GstVideoRegionOfInterestMeta of the type `moving-object`. Its #GstStructure `moving-object` has
 * the fields source (string, the name of the element), mean-u and mean-v (double, pixels per frame)
 * and area (gint64, pixels). The element message has the same structures, with x, y, width and
 * height, in the array `objects`, the largest object first. A box surrounds cells that move by at
 * least min-motion and min-deviations, whose values are taken when the caps are negotiated.
 *
 * The element accepts I420, NV12, BGR, RGB, BGRx, BGRA, RGBx and RGBA in memory:CUDAMemory, if the
 * plugin was built with CUDA support and the backend is a CUDA device. The pictures then stay in
 * device memory. The element offers its neighbors the CUDA context in which no copy is needed. It
 * copies pictures from other contexts, and #GstOcellusBase:stats counts these copies.
 * #GstOcellusFlow:draw copies each picture to the host and back, which is counted, too. The field
 * is always in host memory.
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
#include <optional>
#include <utility>

#include "base/gstocellusmessages.h"
#include "base/gstocellusmeta.h"
#include "base/gstocellusoptions.h"
#include "gstocelluskernels.h"
#include "ocellus/flow_draw.h"
#include "ocellus/moving_objects.h"
#include "ocellus/optical_flow.h"

#define DEFAULT_OBJECTS FALSE

// Type of the region of an object that moves, and name of its structure.
#define ROI_TYPE "moving-object"

enum {
  PROP_0,
  PROP_OBJECTS,
  // From here on, the rows of the tables.
  PROP_DRAW_OPTIONS = 100,
  PROP_OBJECT_OPTIONS = 200,
};

struct _GstOcellusFlow {
  GstOcellusBase parent_instance;

  // Properties; guarded by the object lock.
  ocellus::OverlayConfig overlay;
  gboolean find_objects;
  ocellus::MovingObjectsConfig objects;

  // Streaming thread.
  gfloat scale;  // largest motion drawn so far
  gboolean attaches_objects;
  std::optional<ocellus::MovingObjects>* finder;
};

G_DEFINE_TYPE(GstOcellusFlow, gst_ocellus_flow, GST_TYPE_OCELLUS_BASE)
GST_ELEMENT_REGISTER_DEFINE(ocellusflow, "ocellusflow", GST_RANK_NONE, GST_TYPE_OCELLUS_FLOW)

// ---- GstOcellusBase

static ocellus::ImageSize gst_ocellus_flow_trial_size(const ocellus::OperatorConfig& config) {
  const auto& flow = *config.get_if<ocellus::OpticalFlowConfig>();
  return gst_ocellus::trial_size_of(flow.kernels, flow.roi);
}

static ocellus::Expected<void> gst_ocellus_flow_check_settings(
    const ocellus::OperatorConfig& config) {
  const auto& flow = *config.get_if<ocellus::OpticalFlowConfig>();
  return gst_ocellus::check_kernels(flow.kernels, flow.roi);
}

// What is drawn or attached; from the properties.
struct Uses {
  gboolean draws;
  gboolean find_objects;
  ocellus::MovingObjectsConfig objects;
};

static Uses uses_of(GstOcellusBase* base) {
  GstOcellusFlow* self = GST_OCELLUS_FLOW(base);
  Uses uses{gst_ocellus_base_get_draw(base), FALSE, {}};
  GST_OBJECT_LOCK(self);
  uses.find_objects = self->find_objects;
  uses.objects = self->objects;
  uses.objects.min_motion = self->overlay.min_motion;
  uses.objects.min_deviations = self->overlay.min_deviations;
  GST_OBJECT_UNLOCK(self);
  return uses;
}

static void gst_ocellus_flow_adapt(GstOcellusBase* base, ocellus::OperatorConfig& config) {
  const Uses uses = uses_of(base);
  if (uses.objects.min_deviations > 0.0f && (uses.draws || uses.find_objects))
    config.get_if<ocellus::OpticalFlowConfig>()->deviation = true;
}

static ocellus::Expected<void> gst_ocellus_flow_prepare(GstOcellusBase* base,
                                                        const ocellus::OperatorConfig& config) {
  GstOcellusFlow* self = GST_OCELLUS_FLOW(base);
  const auto& flow = *config.get_if<ocellus::OpticalFlowConfig>();
  Uses uses = uses_of(base);
  std::optional<ocellus::MovingObjects> finder;
  if (uses.draws || uses.find_objects) {
    uses.objects.size = flow.size;
    if (!flow.roi.empty()) uses.objects.size = {flow.roi.width, flow.roi.height};
    ocellus::Expected<ocellus::MovingObjects> made = ocellus::MovingObjects::create(uses.objects);
    if (!made) return tl::unexpected(made.error());
    finder.emplace(std::move(*made));
  }
  *self->finder = std::move(finder);
  self->attaches_objects = uses.find_objects;
  self->scale = 0.0f;
  return {};
}

static ocellus::Rect gst_ocellus_flow_region(const ocellus::OperatorConfig& config) {
  return config.get_if<ocellus::OpticalFlowConfig>()->roi;
}

static ocellus::FlowOutput field_of(GstBuffer* buffer) {
  const GstOcellusMeta* meta = gst_ocellus_meta_of(buffer);
  const auto plane = [meta](const gchar* name) {
    ocellus::ImageView view;
    const GstOcellusPlane* found = gst_ocellus_meta_get_plane(meta, name);
    if (found == nullptr) return view;
    view.data = const_cast<gpointer>(found->data);
    view.size = {found->width, found->height};
    view.stride = static_cast<std::ptrdiff_t>(found->stride);
    view.format = ocellus::PixelFormat::kFloat32;
    return view;
  };
  return {plane("u"), plane("v"), plane("confidence"), plane("deviation")};
}

// The part of the picture that the planes describe.
static ocellus::Rect region_of(GstBuffer* buffer) {
  const GstOcellusPlane& u = gst_ocellus_meta_of(buffer)->planes[0];
  return {u.x, u.y, u.width, u.height};
}

// The structure of an object, which is that of its GstVideoRegionOfInterestMeta and of the element
// message.
static GstStructure* structure_of(GstOcellusBase* base, const ocellus::MovingObject& object) {
  return gst_structure_new(ROI_TYPE, "source", G_TYPE_STRING, GST_OBJECT_NAME(base), "mean-u",
                           G_TYPE_DOUBLE, static_cast<gdouble>(object.u), "mean-v", G_TYPE_DOUBLE,
                           static_cast<gdouble>(object.v), "area", G_TYPE_INT64, object.area,
                           nullptr);
}

static void gst_ocellus_flow_add_result(GstOcellusBase* base, GstBuffer* buffer) {
  GstOcellusFlow* self = GST_OCELLUS_FLOW(base);
  if (!self->attaches_objects) return;
  const ocellus::Rect place = region_of(buffer);
  for (const ocellus::MovingObject& object : (*self->finder)->find(field_of(buffer))) {
    const auto number = [](gint value) { return static_cast<guint>(value); };
    GstVideoRegionOfInterestMeta* region = gst_buffer_add_video_region_of_interest_meta(
        buffer, ROI_TYPE, number(place.x + object.box.x), number(place.y + object.box.y),
        number(object.box.width), number(object.box.height));
    gst_video_region_of_interest_meta_add_param(region, structure_of(base, object));
  }
}

static ocellus::Rect box_of(const GstVideoRegionOfInterestMeta& region) {
  return {static_cast<gint>(region.x), static_cast<gint>(region.y), static_cast<gint>(region.w),
          static_cast<gint>(region.h)};
}

// Calls `visit` with the region and the structure of each object that this element found. Elements
// upstream may have found others.
template <typename Visit>
static void for_each_region(GstOcellusBase* base, GstBuffer* buffer, Visit visit) {
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* region = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    GstStructure* values = gst_video_region_of_interest_meta_get_param(region, ROI_TYPE);
    if (values == nullptr) continue;
    if (g_strcmp0(gst_structure_get_string(values, "source"), GST_OBJECT_NAME(base)) == 0)
      visit(*region, values);
  }
}

static void gst_ocellus_flow_draw(GstOcellusBase* base, GstBuffer* buffer,
                                  const ocellus::OverlayImage& image) {
  GstOcellusFlow* self = GST_OCELLUS_FLOW(base);
  GST_OBJECT_LOCK(self);
  ocellus::OverlayConfig overlay = self->overlay;
  GST_OBJECT_UNLOCK(self);
  const ocellus::FlowOutput field = field_of(buffer);
  overlay.roi = region_of(buffer);
  if (*self->finder) {
    // With several frames in flight, the last field that was searched may be another one.
    (*self->finder)->find(field);
    overlay.objects = &**self->finder;
  }
  if (overlay.max_motion == 0.0f && overlay.style != ocellus::FlowStyle::kNone)
    overlay.max_motion = self->scale = ocellus::grown_flow_scale(field, self->scale);
  for_each_region(base, buffer, [&](const auto& region, const GstStructure* values) {
    gdouble u = 0.0, v = 0.0;
    gst_structure_get(values, "mean-u", G_TYPE_DOUBLE, &u, "mean-v", G_TYPE_DOUBLE, &v, nullptr);
    const ocellus::MovingObject object = {box_of(region), static_cast<gfloat>(u),
                                          static_cast<gfloat>(v)};
    ocellus::draw_moving_objects({&object, 1}, {}, image);
  });
  // The legend covers boxes, not the other way round.
  ocellus::draw_flow_overlay(field, overlay, image);
}

static void gst_ocellus_flow_describe(GstOcellusBase* base, GstBuffer* buffer,
                                      GstStructure* message) {
  const ocellus::FlowOutput field = field_of(buffer);
  const ocellus::ImageSize size = field.u.size;
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
  if (!GST_OCELLUS_FLOW(base)->attaches_objects) return;
  GValue objects = G_VALUE_INIT;
  gst_value_array_init(&objects, 0);
  for_each_region(base, buffer, [&objects](const auto& region, const GstStructure* values) {
    gst_ocellus::append_with_box(&objects, gst_structure_copy(values), box_of(region));
  });
  gst_structure_take_value(message, "objects", &objects);
}

// ---- GObject

// A member of one of the two tables of this element, with the option that describes it.
struct TableProperty {
  const ocellus::Option* option;
  void* config;
};

static std::optional<TableProperty> table_property(GstOcellusFlow* self, guint id) {
  const auto row = [id](ocellus::OptionTable table, guint first) -> const ocellus::Option* {
    return id >= first && id - first < table.size() ? &table[id - first] : nullptr;
  };
  if (const auto* option = row(ocellus::OverlayConfig::options(), PROP_DRAW_OPTIONS))
    return TableProperty{option, &self->overlay};
  if (const auto* option = row(ocellus::MovingObjectsConfig::options(), PROP_OBJECT_OPTIONS))
    return TableProperty{option, &self->objects};
  return std::nullopt;
}

static void gst_ocellus_flow_set_property(GObject* object, guint id, const GValue* value,
                                          GParamSpec* pspec) {
  GstOcellusBase* base = GST_OCELLUS_BASE(object);
  GstOcellusFlow* self = GST_OCELLUS_FLOW(object);
  switch (id) {
    case PROP_OBJECTS:
      if (!gst_ocellus_base_may_configure(base, pspec)) break;
      GST_OBJECT_LOCK(self);
      self->find_objects = g_value_get_boolean(value);
      GST_OBJECT_UNLOCK(self);
      break;
    default:
      if (const auto row = table_property(self, id)) {
        if (!gst_ocellus_base_may_configure(base, pspec)) break;
        GST_OBJECT_LOCK(self);
        gst_ocellus::set_option(*row->option, row->config, value);
        GST_OBJECT_UNLOCK(self);
        break;
      }
      G_OBJECT_CLASS(gst_ocellus_flow_parent_class)->set_property(object, id, value, pspec);
      break;
  }
}

static void gst_ocellus_flow_get_property(GObject* object, guint id, GValue* value,
                                          GParamSpec* pspec) {
  GstOcellusFlow* self = GST_OCELLUS_FLOW(object);
  switch (id) {
    case PROP_OBJECTS:
      GST_OBJECT_LOCK(self);
      g_value_set_boolean(value, self->find_objects);
      GST_OBJECT_UNLOCK(self);
      break;
    default:
      if (const auto row = table_property(self, id)) {
        GST_OBJECT_LOCK(self);
        gst_ocellus::get_option(*row->option, row->config, value);
        GST_OBJECT_UNLOCK(self);
        break;
      }
      G_OBJECT_CLASS(gst_ocellus_flow_parent_class)->get_property(object, id, value, pspec);
      break;
  }
}

static void gst_ocellus_flow_finalize(GObject* object) {
  delete GST_OCELLUS_FLOW(object)->finder;
  G_OBJECT_CLASS(gst_ocellus_flow_parent_class)->finalize(object);
}

static void gst_ocellus_flow_class_init(GstOcellusFlowClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);

  object_class->set_property = gst_ocellus_flow_set_property;
  object_class->get_property = gst_ocellus_flow_get_property;
  object_class->finalize = gst_ocellus_flow_finalize;
  gst_ocellus_base_class_install_align(base_class);
  gst_ocellus_base_class_install_draw(base_class, "Draw the flow over the picture");
  g_object_class_install_property(
      object_class, PROP_OBJECTS,
      g_param_spec_boolean("objects", "Objects",
                           "Find the objects that move, and attach them to the buffers",
                           DEFAULT_OBJECTS,
                           static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                    GST_PARAM_MUTABLE_READY)));
  const ocellus::OverlayConfig drawing;
  gst_ocellus::install_table(object_class, PROP_DRAW_OPTIONS, ocellus::OverlayConfig::options(),
                             &drawing, static_cast<GParamFlags>(GST_PARAM_MUTABLE_PLAYING));
  const ocellus::MovingObjectsConfig objects;
  gst_ocellus::install_table(object_class, PROP_OBJECT_OPTIONS,
                             ocellus::MovingObjectsConfig::options(), &objects,
                             static_cast<GParamFlags>(GST_PARAM_MUTABLE_READY));

  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Ocellus optical flow", "Filter/Analyzer/Video",
      "Measures the motion of each pixel and attaches it to the buffers as GstOcellusMeta",
      "The Ocellus authors");

  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("flow"));
  base_class->trial_size = gst_ocellus_flow_trial_size;
  base_class->check_settings = gst_ocellus_flow_check_settings;
  base_class->adapt = gst_ocellus_flow_adapt;
  base_class->prepare = gst_ocellus_flow_prepare;
  base_class->region = gst_ocellus_flow_region;
  base_class->add_result = gst_ocellus_flow_add_result;
  base_class->draw = gst_ocellus_flow_draw;
  base_class->describe = gst_ocellus_flow_describe;
}

static void gst_ocellus_flow_init(GstOcellusFlow* self) {
  self->overlay = {};
  self->objects = {};
  self->finder = new std::optional<ocellus::MovingObjects>;
}
