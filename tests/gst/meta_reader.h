/* Reads the meta from C. */
#ifndef OCELLUS_TESTS_GST_META_READER_H
#define OCELLUS_TESTS_GST_META_READER_H

#include <gst/gst.h>

G_BEGIN_DECLS

typedef struct {
  gboolean found;
  gint width;
  gint height;
  guint flags;
  GstClockTime described_pts;
  gdouble mean_u;
  gdouble mean_v;
  gboolean outside_is_refused;
} MetaReading;

MetaReading read_meta_in_c(GstBuffer* buffer);

typedef struct {
  gboolean found;
  const gchar* string; /* belongs to the buffer */
  guint count;
  guint boxes_in_picture; /* boxes with a size and without negative numbers */
} DigitsReading;

DigitsReading read_digits_in_c(GstBuffer* buffer);

G_END_DECLS

#endif
