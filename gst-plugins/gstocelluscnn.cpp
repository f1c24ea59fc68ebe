/**
 * SECTION:element-ocelluscnn
 * @title: ocelluscnn
 *
 * Runs a chain of templates of a cellular neural network on each picture, and pushes the result in
 * its place. #GstOcellusCnn:template is the name of a template such as edge, the path of a template
 * file (*.ocellus), or a chain of templates separated by "|". `ocellus template list` lists the
 * names. Black is +1, as in the literature, unless #GstOcellusCnn:polarity is white.
 *
 * Each template has its own levels, boundary and update order. A property that is set replaces the
 * value in all templates of the chain. #GstOcellusCnn:max-sweeps limits the sweeps of a frame.
 * #GstOcellusCnn:initial is a binary PGM file with the size of the pictures. #GstOcellusBase:config
 * is a JSON file of options, such as
 * {"template": "threshold | edge", "max_sweeps": 20}.
 *
 * Many templates are for pictures with two levels: start the chain with threshold, as in
 * "threshold | erosion". The templates recall, connectivity, logand, logor and logdif use the input
 * picture as a second operand. They read it without the threshold, so the input must have two
 * levels: put an ocelluscnn template=threshold before the element.
 *
 * The range of luma, chroma, missed budgets, the meta and memory:CUDAMemory are the same as in
 * ocellushalftone.
 *
 * #GstOcellusCnn:depth (1 to 8, default 1) is the number of frames that the operator has at the
 * same time. With more than 1, a GPU computes one frame while the next one is uploaded and the
 * result of the previous one is downloaded. So a pipeline reaches the full rate of the device. When
 * a frame arrives, the element pushes the buffers of all frames that are done. A buffer is pushed
 * at the latest when depth - 1 more frames have arrived, and the LATENCY query includes this time.
 * #GstOcellusBase:budget counts from the arrival of a frame at the element. With a depth above 1 it
 * therefore includes the time until the next frames arrive. For a live camera that the device keeps
 * up with, a depth of 1 gives the least latency.
 *
 * ## Launch lines
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! video/x-raw,format=GRAY8 ! ocelluscnn
 * template="threshold | edge" ! videoconvert ! autovideosink
 * ]| Shows the outlines of dark objects in front of the camera.
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=GRAY8 ! ocelluscnn
 * template="threshold | erosion | dilation" post-messages=true ! fakesink
 * ]| Add -m to print the number of sweeps of every frame.
 * |[
 * gst-launch-1.0 filesrc location=video.mp4 ! decodebin ! videoconvert ! video/x-raw,format=NV12 !
 * ocelluscnn template="threshold | edge" backend=cuda depth=3 ! fakesink sync=false
 * ]| Processes a file at the full rate of the device.
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
      "Runs templates of a cellular neural network on each picture", "The Ocellus authors");
  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("cnn"));
}

static void gst_ocellus_cnn_init(GstOcellusCnn*) {}
