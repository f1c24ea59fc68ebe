/* GstOcellusMeta: what an element of Ocellus computed for the picture of a buffer.
 *
 * This header is plain C. It finds the type by its name, which the plugin registers when it creates
 * its first element. A program that reads the meta needs this header and gstreamer-1.0, and links
 * nothing of Ocellus.
 *
 *     GstOcellusMeta *digits = gst_buffer_get_ocellus_meta (buffer, "digits");
 *     if (digits != NULL) g_print ("%s\n", digits->string);
 *
 *     GstOcellusMeta *flow = gst_buffer_get_ocellus_meta (buffer, "flow");
 *     if (flow != NULL) {
 *       gdouble u;
 *       if (gst_ocellus_plane_get_value (gst_ocellus_meta_get_plane (flow, "u"), 320, 240, &u)) ...
 *     }
 *
 * A result has planes and a record, and both are read by name. @info lists the fields of the record
 * with their meaning, and the documentation of the operator describes its planes.
 *
 * Record, planes and @info belong to the meta. They remain valid and unchanged while a reference to
 * the buffer or to a copy of it is held, even after the pipeline is destroyed. Copies share the
 * planes, so do not write to them.
 *
 * Elements that change only the colors keep the meta. Elements that scale the picture scale the boxes.
 * They leave out the planes that have a value for each pixel, and remove a meta that has nothing else.
 * Most elements that crop or encode remove it. In GStreamer 1.22 videoflip keeps the meta unchanged,
 * although it no longer fits the picture: put videoflip before the element.
 */
#ifndef OCELLUS_GST_META_H
#define OCELLUS_GST_META_H

#include <gst/gst.h>
#include <string.h>

G_BEGIN_DECLS

/** Version of the structs below. The accessor returns NULL if the program and the plugin have
 * different versions. */
#define GST_OCELLUS_META_VERSION 1

/** The type's name, for gst_meta_get_info() and g_type_from_name(). */
#define GST_OCELLUS_META_API_NAME "GstOcellusMetaAPI"

/** Most planes of a result. */
#define GST_OCELLUS_META_MAX_PLANES 8
/** Largest size of a record, in bytes. */
#define GST_OCELLUS_META_MAX_RECORD 24576

/**
 * GstOcellusMetaFlags:
 * @GST_OCELLUS_META_FLAG_WARMING_UP: fewer frames than the result is computed from have arrived; the
 * oldest frame was used in place of the missing ones
 * @GST_OCELLUS_META_FLAG_BAD_PIXELS: a frame had NaN pixels; the planes are marked invalid
 * @GST_OCELLUS_META_FLAG_REPEATED: no later frames were available, because the stream ended or had a
 * discontinuity here, or a query asked for the buffers back; the last frame was repeated in their
 * place
 * @GST_OCELLUS_META_FLAG_REUSED: this is the result of an earlier frame (see @described_pts), because
 * the frame missed its budget, or (with REPEATED) because no later frame was available
 * @GST_OCELLUS_META_FLAG_LATE: the result was ready only after the budget had elapsed
 */
typedef enum {
  GST_OCELLUS_META_FLAG_NONE = 0,
  GST_OCELLUS_META_FLAG_WARMING_UP = (1 << 0),
  GST_OCELLUS_META_FLAG_BAD_PIXELS = (1 << 1),
  GST_OCELLUS_META_FLAG_REPEATED = (1 << 2),
  GST_OCELLUS_META_FLAG_REUSED = (1 << 3),
  GST_OCELLUS_META_FLAG_LATE = (1 << 4)
} GstOcellusMetaFlags;

/**
 * GstOcellusType:
 * @GST_OCELLUS_TYPE_UINT8: 1 byte
 * @GST_OCELLUS_TYPE_UINT16: 2 bytes
 * @GST_OCELLUS_TYPE_INT32: 4 bytes
 * @GST_OCELLUS_TYPE_UINT32: 4 bytes
 * @GST_OCELLUS_TYPE_FLOAT: 4 bytes
 * @GST_OCELLUS_TYPE_BOOL: 1 byte, 0 or 1
 *
 * The type of the elements of a plane or of a field, in the byte order of the host.
 */
typedef enum {
  GST_OCELLUS_TYPE_UINT8,
  GST_OCELLUS_TYPE_UINT16,
  GST_OCELLUS_TYPE_INT32,
  GST_OCELLUS_TYPE_UINT32,
  GST_OCELLUS_TYPE_FLOAT,
  GST_OCELLUS_TYPE_BOOL
} GstOcellusType;

