// What elements share whose results are classes of parts of the picture: names, boxes, and messages
// that are posted when the answer changes.
#pragma once

#include <string>

#include "base/gstocellusbase.h"

G_BEGIN_DECLS

typedef enum {
  GST_OCELLUS_MESSAGES_NONE,
  GST_OCELLUS_MESSAGES_CHANGES,  ///< for the first frame, and when the text has changed
  GST_OCELLUS_MESSAGES_ALL,
} GstOcellusMessages;

#define GST_TYPE_OCELLUS_MESSAGES (gst_ocellus_messages_get_type())
GType gst_ocellus_messages_get_type(void);

G_END_DECLS

namespace gst_ocellus {

/// The name of a class as UTF-8, which GStreamer requires; never freed.
const gchar* intern_class_name(const char* name);

/// The box in the scaled picture, for the transform of a meta.
void scale_box(const GstVideoMetaTransform& scale, gint& x, gint& y, gint& width, gint& height);

/// For class_init: installs the property with this number; it may change in all states.
void install_messages_property(GObjectClass* klass, guint id);

/// Whether a frame has a message. The setting may change on another thread; the caller holds the
/// object lock for `set` and `get`.
class ChangeMessages {
 public:
  void set(GstOcellusMessages messages) { messages_ = messages; }
  GstOcellusMessages get() const { return messages_; }

  /// Forgets the last text. Streaming thread, as `wants`.
  void restart() { has_text_ = false; }
  /// For each frame with a result, in the order in which they are pushed.
  bool wants(GObject* owner, const std::string& text);

 private:
  GstOcellusMessages messages_ = GST_OCELLUS_MESSAGES_CHANGES;
  bool has_text_ = false;
  std::string text_;  // of the frame before
};

}  // namespace gst_ocellus
