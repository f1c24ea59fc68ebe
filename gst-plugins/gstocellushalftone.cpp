/**
 * SECTION:element-ocellushalftone
 * @title: ocellushalftone
 *
 * Turns every picture into black and white dots that look like it from afar, by a cellular neural
 * network: each cell takes the value that leaves the least error as an eye sees it, until no cell
 * wants to change, or the sweeps allowed are over.
 *
 * #GstOcellusHalftone:preset balances time and quality; #GstOcellusHalftone:template takes
 * another network instead: a template's name such as hlf5, the path of a file of templates
 * (*.ocellus), or a chain with "|" between them. With #GstOcellusHalftone:warm-start a frame
 * begins with the dots of the one before: what does not move does not flicker.
 * #GstOcellusBase:config is a JSON file of options, such as {"preset": "fast", "warm_start": true}.
 *
 * Luma is what becomes dots. What is black and what is white, in the picture that comes and in the
 * one that goes out, is in the caps' colorimetry: 16 and 235 in video of limited range, which I420
 * and NV12 are unless their caps say otherwise, and 0 and 255 in full range, which gray formats
 * are; in 16 bits 4096 and 60160, and 0 and 65535. Luma beyond that is as black or as white as can
 * be. Chroma becomes neutral, or is kept (#GstOcellusCellularNetwork:chroma).
 *
 * The picture goes out in a buffer of its own; frames that miss their budget go out as
 * #GstOcellusBase:on-miss says: late, not at all, with the newest dots there are, or as they came.
 * How many sweeps a frame took stands in its GstOcellusCellularNetworkMeta
 * (ocellus/gst/cellular_network_meta.h) and in the element message (#GstOcellusBase:post-messages).
 *
 * I420 and NV12 may come in memory:CUDAMemory, when the plugin was built for it and the backend is
 * a CUDA device: luma is read and written where it lies. The element offers the CUDA context in
 * which no copy is needed; pictures from another one are copied, which #GstOcellusBase:stats
 * counts.
 *
 * ## Launch lines
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! video/x-raw,format=GRAY8 ! ocellushalftone
 * warm-start=true ! videoconvert ! autovideosink
 * ]| The camera in dots.
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=GRAY8 ! ocellushalftone preset=fast
 * post-messages=true ! fakesink
 * ]| Add -m to see how many sweeps every frame took.
 */
#include "gstocellushalftone.h"

struct _GstOcellusHalftone {
  GstOcellusCellularNetwork parent_instance;
};

G_DEFINE_TYPE(GstOcellusHalftone, gst_ocellus_halftone, GST_TYPE_OCELLUS_CELLULAR_NETWORK)
GST_ELEMENT_REGISTER_DEFINE(ocellushalftone, "ocellushalftone", GST_RANK_NONE,
                            GST_TYPE_OCELLUS_HALFTONE)

static void gst_ocellus_halftone_class_init(GstOcellusHalftoneClass* klass) {
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Ocellus halftone", "Filter/Effect/Video",
      "Turns pictures into black and white dots that look alike from afar", "The Ocellus authors");
  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("halftone"));
  base_class->message_name = "ocellushalftone";
}

static void gst_ocellus_halftone_init(GstOcellusHalftone*) {}
