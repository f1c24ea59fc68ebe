// Fuzz target: a script for one of the elements. The first line names the element. Each further
// line sets a property (name=value), sends caps, or runs one of the commands below. The element
// refuses a line with a message, or continues. Sanitizers detect other faults, and a critical
// message of GStreamer ends the run.
//
//   caps CAPS        the caps of the following pictures (small ones only)
//   push BYTES [PTS] a picture; BYTES is added to the size that the caps need
//   segment RATE     a new segment
//   drain, allocation, latency, flush, eos, reconfigure, restart
#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "elements.h"
#include "ocellus/operators.h"

// Functions of the leak sanitizer, if the program is built with it.
extern "C" {
[[gnu::weak]] void __lsan_disable();
[[gnu::weak]] void __lsan_enable();
}

namespace {

void leak_check(bool on) {
  const auto call = on ? __lsan_enable : __lsan_disable;
  if (call != nullptr) call();
}

constexpr int kMostLines = 64;
constexpr int kMostPictures = 8;
constexpr int kMostPixels = 4096;
constexpr gint kMostSweeps = 64;  // more sweeps are valid, but too slow for many runs

// Whether GStreamer parses a text; its messages about that are ignored.
bool parsing = false;

void end_at_critical(const gchar* domain, GLogLevelFlags level, const gchar* message, gpointer) {
  if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) == 0 || parsing) return;
  // GObject's message about a value that is out of range, since 2.80.
  if (domain != nullptr && std::strcmp(domain, "GLib-GObject") == 0 &&
      std::strstr(message, "out of range") != nullptr)
    return;
  g_printerr("%s: %s\n", domain != nullptr ? domain : "", message);
  std::abort();
}

// Starts GStreamer without plugins and without their registry. The elements are linked in.
bool start_gstreamer() {
  g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);
  g_setenv("GST_PLUGIN_SYSTEM_PATH_1_0", "", TRUE);
  g_setenv("GST_PLUGIN_PATH_1_0", "", TRUE);
  gst_init(nullptr, nullptr);
  g_log_set_default_handler(end_at_critical, nullptr);
  return gst_ocellus_register_elements(nullptr);
}

// Without a template, a pad would accept only the first caps.
GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

GstFlowReturn drop(GstPad*, GstObject*, GstBuffer* buffer) {
  gst_buffer_unref(buffer);
  return GST_FLOW_OK;
}

