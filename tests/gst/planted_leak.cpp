// Leaks on purpose, to test the leak checkers. The argument "gst" leaks a buffer of ocellusflow,
// "malloc" leaks plain memory, "none" leaks nothing.
#include <gst/gst.h>

#include <cstdlib>
#include <string>

namespace {

void keep_first(GstElement*, GstBuffer* buffer, GstPad*, gpointer kept) {
  auto** slot = static_cast<GstBuffer**>(kept);
  if (*slot == nullptr) *slot = gst_buffer_ref(buffer);
}

// The address is used once and not stored.
__attribute__((noinline)) guintptr lose_memory() {
  void* volatile memory = std::malloc(12345);
  return reinterpret_cast<guintptr>(memory);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "none";
  gst_init(nullptr, nullptr);
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(
      "videotestsrc num-buffers=30 pattern=ball ! "
      "video/x-raw,format=I420,width=128,height=96,framerate=30/1 ! ocellusflow draw=true ! "
      "ocellusflow "
      "method=kernels taps=15x15x5 post-messages=true ! fakesink name=sink sync=false "
      "signal-handoffs=true",
      &error);
  if (error != nullptr) {
    g_printerr("%s\n", error->message);
    return 2;
  }
  GstBuffer* kept = nullptr;
  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  if (what == "gst") g_signal_connect(sink, "handoff", G_CALLBACK(keep_first), &kept);
  gst_object_unref(sink);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
  const bool ended = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
  gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  if (what == "malloc" && lose_memory() == 0) return 4;
  kept = nullptr;
  gst_deinit();
  return ended ? 0 : 3;
}
