/* GstOcellusFlowMeta: the motion field that the element ocellusflow puts on a buffer.
 *
 * Plain C, header only: the type is found by its name, which the plugin registers when its first
 * element is made. A program that reads flow therefore needs this header and gstreamer-1.0 and
 * links nothing of Ocellus.
 *
 *     GstOcellusFlowMeta *flow = gst_buffer_get_ocellus_flow_meta (buffer);
 *     if (flow != NULL) {
 *       gfloat u, v;
 *       if (gst_ocellus_flow_meta_get_motion (flow, 320, 240, &u, &v)) ...
 *     }
 *
 * The planes belong to the meta: they stay as they are as long as a reference to the buffer, or to
 * a copy of it, is held, also when the pipeline and the element are gone. They are shared between
 * copies: read only.
 *
 * Elements that change only the colors pass the meta on, those that scale or crop do not. A
 * videoflip (GStreamer 1.22) passes it on as it is: put it before ocellusflow.
 */
#ifndef OCELLUS_GST_FLOW_META_H
#define OCELLUS_GST_FLOW_META_H

#include <gst/gst.h>
#include <math.h>

G_BEGIN_DECLS

/** Counts changes of the layout below. A program and a plugin of different versions do not read
 * each other. */
#define GST_OCELLUS_FLOW_META_VERSION 1

/** The type's name, for gst_meta_get_info() and g_type_from_name(). */
#define GST_OCELLUS_FLOW_META_API_NAME "GstOcellusFlowMetaAPI"

/**
 * GstOcellusFlowFlags:
 * @GST_OCELLUS_FLOW_FLAG_WARMING_UP: fewer frames have come than the temporal kernel is long; the
 * oldest one stood in
 * @GST_OCELLUS_FLOW_FLAG_BAD_PIXELS: the frame held values that are not numbers; all vectors are
 * marked invalid
 * @GST_OCELLUS_FLOW_FLAG_REPEATED: the stream ended or broke off here, or the picture was wanted
 * back; the last frame stood in for those to come
 * @GST_OCELLUS_FLOW_FLAG_REUSED: this is the field of an earlier frame, see @described_pts: the
 * budget was missed, or (with REPEATED) no frame came after this one that it could be compared with
 * @GST_OCELLUS_FLOW_FLAG_LATE: the field was ready only after the budget
 */
typedef enum {
  GST_OCELLUS_FLOW_FLAG_NONE = 0,
  GST_OCELLUS_FLOW_FLAG_WARMING_UP = (1 << 0),
  GST_OCELLUS_FLOW_FLAG_BAD_PIXELS = (1 << 1),
  GST_OCELLUS_FLOW_FLAG_REPEATED = (1 << 2),
  GST_OCELLUS_FLOW_FLAG_REUSED = (1 << 3),
  GST_OCELLUS_FLOW_FLAG_LATE = (1 << 4)
} GstOcellusFlowFlags;

typedef struct _GstOcellusFlowMeta GstOcellusFlowMeta;

/**
 * GstOcellusFlowMeta:
 * @meta: parent
 * @version: GST_OCELLUS_FLOW_META_VERSION of the plugin
 * @flags: GstOcellusFlowFlags
 * @source: name of the element that made it
 * @x: left edge of the planes in the picture, pixels
 * @y: upper edge of the planes in the picture, pixels
 * @width: width of the planes, pixels
 * @height: height of the planes, pixels
 * @stride: bytes from row to row, the same for all planes
 * @u: motion to the right, pixels per frame, to the frame that is shown next: in reverse playback
 * that of the time before; NaN (or 0, as the element was told) where the confidence is too low
 * @v: motion down, pixels per frame
 * @confidence: smaller eigenvalue of the structure tensor, (gray levels per pixel)^2; may be NULL
 * @pts: PTS of the newest frame that the field was computed from
 * @described_pts: PTS of the frame that the field describes: the buffer's own with align=true and
 * without REUSED, that of one that came earlier else
 * @delay_frames: age of the described moment in frames; x.5 lies between the described frame and
 * the one before it
 * @compute_time: nanoseconds of computing
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
 * Returns: (nullable): the motion field on @buffer, or NULL when there is none (no ocellusflow
 * before this point, or a frame that passed without a result). With several ocellusflow in a row,
 * the field of the last one; go over the others with gst_buffer_iterate_meta_filtered() and tell
 * them apart by @source.
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
 * @flow: a motion field
 * @x: pixel of the picture
 * @y: pixel of the picture
 * @u: (out): motion to the right, pixels per frame
 * @v: (out): motion down, pixels per frame
 *
 * Returns: FALSE when (@x, @y) lies outside the field's region or the vector there is marked
 * invalid by NaN.
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