/**
 * GstOcellusRole:
 * @GST_OCELLUS_ROLE_VALUE: a value with a name
 * @GST_OCELLUS_ROLE_COUNT: number of items; a field with a capacity above 1 has a value for each item
 * @GST_OCELLUS_ROLE_LABEL: class of an item; -1: none
 * @GST_OCELLUS_ROLE_CONFIDENCE: of the label, 0 to 1
 * @GST_OCELLUS_ROLE_BOX: four fields: left and upper edge, width and height of an item, in pixels of
 * the picture that the element processed
 * @GST_OCELLUS_ROLE_TEXT: two fields: the part of the text that an item belongs to, and its line there
 * @GST_OCELLUS_ROLE_FLAG: bits of an item, or a boolean of the record
 *
 * What a field of a record means.
 */
typedef enum {
  GST_OCELLUS_ROLE_VALUE,
  GST_OCELLUS_ROLE_COUNT,
  GST_OCELLUS_ROLE_LABEL,
  GST_OCELLUS_ROLE_CONFIDENCE,
  GST_OCELLUS_ROLE_BOX,
  GST_OCELLUS_ROLE_TEXT,
  GST_OCELLUS_ROLE_FLAG
} GstOcellusRole;

/**
 * GstOcellusField:
 * @name: name of the field
 * @help: meaning, with the unit
 * @type: type of a value
 * @role: meaning to a program that does not know the operator
 * @capacity: number of values; 1: a value of the record, otherwise one for each item
 * @offset: bytes from the start of the record
 * @n_flags: number of @flags
 * @flags: with the role FLAG and a capacity above 1: the names of the bits, from bit 0
 *
 * A field of a record.
 */
typedef struct {
  const gchar* name;
  const gchar* help;
  GstOcellusType type;
  GstOcellusRole role;
  guint capacity;
  guint offset;
  guint n_flags;
  const gchar* const* flags;
} GstOcellusField;

/**
 * GstOcellusResultInfo:
 * @operator_name: name of the operator, such as "digits"
 * @items: what the items of the record are, such as "digits"; "": there are none
 * @item: what one is, such as "digit": the type of its GstVideoRegionOfInterestMeta
 * @width: width of the pictures that the element processed, pixels
 * @height: height of these pictures, pixels
 * @record_bytes: size of the record; 0: there is none
 * @n_fields: number of @fields
 * @fields: the fields of the record
 * @n_classes: number of @class_names
 * @class_names: names of the classes of the labels
 * @tile_width: width of a tile, if the items are the tiles of the picture, row after row
 * @tile_height: height of a tile
 * @tile_columns: tiles of a row; 0: the items are no tiles
 *
 * What the results of an element are. All texts are ASCII and are never freed. The tables live as long
 * as the meta.
 */
typedef struct {
  const gchar* operator_name;
  const gchar* items;
  const gchar* item;
  gint width;
  gint height;
  guint record_bytes;
  guint n_fields;
  const GstOcellusField* fields;
  guint n_classes;
  const gchar* const* class_names;
  gint tile_width;
  gint tile_height;
  gint tile_columns;
} GstOcellusResultInfo;

/**
 * GstOcellusPlane:
 * @name: name of the plane, such as "u"; never freed
 * @type: type of an element
 * @is_picture: whether the plane has an element for each pixel of a region of the picture
 * @x: left edge of the region, pixels; 0 if it is no picture
 * @y: upper edge of the region, pixels; 0 if it is no picture
 * @width: elements of a row
 * @height: rows
 * @stride: bytes from row to row
 * @data: the first element; NULL if the plane was left out
 *
 * A plane of a result.
 */
typedef struct {
  const gchar* name;
  GstOcellusType type;
  gboolean is_picture;
  gint x;
  gint y;
  gint width;
  gint height;
  gsize stride;
  gconstpointer data;
} GstOcellusPlane;

typedef struct _GstOcellusMeta GstOcellusMeta;

/**
 * GstOcellusMeta:
 * @meta: parent
 * @version: GST_OCELLUS_META_VERSION of the plugin
 * @flags: GstOcellusMetaFlags
 * @source: name of the element that computed the result; 0 if the meta is empty
 * @info: what the result is
 * @width: width of the picture in which the boxes are, pixels
 * @height: height of this picture, pixels
 * @pts: PTS of the newest frame that the result was computed from
 * @described_pts: PTS of the frame that the result describes. It is the buffer's PTS, except with
 * REUSED and with align=false, where it is that of an earlier frame
 * @delay_frames: age of the described time relative to @pts, in frames; x.5 is the middle between the
 * described frame and the one before it
 * @compute_time: computation time, nanoseconds
 * @n_planes: number of @planes; 0 if the result is the picture of the buffer
 * @planes: the planes
 * @n_items: number of items of the record
 * @string: if the operator has classes: the names of the items as one text, with a line end between
 * lines. Some items have another text than the name: a rejected character is "?", an empty tile " ".
 * Otherwise NULL. It belongs to the meta.
 * @n_parts: number of @parts
 * @parts: the parts of @string, such as the fields of a form: at least one if there is a string
 * @record: the record, of @info->record_bytes bytes. Boxes in it are in pixels of the picture that the
 * element processed; gst_ocellus_meta_get_box() has those of the buffer's picture.
 */
