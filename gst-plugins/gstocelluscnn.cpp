/**
 * SECTION:element-ocelluscnn
 * @title: ocelluscnn
 *
 * Runs a chain of templates of a cellular neural network on every picture, and gives what comes out
 * in its place. #GstOcellusCnn:template is a template's name such as edge, the path of a file of
 * templates (*.ocellus), or a chain with "|" between them; `ocellus template list` names those that
 * there are. Black is +1, as in the literature, unless #GstOcellusCellularNetwork:polarity says
 * otherwise.
 *
 * Many templates are for pictures of two levels: begin the chain with threshold, as in
 * "threshold | erosion". Those that take the picture as a second operand (recall, connectivity,
 * logand, logor, logdif) see it as it came, so that it must be of two levels: put an ocelluscnn
 * template=threshold in front. The range of luma, chroma, budget, memory:CUDAMemory and what is
 * known of a frame are as for ocellushalftone.
 *
 * ## Launch lines
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! video/x-raw,format=GRAY8 ! ocelluscnn
 * template="threshold | edge" ! videoconvert ! autovideosink
 * ]| The outlines of what is dark in front of the camera.
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=GRAY8 ! ocelluscnn
 * template="threshold | erosion | dilation" post-messages=true ! fakesink
 * ]| Add -m to see how many sweeps every frame took.
 */
#include "gstocelluscnn.h"

#include <cstdlib>
#include <string>

#include "gstocelluspgm.h"

using ocellus::CellBoundary;
using ocellus::CellStage;
using ocellus::CellUpdate;
using ocellus::Expected;
using ocellus::Status;

typedef enum {
  GST_OCELLUS_CNN_UPDATE_TEMPLATE,
  GST_OCELLUS_CNN_UPDATE_COLORS,
  GST_OCELLUS_CNN_UPDATE_RASTER,
  GST_OCELLUS_CNN_UPDATE_SYNCHRONOUS,
} GstOcellusCnnUpdate;

#define DEFAULT_TEMPLATE "edge"
#define DEFAULT_BOUNDARY ""
#define DEFAULT_UPDATE GST_OCELLUS_CNN_UPDATE_TEMPLATE
#define DEFAULT_COLOR_SPACING 0
#define DEFAULT_INITIAL ""

enum {
  PROP_0,
  PROP_TEMPLATE,
  PROP_BOUNDARY,
  PROP_UPDATE,
  PROP_COLOR_SPACING,
  PROP_INITIAL,
};

namespace {

// The properties as they were set; under the object lock.
struct Settings {
  std::string chain = DEFAULT_TEMPLATE;
  std::string boundary = DEFAULT_BOUNDARY;
  gint update = DEFAULT_UPDATE;
  gint color_spacing = DEFAULT_COLOR_SPACING;
  std::string initial = DEFAULT_INITIAL;
};

}  // namespace

struct _GstOcellusCnn {
  GstOcellusCellularNetwork parent_instance;

  Settings* settings;
};

G_DEFINE_TYPE(GstOcellusCnn, gst_ocellus_cnn, GST_TYPE_OCELLUS_CELLULAR_NETWORK)
GST_ELEMENT_REGISTER_DEFINE(ocelluscnn, "ocelluscnn", GST_RANK_NONE, GST_TYPE_OCELLUS_CNN)

static GType gst_ocellus_cnn_update_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_CNN_UPDATE_TEMPLATE, "As the template says", "template"},
      {GST_OCELLUS_CNN_UPDATE_COLORS, "One after the other, in colors", "colors"},
      {GST_OCELLUS_CNN_UPDATE_RASTER, "One after the other, row by row", "raster"},
      {GST_OCELLUS_CNN_UPDATE_SYNCHRONOUS, "All at once; may swing for ever", "synchronous"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusCnnUpdate", values);
  return type;
}

static Settings get_settings(gpointer self) {
  GST_OBJECT_LOCK(self);
  Settings settings = *GST_OCELLUS_CNN(self)->settings;
  GST_OBJECT_UNLOCK(self);
  return settings;
}

// What lies beyond the picture for all stages; nothing when it is as the templates say.
static Expected<void> set_boundary(const std::string& text, CellStage* stage) {
  if (text.empty()) return {};
  if (text == "zero-flux" || text == "periodic") {
    stage->boundary = text == "periodic" ? CellBoundary::kPeriodic : CellBoundary::kZeroFlux;
    return {};
  }
  gchar* end = nullptr;
  const gdouble value = g_ascii_strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !(value >= -1.0 && value <= 1.0)) {
    return tl::unexpected(ocellus::make_error(
        Status::kInvalidArgument,
        "boundary is \"%s\"; it must be zero-flux, periodic, a number from -1 to 1, or empty for "
        "the template's",
        text.c_str()));
  }
  stage->boundary = CellBoundary::kFixed;
  stage->boundary_value = static_cast<float>(value);
  return {};
}

static void set_update(gint update, CellStage* stage) {
  if (update == GST_OCELLUS_CNN_UPDATE_COLORS) stage->update = CellUpdate::kColors;
  if (update == GST_OCELLUS_CNN_UPDATE_RASTER) stage->update = CellUpdate::kRaster;
  if (update == GST_OCELLUS_CNN_UPDATE_SYNCHRONOUS) stage->update = CellUpdate::kSynchronous;
}

