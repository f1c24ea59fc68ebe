/**
 * SECTION:element-ocelluscortex
 * @title: ocelluscortex
 *
 * Classifies the picture, or each tile of it, with a cortical classifier. The picture passes
 * unchanged, or with boxes and names drawn over it (#GstOcellusCortex:draw). The model of the
 * library knows handwritten digits; #GstOcellusCortex:model names another one.
 *
 * The result is attached to each buffer as a GstOcellusMeta. Programs read it with the header
 * ocellus/gst/meta.h.
 *
 * The element message `ocelluscortex` has string (string): the names of the patches, row after row;
 * fields (array with this string), patches (array of structures with class (int), name (string),
 * confidence (double), x, y, width and height), count (unsigned), truncated (boolean) and
 * compute-time. #GstOcellusCortex:messages says when it is posted.
 *
 * ## Learning
 *
 * With #GstOcellusCortex:learn, the features of the model follow the pictures. Frames that miss
 * their budget or that downstream skips teach, too. What is learned is kept over discontinuities,
 * flushes, and new caps, also those of another size and those that are refused. It is lost when the
 * element goes to READY, and when a device is lost, unless it is saved: the action signal
 * #GstOcellusCortex::save-model writes a model file at any moment, and
 * #GstOcellusCortex:save-location names a file that is written at the end of the stream, and when
 * the element stops, if frames have come since. #GstOcellusCortex:model reads it again.
 *
 * ## Launch line
 * |[
 * gst-launch-1.0 -m v4l2src ! videoconvert ! videocrop left=80 right=80 ! ocelluscortex !
 * videoconvert ! autovideosink
 * ]| Shows a camera, and prints which digit fills the picture whenever the answer changes.
 */
#include "gstocelluscortex.h"

#include "ocellus/cortex.h"

enum {
  PROP_0,
  PROP_SAVE_LOCATION,
};

#define DEFAULT_SAVE_LOCATION ""

enum {
  SIGNAL_SAVE_MODEL,
  SIGNAL_LAST,
};

static guint signals[SIGNAL_LAST];

struct _GstOcellusCortex {
  GstOcellusBase parent_instance;

  gchar* save_location;  // guarded by the object lock
};

G_DEFINE_TYPE(GstOcellusCortex, gst_ocellus_cortex, GST_TYPE_OCELLUS_BASE)
GST_ELEMENT_REGISTER_DEFINE(ocelluscortex, "ocelluscortex", GST_RANK_NONE, GST_TYPE_OCELLUS_CORTEX)

// ---- GstOcellusBase

static ocellus::ImageSize gst_ocellus_cortex_trial_size(const ocellus::OperatorConfig& settings) {
  const auto& config = *settings.get_if<ocellus::CortexConfig>();
  return {MAX(config.tile_width, kGstOcellusTrialSize.width),
          MAX(config.tile_height, kGstOcellusTrialSize.height)};
}

// ---- learning

// Any thread. Returns TRUE if the file is complete; otherwise posts a warning with the reason.
static gboolean gst_ocellus_cortex_save_model(GstOcellusCortex* self, const gchar* path) {
  const ocellus::Expected<void> saved =
      gst_ocellus_base_save_model(GST_OCELLUS_BASE(self), path != nullptr ? path : "");
  if (saved) return TRUE;
  GST_ELEMENT_WARNING(self, RESOURCE, WRITE, ("The model is not saved: %s", saved.error().text),
                      (nullptr));
  return FALSE;
}

static gboolean gst_ocellus_cortex_save_learned(GstOcellusBase* base) {
  GstOcellusCortex* self = GST_OCELLUS_CORTEX(base);
  GST_OBJECT_LOCK(self);
  gchar* path = g_strdup(self->save_location);
  GST_OBJECT_UNLOCK(self);
  const gboolean saved =
      path != nullptr && *path != '\0' && gst_ocellus_cortex_save_model(self, path);
  g_free(path);
  return saved;
}

// ---- GObject

static void gst_ocellus_cortex_set_property(GObject* object, guint id, const GValue* value,
                                            GParamSpec* pspec) {
  switch (id) {
    case PROP_SAVE_LOCATION:
      GST_OBJECT_LOCK(object);
      g_free(GST_OCELLUS_CORTEX(object)->save_location);
      GST_OCELLUS_CORTEX(object)->save_location = g_value_dup_string(value);
      GST_OBJECT_UNLOCK(object);
      break;
    default:
      G_OBJECT_CLASS(gst_ocellus_cortex_parent_class)->set_property(object, id, value, pspec);
      break;
  }
}

static void gst_ocellus_cortex_get_property(GObject* object, guint id, GValue* value,
                                            GParamSpec* pspec) {
  switch (id) {
    case PROP_SAVE_LOCATION:
      GST_OBJECT_LOCK(object);
      g_value_set_string(value, GST_OCELLUS_CORTEX(object)->save_location);
      GST_OBJECT_UNLOCK(object);
      break;
    default:
      G_OBJECT_CLASS(gst_ocellus_cortex_parent_class)->get_property(object, id, value, pspec);
      break;
  }
}

static void gst_ocellus_cortex_finalize(GObject* object) {
  g_free(GST_OCELLUS_CORTEX(object)->save_location);
  G_OBJECT_CLASS(gst_ocellus_cortex_parent_class)->finalize(object);
}

static void gst_ocellus_cortex_class_init(GstOcellusCortexClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);

  object_class->set_property = gst_ocellus_cortex_set_property;
  object_class->get_property = gst_ocellus_cortex_get_property;
  object_class->finalize = gst_ocellus_cortex_finalize;
  g_object_class_install_property(
      object_class, PROP_SAVE_LOCATION,
      g_param_spec_string("save-location", "Save location",
                          "With learn=true: model file to write at the end of the stream, and when "
                          "the element stops (empty = none)",
                          DEFAULT_SAVE_LOCATION,
                          static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_PLAYING)));

  /**
   * GstOcellusCortex::save-model:
   * @self: the element
   * @location: the file
   *
   * Writes what the element has learned to a model file, beside it and then renamed. The file has
   * what all pictures have taught that the element has begun to compute. The stream waits until the
   * file is written and loses no frame.
   *
   * Returns: %TRUE if the file is complete; otherwise a warning message has the reason.
   */
  signals[SIGNAL_SAVE_MODEL] =
      g_signal_new_class_handler("save-model", G_TYPE_FROM_CLASS(klass),
                                 static_cast<GSignalFlags>(G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION),
                                 G_CALLBACK(gst_ocellus_cortex_save_model), nullptr, nullptr,
                                 nullptr, G_TYPE_BOOLEAN, 1, G_TYPE_STRING);

  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Ocellus cortical classifier", "Filter/Analyzer/Video",
      "Classifies pictures, or tiles of them, and attaches the classes to the buffers as "
      "GstOcellusMeta",
      "The Ocellus authors");

  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("cortex"));
  base_class->message_name = "ocelluscortex";
  base_class->trial_size = gst_ocellus_cortex_trial_size;
  base_class->save_learned = gst_ocellus_cortex_save_learned;
}

static void gst_ocellus_cortex_init(GstOcellusCortex* self) {
  self->save_location = g_strdup(DEFAULT_SAVE_LOCATION);
}