struct _GstOcellusMeta {
  GstMeta meta;

  guint version;
  guint flags;
  GQuark source;
  const GstOcellusResultInfo* info;
  gint width;
  gint height;

  GstClockTime pts;
  GstClockTime described_pts;
  gfloat delay_frames;
  GstClockTime compute_time;

  guint n_planes;
  GstOcellusPlane planes[GST_OCELLUS_META_MAX_PLANES];

  guint n_items;
  const gchar* string;
  guint n_parts;
  const gchar** parts;

  /*< private >*/
  GstBuffer* data; /* the memory of the planes */
  gchar* text;     /* the memory of string and parts, which is used again */
  gsize text_bytes;

  /*< public >*/
  guint64 record[GST_OCELLUS_META_MAX_RECORD / sizeof(guint64)];
};

/**
 * gst_buffer_get_ocellus_meta:
 * @buffer: a buffer
 * @operator_name: (nullable): name of an operator, such as "flow", or NULL for any
 *
 * Returns: (nullable): the result of @buffer, or NULL if it has none (there is no such element
 * upstream, or the frame passed without a result). After several such elements in series it is the
 * result of the last one. To read the others, use gst_buffer_iterate_meta_filtered() and compare
 * @source.
 */
static inline GstOcellusMeta* gst_buffer_get_ocellus_meta(GstBuffer* buffer, const gchar* operator_name) {
  GType api = g_type_from_name(GST_OCELLUS_META_API_NAME);
  gpointer state = NULL;
  GstMeta* meta;

  if (api == 0) return NULL;
  while ((meta = gst_buffer_iterate_meta_filtered(buffer, &state, api)) != NULL) {
    GstOcellusMeta* result = (GstOcellusMeta*)meta;
    if (result->version != GST_OCELLUS_META_VERSION) {
      g_warning(
          "the plugin ocellus has version %u of GstOcellusMeta, this program was built with version %d",
          result->version, GST_OCELLUS_META_VERSION);
      return NULL;
    }
    if (result->source == 0) continue;
    if (operator_name == NULL || strcmp(result->info->operator_name, operator_name) == 0) return result;
  }
  return NULL;
}

/* Internal: the element at `index`. */
static inline gdouble gst_ocellus_type_read_(GstOcellusType type, gconstpointer data, gsize index) {
  switch (type) {
    case GST_OCELLUS_TYPE_UINT8:
    case GST_OCELLUS_TYPE_BOOL:
      return ((const guint8*)data)[index];
    case GST_OCELLUS_TYPE_UINT16:
      return ((const guint16*)data)[index];
    case GST_OCELLUS_TYPE_INT32:
      return ((const gint32*)data)[index];
    case GST_OCELLUS_TYPE_UINT32:
      return ((const guint32*)data)[index];
    case GST_OCELLUS_TYPE_FLOAT:
      return (gdouble)((const gfloat*)data)[index];
  }
  return 0.0;
}

/**
 * gst_ocellus_meta_get_plane:
 * @meta: a result
 * @name: name of a plane
 *
 * Returns: (nullable): the plane, or NULL if the result has no plane of this name or it was left out.
 */
static inline const GstOcellusPlane* gst_ocellus_meta_get_plane(const GstOcellusMeta* meta, const gchar* name) {
  guint i;

  for (i = 0; i < meta->n_planes; ++i)
    if (strcmp(meta->planes[i].name, name) == 0) return meta->planes[i].data != NULL ? &meta->planes[i] : NULL;
  return NULL;
}

/**
 * gst_ocellus_plane_get_value:
 * @plane: (nullable): a plane
 * @x: pixel of the picture; column of a plane that is no picture
 * @y: pixel of the picture; row of a plane that is no picture
 * @value: (out): the value
 *
 * Returns: FALSE if @plane is NULL, (@x, @y) is outside of it, or the value there is NaN (invalid).
 */
static inline gboolean gst_ocellus_plane_get_value(const GstOcellusPlane* plane, gint x, gint y, gdouble* value) {
  if (plane == NULL || x < plane->x || y < plane->y) return FALSE;
  if (x - plane->x >= plane->width || y - plane->y >= plane->height) return FALSE;
  *value = gst_ocellus_type_read_(plane->type, (const guint8*)plane->data + (gsize)(y - plane->y) * plane->stride,
                                  (gsize)(x - plane->x));
  return *value == *value; /* not so of NaN; isnan() is a macro that <cmath> may have removed */
}

/**
 * gst_ocellus_meta_get_field:
 * @meta: a result
 * @name: name of a field of the record
 *
 * Returns: (nullable): the field, or NULL if the record has none of this name.
 */
