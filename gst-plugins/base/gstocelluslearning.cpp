#include "base/gstocelluslearning.h"

#include "base/gstocellusstream.h"

// Any thread. Returns TRUE if the file is complete; otherwise posts a warning with the reason.
static gboolean save_model(GstOcellusBase* self, const gchar* path) {
  const ocellus::Expected<void> saved =
      gst_ocellus_base_get_private(self)->op.save_model(path != nullptr ? path : "");
  if (saved) return TRUE;
  GST_ELEMENT_WARNING(self, RESOURCE, WRITE, ("The model is not saved: %s", saved.error().text),
                      (nullptr));
  return FALSE;
}

namespace gst_ocellus {

void install_save_model(GType type) {
  /**
   * GstOcellusCortex::save-model:
   * @self: the element
   * @location: the file
   *
   * Writes what the element has learned to a model file, beside it and then renamed. The file has
   * what all pictures have taught that the element has begun to compute. The stream waits until the
   * file is written and loses no frame.
   *
   * Returns: %TRUE if the file is complete; otherwise a warning message has the reason.
   */
  g_signal_new_class_handler(
      "save-model", type, static_cast<GSignalFlags>(G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION),
      G_CALLBACK(save_model), nullptr, nullptr, nullptr, G_TYPE_BOOLEAN, 1, G_TYPE_STRING);
}

void save_learned(GstOcellusBase* self) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  const std::string path = get_locked(self, priv->save_location);
  if (!path.empty() && priv->op.is_changed() && save_model(self, path.c_str()))
    priv->op.set_saved();
}

}  // namespace gst_ocellus
