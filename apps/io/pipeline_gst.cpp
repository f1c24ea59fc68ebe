#include "apps/io/pipeline_gst.h"

#include <fmt/format.h>

#include "apps/common/common.h"

namespace ocellus::app {

void start_gstreamer() {
  GError* error = nullptr;
  if (!gst_init_check(nullptr, nullptr, &error)) {
    const std::string text = error != nullptr ? error->message : "unknown reason";
    g_clear_error(&error);
    throw InputError("GStreamer cannot be initialized: " + text);
  }
}

bool has_element(const char* name) {
  GstElementFactory* const factory = gst_element_factory_find(name);
  if (factory == nullptr) return false;
  gst_object_unref(factory);
  return true;
}

GstOwned<GstElement> parse_pipeline(const std::string& path, const std::string& text) {
  GError* error = nullptr;
  GstElement* const pipeline = gst_parse_launch(text.c_str(), &error);
  if (pipeline == nullptr || error != nullptr) {
    const std::string reason = error != nullptr ? error->message : "unknown reason";
    g_clear_error(&error);
    if (pipeline != nullptr) gst_object_unref(pipeline);
    throw InputError(fmt::format("{}: GStreamer: {}", path, reason));
  }
  return GstOwned<GstElement>(pipeline);
}

GstElement* element_of(GstElement* pipeline, const char* name) {
  GstElement* const element = gst_bin_get_by_name(GST_BIN(pipeline), name);
  gst_object_unref(element);  // the pipeline keeps a reference
  return element;
}

std::string bus_error(GstElement* pipeline, GstClockTime patience, std::string& missing) {
  const GstOwned<GstBus> bus(gst_element_get_bus(pipeline));
  while (true) {
    const GstOwned<GstMessage> message(gst_bus_timed_pop_filtered(
        bus.get(), patience, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_ELEMENT)));
    if (!message) return "";
    if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_ELEMENT) {
      const GstStructure* const structure = gst_message_get_structure(message.get());
      if (structure != nullptr && gst_structure_has_name(structure, "missing-plugin")) {
        const char* const name = gst_structure_get_string(structure, "name");
        missing = fmt::format(
            "no {} is installed; most are in GStreamer's packages good, bad, ugly and libav",
            name != nullptr ? name : "decoder for it");
      }
      continue;
    }
    GError* error = nullptr;
    gchar* debug = nullptr;
    gst_message_parse_error(message.get(), &error, &debug);
    std::string text = missing.empty() ? error->message : missing;
    g_clear_error(&error);
    g_free(debug);
    return text;
  }
}

void need_elements(const std::string& path,
                   std::initializer_list<std::pair<const char*, const char*>> elements) {
  for (const auto& [element, package] : elements) {
    if (!has_element(element))
      throw InputError(fmt::format("{}: GStreamer's element {} is missing; it is in {}", path,
                                   element, package));
  }
}

}  // namespace ocellus::app
