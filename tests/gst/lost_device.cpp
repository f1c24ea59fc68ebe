// Loses the device while a pipeline runs, and prints the outcome:
//   gst_lost_device error|cpu system|cuda|foreign
// The arguments are the policy and the location of the pictures: ordinary memory, CUDA memory of
// the primary context, or CUDA memory of another context.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "gst/cuda_support.h"
#include "gst/illegal_address.h"

namespace ocellus::gst_test {
namespace {

int run(const std::string& policy, const std::string& memory) {
  Pipeline pipeline(
      "videotestsrc pattern=ball num-buffers=40 ! "
      "video/x-raw,format=NV12,width=320,height=240,framerate=30/1 ! " +
      (memory == "system"    ? std::string()
       : memory == "foreign" ? "ocellustestupload insist=true ! "
                             : "ocellustestupload ! ") +
      "ocellusflow name=flow backend=cuda on-device-loss=" + policy + " ! " + kSink);
  int frames = 0;
  int fields = 0;
  Watch watch{[&](GstBuffer* buffer) {
    ++frames;
    if (flow_of(buffer) != nullptr) ++fields;
  }};
  watch.attach(pipeline);
  // The kernel is launched before a frame enters the element, so that the element is the first to
  // see the error.
  int entered = 0;
  GstPad* pad = gst_element_get_static_pad(pipeline.by_name("flow"), "sink");
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo*, gpointer count) {
        if (++*static_cast<int*>(count) == 10) write_where_nothing_is();
        return GST_PAD_PROBE_OK;
      },
      &entered, nullptr);
  gst_object_unref(pad);
  pipeline.set_state(GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline.get());
  for (bool ended = false; !ended;) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, GST_CLOCK_TIME_NONE,
        static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_EOS));
    GError* error = nullptr;
    gchar* debug = nullptr;
    switch (GST_MESSAGE_TYPE(message)) {
      case GST_MESSAGE_ERROR:
        gst_message_parse_error(message, &error, &debug);
        std::printf("ERROR %s\n%s\n", error->message, debug);
        ended = true;
        break;
      case GST_MESSAGE_WARNING:
        gst_message_parse_warning(message, &error, &debug);
        std::printf("WARNING %s\n%s\n", error->message, debug);
        break;
      default:
        std::printf("EOS, %d frames, %d fields\n", frames, fields);
        ended = true;
        break;
    }
    g_clear_error(&error);
    g_free(debug);
    gst_message_unref(message);
  }
  gst_object_unref(bus);
  gchar* backend = nullptr;
  g_object_get(pipeline.by_name("flow"), "active-backend", &backend, nullptr);
  std::printf("backend %s\n", backend != nullptr ? backend : "none");
  g_free(backend);
  return 0;
}

}  // namespace
}  // namespace ocellus::gst_test

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  alarm(60);  // ends the process by a signal if it hangs
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  gst_init(nullptr, nullptr);
  gst_cuda_load_library();
  gst_cuda_memory_init_once();
  ocellus::gst_test::register_test_upload();
  const int result = ocellus::gst_test::run(argv[1], argv[2]);
  gst_deinit();
  return result;
}
