/**
 * SECTION:element-ocellusfilter
 * @title: ocellusfilter
 *
 * Convolves the video with spatio-temporal kernels and attaches the results to the buffers as a
 * GstOcellusMeta. It has a plane for each convolution, of 32-bit floats, with the names 0, 1 and so
 * on. Programs read it with the header ocellus/gst/meta.h. The picture passes unchanged.
 *
 * #GstOcellusFilter:kernels and #GstOcellusFilter:taps describe the kernels: uniform, per-pixel,
 * foveated, or from a file. Borders, delay, #GstOcellusFilter:align, the end of the stream and
 * reverse playback are as for ocellusflow with method=kernels.
 *
 * ## Launch line
 * |[
 * gst-launch-1.0 -m videotestsrc pattern=ball ! video/x-raw,format=GRAY8 ! ocellusfilter
 * taps=9x9x5 post-messages=true ! fakesink
 * ]| Prints the times of each frame and of its result.
 */
#include "gstocelluskernels.h"

extern const GstOcellusElement gst_ocellus_filter = {
    "filter", "Ocellus spatio-temporal filter", "Filter/Analyzer/Video",
    "Convolves the video with spatio-temporal kernels and attaches the results to the buffers as "
    "GstOcellusMeta",
    gst_ocellus::install_kernels};
