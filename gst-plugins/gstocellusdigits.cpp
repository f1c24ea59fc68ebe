/**
 * SECTION:element-ocellusdigits
 * @title: ocellusdigits
 *
 * Finds the characters in the picture and reads them with a neocognitron. The picture passes
 * unchanged, or with boxes and characters drawn over it (#GstOcellusDigits:draw). The model of the
 * library reads handwritten digits; #GstOcellusDigits:model names another one.
 *
 * The result is attached to each buffer:
 *
 * - a #GstVideoRegionOfInterestMeta for each character, of the type `digit`. Its #GstStructure
 *   `digit` has the fields class (int), name (string), confidence and margin (double), line and
 *   field (int), and rejected (boolean). Empty tiles (layout=tiles) have none;
 * - a GstOcellusDigitsMeta with the string and all values. Programs read it with the header
 *   ocellus/gst/digits_meta.h.
 *
 * The element message `ocellusdigits` has string (string), fields (array of strings: one for each
 * of #GstOcellusDigits:fields, or one for the picture), count (unsigned), truncated (boolean),
 * characters (array of structures as above, with x, y, width and height) and compute-time.
 * #GstOcellusDigits:messages says when it is posted.
 *
 * In the string, a rejected character is `?`, and an empty tile is a space. A newline stands
 * between lines, and between fields with layout=find. If the model has names of more than one
 * character, a space stands between the names of a line.
 *
 * ## Launch line
 * |[
 * gst-launch-1.0 -m v4l2src ! videoconvert ! ocellusdigits draw=true ! videoconvert !
 * autovideosink
 * ]| Shows the digits in front of a camera and prints them whenever they change.
 */
#include "gstocellusdigits.h"

#include <string>
#include <vector>

#include "base/gstocelluslabels.h"
#include "base/gstocellusmessages.h"
#include "gstocellusdigitsmeta.h"
#include "ocellus/character_draw.h"
#include "ocellus/neocognitron.h"

using ocellus::CharacterLayout;
using ocellus::CharacterModelInfo;
using ocellus::Expected;
using ocellus::Neocognitron;
using ocellus::NeocognitronConfig;
using ocellus::NeocognitronRecord;
using ocellus::OperatorConfig;

static_assert(GST_OCELLUS_DIGITS_MAX == ocellus::kMaxCharacters);
static_assert(guint{GST_OCELLUS_DIGIT_FLAG_REJECTED} == ocellus::kCharacterRejected);
static_assert(guint{GST_OCELLUS_DIGIT_FLAG_CAPPED} == ocellus::kCharacterCapped);
static_assert(guint{GST_OCELLUS_DIGIT_FLAG_EMPTY} == ocellus::kCharacterEmpty);

#define DEFAULT_DRAW FALSE

enum {
  PROP_0,
  PROP_DRAW,
  PROP_MESSAGES,
};

// What the element knows of the stream; streaming thread.
struct DigitsStream {
  CharacterModelInfo model;
  ocellus::OperatorInfo info;
  std::vector<const gchar*> names;  // of the classes; interned
  gint fields = 1;                  // strings of a message
  const gchar* gap = "";            // between characters in a string
  const gchar* separator = "\n";    // between fields
};

struct _GstOcellusDigits {
  GstOcellusBase parent_instance;

  gst_ocellus::ChangeMessages* messages;
  DigitsStream* stream;
};

G_DEFINE_TYPE(GstOcellusDigits, gst_ocellus_digits, GST_TYPE_OCELLUS_BASE)
GST_ELEMENT_REGISTER_DEFINE(ocellusdigits, "ocellusdigits", GST_RANK_NONE, GST_TYPE_OCELLUS_DIGITS)

// ---- GstOcellusBase

static ocellus::ImageSize gst_ocellus_digits_trial_size(const OperatorConfig& settings) {
  const NeocognitronConfig& config = *settings.get_if<NeocognitronConfig>();
  ocellus::ImageSize size = {MAX(config.tile_width, kGstOcellusTrialSize.width),
                             MAX(config.tile_height, kGstOcellusTrialSize.height)};
  for (gint i = 0; i < config.fields.count; ++i)
    size = gst_ocellus::enclose(size, config.fields.fields[static_cast<gsize>(i)]);
  return size;
}

