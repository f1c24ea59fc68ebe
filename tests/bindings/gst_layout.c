/* Prints the layout of the structs of ocellus/gst/meta.h, as c_layout.c does for the C interface. */
#include <ocellus/gst/meta.h>
#include <stddef.h>
#include <stdio.h>

#define STRUCT(type, version) printf("\n%s %d", #type, version)
#define FIELD(type, member) \
  printf(" %s:%zu:%zu", #member, offsetof(type, member), sizeof(((type*)NULL)->member))

int main(void) {
  STRUCT(GstOcellusField, 0);
  FIELD(GstOcellusField, name);
  FIELD(GstOcellusField, help);
  FIELD(GstOcellusField, type);
  FIELD(GstOcellusField, role);
  FIELD(GstOcellusField, capacity);
  FIELD(GstOcellusField, offset);
  FIELD(GstOcellusField, n_flags);
  FIELD(GstOcellusField, flags);
  STRUCT(GstOcellusResultInfo, 0);
  FIELD(GstOcellusResultInfo, operator_name);
  FIELD(GstOcellusResultInfo, items);
  FIELD(GstOcellusResultInfo, item);
  FIELD(GstOcellusResultInfo, width);
  FIELD(GstOcellusResultInfo, height);
  FIELD(GstOcellusResultInfo, record_bytes);
  FIELD(GstOcellusResultInfo, n_fields);
  FIELD(GstOcellusResultInfo, fields);
  FIELD(GstOcellusResultInfo, n_classes);
  FIELD(GstOcellusResultInfo, class_names);
  FIELD(GstOcellusResultInfo, tile_width);
  FIELD(GstOcellusResultInfo, tile_height);
  FIELD(GstOcellusResultInfo, tile_columns);
  STRUCT(GstOcellusPlane, 0);
  FIELD(GstOcellusPlane, name);
  FIELD(GstOcellusPlane, type);
  FIELD(GstOcellusPlane, is_picture);
  FIELD(GstOcellusPlane, x);
  FIELD(GstOcellusPlane, y);
  FIELD(GstOcellusPlane, width);
  FIELD(GstOcellusPlane, height);
  FIELD(GstOcellusPlane, stride);
  FIELD(GstOcellusPlane, data);
  STRUCT(GstOcellusMeta, GST_OCELLUS_META_VERSION);
  FIELD(GstOcellusMeta, version);
  FIELD(GstOcellusMeta, flags);
  FIELD(GstOcellusMeta, source);
  FIELD(GstOcellusMeta, info);
  FIELD(GstOcellusMeta, width);
  FIELD(GstOcellusMeta, height);
  FIELD(GstOcellusMeta, pts);
  FIELD(GstOcellusMeta, described_pts);
  FIELD(GstOcellusMeta, delay_frames);
  FIELD(GstOcellusMeta, compute_time);
  FIELD(GstOcellusMeta, n_planes);
  FIELD(GstOcellusMeta, planes);
  FIELD(GstOcellusMeta, n_items);
  FIELD(GstOcellusMeta, string);
  FIELD(GstOcellusMeta, n_parts);
  FIELD(GstOcellusMeta, parts);
  FIELD(GstOcellusMeta, data);
  FIELD(GstOcellusMeta, text);
  FIELD(GstOcellusMeta, text_bytes);
  FIELD(GstOcellusMeta, record);
  printf("\n");
  return 0;
}
