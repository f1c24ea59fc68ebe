#include "meta_reader.h"

#include <ocellus/gst/digits_meta.h>
#include <ocellus/gst/flow_meta.h>

MetaReading read_meta_in_c(GstBuffer* buffer) {
  MetaReading reading = {FALSE, 0, 0, 0, GST_CLOCK_TIME_NONE, 0.0, 0.0, FALSE};
  GstOcellusFlowMeta* flow = gst_buffer_get_ocellus_flow_meta(buffer);
  gint x, y, count = 0;
  gfloat u, v;

  if (flow == NULL) return reading;
  reading.found = TRUE;
  reading.width = flow->width;
  reading.height = flow->height;
  reading.flags = flow->flags;
  reading.described_pts = flow->described_pts;
  for (y = flow->y; y < flow->y + flow->height; ++y) {
    for (x = flow->x; x < flow->x + flow->width; ++x) {
      if (!gst_ocellus_flow_meta_get_motion(flow, x, y, &u, &v)) continue;
      reading.mean_u += u;
      reading.mean_v += v;
      ++count;
    }
  }
  if (count > 0) {
    reading.mean_u /= count;
    reading.mean_v /= count;
  }
  reading.outside_is_refused =
      !gst_ocellus_flow_meta_get_motion(flow, flow->x - 1, flow->y, &u, &v) &&
      !gst_ocellus_flow_meta_get_motion(flow, flow->x, flow->y + flow->height, &u, &v);
  return reading;
}

DigitsReading read_digits_in_c(GstBuffer* buffer) {
  DigitsReading reading = {FALSE, NULL, 0, 0};
  GstOcellusDigitsMeta* digits = gst_buffer_get_ocellus_digits_meta(buffer);
  guint i;

  if (digits == NULL) return reading;
  reading.found = TRUE;
  reading.string = digits->string;
  reading.count = digits->count;
  for (i = 0; i < digits->count; ++i) {
    const GstOcellusDigit* digit = &digits->digits[i];
    if (digit->x >= 0 && digit->y >= 0 && digit->width > 0 && digit->height > 0)
      ++reading.boxes_in_picture;
  }
  return reading;
}