static Expected<void> gst_ocellus_digits_prepare(GstOcellusBase* base,
                                                 const OperatorConfig& settings) {
  const NeocognitronConfig& config = *settings.get_if<NeocognitronConfig>();
  const auto model = Neocognitron::read_model_info(config.model.c_str());
  if (!model) return tl::unexpected(model.error());
  DigitsStream* stream = GST_OCELLUS_DIGITS(base)->stream;
  *stream = {};
  GST_OCELLUS_DIGITS(base)->messages->restart();
  stream->model = *model;
  Expected<ocellus::OperatorInfo> info = settings.info();
  if (!info) return tl::unexpected(info.error());
  stream->info = *info;
  static_assert(sizeof(stream->model.names[0]) == sizeof(ocellus::ClassName));
  stream->info.class_names = &stream->model.names[0].data;
  for (gsize i = 0; i < static_cast<gsize>(stream->model.classes); ++i) {
    const gchar* name = gst_ocellus::intern_class_name(stream->model.names[i].c_str());
    if (g_utf8_strlen(name, -1) > 1) stream->gap = " ";
    stream->names.push_back(name);
  }
  if (config.layout != CharacterLayout::kTiles) stream->fields = MAX(config.fields.count, 1);
  if (config.layout == CharacterLayout::kBoxes) stream->separator = stream->gap;
  return {};
}

static GstOcellusDigitsMeta* meta_of(GstBuffer* buffer) {
  // The first meta is the one of this element's pool. Metas of upstream elements are copied after
  // it.
  return reinterpret_cast<GstOcellusDigitsMeta*>(
      gst_buffer_get_meta(buffer, gst_ocellus_digits_meta_api_get_type()));
}

static void gst_ocellus_digits_attach_meta(GstBuffer* buffer) {
  gst_buffer_add_ocellus_digits_meta(buffer);
}

static void gst_ocellus_digits_clear_meta(GstBuffer* buffer) {
  gst_ocellus_digits_meta_clear(meta_of(buffer));
}

// The string of one field.
static std::string string_of(const DigitsStream& stream, const GstOcellusDigitsMeta* meta,
                             gint field) {
  std::string text;
  gint line = -1;
  for (guint i = 0; i < meta->count; ++i) {
    const GstOcellusDigit& digit = meta->digits[i];
    if (digit.field != field) continue;
    if (line >= 0) text += digit.line != line ? "\n" : stream.gap;
    line = digit.line;
    if ((digit.flags & GST_OCELLUS_DIGIT_FLAG_EMPTY) != 0)
      text += ' ';
    else if ((digit.flags & GST_OCELLUS_DIGIT_FLAG_REJECTED) != 0)
      text += '?';
    else
      text += digit.name;
  }
  return text;
}

static GstStructure* structure_of(const GstOcellusDigit& digit) {
  return gst_structure_new(GST_OCELLUS_DIGITS_ROI_TYPE, "class", G_TYPE_INT, digit.label, "name",
                           G_TYPE_STRING, digit.name, "confidence", G_TYPE_DOUBLE,
                           static_cast<gdouble>(digit.confidence), "margin", G_TYPE_DOUBLE,
                           static_cast<gdouble>(digit.margin), "line", G_TYPE_INT, digit.line,
                           "field", G_TYPE_INT, digit.field, "rejected", G_TYPE_BOOLEAN,
                           (digit.flags & GST_OCELLUS_DIGIT_FLAG_REJECTED) != 0, nullptr);
}

static void add_region(GstBuffer* buffer, const GstOcellusDigit& digit) {
  // The meta has no negative numbers. No box leaves the picture.
  const auto number = [](gint value) { return static_cast<guint>(MAX(value, 0)); };
  GstVideoRegionOfInterestMeta* region = gst_buffer_add_video_region_of_interest_meta(
      buffer, GST_OCELLUS_DIGITS_ROI_TYPE, number(digit.x), number(digit.y), number(digit.width),
      number(digit.height));
  gst_video_region_of_interest_meta_add_param(region, structure_of(digit));
}

