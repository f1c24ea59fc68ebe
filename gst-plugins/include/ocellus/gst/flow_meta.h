/* GstOcellusFlowMeta: the flow field that the element ocellusflow attaches to a buffer.
 *
 * This header is plain C. It finds the type by its name, which the plugin registers when it creates
 * its first element. A program that reads the meta needs this header and gstreamer-1.0, and links
 * nothing of Ocellus.
 *
 *     GstOcellusFlowMeta *flow = gst_buffer_get_ocellus_flow_meta (buffer);
 *     if (flow != NULL) {
 *       gfloat u, v;
 *       if (gst_ocellus_flow_meta_get_motion (flow, 320, 240, &u, &v)) ...
 *     }
 *
* The planes belong to the meta. They remain valid and unchanged while a reference to the buffer or
 * to a copy of it is held, even after the pipeline and the element are destroyed. Copies share the
 * planes, so do not write to them.
 *
 * Elements that change only the colors keep the meta. Elements that scale or crop remove it. In
 * GStreamer 1.22 videoflip keeps the meta unchanged, although it no longer fits the picture: put
 * videoflip before ocellusflow.
 */
#ifndef OCELLUS_GST_FLOW_META_H
#define OCELLUS_GST_FLOW_META_H

#include <gst/gst.h>
#include <math.h>

G_BEGIN_DECLS

/** Version of the struct below. The accessor returns NULL if the program and the plugin have
 * different versions. */
#define GST_OCELLUS_FLOW_META_VERSION 2

/** The type's name, for gst_meta_get_info() and g_type_from_name(). */
#define GST_OCELLUS_FLOW_META_API_NAME "GstOcellusFlowMetaAPI"

/**
 * GstOcellusFlowFlags:
 * @GST_OCELLUS_FLOW_FLAG_WARMING_UP: fewer frames than the length of the temporal kernel have
 * arrived; the oldest frame was used in place of the missing ones
 * @GST_OCELLUS_FLOW_FLAG_BAD_PIXELS: a frame had NaN pixels; all vectors are marked invalid
 * @GST_OCELLUS_FLOW_FLAG_REPEATED: no later frames were available, because the stream ended or had a
 * discontinuity here, or a query asked for the buffers back; the last frame was repeated in their
 * place
 * @GST_OCELLUS_FLOW_FLAG_REUSED: this is the field of an earlier frame (see @described_pts), because
 * the frame missed its budget, or (with REPEATED) because no later frame was available
 * @GST_OCELLUS_FLOW_FLAG_LATE: the field was ready only after the budget had elapsed
 */
typedef enum {
  GST_OCELLUS_FLOW_FLAG_NONE = 0,
  GST_OCELLUS_FLOW_FLAG_WARMING_UP = (1 << 0),
  GST_OCELLUS_FLOW_FLAG_BAD_PIXELS = (1 << 1),
  GST_OCELLUS_FLOW_FLAG_REPEATED = (1 << 2),
  GST_OCELLUS_FLOW_FLAG_REUSED = (1 << 3),
  GST_OCELLUS_FLOW_FLAG_LATE = (1 << 4)
} GstOcellusFlowFlags;

/** Type of the GstVideoRegionOfInterestMeta of an object that moves, and name of its structure. */
#define GST_OCELLUS_FLOW_ROI_TYPE "moving-object"

typedef struct _GstOcellusFlowMeta GstOcellusFlowMeta;

/**
 * GstOcellusFlowMeta:
 * @meta: parent
 * @version: GST_OCELLUS_FLOW_META_VERSION of the plugin
 * @flags: GstOcellusFlowFlags
 * @source: name of the element that computed the field
 * @x: left edge of the planes in the picture, pixels
 * @y: upper edge of the planes in the picture, pixels
 * @width: width of the planes, pixels
 * @height: height of the planes, pixels
 * @stride: bytes from row to row, the same for all planes
 * @u: motion to the right, pixels per frame, toward the frame that is shown next, which in reverse
 * playback is the earlier one; where the confidence is too low it is NaN or 0 (property invalid)
 * @v: motion down, pixels per frame
 * @confidence: smaller eigenvalue of the structure tensor, (gray levels per pixel)^2; may be NULL
 * @deviation: standard deviation of @u and @v together, pixels per frame, infinite where they are
 * invalid; NULL without the property deviation
 * @pts: PTS of the newest frame that the field was computed from
 * @described_pts: PTS of the frame that the field describes; with align=true and without REUSED it
 * is the buffer's PTS, otherwise that of an earlier frame
 * @delay_frames: age of the described time relative to @pts, in frames; x.5 is the middle between
 * the described frame and the one before it
 * @compute_time: computation time, nanoseconds
 */
struct _GstOcellusFlowMeta {
  GstMeta meta;

  guint version;
  guint flags;
  GQuark source;

  gint x;
  gint y;
  gint width;
  gint height;
  gsize stride;
  const gfloat* u;
  const gfloat* v;
  const gfloat* confidence;
  const gfloat* deviation;

  GstClockTime pts;
  GstClockTime described_pts;
  gfloat delay_frames;
  GstClockTime compute_time;

  /*< private >*/
  GstBuffer* planes;
};

/**
 * gst_buffer_get_ocellus_flow_meta:
 * @buffer: a buffer
 *
 * Returns: (nullable): the flow field of @buffer, or NULL if it has none (there is no ocellusflow
 * upstream, or the frame passed without a result). After several ocellusflow in series it is the
 * field of the last one. To read the others, use gst_buffer_iterate_meta_filtered() and compare
 * @source.
 */
static inline GstOcellusFlowMeta* gst_buffer_get_ocellus_flow_meta(GstBuffer* buffer) {
  GType api = g_type_from_name(GST_OCELLUS_FLOW_META_API_NAME);
  gpointer state = NULL;
  GstMeta* meta;

  if (api == 0) return NULL;
  while ((meta = gst_buffer_iterate_meta_filtered(buffer, &state, api)) != NULL) {
    GstOcellusFlowMeta* flow = (GstOcellusFlowMeta*)meta;
    if (flow->version != GST_OCELLUS_FLOW_META_VERSION) {
      g_warning(
          "the plugin ocellus has version %u of GstOcellusFlowMeta, this program was built with "
          "version %d",
          flow->version, GST_OCELLUS_FLOW_META_VERSION);
      return NULL;
    }
    if (flow->u != NULL) return flow;
  }
  return NULL;
}

/**
 * gst_ocellus_flow_meta_get_motion:
 * @flow: a flow field
 * @x: pixel of the picture
 * @y: pixel of the picture
 * @u: (out): motion to the right, pixels per frame
 * @v: (out): motion down, pixels per frame
 *
 * Returns: FALSE if (@x, @y) is outside the region of the field, or if the vector there is NaN
 * (invalid).
 */
static inline gboolean gst_ocellus_flow_meta_get_motion(const GstOcellusFlowMeta* flow, gint x,
                                                        gint y, gfloat* u, gfloat* v) {
  gsize offset;

  x -= flow->x;
  y -= flow->y;
  if (x < 0 || y < 0 || x >= flow->width || y >= flow->height) return FALSE;
  offset = (gsize)y * (flow->stride / sizeof(gfloat)) + (gsize)x;
  *u = flow->u[offset];
  *v = flow->v[offset];
  return !isnan(*u) && !isnan(*v);
}

G_END_DECLS

#endif
