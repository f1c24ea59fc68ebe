#include "base/gstocellusmessages.h"

using namespace ocellus;

namespace gst_ocellus {

void post_error(GstOcellusBase* self, const Error& error) {
  const char* name = status_name(error.status);
  switch (error.status) {
    case Status::kInvalidArgument:
    case Status::kUnsupported:
      GST_ELEMENT_ERROR(self, LIBRARY, SETTINGS, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kOutOfMemory:
      GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kBackendUnavailable:
      GST_ELEMENT_ERROR(self, RESOURCE, NOT_FOUND, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kDeviceLost:
      GST_ELEMENT_ERROR(self, RESOURCE, FAILED, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kCorruptFile:
      GST_ELEMENT_ERROR(self, RESOURCE, READ, ("%s", error.text), ("ocellus: %s", name));
      break;
    case Status::kIoError:
      GST_ELEMENT_ERROR(self, RESOURCE, OPEN_READ, ("%s", error.text), ("ocellus: %s", name));
      break;
    default:
      GST_ELEMENT_ERROR(self, LIBRARY, FAILED, ("%s", error.text), ("ocellus: %s", name));
      break;
  }
}

void post_bad_buffer(GstOcellusBase* self, const Error& error) {
  GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("%s", error.text), (nullptr));
}

void append_with_box(GValue* array, GstStructure* values, const Rect& box) {
  gst_structure_set(values, "x", G_TYPE_INT, box.x, "y", G_TYPE_INT, box.y, "width", G_TYPE_INT,
                    box.width, "height", G_TYPE_INT, box.height, nullptr);
  GValue value = G_VALUE_INIT;
  g_value_init(&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed(&value, values);
  gst_value_array_append_and_take_value(array, &value);
}

}  // namespace gst_ocellus
