/**
 * SECTION:element-ocelluscortex
 * @title: ocelluscortex
 *
 * Classifies the picture, or each tile of it, with a cortical classifier. The picture passes
 * unchanged. The model of the library knows handwritten digits; #GstOcellusCortex:model names
 * another one.
 *
 * The result is attached to each buffer as a GstOcellusCortexMeta. Programs read it with the header
 * ocellus/gst/cortex_meta.h.
 *
 * The element message `ocelluscortex` has class (int), name (string) and confidence (double) of the
 * first patch, patches (array of structures with class, name, confidence, x, y, width and height),
 * count (unsigned), truncated (boolean) and compute-time. #GstOcellusCortex:messages says when it
 * is posted.
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

#include <string>
#include <vector>

#include "base/gstocelluslabels.h"
#include "base/gstocellusmessages.h"
#include "gstocelluscortexmeta.h"
#include "ocellus/cortex.h"

using ocellus::Cortex;
using ocellus::CortexConfig;
using ocellus::CortexLayout;
using ocellus::CortexRecord;
using ocellus::Expected;
using ocellus::OperatorConfig;

static_assert(GST_OCELLUS_CORTEX_MAX == ocellus::kMaxCortexPatches);

enum {
  PROP_0,
  PROP_MESSAGES,
  PROP_SAVE_LOCATION,
};

#define DEFAULT_SAVE_LOCATION ""

enum {
  SIGNAL_SAVE_MODEL,
  SIGNAL_LAST,
};

static guint signals[SIGNAL_LAST];

// What the element knows of the stream; streaming thread.
struct CortexStream {
  std::vector<const gchar*> names;  // of the classes; interned
  ocellus::ImageSize tile;
  gint columns = 1;  // tiles of a row
};

struct _GstOcellusCortex {
  GstOcellusBase parent_instance;

  gst_ocellus::ChangeMessages* messages;
  CortexStream* stream;
  gchar* save_location;  // guarded by the object lock
};

G_DEFINE_TYPE(GstOcellusCortex, gst_ocellus_cortex, GST_TYPE_OCELLUS_BASE)
GST_ELEMENT_REGISTER_DEFINE(ocelluscortex, "ocelluscortex", GST_RANK_NONE, GST_TYPE_OCELLUS_CORTEX)

// ---- GstOcellusBase

static ocellus::ImageSize gst_ocellus_cortex_trial_size(const OperatorConfig& settings) {
  const CortexConfig& config = *settings.get_if<CortexConfig>();
  return {MAX(config.tile_width, kGstOcellusTrialSize.width),
          MAX(config.tile_height, kGstOcellusTrialSize.height)};
}

static Expected<void> gst_ocellus_cortex_prepare(GstOcellusBase* base,
                                                 const OperatorConfig& settings) {
  const CortexConfig& config = *settings.get_if<CortexConfig>();
  GstOcellusCortex* self = GST_OCELLUS_CORTEX(base);
  CortexStream* stream = self->stream;
  const auto model = Cortex::read_model_info(config.model.c_str());
  if (!model) return tl::unexpected(model.error());
  *stream = {};
  self->messages->restart();
  stream->tile = config.size;
  if (config.layout == CortexLayout::kTiles) stream->tile = {config.tile_width, config.tile_height};
  stream->columns = MAX(config.size.width / MAX(stream->tile.width, 1), 1);
  for (gsize i = 0; i < static_cast<gsize>(model->classes); ++i)
    stream->names.push_back(gst_ocellus::intern_class_name(model->names[i].c_str()));
  return {};
}

static GstOcellusCortexMeta* meta_of(GstBuffer* buffer) {
  // The first meta is the one of this element's pool. Metas of upstream elements are copied after
  // it.
  return reinterpret_cast<GstOcellusCortexMeta*>(
      gst_buffer_get_meta(buffer, gst_ocellus_cortex_meta_api_get_type()));
}

static void gst_ocellus_cortex_attach_meta(GstBuffer* buffer) {
  gst_buffer_add_ocellus_cortex_meta(buffer);
}

static void gst_ocellus_cortex_clear_meta(GstBuffer* buffer) {
  gst_ocellus_cortex_meta_clear(meta_of(buffer));
}

static void gst_ocellus_cortex_set_result(GstOcellusBase* base, GstBuffer* buffer,
                                          const GstOcellusResult& result) {
  const CortexStream& stream = *GST_OCELLUS_CORTEX(base)->stream;
  const auto& record = *reinterpret_cast<const CortexRecord*>(result.record.data());
  GstOcellusCortexMeta* meta = meta_of(buffer);
  gst_ocellus_cortex_meta_clear(meta);
  meta->source = g_quark_from_string(GST_OBJECT_NAME(base));
  guint flags = GST_OCELLUS_CORTEX_FLAG_NONE;
  if (result.reused) flags |= GST_OCELLUS_CORTEX_FLAG_REUSED;
  if (result.late) flags |= GST_OCELLUS_CORTEX_FLAG_LATE;
  meta->flags = flags;
  meta->count = static_cast<guint>(CLAMP(record.count, 0, GST_OCELLUS_CORTEX_MAX));
  meta->truncated = record.truncated;
  meta->pts = static_cast<GstClockTime>(result.info.timestamp_ns);
  meta->compute_time = static_cast<GstClockTime>(result.info.compute_ns);
  for (guint i = 0; i < meta->count; ++i) {
    const gint label = record.label[i];
    const bool is_class = label >= 0 && static_cast<gsize>(label) < stream.names.size();
    GstOcellusCortexPatch* patch = &meta->patches[i];
    patch->label = label;
    patch->name = is_class ? stream.names[static_cast<gsize>(label)] : "";
    patch->confidence = record.confidence[i];
    patch->x = static_cast<gint>(i) % stream.columns * stream.tile.width;
    patch->y = static_cast<gint>(i) / stream.columns * stream.tile.height;
    patch->width = stream.tile.width;
    patch->height = stream.tile.height;
  }
}

static void gst_ocellus_cortex_describe(GstOcellusBase*, GstBuffer* buffer, GstStructure* message) {
  const GstOcellusCortexMeta* meta = meta_of(buffer);
  GValue patches = G_VALUE_INIT;
  gst_value_array_init(&patches, meta->count);
  for (guint i = 0; i < meta->count; ++i) {
    const GstOcellusCortexPatch& patch = meta->patches[i];
    gst_ocellus::append_with_box(
        &patches,
        gst_structure_new("patch", "class", G_TYPE_INT, patch.label, "name", G_TYPE_STRING,
                          patch.name, "confidence", G_TYPE_DOUBLE,
                          static_cast<gdouble>(patch.confidence), nullptr),
        {patch.x, patch.y, patch.width, patch.height});
  }
  if (meta->count > 0) {
    gst_structure_set(message, "class", G_TYPE_INT, meta->patches[0].label, "name", G_TYPE_STRING,
                      meta->patches[0].name, "confidence", G_TYPE_DOUBLE,
                      static_cast<gdouble>(meta->patches[0].confidence), nullptr);
  }
  gst_structure_set(message, "count", G_TYPE_UINT, meta->count, "truncated", G_TYPE_BOOLEAN,
                    meta->truncated, "compute-time", G_TYPE_UINT64, meta->compute_time, nullptr);
  gst_structure_take_value(message, "patches", &patches);
}

static gboolean gst_ocellus_cortex_wants_message(GstOcellusBase* base, GstBuffer* buffer) {
  const GstOcellusCortexMeta* meta = meta_of(buffer);
  std::string classes;
  for (guint i = 0; i < meta->count; ++i) {
    classes += meta->patches[i].name;
    classes += '\n';
  }
  return GST_OCELLUS_CORTEX(base)->messages->wants(G_OBJECT(base), classes) ? TRUE : FALSE;
}

// ---- learning

// Any thread. Returns TRUE if the file is complete; otherwise posts a warning with the reason.
static gboolean gst_ocellus_cortex_save_model(GstOcellusCortex* self, const gchar* path) {
  const Expected<void> saved =
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
    case PROP_MESSAGES:
      GST_OBJECT_LOCK(object);
      GST_OCELLUS_CORTEX(object)->messages->set(
          static_cast<GstOcellusMessages>(g_value_get_enum(value)));
      GST_OBJECT_UNLOCK(object);
      break;
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
    case PROP_MESSAGES:
      GST_OBJECT_LOCK(object);
      g_value_set_enum(value, GST_OCELLUS_CORTEX(object)->messages->get());
      GST_OBJECT_UNLOCK(object);
      break;
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
  delete GST_OCELLUS_CORTEX(object)->messages;
  delete GST_OCELLUS_CORTEX(object)->stream;
  g_free(GST_OCELLUS_CORTEX(object)->save_location);
  G_OBJECT_CLASS(gst_ocellus_cortex_parent_class)->finalize(object);
}

static void gst_ocellus_cortex_class_init(GstOcellusCortexClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);

  object_class->set_property = gst_ocellus_cortex_set_property;
  object_class->get_property = gst_ocellus_cortex_get_property;
  object_class->finalize = gst_ocellus_cortex_finalize;
  gst_ocellus::install_messages_property(object_class, PROP_MESSAGES);
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
      "GstOcellusCortexMeta",
      "The Ocellus authors");

  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("cortex"));
  base_class->message_name = "ocelluscortex";
  base_class->trial_size = gst_ocellus_cortex_trial_size;
  base_class->prepare = gst_ocellus_cortex_prepare;
  base_class->attach_meta = gst_ocellus_cortex_attach_meta;
  base_class->clear_meta = gst_ocellus_cortex_clear_meta;
  base_class->set_result = gst_ocellus_cortex_set_result;
  base_class->describe = gst_ocellus_cortex_describe;
  base_class->wants_message = gst_ocellus_cortex_wants_message;
  base_class->save_learned = gst_ocellus_cortex_save_learned;

  // Readers find the meta by its name, so it is registered before the first buffer.
  gst_ocellus_cortex_meta_get_info();
}

static void gst_ocellus_cortex_init(GstOcellusCortex* self) {
  self->messages = new gst_ocellus::ChangeMessages;
  self->stream = new CortexStream;
  self->save_location = g_strdup(DEFAULT_SAVE_LOCATION);
}
