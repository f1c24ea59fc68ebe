// The plugin `ocellus`: registers the elements.
#include <gst/gst.h>

#include "base/gstocellusmeta.h"
#include "elements.h"
#include "ocellus/log.h"
#include "ocellus/version.h"

#if OCELLUS_GST_OWN_LIBRARY
GST_DEBUG_CATEGORY_STATIC(gst_ocellus_debug);
#define GST_CAT_DEFAULT gst_ocellus_debug

static void forward_log(void*, ocellus::LogLevel level, const char* message) {
  static constexpr GstDebugLevel kLevels[] = {GST_LEVEL_DEBUG, GST_LEVEL_INFO, GST_LEVEL_WARNING,
                                              GST_LEVEL_ERROR};
  GST_CAT_LEVEL_LOG(gst_ocellus_debug, kLevels[static_cast<int>(level)], nullptr, "%s", message);
}
#endif

static gboolean plugin_init(GstPlugin* plugin) {
#if OCELLUS_GST_OWN_LIBRARY
  // Only this plugin uses the library that is linked into it. The log callback of a shared library
  // belongs to the program.
  GST_DEBUG_CATEGORY_INIT(gst_ocellus_debug, "ocellus", 0, "The Ocellus library");
  ocellus::set_log_callback(forward_log, nullptr);
#endif
  // So that a program that only receives metas of another process can read them.
  gst_ocellus_meta_get_info();
  return gst_ocellus_register_elements(plugin);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, ocellus,
                  "Real-time computer vision operators", plugin_init, PACKAGE_VERSION, "Apache 2.0",
                  PACKAGE, PACKAGE_ORIGIN)
