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
#include "base/gstocellusbase.h"

extern const GstOcellusElement gst_ocellus_restore = {
    "restore", "Ocellus restoration", "Filter/Effect/Video",
    "Restoration of blurred images by recursive filters"};
