// The list of elements: two lines for each.
#include "elements.h"

#include "base/gstocellusbase.h"

extern const GstOcellusElement gst_ocellus_cnn;
extern const GstOcellusElement gst_ocellus_cortex;
extern const GstOcellusElement gst_ocellus_digits;
extern const GstOcellusElement gst_ocellus_filter;
extern const GstOcellusElement gst_ocellus_flow;
extern const GstOcellusElement gst_ocellus_halftone;
extern const GstOcellusElement gst_ocellus_network;
extern const GstOcellusElement gst_ocellus_restore;

gboolean gst_ocellus_register_elements(GstPlugin* plugin) {
  gboolean done = TRUE;
  done &= gst_ocellus_element_register(plugin, gst_ocellus_flow);
  done &= gst_ocellus_element_register(plugin, gst_ocellus_filter);
  done &= gst_ocellus_element_register(plugin, gst_ocellus_halftone);
  done &= gst_ocellus_element_register(plugin, gst_ocellus_cnn);
  done &= gst_ocellus_element_register(plugin, gst_ocellus_restore);
  done &= gst_ocellus_element_register(plugin, gst_ocellus_digits);
  done &= gst_ocellus_element_register(plugin, gst_ocellus_cortex);
  done &= gst_ocellus_element_register(plugin, gst_ocellus_network);
  return done;
}
