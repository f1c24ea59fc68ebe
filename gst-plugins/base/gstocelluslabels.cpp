#include "base/gstocelluslabels.h"

GType gst_ocellus_messages_get_type(void) {
  static const GEnumValue values[] = {
      {GST_OCELLUS_MESSAGES_NONE, "No messages", "none"},
      {GST_OCELLUS_MESSAGES_CHANGES,
       "For the first frame, and for a frame whose result differs from the frame before",
       "changes"},
      {GST_OCELLUS_MESSAGES_ALL, "For every frame with a result", "all"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstOcellusMessages", values);
  return type;
}

namespace gst_ocellus {

const gchar* intern_class_name(const char* name) {
  gchar* valid = g_utf8_make_valid(name, -1);
  const gchar* interned = g_intern_string(valid);
  g_free(valid);
  return interned;
}

void scale_box(const GstVideoMetaTransform& scale, gint& x, gint& y, gint& width, gint& height) {
  const auto scaled = [](gint value, gint to, gint from) {
    return static_cast<gint>(gint64{value} * to / MAX(from, 1));
  };
  const gint to_width = GST_VIDEO_INFO_WIDTH(scale.out_info);
  const gint to_height = GST_VIDEO_INFO_HEIGHT(scale.out_info);
  const gint from_width = GST_VIDEO_INFO_WIDTH(scale.in_info);
  const gint from_height = GST_VIDEO_INFO_HEIGHT(scale.in_info);
  x = scaled(x, to_width, from_width);
  width = scaled(width, to_width, from_width);
  y = scaled(y, to_height, from_height);
  height = scaled(height, to_height, from_height);
}

void install_messages_property(GObjectClass* klass, guint id) {
  g_object_class_install_property(
      klass, id,
      g_param_spec_enum("messages", "Messages",
                        "When to post an element message; post-messages=true posts one for every "
                        "frame, too",
                        GST_TYPE_OCELLUS_MESSAGES, GST_OCELLUS_MESSAGES_CHANGES,
                        static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                 GST_PARAM_MUTABLE_PLAYING)));
  gst_type_mark_as_plugin_api(GST_TYPE_OCELLUS_MESSAGES, static_cast<GstPluginAPIFlags>(0));
}

bool ChangeMessages::wants(GObject* owner, const std::string& text) {
  const bool changed = !has_text_ || text_ != text;
  has_text_ = true;
  if (changed) text_ = text;
  GST_OBJECT_LOCK(owner);
  const GstOcellusMessages messages = messages_;
  GST_OBJECT_UNLOCK(owner);
  return messages == GST_OCELLUS_MESSAGES_ALL ||
         (messages == GST_OCELLUS_MESSAGES_CHANGES && changed);
}

}  // namespace gst_ocellus
