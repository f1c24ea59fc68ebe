/**
 * SECTION:element-ocelluscnn
 * @title: ocelluscnn
 *
 * Runs a chain of templates of a cellular neural network on every picture, and gives what comes out
 * in its place. #GstOcellusCnn:template is a template's name such as edge, the path of a file of
 * templates (*.ocellus), or a chain with "|" between them; `ocellus template list` names those that
 * there are. Black is +1, as in the literature, unless #GstOcellusCnn:polarity says otherwise.
 *
 * Each template has its own levels, sweeps, boundary and order of updates. A property that is set
 * replaces them in all templates of the chain. #GstOcellusCnn:initial, a binary PGM file of the
 * pictures' size, is read when the caps are known. #GstOcellusBase:config is a JSON file of
 * options, such as {"template": "threshold | edge", "max_sweeps": 20}.
 *
 * Many templates are for pictures of two levels: begin the chain with threshold, as in
 * "threshold | erosion". Those that take the picture as a second operand (recall, connectivity,
 * logand, logor, logdif) see it as it came, so that it must be of two levels: put an ocelluscnn
 * template=threshold in front. The range of luma, chroma, budget, memory:CUDAMemory and what is
 * known of a frame are as for ocellushalftone.
 *
 * ## Launch lines
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! video/x-raw,format=GRAY8 ! ocelluscnn
 * template="threshold | edge" ! videoconvert ! autovideosink
 * ]| The outlines of what is dark in front of the camera.
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=GRAY8 ! ocelluscnn
 * template="threshold | erosion | dilation" post-messages=true ! fakesink
 * ]| Add -m to see how many sweeps every frame took.
 */
#include "gstocelluscnn.h"

struct _GstOcellusCnn {
  GstOcellusCellularNetwork parent_instance;
};

G_DEFINE_TYPE(GstOcellusCnn, gst_ocellus_cnn, GST_TYPE_OCELLUS_CELLULAR_NETWORK)
GST_ELEMENT_REGISTER_DEFINE(ocelluscnn, "ocelluscnn", GST_RANK_NONE, GST_TYPE_OCELLUS_CNN)

static void gst_ocellus_cnn_class_init(GstOcellusCnnClass* klass) {
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Ocellus cellular network", "Filter/Effect/Video",
      "Runs templates of a cellular neural network on pictures", "The Ocellus authors");
  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("cnn"));
  base_class->message_name = "ocelluscnn";
}

static void gst_ocellus_cnn_init(GstOcellusCnn*) {}