static void gst_ocellus_digits_set_result(GstOcellusBase* base, GstBuffer* buffer,
                                          const GstOcellusResult& result) {
  const DigitsStream& stream = *GST_OCELLUS_DIGITS(base)->stream;
  const auto& record = *reinterpret_cast<const NeocognitronRecord*>(result.record.data());
  GstOcellusDigitsMeta* meta = meta_of(buffer);
  gst_ocellus_digits_meta_clear(meta);
  meta->source = g_quark_from_string(GST_OBJECT_NAME(base));
  guint flags = GST_OCELLUS_DIGITS_FLAG_NONE;
  if (result.reused) flags |= GST_OCELLUS_DIGITS_FLAG_REUSED;
  if (result.late) flags |= GST_OCELLUS_DIGITS_FLAG_LATE;
  meta->flags = flags;
  meta->count = static_cast<guint>(CLAMP(record.count, 0, GST_OCELLUS_DIGITS_MAX));
  meta->truncated = record.truncated;
  meta->pts = static_cast<GstClockTime>(result.info.timestamp_ns);
  meta->compute_time = static_cast<GstClockTime>(result.info.compute_ns);
  for (gsize i = 0; i < meta->count; ++i) {
    const gint label = record.label[i];
    const bool is_class = label >= 0 && static_cast<gsize>(label) < stream.names.size();
    GstOcellusDigit* digit = &meta->digits[i];
    digit->label = label;
    digit->name = is_class ? stream.names[static_cast<gsize>(label)] : "";
    digit->confidence = record.confidence[i];
    digit->similarity = record.similarity[i];
    digit->margin = record.margin[i];
    digit->x = record.x[i];
    digit->y = record.y[i];
    digit->width = record.width[i];
    digit->height = record.height[i];
    digit->line = record.line[i];
    digit->field = record.field[i];
    digit->flags = record.flags[i];
    if (label >= 0) add_region(buffer, *digit);
  }
  std::string string = string_of(stream, meta, 0);
  for (gint field = 1; field < stream.fields; ++field)
    string += stream.separator + string_of(stream, meta, field);
  meta->string = g_strdup(string.c_str());
}

static void gst_ocellus_digits_draw(GstOcellusBase* base, GstBuffer* buffer,
                                    const ocellus::OverlayImage& image) {
  const GstOcellusDigitsMeta* meta = meta_of(buffer);
  NeocognitronRecord record;
  record.count = static_cast<gint>(meta->count);
  for (gsize i = 0; i < meta->count; ++i) {
    const GstOcellusDigit& digit = meta->digits[i];
    record.label[i] = digit.label;
    record.x[i] = digit.x;
    record.y[i] = digit.y;
    record.width[i] = digit.width;
    record.height[i] = digit.height;
    record.flags[i] = digit.flags;
  }
  ocellus::draw_items(GST_OCELLUS_DIGITS(base)->stream->info, &record, image);
}

static void gst_ocellus_digits_describe(GstOcellusBase* base, GstBuffer* buffer,
                                        GstStructure* message) {
  const DigitsStream& stream = *GST_OCELLUS_DIGITS(base)->stream;
  const GstOcellusDigitsMeta* meta = meta_of(buffer);
  GValue fields = G_VALUE_INIT;
  gst_value_array_init(&fields, static_cast<guint>(stream.fields));
  for (gint field = 0; field < stream.fields; ++field) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_STRING);
    g_value_set_string(&value, string_of(stream, meta, field).c_str());
    gst_value_array_append_and_take_value(&fields, &value);
  }
  GValue characters = G_VALUE_INIT;
  gst_value_array_init(&characters, meta->count);
  for (guint i = 0; i < meta->count; ++i) {
    const GstOcellusDigit& digit = meta->digits[i];
    gst_ocellus::append_with_box(&characters, structure_of(digit),
                                 {digit.x, digit.y, digit.width, digit.height});
  }
  gst_structure_set(message, "string", G_TYPE_STRING, meta->string, "count", G_TYPE_UINT,
                    meta->count, "truncated", G_TYPE_BOOLEAN, meta->truncated, "compute-time",
                    G_TYPE_UINT64, meta->compute_time, nullptr);
  gst_structure_take_value(message, "fields", &fields);
  gst_structure_take_value(message, "characters", &characters);
}

