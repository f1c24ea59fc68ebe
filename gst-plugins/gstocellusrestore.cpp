/**
 * SECTION:element-ocellusrestore
 * @title: ocellusrestore
 *
 * Restoration of blurred images by recursive filters.
 *
 * The luma of the picture is restored, and its color is kept. The properties are the options of the
 * operator. The budget, memory:CUDAMemory and what happens to late frames are as for all elements
 * of Ocellus.
 *
 * ## Launch line
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! ocellusrestore filter=lens.ocellus !
 * videoconvert ! autovideosink
 * ]|
 */
#include "gstocellusrestore.h"

struct _GstOcellusRestore {
  GstOcellusBase parent_instance;
};

G_DEFINE_TYPE(GstOcellusRestore, gst_ocellus_restore, GST_TYPE_OCELLUS_BASE)
GST_ELEMENT_REGISTER_DEFINE(ocellusrestore, "ocellusrestore", GST_RANK_NONE,
                            GST_TYPE_OCELLUS_RESTORE)

static void gst_ocellus_restore_class_init(GstOcellusRestoreClass* klass) {
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Ocellus restoration", "Filter/Effect/Video",
      "Restoration of blurred images by recursive filters", "The Ocellus authors");
  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("restore"));
  base_class->produces_video = TRUE;
}

static void gst_ocellus_restore_init(GstOcellusRestore*) {}
