/**
 * SECTION:element-ocellusnetwork
 * @title: ocellusnetwork
 *
 * Shows the picture, or each tile of it, to a cortical network, which learns from it
 * (#GstOcellusNetwork:learn) or keeps its weights. The picture passes unchanged, or with boxes and
 * names drawn over it (#GstOcellusNetwork:draw). A network with a read-out, which
 * `ocellus train network` writes, classifies the patches; #GstOcellusNetwork:model names it.
 *
 * The result is attached to each buffer as a GstOcellusMeta. Programs read it with the header
 * ocellus/gst/meta.h.
 *
 * The element message `ocellusnetwork` has the members of that of ocelluscortex. Without a read-out
 * no patch has a class. What is learned is kept and saved as by ocelluscortex.
 *
 * ## Launch line
 * |[
 * gst-launch-1.0 -m v4l2src ! videoconvert ! ocellusnetwork learn=true
 * save-location=network.ocellus ! videoconvert ! autovideosink
 * ]| Learns from a camera, and writes the network at the end.
 */
#include "ocellus/network.h"

#include "base/gstocellusbase.h"

static void network_class_init(GstOcellusBaseClass* klass) {
  gst_ocellus_base_class_install_learning(klass);
  klass->trial_size = gst_ocellus_size_of_tile<ocellus::NetworkConfig>;
}

extern const GstOcellusElement gst_ocellus_network = {
    "network", "Ocellus cortical network", "Filter/Analyzer/Video",
    "Shows pictures, or tiles of them, to a cortical network, and attaches the classes to the "
    "buffers as GstOcellusMeta",
    network_class_init};
