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
#include "base/gstocellusbase.h"
#include "gstocelluskernels.h"
#include "ocellus/spatio_temporal_filter.h"

static const ocellus::SpatioTemporalFilterConfig& config_of(const ocellus::OperatorConfig& config) {
  return *config.get_if<ocellus::SpatioTemporalFilterConfig>();
}

static ocellus::ImageSize trial_size(const ocellus::OperatorConfig& config) {
  return gst_ocellus::trial_size_of(config_of(config).kernels, config_of(config).roi);
}

static ocellus::Expected<void> check_settings(const ocellus::OperatorConfig& config) {
  return gst_ocellus::check_kernels(config_of(config).kernels, config_of(config).roi);
}

static ocellus::Rect region(const ocellus::OperatorConfig& config) {
  return config_of(config).roi;
}

static void class_init(GstOcellusBaseClass* klass) {
  gst_ocellus_base_class_install_align(klass);
  klass->trial_size = trial_size;
  klass->check_settings = check_settings;
  klass->region = region;
}

extern const GstOcellusElement gst_ocellus_filter = {
    "filter", "Ocellus spatio-temporal filter", "Filter/Analyzer/Video",
    "Convolves the video with spatio-temporal kernels and attaches the results to the buffers as "
    "GstOcellusMeta",
    class_init};
