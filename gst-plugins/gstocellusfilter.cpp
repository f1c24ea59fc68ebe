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
#include "gstocellusfilter.h"

#include "gstocelluskernels.h"
#include "ocellus/spatio_temporal_filter.h"

struct _GstOcellusFilter {
  GstOcellusBase parent_instance;
};

G_DEFINE_TYPE(GstOcellusFilter, gst_ocellus_filter, GST_TYPE_OCELLUS_BASE)
GST_ELEMENT_REGISTER_DEFINE(ocellusfilter, "ocellusfilter", GST_RANK_NONE, GST_TYPE_OCELLUS_FILTER)

static const ocellus::SpatioTemporalFilterConfig& config_of(const ocellus::OperatorConfig& config) {
  return *config.get_if<ocellus::SpatioTemporalFilterConfig>();
}

static ocellus::ImageSize gst_ocellus_filter_trial_size(const ocellus::OperatorConfig& config) {
  return gst_ocellus::trial_size_of(config_of(config).kernels, config_of(config).roi);
}

static ocellus::Expected<void> gst_ocellus_filter_check_settings(
    const ocellus::OperatorConfig& config) {
  return gst_ocellus::check_kernels(config_of(config).kernels, config_of(config).roi);
}

static ocellus::Rect gst_ocellus_filter_region(const ocellus::OperatorConfig& config) {
  return config_of(config).roi;
}

static void gst_ocellus_filter_class_init(GstOcellusFilterClass* klass) {
  GstOcellusBaseClass* base_class = GST_OCELLUS_BASE_CLASS(klass);
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Ocellus spatio-temporal filter", "Filter/Analyzer/Video",
      "Convolves the video with spatio-temporal kernels and attaches the results to the buffers as "
      "GstOcellusMeta",
      "The Ocellus authors");
  gst_ocellus_base_class_set_operator(base_class, ocellus::find_operator("filter"));
  gst_ocellus_base_class_install_align(base_class);
  base_class->trial_size = gst_ocellus_filter_trial_size;
  base_class->check_settings = gst_ocellus_filter_check_settings;
  base_class->region = gst_ocellus_filter_region;
}

static void gst_ocellus_filter_init(GstOcellusFilter*) {}
