// GStreamer pipelines of the program: ownership of their objects, creation, and errors.
#pragma once

#include <gst/gst.h>

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

namespace ocellus::app {

struct GstDeleter {
  void operator()(GstElement* element) const {
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(element);
  }
  void operator()(GstBus* bus) const { gst_object_unref(bus); }
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
  void operator()(GstMessage* message) const { gst_message_unref(message); }
  void operator()(GstCaps* caps) const { gst_caps_unref(caps); }
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
template <typename T>
using GstOwned = std::unique_ptr<T, GstDeleter>;

/// The polling interval of the clock and of stop_signal(): too short for a user to notice, and long
/// enough to cost nothing measurable.
inline constexpr std::chrono::milliseconds kPipelineStep{20};

/// Throws InputError.
void start_gstreamer();
bool has_element(const char* name);
/// Throws InputError that names the first element that is missing, and its package.
void need_elements(const std::string& path,
                   std::initializer_list<std::pair<const char*, const char*>> elements);
/// Creates the pipeline described by `text`. Its elements can be looked up by name. Throws
/// InputError that names `path`.
GstOwned<GstElement> parse_pipeline(const std::string& path, const std::string& text);
/// The pipeline keeps the reference.
GstElement* element_of(GstElement* pipeline, const char* name);
/// The reason for a failure, from the bus. A missing decoder is a better reason than the errors
/// that follow from it.
std::string bus_error(GstElement* pipeline, GstClockTime patience, std::string& missing);

}  // namespace ocellus::app
