/* Prints the layout of the metas, as c_layout.c does for the C interface. */
#include <ocellus/gst/digits_meta.h>
#include <ocellus/gst/flow_meta.h>
#include <stddef.h>
#include <stdio.h>

#define STRUCT(type, version) printf("\n%s %d", #type, version)
#define FIELD(type, member) \
  printf(" %s:%zu:%zu", #member, offsetof(type, member), sizeof(((type*)NULL)->member))

int main(void) {
  STRUCT(GstOcellusFlowMeta, GST_OCELLUS_FLOW_META_VERSION);
  FIELD(GstOcellusFlowMeta, version);
  FIELD(GstOcellusFlowMeta, flags);
  FIELD(GstOcellusFlowMeta, source);
  FIELD(GstOcellusFlowMeta, x);
  FIELD(GstOcellusFlowMeta, y);
  FIELD(GstOcellusFlowMeta, width);
  FIELD(GstOcellusFlowMeta, height);
  FIELD(GstOcellusFlowMeta, stride);
  FIELD(GstOcellusFlowMeta, u);
  FIELD(GstOcellusFlowMeta, v);
  FIELD(GstOcellusFlowMeta, confidence);
  FIELD(GstOcellusFlowMeta, deviation);
  FIELD(GstOcellusFlowMeta, pts);
  FIELD(GstOcellusFlowMeta, described_pts);
  FIELD(GstOcellusFlowMeta, delay_frames);
  FIELD(GstOcellusFlowMeta, compute_time);
  STRUCT(GstOcellusDigit, 0);
  FIELD(GstOcellusDigit, label);
  FIELD(GstOcellusDigit, name);
  FIELD(GstOcellusDigit, confidence);
  FIELD(GstOcellusDigit, similarity);
  FIELD(GstOcellusDigit, margin);
  FIELD(GstOcellusDigit, x);
  FIELD(GstOcellusDigit, y);
  FIELD(GstOcellusDigit, width);
  FIELD(GstOcellusDigit, height);
  FIELD(GstOcellusDigit, line);
  FIELD(GstOcellusDigit, field);
  FIELD(GstOcellusDigit, flags);
  STRUCT(GstOcellusDigitsMeta, GST_OCELLUS_DIGITS_META_VERSION);
  FIELD(GstOcellusDigitsMeta, version);
  FIELD(GstOcellusDigitsMeta, flags);
  FIELD(GstOcellusDigitsMeta, source);
  FIELD(GstOcellusDigitsMeta, string);
  FIELD(GstOcellusDigitsMeta, count);
  FIELD(GstOcellusDigitsMeta, truncated);
  FIELD(GstOcellusDigitsMeta, digits);
  FIELD(GstOcellusDigitsMeta, pts);
  FIELD(GstOcellusDigitsMeta, compute_time);
  printf("\n");
  return 0;
}
