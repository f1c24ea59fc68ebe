// A GStreamer plugin with a decoder that stalls, like a decoder or camera with a fault. Its input
// is a text file: "STALLED <how> <frames> <path>". It outputs this number of frames, creates a file
// with this path, and then
//   waits     until the pipeline is stopped,
//   is_deaf   waits forever, even when the pipeline is stopped,
//   swallows  accepts all input, including the end of the stream, and outputs nothing,
//   spins     waits like `waits`, but in a busy loop.
#include <gst/gst.h>
#include <gst/video/video.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

namespace {

constexpr char kBegin[] = "STALLED ";
constexpr int kWidth = 64;
constexpr int kHeight = 48;

struct StalledDec {
  GstElement element;
  GstPad* source;
  std::atomic<bool>* stopped;
};
struct StalledDecClass {
  GstElementClass parent;
};

G_DEFINE_TYPE(StalledDec, stalled_dec, GST_TYPE_ELEMENT)

GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
                                                             GST_STATIC_CAPS("video/x-stalled"));
GstStaticPadTemplate source_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS,
                            GST_STATIC_CAPS("video/x-raw, format=I420, width=64, height=48"));

void give_frames(StalledDec* self, int frames) {
  gst_pad_push_event(self->source, gst_event_new_stream_start("stalled"));
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, kWidth, kHeight);
  info.fps_n = 25;
  GstCaps* const caps = gst_video_info_to_caps(&info);
  gst_pad_push_event(self->source, gst_event_new_caps(caps));
  gst_caps_unref(caps);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(self->source, gst_event_new_segment(&segment));
  for (int i = 0; i < frames; ++i) {
    GstBuffer* const buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
    gst_buffer_memset(buffer, 0, 128, GST_VIDEO_INFO_SIZE(&info));
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(i) * 40 * GST_MSECOND;
    gst_pad_push(self->source, buffer);
  }
}

GstFlowReturn chain(GstPad*, GstObject* parent, GstBuffer* buffer) {
  auto* const self = reinterpret_cast<StalledDec*>(parent);
  char text[512] = {};
  gst_buffer_extract(buffer, 0, text, sizeof(text) - 1);
  gst_buffer_unref(buffer);
  char how[32] = {};
  char path[400] = {};
  int frames = 0;
  if (std::sscanf(text, "STALLED %31s %d %399s", how, &frames, path) != 3) return GST_FLOW_ERROR;
  give_frames(self, frames);
  if (std::FILE* const file = std::fopen(path, "w")) std::fclose(file);
  if (std::strcmp(how, "swallows") == 0) return GST_FLOW_OK;
  const bool deaf = std::strcmp(how, "is_deaf") == 0;
  const bool spins = std::strcmp(how, "spins") == 0;
  while (deaf || !*self->stopped) {
    if (!spins) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return GST_FLOW_FLUSHING;
}

/// Drops all input events, because the output has its own. This includes the end of the stream.
gboolean take_event(GstPad*, GstObject*, GstEvent* event) {
  gst_event_unref(event);
  return TRUE;
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  auto* const self = reinterpret_cast<StalledDec*>(element);
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) *self->stopped = true;
  return GST_ELEMENT_CLASS(stalled_dec_parent_class)->change_state(element, change);
}

void finalize(GObject* object) {
  delete reinterpret_cast<StalledDec*>(object)->stopped;
  G_OBJECT_CLASS(stalled_dec_parent_class)->finalize(object);
}

void stalled_dec_class_init(StalledDecClass* type) {
  G_OBJECT_CLASS(type)->finalize = finalize;
  auto* const element = GST_ELEMENT_CLASS(type);
  element->change_state = change_state;
  gst_element_class_add_static_pad_template(element, &sink_template);
  gst_element_class_add_static_pad_template(element, &source_template);
  gst_element_class_set_static_metadata(element, "Stalled decoder", "Codec/Decoder/Video",
                                        "Stops giving frames", "the tests of ocellus");
}

void stalled_dec_init(StalledDec* self) {
  self->stopped = new std::atomic<bool>(false);
  GstPad* const sink = gst_pad_new_from_static_template(&sink_template, "sink");
  gst_pad_set_chain_function(sink, chain);
  gst_pad_set_event_function(sink, take_event);
  gst_element_add_pad(&self->element, sink);
  self->source = gst_pad_new_from_static_template(&source_template, "src");
  gst_element_add_pad(&self->element, self->source);
}

void find_type(GstTypeFind* find, gpointer) {
  constexpr guint kLength = sizeof(kBegin) - 1;
  const guint8* const begin = gst_type_find_peek(find, 0, kLength);
  if (begin != nullptr && std::memcmp(begin, kBegin, kLength) == 0)
    gst_type_find_suggest_simple(find, GST_TYPE_FIND_MAXIMUM, "video/x-stalled", nullptr, nullptr);
}

gboolean plugin_init(GstPlugin* plugin) {
  GstCaps* const caps = gst_caps_new_empty_simple("video/x-stalled");
  const gboolean good =
      gst_type_find_register(plugin, "stalled", GST_RANK_PRIMARY, find_type, nullptr, caps, nullptr,
                             nullptr) &&
      gst_element_register(plugin, "stalleddec", GST_RANK_PRIMARY, stalled_dec_get_type());
  gst_caps_unref(caps);
  return good;
}

}  // namespace

#define PACKAGE "ocellus"
extern "C" {
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, stalled, "Stops giving frames", plugin_init,
                  "0.1", "Apache-2.0", PACKAGE, "none")
}
