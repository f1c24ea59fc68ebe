/* GstOcellusCortexMeta: the classes that the element ocelluscortex found in the picture of a buffer.
 *
 * This header is plain C. It finds the type by its name, which the plugin registers when it creates
 * its first element. A program that reads the meta needs this header and gstreamer-1.0, and links
 * nothing of Ocellus.
 *
 *     GstOcellusCortexMeta *cortex = gst_buffer_get_ocellus_cortex_meta (buffer);
 *     if (cortex != NULL) g_print ("%s\n", cortex->patches[0].name);
 *
 * Elements that scale the picture scale the boxes. Elements that crop it remove the meta.
 */
#ifndef OCELLUS_GST_CORTEX_META_H
#define OCELLUS_GST_CORTEX_META_H

#include <gst/gst.h>

G_BEGIN_DECLS

/** Version of the structs below. The accessor returns NULL if the program and the plugin have
 * different versions. */
#define GST_OCELLUS_CORTEX_META_VERSION 1

/** The type's name, for gst_meta_get_info() and g_type_from_name(). */
#define GST_OCELLUS_CORTEX_META_API_NAME "GstOcellusCortexMetaAPI"

/** Most patches of a picture. */
#define GST_OCELLUS_CORTEX_MAX 256

/**
 * GstOcellusCortexFlags:
 * @GST_OCELLUS_CORTEX_FLAG_REUSED: the classes are those of an earlier frame (see @pts), because the
 * frame missed its budget
 * @GST_OCELLUS_CORTEX_FLAG_LATE: the classes were found only after the budget had elapsed
 */
typedef enum {
  GST_OCELLUS_CORTEX_FLAG_NONE = 0,
  GST_OCELLUS_CORTEX_FLAG_REUSED = (1 << 0),
  GST_OCELLUS_CORTEX_FLAG_LATE = (1 << 1)
} GstOcellusCortexFlags;

/**
 * GstOcellusCortexPatch:
 * @label: class of the model
 * @name: name of the class in the model, as UTF-8; never freed
 * @confidence: of the class, 0 to 1
 * @x: left edge of the patch, pixels
 * @y: upper edge of the patch, pixels
 * @width: width of the patch, pixels
 * @height: height of the patch, pixels
 *
 * A part of the picture: all of it (layout=frame) or a tile (layout=tiles).
 */
typedef struct {
  gint label;
  const gchar* name;
  gfloat confidence;
  gint x;
  gint y;
  gint width;
  gint height;
} GstOcellusCortexPatch;

typedef struct _GstOcellusCortexMeta GstOcellusCortexMeta;

/**
 * GstOcellusCortexMeta:
 * @meta: parent
 * @version: GST_OCELLUS_CORTEX_META_VERSION of the plugin
 * @flags: GstOcellusCortexFlags
 * @source: name of the element that found the classes; 0 if the meta is empty
 * @count: number of patches
 * @truncated: the picture has more tiles than were classified
 * @patches: the patches, row after row
 * @pts: PTS of the frame that was classified; without REUSED it is the buffer's PTS
 * @compute_time: computation time, nanoseconds
 */
struct _GstOcellusCortexMeta {
  GstMeta meta;

  guint version;
  guint flags;
  GQuark source;

  guint count;
  gboolean truncated;
  GstOcellusCortexPatch patches[GST_OCELLUS_CORTEX_MAX];

  GstClockTime pts;
  GstClockTime compute_time;
};

/**
 * gst_buffer_get_ocellus_cortex_meta:
 * @buffer: a buffer
 *
 * Returns: (nullable): the classes of @buffer, or NULL if the picture was not classified (there is no
 * ocelluscortex upstream, or the frame passed without a result). After several ocelluscortex in
 * series it is the meta of the last one. To read the others, use gst_buffer_iterate_meta_filtered()
 * and compare @source.
 */
static inline GstOcellusCortexMeta* gst_buffer_get_ocellus_cortex_meta(GstBuffer* buffer) {
  GType api = g_type_from_name(GST_OCELLUS_CORTEX_META_API_NAME);
  gpointer state = NULL;
  GstMeta* meta;

  if (api == 0) return NULL;
  while ((meta = gst_buffer_iterate_meta_filtered(buffer, &state, api)) != NULL) {
    GstOcellusCortexMeta* cortex = (GstOcellusCortexMeta*)meta;
    if (cortex->version != GST_OCELLUS_CORTEX_META_VERSION) {
      g_warning(
          "the plugin ocellus has version %u of GstOcellusCortexMeta, this program was built with "
          "version %d",
          cortex->version, GST_OCELLUS_CORTEX_META_VERSION);
      return NULL;
    }
    if (cortex->source != 0) return cortex;
  }
  return NULL;
}

G_END_DECLS

#endif
