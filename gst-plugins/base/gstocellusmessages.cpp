#include "base/gstocellusmessages.h"

#include "base/gstocellusstream.h"

using ocellus::Error;
using ocellus::Status;

namespace gst_ocellus {

void post_error(GstOcellusBase* self, const Error& error) {
  const char* name = ocellus::status_name(error.status);
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

void post_bad_picture(GstOcellusBase* self, const Error& error) {
  if (!has_lost_pictures(self)) return post_bad_buffer(self, error);
  GST_ELEMENT_ERROR(
      self, RESOURCE, FAILED,
      ("The device was lost, and the frames are in its memory (" GST_OCELLUS_CUDA_FEATURE
       "), which the CPU cannot read. Put the element cudadownload before this element, "
       "so that on-device-loss=cpu can continue."),
      ("%s", error.text));
}

void append_with_box(GValue* array, GstStructure* values, const ocellus::Rect& box) {
  gst_structure_set(values, "x", G_TYPE_INT, box.x, "y", G_TYPE_INT, box.y, "width", G_TYPE_INT,
                    box.width, "height", G_TYPE_INT, box.height, nullptr);
  GValue value = G_VALUE_INIT;
  g_value_init(&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed(&value, values);
  gst_value_array_append_and_take_value(array, &value);
}

// A stream in bytes has neither, nor has a frame that comes before its segment.
struct StreamTimes {
  GstClockTime running = GST_CLOCK_TIME_NONE;
  GstClockTime stream = GST_CLOCK_TIME_NONE;
};

static StreamTimes stream_times(GstOcellusBase* self, GstClockTime pts) {
  const GstSegment* segment = &GST_BASE_TRANSFORM(self)->segment;
  if (segment->format != GST_FORMAT_TIME) return {};
  return {gst_segment_to_running_time(segment, GST_FORMAT_TIME, pts),
          gst_segment_to_stream_time(segment, GST_FORMAT_TIME, pts)};
}

void post_qos(GstOcellusBase* self, GstBuffer* buffer, GstClockTimeDiff jitter,
              gdouble proportion) {
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  const StreamTimes times = stream_times(self, pts);
  const Statistics::Counts counts = get_statistics(self).counts();
  GstMessage* message = gst_message_new_qos(GST_OBJECT(self), is_live(self), times.running,
                                            times.stream, pts, GST_BUFFER_DURATION(buffer));
  gst_message_set_qos_values(message, jitter, proportion, 1000000);
  gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS, counts.frames, counts.dropped);
  gst_element_post_message(GST_ELEMENT(self), message);
}

void post_frame(GstOcellusBase* self, GstBuffer* buffer, GstClockTime arrival_to_result) {
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  Results& results = gst_ocellus_base_get_private(self)->results;
  const FrameSettings settings = get_settings(self);
  const GstOcellusMeta* meta = gst_ocellus_meta_of(buffer);
  // Asked in any case, because the text is compared with that of the next frame.
  const bool wanted = results.wants_message(meta, settings.messages);
  if (!wanted && !settings.post_messages) return;
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  const StreamTimes times = stream_times(self, pts);
  GstStructure* structure = gst_structure_new(
      klass->message_name, "timestamp", G_TYPE_UINT64, pts, "stream-time", G_TYPE_UINT64,
      times.stream, "running-time", G_TYPE_UINT64, times.running, "duration", G_TYPE_UINT64,
      GST_BUFFER_DURATION(buffer), "latency", G_TYPE_UINT64, arrival_to_result, nullptr);
  results.describe(meta, structure);
  if (klass->describe != nullptr) klass->describe(self, buffer, structure);
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_element(GST_OBJECT(self), structure));
}

}  // namespace gst_ocellus
