/* GstOcellusDigitsMeta: the characters that the element ocellusdigits read in the picture of a buffer.
 *
 * This header is plain C. It finds the type by its name, which the plugin registers when it creates
 * its first element. A program that reads the meta needs this header and gstreamer-1.0, and links
 * nothing of Ocellus.
 *
 *     GstOcellusDigitsMeta *digits = gst_buffer_get_ocellus_digits_meta (buffer);
 *     if (digits != NULL) g_print ("%s\n", digits->string);
 *
 * A buffer with this meta also has a GstVideoRegionOfInterestMeta for each character, so that
 * elements that know nothing of Ocellus find the boxes.
 *
 * Elements that scale the picture scale the boxes. Elements that crop it remove the meta.
 */
#ifndef OCELLUS_GST_DIGITS_META_H
#define OCELLUS_GST_DIGITS_META_H

#include <gst/gst.h>

G_BEGIN_DECLS

/** Version of the structs below. The accessor returns NULL if the program and the plugin have
 * different versions. */
#define GST_OCELLUS_DIGITS_META_VERSION 1

/** The type's name, for gst_meta_get_info() and g_type_from_name(). */
#define GST_OCELLUS_DIGITS_META_API_NAME "GstOcellusDigitsMetaAPI"

/** Most characters of a picture. */
#define GST_OCELLUS_DIGITS_MAX 64

/** The type of the GstVideoRegionOfInterestMeta of a character, and the name of its GstStructure. */
#define GST_OCELLUS_DIGITS_ROI_TYPE "digit"

/**
 * GstOcellusDigitsFlags:
 * @GST_OCELLUS_DIGITS_FLAG_REUSED: the characters are those of an earlier frame (see @pts), because
 * the frame missed its budget
 * @GST_OCELLUS_DIGITS_FLAG_LATE: the characters were read only after the budget had elapsed
 */
typedef enum {
  GST_OCELLUS_DIGITS_FLAG_NONE = 0,
  GST_OCELLUS_DIGITS_FLAG_REUSED = (1 << 0),
  GST_OCELLUS_DIGITS_FLAG_LATE = (1 << 1)
} GstOcellusDigitsFlags;

/**
 * GstOcellusDigitFlags:
 * @GST_OCELLUS_DIGIT_FLAG_REJECTED: the confidence is less than the property min-confidence
 * @GST_OCELLUS_DIGIT_FLAG_CAPPED: more cells were active than the property max-active allows, so the
 * class is less certain
 * @GST_OCELLUS_DIGIT_FLAG_EMPTY: the tile has no ink (layout=tiles)
 */
typedef enum {
  GST_OCELLUS_DIGIT_FLAG_NONE = 0,
  GST_OCELLUS_DIGIT_FLAG_REJECTED = (1 << 0),
  GST_OCELLUS_DIGIT_FLAG_CAPPED = (1 << 1),
  GST_OCELLUS_DIGIT_FLAG_EMPTY = (1 << 2)
} GstOcellusDigitFlags;

/**
 * GstOcellusDigit:
 * @label: class of the model; -1 if the tile is empty
 * @name: name of the class in the model, as UTF-8; "" if the tile is empty; never freed
 * @confidence: probability that the class is right, 0 to 1
 * @similarity: similarity to the class, 0 to 1
 * @margin: @similarity minus the similarity to the second class
 * @x: left edge of the box, pixels
 * @y: upper edge of the box, pixels
 * @width: width of the box, pixels
 * @height: height of the box, pixels
 * @line: line in the field, from the top
 * @field: number of the field in the property fields, from 0; 0 without fields
 * @flags: GstOcellusDigitFlags
 *
 * A character.
 */
typedef struct {
  gint label;
  const gchar* name;
  gfloat confidence;
  gfloat similarity;
  gfloat margin;
  gint x;
  gint y;
  gint width;
  gint height;
  gint line;
  gint field;
  guint flags;
} GstOcellusDigit;

typedef struct _GstOcellusDigitsMeta GstOcellusDigitsMeta;

/**
 * GstOcellusDigitsMeta:
 * @meta: parent
 * @version: GST_OCELLUS_DIGITS_META_VERSION of the plugin
 * @flags: GstOcellusDigitsFlags
 * @source: name of the element that read the characters; 0 if the meta is empty
 * @string: names of all characters, as UTF-8. A rejected character is "?", an empty tile a space. A
 * newline stands between lines and between fields, but not between boxes (layout=boxes). If the model
 * has names of more than one character, a space stands between the names of a line. The string
 * belongs to the meta.
 * @count: number of characters
 * @truncated: the picture has more characters than were read
 * @digits: the characters: fields in their order, in each lines from top to bottom, in each
 * characters from left to right
 * @pts: PTS of the frame that was read; without REUSED it is the buffer's PTS
 * @compute_time: computation time, nanoseconds
 */
struct _GstOcellusDigitsMeta {
  GstMeta meta;

  guint version;
  guint flags;
  GQuark source;

  gchar* string;
  guint count;
  gboolean truncated;
  GstOcellusDigit digits[GST_OCELLUS_DIGITS_MAX];

  GstClockTime pts;
  GstClockTime compute_time;
};

/**
 * gst_buffer_get_ocellus_digits_meta:
 * @buffer: a buffer
 *
 * Returns: (nullable): the characters of @buffer, or NULL if the picture was not read (there is no
 * ocellusdigits upstream, or the frame passed without a result). A picture without characters has a
 * meta with @count 0. After several ocellusdigits in series it is the meta of the last one. To read
 * the others, use gst_buffer_iterate_meta_filtered() and compare @source.
 */
static inline GstOcellusDigitsMeta* gst_buffer_get_ocellus_digits_meta(GstBuffer* buffer) {
  GType api = g_type_from_name(GST_OCELLUS_DIGITS_META_API_NAME);
  gpointer state = NULL;
  GstMeta* meta;

  if (api == 0) return NULL;
  while ((meta = gst_buffer_iterate_meta_filtered(buffer, &state, api)) != NULL) {
    GstOcellusDigitsMeta* digits = (GstOcellusDigitsMeta*)meta;
    if (digits->version != GST_OCELLUS_DIGITS_META_VERSION) {
      g_warning(
          "the plugin ocellus has version %u of GstOcellusDigitsMeta, this program was built with "
          "version %d",
          digits->version, GST_OCELLUS_DIGITS_META_VERSION);
      return NULL;
    }
    if (digits->source != 0) return digits;
  }
  return NULL;
}

G_END_DECLS

#endif