static gboolean gst_ocellus_digits_wants_message(GstOcellusBase* base, GstBuffer* buffer) {
  return GST_OCELLUS_DIGITS(base)->messages->wants(G_OBJECT(base), meta_of(buffer)->string) ? TRUE
                                                                                            : FALSE;
}

// ---- GObject

static void gst_ocellus_digits_set_property(GObject* object, guint id, const GValue* value,
                                            GParamSpec* pspec) {
  GstOcellusDigits* self = GST_OCELLUS_DIGITS(object);
  switch (id) {
    case PROP_DRAW:
      gst_ocellus_base_set_draw(GST_OCELLUS_BASE(object), g_value_get_boolean(value));
      break;
    case PROP_MESSAGES:
      GST_OBJECT_LOCK(self);
      self->messages->set(static_cast<GstOcellusMessages>(g_value_get_enum(value)));
      GST_OBJECT_UNLOCK(self);
      break;
    default:
      G_OBJECT_CLASS(gst_ocellus_digits_parent_class)->set_property(object, id, value, pspec);
      break;
  }
}

static void gst_ocellus_digits_get_property(GObject* object, guint id, GValue* value,
                                            GParamSpec* pspec) {
  switch (id) {
    case PROP_DRAW:
      g_value_set_boolean(value, gst_ocellus_base_get_draw(GST_OCELLUS_BASE(object)));
      break;
    case PROP_MESSAGES:
      GST_OBJECT_LOCK(object);
      g_value_set_enum(value, GST_OCELLUS_DIGITS(object)->messages->get());
      GST_OBJECT_UNLOCK(object);
      break;
    default:
      G_OBJECT_CLASS(gst_ocellus_digits_parent_class)->get_property(object, id, value, pspec);
      break;
  }
}

static void gst_ocellus_digits_finalize(GObject* object) {
  delete GST_OCELLUS_DIGITS(object)->messages;
  delete GST_OCELLUS_DIGITS(object)->stream;
  G_OBJECT_CLASS(gst_ocellus_digits_parent_class)->finalize(object);
}

static void gst_ocellus_digits_class_init(GstOcellusDigitsClass* klass) {
  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);

  object_class->set_property = gst_ocellus_digits_set_property;
  object_class->get_property = gst_ocellus_digits_get_property;
  object_class->finalize = gst_ocellus_digits_finalize;
  g_object_class_install_property(
      object_class, PROP_DRAW,
      g_param_spec_boolean("draw", "Draw", "Draw the boxes and the characters over the picture",
                           DEFAULT_DRAW,
                           static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                    GST_PARAM_MUTABLE_PLAYING)));
  gst_ocellus::install_messages_property(object_class, PROP_MESSAGES);

  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Ocellus reading of digits", "Filter/Analyzer/Video",
      "Finds and reads handwritten digits and attaches them to the buffers as GstOcellusDigitsMeta "
      "and GstVideoRegionOfInterestMeta",
      "The Ocellus authors");

  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("digits"));
  base_class->message_name = "ocellusdigits";
  base_class->trial_size = gst_ocellus_digits_trial_size;
  base_class->prepare = gst_ocellus_digits_prepare;
  base_class->attach_meta = gst_ocellus_digits_attach_meta;
  base_class->clear_meta = gst_ocellus_digits_clear_meta;
  base_class->set_result = gst_ocellus_digits_set_result;
  base_class->draw = gst_ocellus_digits_draw;
  base_class->describe = gst_ocellus_digits_describe;
  base_class->wants_message = gst_ocellus_digits_wants_message;

  // Readers find the meta by its name, so it is registered before the first buffer.
  gst_ocellus_digits_meta_get_info();
}

static void gst_ocellus_digits_init(GstOcellusDigits* self) {
  self->messages = new gst_ocellus::ChangeMessages;
  self->stream = new DigitsStream;
}
