/* A GStreamer application in C: reads the metas of two elements in a pad probe, and the messages of
 * the bus. The arguments are the source, as gst-launch-1.0 takes it:
 *
 *     gst_app v4l2src ! videoconvert
 *     gst_app videotestsrc num-buffers=30 pattern=ball
 */
#include <gst/gst.h>
#include <ocellus/gst/meta.h>

/* On the streaming thread: short, and no call that changes the pipeline. */
static GstPadProbeReturn on_buffer(GstPad* pad, GstPadProbeInfo* info, gpointer unused) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  const GstOcellusMeta* motion = gst_buffer_get_ocellus_meta(buffer, "flow");
  const GstOcellusMeta* digits = gst_buffer_get_ocellus_meta(buffer, "digits");
  (void)pad;
  (void)unused;
  if (motion == NULL || digits == NULL) return GST_PAD_PROBE_OK;
  g_print("%" GST_TIME_FORMAT ": %u moving objects", GST_TIME_ARGS(GST_BUFFER_PTS(buffer)),
          motion->n_items);
  for (guint item = 0; item < motion->n_items; ++item) {
    gint x, y, width, height;
    if (gst_ocellus_meta_get_box(motion, item, &x, &y, &width, &height))
      g_print(" (%d,%d %dx%d)", x, y, width, height);
  }
  g_print(", digits \"%s\"\n", digits->string != NULL ? digits->string : "");
  return GST_PAD_PROBE_OK;
}

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  gchar* source = argc > 1 ? g_strjoinv(" ", argv + 1) : g_strdup("v4l2src ! videoconvert");
  gchar* description = g_strdup_printf(
      "%s ! ocellusflow objects=16 budget=33000000 on-miss=reuse ! ocellusdigits ! "
      "fakesink name=end",
      source);
  GError* error = NULL;
  GstElement* pipeline = gst_parse_launch(description, &error);
  g_free(source);
  g_free(description);
  if (error != NULL) {
    g_printerr("%s\n", error->message);
    return 1;
  }
  GstElement* end = gst_bin_get_by_name(GST_BIN(pipeline), "end");
  GstPad* pad = gst_element_get_static_pad(end, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, NULL, NULL);
  gst_object_unref(pad);
  gst_object_unref(end);

  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  int status = -1;
  while (status < 0) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_ERROR | GST_MESSAGE_EOS | GST_MESSAGE_QOS);
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error(message, &error, NULL);
      g_printerr("%s: %s\n", GST_MESSAGE_SRC_NAME(message), error->message);
      g_error_free(error);
      status = 1;
    } else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_QOS) {
      g_print("%s: a frame missed its budget\n", GST_MESSAGE_SRC_NAME(message));
    } else {
      status = 0;
    }
    gst_message_unref(message);
  }
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return status;
}
