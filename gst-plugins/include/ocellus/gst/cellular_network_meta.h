/* GstOcellusCellularNetworkMeta: how the cellular network of ocellushalftone or ocelluscnn computed
 * a picture.
 *
 * This header is plain C. It finds the type by its name, which the plugin registers when it creates
 * its first element. A program that reads the meta needs this header and gstreamer-1.0, and links
 * nothing of Ocellus.
 *
 *     GstOcellusCellularNetworkMeta *cells = gst_buffer_get_ocellus_cellular_network_meta (buffer);
 *     if (cells != NULL && !cells->converged) ...
 */
#ifndef OCELLUS_GST_CELLS_META_H
#define OCELLUS_GST_CELLS_META_H

#include <gst/gst.h>

G_BEGIN_DECLS

/** Version of the struct below. The accessor returns NULL if the program and the plugin have different
 * versions. */
#define GST_OCELLUS_CELLULAR_NETWORK_META_VERSION 3

/** The type's name, for gst_meta_get_info() and g_type_from_name(). */
#define GST_OCELLUS_CELLULAR_NETWORK_META_API_NAME "GstOcellusCellsMetaAPI"

/**
 * GstOcellusCellsFlags:
 * @GST_OCELLUS_CELLULAR_NETWORK_FLAG_REUSED: the picture was computed from an earlier frame (see
 * @pts), because the frame missed its budget
 * @GST_OCELLUS_CELLULAR_NETWORK_FLAG_LATE: the picture was ready only after the budget had elapsed
 */
typedef enum {
  GST_OCELLUS_CELLULAR_NETWORK_FLAG_NONE = 0,
  GST_OCELLUS_CELLULAR_NETWORK_FLAG_REUSED = (1 << 0),
  GST_OCELLUS_CELLULAR_NETWORK_FLAG_LATE = (1 << 1)
} GstOcellusCellsFlags;

typedef struct _GstOcellusCellularNetworkMeta GstOcellusCellularNetworkMeta;

/**
 * GstOcellusCellularNetworkMeta:
 * @meta: parent
 * @version: GST_OCELLUS_CELLULAR_NETWORK_META_VERSION of the plugin
 * @flags: GstOcellusCellsFlags
 * @source: name of the element that made the picture; 0 if the meta is empty
 * @sweeps: sweeps of all stages together
 * @passes: passes of all groups of stages together
 * @changed: cells that changed in the last sweep, or in the last pass of the last stage's group
 * @converged: whether the last stage or group reached a fixed point
 * @finished: FALSE if the property max-sweeps ended the frame before its stages and groups had ended
 * @pts: PTS of the frame that the picture was computed from; without REUSED it is the buffer's PTS
 * @compute_time: computation time, nanoseconds
 */
struct _GstOcellusCellularNetworkMeta {
  GstMeta meta;

  guint version;
  guint flags;
  GQuark source;

  guint sweeps;
  guint passes;
  guint changed;
  gboolean converged;
  gboolean finished;

  GstClockTime pts;
  GstClockTime compute_time;
};

/**
 * gst_buffer_get_ocellus_cellular_network_meta:
 * @buffer: a buffer
 *
 * Returns: (nullable): the meta of @buffer, or NULL if no cellular network made the picture (there is
 * no such element upstream, or the frame passed unchanged). After several such elements in series it
 * is the meta of the last one. To read the others, use gst_buffer_iterate_meta_filtered() and compare
 * @source.
 */
static inline GstOcellusCellularNetworkMeta* gst_buffer_get_ocellus_cellular_network_meta(GstBuffer* buffer) {
  GType api = g_type_from_name(GST_OCELLUS_CELLULAR_NETWORK_META_API_NAME);
  gpointer state = NULL;
  GstMeta* meta;

  if (api == 0) return NULL;
  while ((meta = gst_buffer_iterate_meta_filtered(buffer, &state, api)) != NULL) {
    GstOcellusCellularNetworkMeta* cells = (GstOcellusCellularNetworkMeta*)meta;
    if (cells->version != GST_OCELLUS_CELLULAR_NETWORK_META_VERSION) {
      g_warning(
          "the plugin ocellus has version %u of GstOcellusCellularNetworkMeta, this program was built with "
          "version %d",
          cells->version, GST_OCELLUS_CELLULAR_NETWORK_META_VERSION);
      return NULL;
    }
    if (cells->source != 0) return cells;
  }
  return NULL;
}

G_END_DECLS

#endif