static Expected<void> gst_ocellus_cnn_describe_network(GstOcellusCellularNetwork* cells,
                                                       ocellus::ImageSize size,
                                                       GstOcellusNetwork* network) {
  const Settings settings = get_settings(cells);
  if (settings.color_spacing != DEFAULT_COLOR_SPACING &&
      settings.update > GST_OCELLUS_CNN_UPDATE_COLORS) {
    return tl::unexpected(
        ocellus::make_error(Status::kInvalidArgument,
                            "color-spacing is set, but has a meaning only with update=colors"));
  }
  if (Expected<void> parsed =
          gst_ocellus_cellular_network_parse_chain(settings.chain.c_str(), network);
      !parsed)
    return parsed;
  for (int i = 0; i < network->config.stage_count; ++i) {
    CellStage* stage = &network->config.stages[static_cast<std::size_t>(i)];
    if (Expected<void> set = set_boundary(settings.boundary, stage); !set) return set;
    set_update(settings.update, stage);
    if (settings.color_spacing > 0) stage->color_spacing = settings.color_spacing;
  }
  if (settings.initial.empty() || size.width == 0) return {};
  const bool white_is_one = gst_ocellus_cellular_network_white_is_one(cells);
  Expected<std::vector<float>> plane =
      gst_ocellus_read_states(settings.initial.c_str(), size, white_is_one);
  if (!plane) return tl::unexpected(plane.error());
  network->start_plane = std::move(*plane);
  CellStage& first = network->config.stages.front();
  first.start = ocellus::CellStart::kPlane;
  first.start_plane = network->start_plane.data();
  first.start_stride =
      static_cast<std::ptrdiff_t>(size.width) * static_cast<std::ptrdiff_t>(sizeof(float));
  return {};
}

// ---- GObject

static void gst_ocellus_cnn_set_property(GObject* object, guint id, const GValue* value,
                                         GParamSpec* pspec) {
  if (!gst_ocellus_base_may_configure(GST_OCELLUS_BASE(object), pspec)) return;
  const auto text = [value](const char* fallback) {
    const gchar* given = g_value_get_string(value);
    return std::string(given != nullptr ? given : fallback);
  };
  GST_OBJECT_LOCK(object);
  Settings& settings = *GST_OCELLUS_CNN(object)->settings;
  switch (id) {
    case PROP_TEMPLATE:
      settings.chain = text(DEFAULT_TEMPLATE);
      break;
    case PROP_BOUNDARY:
      settings.boundary = text(DEFAULT_BOUNDARY);
      break;
    case PROP_UPDATE:
      settings.update = g_value_get_enum(value);
      break;
    case PROP_COLOR_SPACING:
      settings.color_spacing = g_value_get_int(value);
      break;
    case PROP_INITIAL:
      settings.initial = text(DEFAULT_INITIAL);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK(object);
}

static void gst_ocellus_cnn_get_property(GObject* object, guint id, GValue* value,
                                         GParamSpec* pspec) {
  const Settings settings = get_settings(object);
  switch (id) {
    case PROP_TEMPLATE:
      g_value_set_string(value, settings.chain.c_str());
      break;
    case PROP_BOUNDARY:
      g_value_set_string(value, settings.boundary.c_str());
      break;
    case PROP_UPDATE:
      g_value_set_enum(value, settings.update);
      break;
    case PROP_COLOR_SPACING:
      g_value_set_int(value, settings.color_spacing);
      break;
    case PROP_INITIAL:
      g_value_set_string(value, settings.initial.c_str());
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
      break;
  }
}

static void gst_ocellus_cnn_finalize(GObject* object) {
  delete GST_OCELLUS_CNN(object)->settings;
  G_OBJECT_CLASS(gst_ocellus_cnn_parent_class)->finalize(object);
}

static void gst_ocellus_cnn_class_init(GstOcellusCnnClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = gst_ocellus_cnn_set_property;
  object_class->get_property = gst_ocellus_cnn_get_property;
  object_class->finalize = gst_ocellus_cnn_finalize;

  constexpr auto kFlags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_READY);
  const auto install = [object_class](guint id, GParamSpec* pspec) {
    g_object_class_install_property(object_class, id, pspec);
  };
  install(
      PROP_TEMPLATE,
      g_param_spec_string("template", "Template",
                          "A template's name, a file of templates (*.ocellus), or a chain of them "
                          "with | between them",
                          DEFAULT_TEMPLATE, kFlags));
  install(PROP_BOUNDARY,
          g_param_spec_string("boundary", "Boundary",
                              "What lies beyond the picture: zero-flux, periodic, or a number from "
                              "-1 to 1 (empty = the template's)",
                              DEFAULT_BOUNDARY, kFlags));
  install(PROP_UPDATE,
          g_param_spec_enum("update", "Update", "Order in which cells are updated",
                            gst_ocellus_cnn_update_get_type(), DEFAULT_UPDATE, kFlags));
  install(PROP_COLOR_SPACING,
          g_param_spec_int("color-spacing", "Color spacing",
                           "How far apart cells of a color are, the radius + 1 at least (0 = the "
                           "template's)",
                           0, 9, DEFAULT_COLOR_SPACING, kFlags));
  install(PROP_INITIAL,
          g_param_spec_string("initial", "Initial state",
                              "What the first stage begins with: a binary PGM file (P5) of the "
                              "pictures' size (empty = the template's)",
                              DEFAULT_INITIAL, kFlags));

  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Ocellus cellular network", "Filter/Effect/Video",
      "Runs templates of a cellular neural network on pictures", "The Ocellus authors");

  GST_OCELLUS_BASE_CLASS(klass)->message_name = "ocelluscnn";
  GST_OCELLUS_CELLULAR_NETWORK_CLASS(klass)->describe_network = gst_ocellus_cnn_describe_network;
  gst_type_mark_as_plugin_api(gst_ocellus_cnn_update_get_type(), static_cast<GstPluginAPIFlags>(0));
}

static void gst_ocellus_cnn_init(GstOcellusCnn* self) {
  self->settings = new Settings;
}
