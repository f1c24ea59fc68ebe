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
#include "base/gstocellusbase.h"

extern const GstOcellusElement gst_ocellus_newoperator = {"newoperator", "Ocellus @TITLE@",
                                                          "Filter/Effect/Video", "@SUMMARY@"};
