/**
 * SECTION:element-ocellusdigits
 * @title: ocellusdigits
 *
 * Finds the characters in the picture and reads them with a neocognitron. The picture passes
 * unchanged, or with boxes and characters drawn over it (#GstOcellusDigits:draw). The model of the
 * library reads handwritten digits; #GstOcellusDigits:model names another one.
 *
 * The result is attached to each buffer:
 *
 * - a #GstVideoRegionOfInterestMeta for each character, of the type `digit`. Its #GstStructure
 *   `digit` has the fields class (int), name (string), confidence, similarity and margin (double),
 *   field and line (int), and rejected, capped and empty (boolean). Empty tiles (layout=tiles) have
 *   none;
 * - a GstOcellusMeta with the string and all values. Programs read it with the header
 *   ocellus/gst/meta.h.
 *
 * The element message `ocellusdigits` has string (string), fields (array of strings: one for each
 * of #GstOcellusDigits:fields, or one for the picture), count (unsigned), truncated (boolean),
 * digits (array of structures as above, with x, y, width and height) and compute-time.
 * #GstOcellusDigits:messages says when it is posted.
 *
 * In the string, a rejected character is `?`, and an empty tile is a space. A newline stands
 * between lines, and between fields with layout=find. If the model has names of more than one
 * character, a space stands between the names of a line.
 *
 * ## Launch line
 * |[
 * gst-launch-1.0 -m v4l2src ! videoconvert ! ocellusdigits draw=true ! videoconvert !
 * autovideosink
 * ]| Shows the digits in front of a camera and prints them whenever they change.
 */
#include "base/gstocellusbase.h"
#include "ocellus/neocognitron.h"

static ocellus::ImageSize trial_size(const ocellus::OperatorConfig& settings) {
  const auto& config = *settings.get_if<ocellus::NeocognitronConfig>();
  ocellus::ImageSize size = gst_ocellus_size_of_tile<ocellus::NeocognitronConfig>(settings);
  for (gint i = 0; i < config.fields.count; ++i)
    size = gst_ocellus::enclose(size, config.fields.fields[static_cast<gsize>(i)]);
  return size;
}

extern const GstOcellusElement gst_ocellus_digits = {
    "digits", "Ocellus reading of digits", "Filter/Analyzer/Video",
    "Finds and reads handwritten digits and attaches them to the buffers as GstOcellusMeta and "
    "GstVideoRegionOfInterestMeta",
    [](GstOcellusBaseClass* klass) { klass->trial_size = trial_size; }};
