/* GstOcellusCellularNetworkMeta: how the cellular network of ocellushalftone or ocelluscnn came to the
 * picture that it gave.
 *
 * Plain C, header only: the type is found by its name, which the plugin registers when its first
 * element is made. A program that reads it therefore needs this header and gstreamer-1.0 and links
 * nothing of Ocellus.
 *
 *     GstOcellusCellularNetworkMeta *cells = gst_buffer_get_ocellus_cellular_network_meta (buffer);
 *     if (cells != NULL && !cells->converged) ...
 */
#ifndef OCELLUS_GST_CELLS_META_H
#define OCELLUS_GST_CELLS_META_H

#include <gst/gst.h>

G_BEGIN_DECLS

/** Counts changes of the layout below. A program and a plugin of different versions do not read
 * each other. */
#define GST_OCELLUS_CELLULAR_NETWORK_META_VERSION 1

/** The type's name, for gst_meta_get_info() and g_type_from_name(). */
#define GST_OCELLUS_CELLULAR_NETWORK_META_API_NAME "GstOcellusCellsMetaAPI"

/**
 * GstOcellusCellsFlags:
 * @GST_OCELLUS_CELLULAR_NETWORK_FLAG_REUSED: the picture is that of an earlier frame, see @pts: the budget was
 * missed
 * @GST_OCELLUS_CELLULAR_NETWORK_FLAG_LATE: the picture was ready only after the budget
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
 * @source: name of the element that made the picture; 0 where there is none
 * @sweeps: of all stages
 * @changed: cells that changed in the last sweep of the last stage
 * @converged: whether the last stage came to its fixed point
 * @pts: PTS of the frame that the picture was made of: the buffer's own without REUSED
 * @compute_time: nanoseconds of computing
 */
struct _GstOcellusCellularNetworkMeta {
  GstMeta meta;

  guint version;
  guint flags;
  GQuark source;

  guint sweeps;
  guint changed;
  gboolean converged;

  GstClockTime pts;
  GstClockTime compute_time;
};

/**
 * gst_buffer_get_ocellus_cellular_network_meta:
 * @buffer: a buffer
 *
 * Returns: (nullable): what is known of the picture, or NULL when no cellular network made it (none
 * before this point, or a frame that passed as it came). With several in a row, the last one's; go
 * over the others with gst_buffer_iterate_meta_filtered() and tell them apart by @source.
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