static inline const GstOcellusField* gst_ocellus_meta_get_field(const GstOcellusMeta* meta, const gchar* name) {
  guint i;

  for (i = 0; i < meta->info->n_fields; ++i)
    if (strcmp(meta->info->fields[i].name, name) == 0) return &meta->info->fields[i];
  return NULL;
}

/**
 * gst_ocellus_meta_get_value:
 * @meta: a result
 * @name: name of a field of the record
 * @item: number of an item, from 0; 0 for a field with one value
 * @value: (out): the value; a boolean is 0 or 1
 *
 * Returns: FALSE if the record has no field of this name, or no such item.
 */
static inline gboolean gst_ocellus_meta_get_value(const GstOcellusMeta* meta, const gchar* name, guint item,
                                                  gdouble* value) {
  const GstOcellusField* field = gst_ocellus_meta_get_field(meta, name);

  if (field == NULL || item >= (field->capacity == 1 ? 1 : meta->n_items)) return FALSE;
  *value = gst_ocellus_type_read_(field->type, (const guint8*)meta->record + field->offset, item);
  return TRUE;
}

/* Internal: the first field of a role, or NULL. */
static inline const GstOcellusField* gst_ocellus_meta_find_role_(const GstOcellusMeta* meta, GstOcellusRole role,
                                                                 gboolean of_items) {
  guint i;

  for (i = 0; i < meta->info->n_fields; ++i) {
    const GstOcellusField* field = &meta->info->fields[i];
    if (field->role == role && (field->capacity > 1) == of_items) return field;
  }
  return NULL;
}

/**
 * gst_ocellus_meta_get_name:
 * @meta: a result
 * @item: number of an item, from 0
 *
 * Returns: the name of the item's class, which is never freed; "" if it has none.
 */
static inline const gchar* gst_ocellus_meta_get_name(const GstOcellusMeta* meta, guint item) {
  const GstOcellusField* field = gst_ocellus_meta_find_role_(meta, GST_OCELLUS_ROLE_LABEL, TRUE);
  gdouble label;

  if (field == NULL || !gst_ocellus_meta_get_value(meta, field->name, item, &label)) return "";
  return label >= 0 && label < meta->info->n_classes ? meta->info->class_names[(guint)label] : "";
}

/**
 * gst_ocellus_meta_has_flag:
 * @meta: a result
 * @item: number of an item, from 0
 * @flag: name of a flag, such as "rejected"
 *
 * Returns: whether the item has the flag; FALSE if there is no such item or no flag of this name.
 */
static inline gboolean gst_ocellus_meta_has_flag(const GstOcellusMeta* meta, guint item, const gchar* flag) {
  const GstOcellusField* field = gst_ocellus_meta_find_role_(meta, GST_OCELLUS_ROLE_FLAG, TRUE);
  gdouble bits;
  guint i;

  if (field == NULL || !gst_ocellus_meta_get_value(meta, field->name, item, &bits)) return FALSE;
  for (i = 0; i < field->n_flags; ++i)
    if (strcmp(field->flags[i], flag) == 0) return ((guint32)bits >> i & 1u) != 0;
  return FALSE;
}

/**
 * gst_ocellus_meta_get_box:
 * @meta: a result
 * @item: number of an item, from 0
 * @x: (out): left edge in the buffer's picture, pixels
 * @y: (out): upper edge, pixels
 * @width: (out): width, pixels
 * @height: (out): height, pixels
 *
 * Returns: FALSE if the items have no boxes, or there is no such item.
 */
static inline gboolean gst_ocellus_meta_get_box(const GstOcellusMeta* meta, guint item, gint* x, gint* y,
                                                gint* width, gint* height) {
  const GstOcellusResultInfo* info = meta->info;
  const GstOcellusField* field = gst_ocellus_meta_find_role_(meta, GST_OCELLUS_ROLE_BOX, TRUE);
  gint64 box[4];
  guint i;

  if (item >= meta->n_items || (field == NULL && info->tile_columns == 0)) return FALSE;
  if (field == NULL) {
    box[0] = (gint64)item % info->tile_columns * info->tile_width;
    box[1] = (gint64)item / info->tile_columns * info->tile_height;
    box[2] = info->tile_width;
    box[3] = info->tile_height;
  } else {
    for (i = 0; i < 4; ++i)
      box[i] = (gint64)gst_ocellus_type_read_(field[i].type, (const guint8*)meta->record + field[i].offset, item);
  }
  *x = (gint)(box[0] * meta->width / info->width);
  *y = (gint)(box[1] * meta->height / info->height);
  *width = (gint)(box[2] * meta->width / info->width);
  *height = (gint)(box[3] * meta->height / info->height);
  return TRUE;
}

G_END_DECLS

#endif
