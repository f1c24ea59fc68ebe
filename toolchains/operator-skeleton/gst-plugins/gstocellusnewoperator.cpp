/**
 * SECTION:element-ocellusnewoperator
 * @title: ocellusnewoperator
 *
 * @SUMMARY@.
 *
 * The result is the luma of the picture that goes out; its color is kept. The properties are the
 * options of the operator. The budget, memory:CUDAMemory and what happens to late frames are as for
 * all elements of Ocellus.
 *
 * ## Launch line
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,format=GRAY8 ! ocellusnewoperator radius=3 !
 * videoconvert ! autovideosink
 * ]|
 */
#include "gstocellusnewoperator.h"

struct _GstOcellusNewoperator {
  GstOcellusBase parent_instance;
};

G_DEFINE_TYPE(GstOcellusNewoperator, gst_ocellus_newoperator, GST_TYPE_OCELLUS_BASE)
GST_ELEMENT_REGISTER_DEFINE(ocellusnewoperator, "ocellusnewoperator", GST_RANK_NONE,
                            GST_TYPE_OCELLUS_NEWOPERATOR)

static void gst_ocellus_newoperator_class_init(GstOcellusNewoperatorClass* klass) {
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), "Ocellus @TITLE@",
                                        "Filter/Effect/Video", "@SUMMARY@", "The Ocellus authors");
  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("newoperator"));
  base_class->produces_video = TRUE;
}

static void gst_ocellus_newoperator_init(GstOcellusNewoperator*) {}
