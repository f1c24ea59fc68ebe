// The list of elements: one line for each, beside its include.
#include "elements.h"

#include "gstocelluscnn.h"
#include "gstocelluscortex.h"
#include "gstocellusdigits.h"
#include "gstocellusfilter.h"
#include "gstocellusflow.h"
#include "gstocellushalftone.h"
#include "gstocellusrestore.h"

gboolean gst_ocellus_register_elements(GstPlugin* plugin) {
  gboolean done = TRUE;
  done &= GST_ELEMENT_REGISTER(ocellusflow, plugin);
  done &= GST_ELEMENT_REGISTER(ocellusfilter, plugin);
  done &= GST_ELEMENT_REGISTER(ocellushalftone, plugin);
  done &= GST_ELEMENT_REGISTER(ocelluscnn, plugin);
  done &= GST_ELEMENT_REGISTER(ocellusrestore, plugin);
  done &= GST_ELEMENT_REGISTER(ocellusdigits, plugin);
  done &= GST_ELEMENT_REGISTER(ocelluscortex, plugin);
  return done;
}
