/**
 * SECTION:element-ocellusflow
 * @title: ocellusflow
 *
 * Measures the motion of every pixel and puts it on the buffers as a GstOcellusFlowMeta, which a
 * program reads with the header ocellus/gst/flow_meta.h. The picture passes as it is, or with the
 * motion drawn over it (#GstOcellusFlow:draw).
 *
 * Two methods: `pyramid` follows fast motion with two frames; its presets are `fast` (the default:
 * on two cores it keeps up with a 640x480 camera at 30 frames a second and leaves room for decoding
 * and showing the video) and `quality`. `kernels` takes the derivatives with long spatio-temporal
 * kernels, uniform, foveated, or from a file.
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

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "gstocellusflowmeta.h"
#include "ocellus/kernel_taps.h"
#include "ocellus/optical_flow.h"

GST_DEBUG_CATEGORY_STATIC(gst_ocellus_flow_debug);
#define GST_CAT_DEFAULT gst_ocellus_flow_debug

using ocellus::Expected;
using ocellus::OpticalFlow;
using ocellus::OpticalFlowConfig;
using ocellus::Rect;
using ocellus::Status;

typedef enum {
  GST_OCELLUS_FLOW_METHOD_KERNELS,
  GST_OCELLUS_FLOW_METHOD_PYRAMID,
} GstOcellusFlowMethod;

typedef enum {
  GST_OCELLUS_FLOW_PRESET_FAST,
  GST_OCELLUS_FLOW_PRESET_QUALITY,
} GstOcellusFlowPreset;

typedef enum {
  GST_OCELLUS_FLOW_INVALID_NAN,
  GST_OCELLUS_FLOW_INVALID_ZERO,
} GstOcellusFlowInvalid;

typedef enum {
  GST_OCELLUS_FLOW_STORAGE_FLOAT,
  GST_OCELLUS_FLOW_STORAGE_HALF,
} GstOcellusFlowStorage;

#define DEFAULT_METHOD GST_OCELLUS_FLOW_METHOD_PYRAMID
#define DEFAULT_PRESET GST_OCELLUS_FLOW_PRESET_FAST
#define DEFAULT_KERNELS "uniform"
#define DEFAULT_NX 15
#define DEFAULT_NY 15
#define DEFAULT_NT 20
#define DEFAULT_SIGMA_SPACE 1.5f
#define DEFAULT_SIGMA_TIME 1.5f
#define DEFAULT_FOVEA_X -1.0f
#define DEFAULT_FOVEA_Y -1.0f
#define DEFAULT_FOVEA_RADIUS 100.0f
#define DEFAULT_LEVELS 0
#define DEFAULT_FRAMES 0
#define DEFAULT_WARPS 0
#define DEFAULT_WINDOW 0
#define DEFAULT_WINDOW_SIGMA -1.0f
#define DEFAULT_CONFIDENCE_THRESHOLD 0.0f
#define DEFAULT_INVALID GST_OCELLUS_FLOW_INVALID_NAN
#define DEFAULT_STORAGE GST_OCELLUS_FLOW_STORAGE_FLOAT
#define DEFAULT_ROI ""
#define DEFAULT_ALIGN TRUE
#define DEFAULT_DRAW FALSE

enum {
  PROP_0,
  PROP_METHOD,
  PROP_PRESET,
  PROP_KERNELS,
  PROP_NX,
  PROP_NY,
  PROP_NT,
  PROP_SIGMA_SPACE,
  PROP_SIGMA_TIME,
  PROP_FOVEA_X,
  PROP_FOVEA_Y,
  PROP_FOVEA_RADIUS,
  PROP_LEVELS,
  PROP_FRAMES,
  PROP_WARPS,
  PROP_WINDOW,
  PROP_WINDOW_SIGMA,
  PROP_CONFIDENCE_THRESHOLD,
  PROP_INVALID,
  PROP_STORAGE,
  PROP_ROI,
  PROP_ALIGN,
  PROP_DRAW,
};

namespace {

// The properties as they were set; under the object lock.
struct Settings {
  gint method = DEFAULT_METHOD;
  gint preset = DEFAULT_PRESET;
  std::string kernels = DEFAULT_KERNELS;
  gint nx = DEFAULT_NX;
  gint ny = DEFAULT_NY;
  gint nt = DEFAULT_NT;
  gfloat sigma_space = DEFAULT_SIGMA_SPACE;
  gfloat sigma_time = DEFAULT_SIGMA_TIME;
  gfloat fovea_x = DEFAULT_FOVEA_X;
  gfloat fovea_y = DEFAULT_FOVEA_Y;
  gfloat fovea_radius = DEFAULT_FOVEA_RADIUS;
  gint levels = DEFAULT_LEVELS;
  gint frames = DEFAULT_FRAMES;
  gint warps = DEFAULT_WARPS;
  gint window = DEFAULT_WINDOW;
  gfloat window_sigma = DEFAULT_WINDOW_SIGMA;
  gfloat confidence_threshold = DEFAULT_CONFIDENCE_THRESHOLD;
  gint invalid = DEFAULT_INVALID;
  gint storage = DEFAULT_STORAGE;
  std::string roi = DEFAULT_ROI;
  gboolean align = DEFAULT_ALIGN;
};

struct Private {
  Settings settings;

  // The stream.
  std::string kernel_path;  // the configuration points here
  Rect region;              // of the planes in the picture
};

}  // namespace

struct _GstOcellusFlow {
  GstOcellusBase parent_instance;

  Private* priv;
};

G_DEFINE_TYPE(GstOcellusFlow, gst_ocellus_flow, GST_TYPE_OCELLUS_BASE)
GST_ELEMENT_REGISTER_DEFINE(ocellusflow, "ocellusflow", GST_RANK_NONE, GST_TYPE_OCELLUS_FLOW)

static GType gst_ocellus_flow_method_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_FLOW_METHOD_KERNELS, "Spatio-temporal kernels, up to about 2 pixels per frame",
       "kernels"},
      {GST_OCELLUS_FLOW_METHOD_PYRAMID, "Coarse to fine over a pyramid, for fast motion",
       "pyramid"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusFlowMethod", values);
  return type;
}

static GType gst_ocellus_flow_preset_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_FLOW_PRESET_FAST, "Plain solution, for live video on few cores", "fast"},
      {GST_OCELLUS_FLOW_PRESET_QUALITY, "Robust weights and a median, about twice the time",
       "quality"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusFlowPreset", values);
  return type;
}

static GType gst_ocellus_flow_invalid_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_FLOW_INVALID_NAN, "Not a number", "nan"},
      {GST_OCELLUS_FLOW_INVALID_ZERO, "No motion", "zero"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusFlowInvalid", values);
  return type;
}

static GType gst_ocellus_flow_storage_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_FLOW_STORAGE_FLOAT, "32-bit floats", "float"},
      {GST_OCELLUS_FLOW_STORAGE_HALF, "16-bit floats: half the memory traffic, a little less exact",
       "half"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusFlowStorage", values);
  return type;
}

static Settings get_settings(GstOcellusFlow* self) {
  GST_OBJECT_LOCK(self);
  Settings settings = self->priv->settings;
  GST_OBJECT_UNLOCK(self);
  return settings;
}

static Expected<Rect> parse_roi(const std::string& text) {
  Rect roi;
  if (text.empty()) return roi;
  const char* at = text.data();
  const char* const end = at + text.size();
  bool good = true;
  for (int* number : {&roi.x, &roi.y, &roi.width, &roi.height}) {
    if (number != &roi.x) good = good && at < end && *at++ == ',';
    const auto [next, error] = std::from_chars(at, end, *number);
    good = good && error == std::errc();
    at = next;
  }
  if (!good || at != end || roi.x < 0 || roi.y < 0 || roi.width < 1 || roi.height < 1) {
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument,
        "roi is \"%s\"; it must be empty or x,y,width,height in pixels, as in 160,120,320,240",
        text.c_str()));
  }
  return roi;
}

// A property that was set, but that what else is set gives no meaning.
static Expected<void> check_meaning(const Settings& settings) {
  const bool pyramid = settings.method == GST_OCELLUS_FLOW_METHOD_PYRAMID;
  const bool foveated = !pyramid && settings.kernels == "foveated";
  const bool made = foveated || (!pyramid && settings.kernels == "uniform");
  const struct {
    const char* property;
    bool set;
    bool means_something;
    const char* needs;
  } rules[] = {
      {"kernels", settings.kernels != DEFAULT_KERNELS, !pyramid, "method=kernels"},
      {"storage", settings.storage != DEFAULT_STORAGE, !pyramid && settings.kernels != "uniform",
       "method=kernels and kernels=foveated or a file"},
      {"preset", settings.preset != DEFAULT_PRESET, pyramid, "method=pyramid"},
      {"levels", settings.levels != DEFAULT_LEVELS, pyramid, "method=pyramid"},
      {"frames", settings.frames != DEFAULT_FRAMES, pyramid, "method=pyramid"},
      {"warps", settings.warps != DEFAULT_WARPS, pyramid, "method=pyramid"},
      {"nx", settings.nx != DEFAULT_NX, made, "method=kernels and kernels=uniform or foveated"},
      {"ny", settings.ny != DEFAULT_NY, made, "method=kernels and kernels=uniform or foveated"},
      {"nt", settings.nt != DEFAULT_NT, made, "method=kernels and kernels=uniform or foveated"},
      {"sigma-space", settings.sigma_space != DEFAULT_SIGMA_SPACE, made,
       "method=kernels and kernels=uniform or foveated"},
      {"sigma-time", settings.sigma_time != DEFAULT_SIGMA_TIME, made,
       "method=kernels and kernels=uniform or foveated"},
      {"fovea-x", settings.fovea_x != DEFAULT_FOVEA_X, foveated,
       "method=kernels and kernels=foveated"},
      {"fovea-y", settings.fovea_y != DEFAULT_FOVEA_Y, foveated,
       "method=kernels and kernels=foveated"},
      {"fovea-radius", settings.fovea_radius != DEFAULT_FOVEA_RADIUS, foveated,
       "method=kernels and kernels=foveated"},
  };
  for (const auto& rule : rules) {
    if (!rule.set || rule.means_something) continue;
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument,
        "%s is set, but has a meaning only with %s; method is %s and "
        "kernels \"%s\"",
        rule.property, rule.needs, pyramid ? "pyramid" : "kernels", settings.kernels.c_str()));
  }
  return {};
}

// The library's configuration, but for what the caps say. `kernel_path` must outlive it.
static Expected<OpticalFlowConfig> make_config(const Settings& settings, std::string* kernel_path) {
  const bool pyramid = settings.method == GST_OCELLUS_FLOW_METHOD_PYRAMID;
  if (const Expected<void> checked = check_meaning(settings); !checked)
    return tl::unexpected(checked.error());
  OpticalFlowConfig config;
  if (pyramid)
    config = settings.preset == GST_OCELLUS_FLOW_PRESET_QUALITY ? OpticalFlowConfig::quality({})
                                                                : OpticalFlowConfig::fast({});
  // Frames are waited for one by one: a second one in flight would only need more memory.
  config.depth = 1;
  const Expected<Rect> roi = parse_roi(settings.roi);
  if (!roi) return tl::unexpected(roi.error());
  config.roi = *roi;

  if (pyramid) {
    if (settings.levels > 0) config.pyramid.levels = settings.levels;
    if (settings.frames > 0) config.pyramid.window_frames = settings.frames;
    if (settings.warps > 0) config.pyramid.warps = settings.warps;
    if (settings.frames == 1) {
      return tl::unexpected(ocellus::make_error(
          Status::kInvalidArgument, "frames is 1; it must be 2 to 7, or 0 for the preset's"));
    }
  } else if (settings.kernels == "uniform" || settings.kernels == "foveated") {
    const bool foveated = settings.kernels == "foveated";
    config.kernels.form = foveated ? ocellus::KernelForm::kPerPixel : ocellus::KernelForm::kUniform;
    config.kernels.origin =
        foveated ? ocellus::KernelOrigin::kFoveated : ocellus::KernelOrigin::kGaussian;
    config.kernels.nx = settings.nx;
    config.kernels.ny = settings.ny;
    config.kernels.nt = settings.nt;
    config.kernels.sigma_space = settings.sigma_space;
    config.kernels.sigma_time = settings.sigma_time;
    config.kernels.fovea_x = settings.fovea_x;
    config.kernels.fovea_y = settings.fovea_y;
    config.kernels.fovea_radius = settings.fovea_radius;
  } else {
    *kernel_path = settings.kernels;
    const Expected<ocellus::KernelFileInfo> file =
        ocellus::read_kernel_file_info(kernel_path->c_str());
    if (!file) return tl::unexpected(file.error());
    config.kernels = file->kernels;
    config.kernels.path = kernel_path->c_str();
  }
  config.storage = settings.storage == GST_OCELLUS_FLOW_STORAGE_HALF
                       ? ocellus::CoefficientStorage::kHalf
                       : ocellus::CoefficientStorage::kFloat;

  if (settings.window > 0) {
    if (settings.window < 3 || settings.window % 2 == 0) {
      return tl::unexpected(ocellus::make_error(
          Status::kInvalidArgument, "window is %d; it must be odd, 3 to 31, or 0 for the preset's",
          settings.window));
    }
    config.window = settings.window;
  }
  if (settings.window_sigma < 0.0f && settings.window_sigma != DEFAULT_WINDOW_SIGMA) {
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument,
        "window-sigma is %g; it must be a number of pixels above 0, 0 for a box, or -1 for the "
        "preset's",
        static_cast<double>(settings.window_sigma)));
  }
  if (settings.window_sigma == 0.0f)
    config.window_sigma = std::numeric_limits<float>::infinity();
  else if (settings.window_sigma > 0.0f)
    config.window_sigma = settings.window_sigma;
  config.confidence_threshold = settings.confidence_threshold;
  config.invalid = settings.invalid == GST_OCELLUS_FLOW_INVALID_ZERO ? ocellus::InvalidFlow::kZero
                                                                     : ocellus::InvalidFlow::kNan;
  return config;
}

// ---- GstOcellusBase

static Expected<void> gst_ocellus_flow_check_settings(GstOcellusBase* base) {
  std::string path;
  const Expected<OpticalFlowConfig> config =
      make_config(get_settings(GST_OCELLUS_FLOW(base)), &path);
  if (!config) return tl::unexpected(config.error());
  return {};
}

static Expected<GstOcellusOperator> gst_ocellus_flow_configure(GstOcellusBase* base,
                                                               const GstVideoInfo& video) {
  Private* priv = GST_OCELLUS_FLOW(base)->priv;
  Expected<OpticalFlowConfig> made =
      make_config(get_settings(GST_OCELLUS_FLOW(base)), &priv->kernel_path);
  if (!made) return tl::unexpected(made.error());
  OpticalFlowConfig config = *made;
  config.size = {GST_VIDEO_INFO_WIDTH(&video), GST_VIDEO_INFO_HEIGHT(&video)};
  config.format = gst_ocellus_pixel_format(video);
  priv->region =
      config.roi.empty() ? Rect{0, 0, config.size.width, config.size.height} : config.roi;
  const Expected<ocellus::OperatorInfo> info = OpticalFlow::info_for(config);
  if (!info) return tl::unexpected(info.error());
  return GstOcellusOperator{*info,
                            [config](const ocellus::EngineInfo& engine) {
                              return OpticalFlow::footprint(engine, config);
                            },
                            [config](ocellus::Engine& engine) -> Expected<ocellus::OperatorHandle> {
                              Expected<OpticalFlow> flow = OpticalFlow::create(engine, config);
                              if (!flow) return tl::unexpected(flow.error());
                              return ocellus::OperatorHandle(std::move(*flow));
                            }};
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
  Private* priv = GST_OCELLUS_FLOW(base)->priv;
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
  meta->x = priv->region.x;
  meta->y = priv->region.y;
  meta->width = priv->region.width;
  meta->height = priv->region.height;
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
  GstOcellusFlow* self = GST_OCELLUS_FLOW(object);
  if (!gst_ocellus_base_may_configure(GST_OCELLUS_BASE(self), pspec)) return;
  const auto text = [value](const char* fallback) {
    const gchar* given = g_value_get_string(value);
    return std::string(given != nullptr ? given : fallback);
  };
  GST_OBJECT_LOCK(self);
  Settings& settings = self->priv->settings;
  switch (id) {
    case PROP_METHOD:
      settings.method = g_value_get_enum(value);
      break;
    case PROP_PRESET:
      settings.preset = g_value_get_enum(value);
      break;
    case PROP_KERNELS:
      settings.kernels = text(DEFAULT_KERNELS);
      break;
    case PROP_NX:
      settings.nx = g_value_get_int(value);
      break;
    case PROP_NY:
      settings.ny = g_value_get_int(value);
      break;
    case PROP_NT:
      settings.nt = g_value_get_int(value);
      break;
    case PROP_SIGMA_SPACE:
      settings.sigma_space = g_value_get_float(value);
      break;
    case PROP_SIGMA_TIME:
      settings.sigma_time = g_value_get_float(value);
      break;
    case PROP_FOVEA_X:
      settings.fovea_x = g_value_get_float(value);
      break;
    case PROP_FOVEA_Y:
      settings.fovea_y = g_value_get_float(value);
      break;
    case PROP_FOVEA_RADIUS:
      settings.fovea_radius = g_value_get_float(value);
      break;
    case PROP_LEVELS:
      settings.levels = g_value_get_int(value);
      break;
    case PROP_FRAMES:
      settings.frames = g_value_get_int(value);
      break;
    case PROP_WARPS:
      settings.warps = g_value_get_int(value);
      break;
    case PROP_WINDOW:
      settings.window = g_value_get_int(value);
      break;
    case PROP_WINDOW_SIGMA:
      settings.window_sigma = g_value_get_float(value);
      break;
    case PROP_CONFIDENCE_THRESHOLD:
      settings.confidence_threshold = g_value_get_float(value);
      break;
    case PROP_INVALID:
      settings.invalid = g_value_get_enum(value);
      break;
    case PROP_STORAGE:
      settings.storage = g_value_get_enum(value);
      break;
    case PROP_ROI:
      settings.roi = text(DEFAULT_ROI);
      break;
    case PROP_ALIGN:
      settings.align = g_value_get_boolean(value);
      break;
    case PROP_DRAW:
      break;  // the base class keeps it
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(self);
  if (id == PROP_ALIGN)
    gst_ocellus_base_set_align(GST_OCELLUS_BASE(self), g_value_get_boolean(value));
  if (id == PROP_DRAW)
    gst_ocellus_base_set_draw(GST_OCELLUS_BASE(self), g_value_get_boolean(value));
}

static void gst_ocellus_flow_get_property(GObject* object, guint id, GValue* value,
                                          GParamSpec* pspec) {
  const Settings settings = get_settings(GST_OCELLUS_FLOW(object));
  switch (id) {
    case PROP_METHOD:
      g_value_set_enum(value, settings.method);
      break;
    case PROP_PRESET:
      g_value_set_enum(value, settings.preset);
      break;
    case PROP_KERNELS:
      g_value_set_string(value, settings.kernels.c_str());
      break;
    case PROP_NX:
      g_value_set_int(value, settings.nx);
      break;
    case PROP_NY:
      g_value_set_int(value, settings.ny);
      break;
    case PROP_NT:
      g_value_set_int(value, settings.nt);
      break;
    case PROP_SIGMA_SPACE:
      g_value_set_float(value, settings.sigma_space);
      break;
    case PROP_SIGMA_TIME:
      g_value_set_float(value, settings.sigma_time);
      break;
    case PROP_FOVEA_X:
      g_value_set_float(value, settings.fovea_x);
      break;
    case PROP_FOVEA_Y:
      g_value_set_float(value, settings.fovea_y);
      break;
    case PROP_FOVEA_RADIUS:
      g_value_set_float(value, settings.fovea_radius);
      break;
    case PROP_LEVELS:
      g_value_set_int(value, settings.levels);
      break;
    case PROP_FRAMES:
      g_value_set_int(value, settings.frames);
      break;
    case PROP_WARPS:
      g_value_set_int(value, settings.warps);
      break;
    case PROP_WINDOW:
      g_value_set_int(value, settings.window);
      break;
    case PROP_WINDOW_SIGMA:
      g_value_set_float(value, settings.window_sigma);
      break;
    case PROP_CONFIDENCE_THRESHOLD:
      g_value_set_float(value, settings.confidence_threshold);
      break;
    case PROP_INVALID:
      g_value_set_enum(value, settings.invalid);
      break;
    case PROP_STORAGE:
      g_value_set_enum(value, settings.storage);
      break;
    case PROP_ROI:
      g_value_set_string(value, settings.roi.c_str());
      break;
    case PROP_ALIGN:
      g_value_set_boolean(value, settings.align);
      break;
    case PROP_DRAW:
      g_value_set_boolean(value, gst_ocellus_base_get_draw(GST_OCELLUS_BASE(object)));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
}

static void gst_ocellus_flow_finalize(GObject* object) {
  delete GST_OCELLUS_FLOW(object)->priv;
  G_OBJECT_CLASS(gst_ocellus_flow_parent_class)->finalize(object);
}

static void gst_ocellus_flow_class_init(GstOcellusFlowClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);

  GST_DEBUG_CATEGORY_INIT(gst_ocellus_flow_debug, "ocellusflow", 0, "Optical flow");

  object_class->set_property = gst_ocellus_flow_set_property;
  object_class->get_property = gst_ocellus_flow_get_property;
  object_class->finalize = gst_ocellus_flow_finalize;

  constexpr auto kFlags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_READY);
  const auto install = [object_class](guint id, GParamSpec* pspec) {
    g_object_class_install_property(object_class, id, pspec);
  };
  install(PROP_METHOD,
          g_param_spec_enum("method", "Method", "How motion is estimated",
                            gst_ocellus_flow_method_get_type(), DEFAULT_METHOD, kFlags));
  install(PROP_PRESET,
          g_param_spec_enum("preset", "Preset", "Balance of speed and accuracy (method=pyramid)",
                            gst_ocellus_flow_preset_get_type(), DEFAULT_PRESET, kFlags));
  install(PROP_KERNELS,
          g_param_spec_string(
              "kernels", "Kernels",
              "The kernels: uniform, foveated, or a kernel bank file, *.ocellus (method=kernels)",
              DEFAULT_KERNELS, kFlags));
  install(PROP_NX,
          g_param_spec_int("nx", "Taps along x",
                           "Width of the kernels in pixels (method=kernels, not from a file)", 2,
                           ocellus::kMaxKernelTaps, DEFAULT_NX, kFlags));
  install(PROP_NY,
          g_param_spec_int("ny", "Taps along y",
                           "Height of the kernels in pixels (method=kernels, not from a file)", 2,
                           ocellus::kMaxKernelTaps, DEFAULT_NY, kFlags));
  install(PROP_NT, g_param_spec_int("nt", "Taps in time",
                                    "Length of the kernels in frames, 2 to 5 for a low delay "
                                    "(method=kernels, not from a file)",
                                    2, ocellus::kMaxKernelTaps, DEFAULT_NT, kFlags));
  install(PROP_SIGMA_SPACE,
          g_param_spec_float(
              "sigma-space", "Sigma in space",
              "Sigma of the kernels' Gaussian in pixels, foveated: in the fovea (method=kernels)",
              0.1f, 1000.0f, DEFAULT_SIGMA_SPACE, kFlags));
  install(PROP_SIGMA_TIME,
          g_param_spec_float("sigma-time", "Sigma in time",
                             "Sigma of the kernels' Gaussian in frames (method=kernels)", 0.1f,
                             1000.0f, DEFAULT_SIGMA_TIME, kFlags));
  install(PROP_FOVEA_X,
          g_param_spec_float(
              "fovea-x", "Fovea x",
              "The fovea's center in pixels (kernels=foveated; -1 = the picture's center)", -1.0f,
              ocellus::kMaxImageSide, DEFAULT_FOVEA_X, kFlags));
  install(PROP_FOVEA_Y,
          g_param_spec_float(
              "fovea-y", "Fovea y",
              "The fovea's center in pixels (kernels=foveated; -1 = the picture's center)", -1.0f,
              ocellus::kMaxImageSide, DEFAULT_FOVEA_Y, kFlags));
  install(PROP_FOVEA_RADIUS,
          g_param_spec_float(
              "fovea-radius", "Fovea radius",
              "Distance from the fovea in pixels at which sigma has doubled (kernels=foveated)",
              1.0f, 1e6f, DEFAULT_FOVEA_RADIUS, kFlags));
  install(PROP_LEVELS, g_param_spec_int("levels", "Levels",
                                        "Levels of the pyramid (method=pyramid; 0 = the preset's)",
                                        0, 6, DEFAULT_LEVELS, kFlags));
  install(PROP_FRAMES,
          g_param_spec_int(
              "frames", "Frames",
              "Frames that a result is computed from, 2 to 7 (method=pyramid; 0 = the preset's)", 0,
              7, DEFAULT_FRAMES, kFlags));
  install(PROP_WARPS,
          g_param_spec_int(
              "warps", "Warps",
              "Warps and solutions on the two finest levels (method=pyramid; 0 = the preset's)", 0,
              10, DEFAULT_WARPS, kFlags));
  install(PROP_WINDOW, g_param_spec_int("window", "Window",
                                        "Side of the window that motion is taken to be equal in, "
                                        "pixels, odd (0 = the preset's, 15 with kernels)",
                                        0, 31, DEFAULT_WINDOW, kFlags));
  install(PROP_WINDOW_SIGMA, g_param_spec_float("window-sigma", "Window sigma",
                                                "Sigma of the window's Gaussian weight in pixels "
                                                "(0 = box, -1 = the preset's, 4 with kernels)",
                                                -1.0f, 1000.0f, DEFAULT_WINDOW_SIGMA, kFlags));
  install(PROP_CONFIDENCE_THRESHOLD,
          g_param_spec_float("confidence-threshold", "Confidence threshold",
                             "Motion of a lower confidence is marked invalid (0 = only where there "
                             "is no texture at all)",
                             0.0f, 1e9f, DEFAULT_CONFIDENCE_THRESHOLD, kFlags));
  install(PROP_INVALID,
          g_param_spec_enum("invalid", "Invalid", "What is written where motion is marked invalid",
                            gst_ocellus_flow_invalid_get_type(), DEFAULT_INVALID, kFlags));
  install(PROP_STORAGE,
          g_param_spec_enum("storage", "Storage",
                            "How kernels that differ by pixel are stored (method=kernels)",
                            gst_ocellus_flow_storage_get_type(), DEFAULT_STORAGE, kFlags));
  install(PROP_ROI,
          g_param_spec_string(
              "roi", "Region of interest",
              "Where flow is computed: x,y,width,height in pixels (empty = the whole picture)",
              DEFAULT_ROI, kFlags));
  install(
      PROP_ALIGN,
      g_param_spec_boolean(
          "align", "Align",
          "Hold frames back until the flow that describes them is there, and report the latency",
          DEFAULT_ALIGN, kFlags));
  install(PROP_DRAW,
          g_param_spec_boolean("draw", "Draw", "Draw the result over the picture", DEFAULT_DRAW,
                               static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                        GST_PARAM_MUTABLE_PLAYING)));

  gst_element_class_set_static_metadata(
      element_class, "Ocellus optical flow", "Filter/Analyzer/Video",
      "Measures the motion of every pixel and puts it on the buffers as GstOcellusFlowMeta",
      "The Ocellus authors");

  base_class->message_name = "ocellusflow";
  base_class->check_settings = gst_ocellus_flow_check_settings;
  base_class->configure = gst_ocellus_flow_configure;
  base_class->attach_meta = gst_ocellus_flow_attach_meta;
  base_class->clear_meta = gst_ocellus_flow_clear_meta;
  base_class->set_result = gst_ocellus_flow_set_result;
  base_class->draw = gst_ocellus_flow_draw;
  base_class->describe = gst_ocellus_flow_describe;

  for (const GType type :
       {gst_ocellus_flow_method_get_type(), gst_ocellus_flow_preset_get_type(),
        gst_ocellus_flow_invalid_get_type(), gst_ocellus_flow_storage_get_type()})
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  // Readers find the meta by its name; it must be there before the first buffer is.
  gst_ocellus_flow_meta_get_info();
}

static void gst_ocellus_flow_init(GstOcellusFlow* self) {
  self->priv = new Private;
  gst_ocellus_base_set_align(GST_OCELLUS_BASE(self), DEFAULT_ALIGN);
}