// Replaces GstHarness, which ends the process when an element does not start.
class Stage {
 public:
  explicit Stage(GstElement* element)
      : element_(element),
        bus_(gst_bus_new()),
        source_(gst_pad_new("source", GST_PAD_SRC)),
        sink_(gst_pad_new_from_static_template(&sink_template, "sink")) {
    gst_object_ref_sink(element_);
    gst_object_ref_sink(source_);
    gst_object_ref_sink(sink_);
    gst_element_set_bus(element_, bus_);
    gst_pad_set_chain_function(sink_, drop);
    GstPad* in = gst_element_get_static_pad(element_, "sink");
    GstPad* out = gst_element_get_static_pad(element_, "src");
    if (gst_pad_link(source_, in) != GST_PAD_LINK_OK || gst_pad_link(out, sink_) != GST_PAD_LINK_OK)
      std::abort();
    gst_object_unref(in);
    gst_object_unref(out);
    gst_pad_set_active(sink_, TRUE);
    gst_pad_set_active(source_, TRUE);
    // On the CPU with few threads, unless the script sets other values.
    gst_util_set_object_arg(G_OBJECT(element_), "backend", "cpu");
    gst_util_set_object_arg(G_OBJECT(element_), "threads", "1");
  }
  ~Stage() {
    gst_pad_set_active(source_, FALSE);
    if (gst_element_set_state(element_, GST_STATE_NULL) != GST_STATE_CHANGE_SUCCESS) std::abort();
    gst_pad_set_active(sink_, FALSE);
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(bus_);
    gst_object_unref(source_);
    gst_object_unref(sink_);
    gst_object_unref(element_);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void line(const std::string& text) {
    const std::size_t end = text.find_first_of(" =");
    const std::string word = text.substr(0, end);
    const std::string rest = end == std::string::npos ? "" : text.substr(end + 1);
    if (end != std::string::npos && text[end] == '=')
      set(word, rest);
    else if (word == "caps")
      set_caps(rest);
    else if (word == "push")
      push(rest);
    else if (word == "segment")
      begin_segment(std::strtod(rest.c_str(), nullptr));
    else
      act(word);
    forget_messages();
  }

 private:
  void set(const std::string& name, const std::string& value) {
    gst_util_set_object_arg(G_OBJECT(element_), name.c_str(), value.c_str());
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(element_), "max-sweeps") == nullptr) return;
    gint sweeps = 0;
    g_object_get(element_, "max-sweeps", &sweeps, nullptr);
    if (sweeps > kMostSweeps) g_object_set(element_, "max-sweeps", kMostSweeps, nullptr);
  }

  // Whether the element runs. It checks its settings when it starts.
  bool start() {
    if (started_) return true;
    if (gst_element_set_state(element_, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
      expect_error();
      return false;
    }
    gst_pad_push_event(source_, gst_event_new_stream_start("fuzz"));
    started_ = true;
    return true;
  }

  /// GStreamer's parser leaks on some invalid texts, and reports warnings for some names.
  static GstCaps* parse_caps(const std::string& text) {
    leak_check(false);
    parsing = true;
    GstCaps* const parsed = gst_caps_from_string(text.c_str());
    parsing = false;
    leak_check(true);
    if (parsed == nullptr) return nullptr;
    GstCaps* const caps = gst_caps_copy(parsed);
    gst_caps_unref(parsed);
    return caps;
  }

  void set_caps(const std::string& text) {
    GstCaps* caps = parse_caps(text);
    if (caps == nullptr) return;
    if (!gst_caps_is_empty(caps) && !gst_caps_is_any(caps)) {
      caps = gst_caps_fixate(caps);
      GstVideoInfo video;
      // Other caps are for the element to refuse.
      const bool understood = gst_video_info_from_caps(&video, caps);
      const bool small =
          understood && GST_VIDEO_INFO_WIDTH(&video) <= kMostPixels &&
          GST_VIDEO_INFO_HEIGHT(&video) <= kMostPixels &&
          GST_VIDEO_INFO_WIDTH(&video) * GST_VIDEO_INFO_HEIGHT(&video) <= kMostPixels;
      if ((small || !understood) && start()) {
        bytes_ = small ? GST_VIDEO_INFO_SIZE(&video) : 64;
        gst_pad_push_event(source_, gst_event_new_caps(caps));
        if (!has_segment_) begin_segment(1.0);
      }
    }
    gst_caps_unref(caps);
  }

  void begin_segment(double rate) {
    if (!started_ || !(rate > -1e6 && rate < 1e6) || rate == 0.0) return;
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    segment.rate = rate;
    segment.stop = 1000 * GST_SECOND;
    gst_pad_push_event(source_, gst_event_new_segment(&segment));
    has_segment_ = true;
  }

  void push(const std::string& text) {
    if (!started_ || !has_segment_ || pictures_ == kMostPictures) return;
    gint64 more = 0;
    guint64 pts = static_cast<guint64>(pictures_) * 40 * GST_MSECOND;
    std::istringstream(text) >> more >> pts;
    const gint64 bytes = static_cast<gint64>(bytes_) + CLAMP(more, -65536, 65536);
    GstBuffer* buffer =
        gst_buffer_new_allocate(nullptr, static_cast<gsize>(MAX(bytes, 0)), nullptr);
    GstMapInfo map;
    if (gst_buffer_map(buffer, &map, GST_MAP_WRITE)) {
      for (gsize i = 0; i < map.size; ++i)
        map.data[i] = static_cast<guint8>(i * 7 + static_cast<gsize>(pictures_) * 13);
      gst_buffer_unmap(buffer, &map);
    }
    GST_BUFFER_PTS(buffer) = pts;
    ++pictures_;
    const GstFlowReturn flow = gst_pad_push(source_, buffer);
    if (flow == GST_FLOW_ERROR) expect_error();
  }

  void act(const std::string& word) {
    if (word == "restart") {
      // From NULL, the element checks its settings.
      if (gst_element_set_state(element_, GST_STATE_READY) == GST_STATE_CHANGE_FAILURE)
        expect_error();
      started_ = has_segment_ = false;
    } else if (!started_) {
      return;
    } else if (word == "flush") {
      gst_pad_push_event(source_, gst_event_new_flush_start());
      gst_pad_push_event(source_, gst_event_new_flush_stop(TRUE));
      has_segment_ = false;
      begin_segment(1.0);
    } else if (word == "eos") {
      gst_pad_push_event(source_, gst_event_new_eos());
    } else if (word == "reconfigure") {
      gst_pad_push_event(sink_, gst_event_new_reconfigure());
    } else if (word == "latency") {
      ask(sink_, gst_query_new_latency());
    } else if (word == "drain") {
      ask(source_, gst_query_new_drain());
    } else if (word == "allocation") {
      GstCaps* caps = gst_pad_get_current_caps(source_);
      ask(source_, gst_query_new_allocation(caps, TRUE));
      gst_clear_caps(&caps);
    }
  }

  static void ask(GstPad* pad, GstQuery* query) {
    gst_pad_peer_query(pad, query);
    gst_query_unref(query);
  }

  // A refusal must post an error message.
  void expect_error() {
    GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_ERROR);
    if (message == nullptr) std::abort();
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    if (error->message[0] == '\0') std::abort();
    g_error_free(error);
    gst_message_unref(message);
  }

  void forget_messages() {
    gst_bus_set_flushing(bus_, TRUE);
    gst_bus_set_flushing(bus_, FALSE);
  }

  GstElement* element_;
  GstBus* bus_;
  GstPad* source_;
  GstPad* sink_;
  bool started_ = false;
  bool has_segment_ = false;
  int pictures_ = 0;
  gsize bytes_ = 64;
};

// The element of the operator of this name. Other texts stand for one of the elements, too.
GstElement* make_element(const std::string& name) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found;
    for (const ocellus::OperatorDescription& description : ocellus::operators()) {
      const std::string element = std::string("ocellus") + description.name;
      GstElementFactory* const factory = gst_element_factory_find(element.c_str());
      if (factory == nullptr) continue;  // an operator without an element
      gst_object_unref(factory);
      found.push_back(element);
    }
    return found;
  }();
  const auto known = std::find(names.begin(), names.end(), "ocellus" + name);
  const std::size_t any = name.empty() ? 0 : static_cast<unsigned char>(name[0]) % names.size();
  return gst_element_factory_make((known != names.end() ? *known : names[any]).c_str(), nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool started = start_gstreamer();
  if (!started) std::abort();
  std::istringstream script(std::string(reinterpret_cast<const char*>(data), size));
  std::string text;
  std::getline(script, text);
  Stage stage(make_element(text));
  for (int i = 0; i < kMostLines && std::getline(script, text); ++i) {
    // Properties and caps are C strings, so the text ends at the first NUL.
    stage.line(text.substr(0, text.find('\0')));
  }
  return 0;
}
