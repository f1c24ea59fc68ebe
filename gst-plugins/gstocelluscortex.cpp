/**
 * SECTION:element-ocelluscortex
 * @title: ocelluscortex
 *
 * Classifies the picture, or each tile of it, with a cortical classifier. The picture passes
 * unchanged, or with boxes and names drawn over it (#GstOcellusCortex:draw). The model of the
 * library knows handwritten digits; #GstOcellusCortex:model names another one.
 *
 * The result is attached to each buffer as a GstOcellusMeta. Programs read it with the header
 * ocellus/gst/meta.h.
 *
 * The element message `ocelluscortex` has string (string): the names of the patches, row after row;
 * fields (array with this string), patches (array of structures with class (int), name (string),
 * confidence (double), x, y, width and height), count (unsigned), truncated (boolean) and
 * compute-time. #GstOcellusCortex:messages says when it is posted.
 *
 * ## Learning
 *
 * With #GstOcellusCortex:learn, the features of the model follow the pictures. Frames that miss
 * their budget or that downstream skips teach, too. What is learned is kept over discontinuities,
 * flushes, and new caps, also those of another size and those that are refused. It is lost when the
 * element goes to READY, and when a device is lost, unless it is saved: the action signal
 * #GstOcellusCortex::save-model writes a model file at any moment, and
 * #GstOcellusCortex:save-location names a file that is written at the end of the stream, and when
 * the element stops, if frames have come since. #GstOcellusCortex:model reads it again.
 *
 * ## Launch line
 * |[
 * gst-launch-1.0 -m v4l2src ! videoconvert ! videocrop left=80 right=80 ! ocelluscortex !
 * videoconvert ! autovideosink
 * ]| Shows a camera, and prints which digit fills the picture whenever the answer changes.
 */
#include "ocellus/cortex.h"

#include "base/gstocellusbase.h"

static void class_init(GstOcellusBaseClass* klass) {
  gst_ocellus_base_class_install_learning(klass);
  klass->trial_size = gst_ocellus_size_of_tile<ocellus::CortexConfig>;
}

extern const GstOcellusElement gst_ocellus_cortex = {
    "cortex", "Ocellus cortical classifier", "Filter/Analyzer/Video",
    "Classifies pictures, or tiles of them, and attaches the classes to the buffers as "
    "GstOcellusMeta",
    class_init};
