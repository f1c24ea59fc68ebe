// Output buffers: an empty buffer of the element gets the memory of a picture and a result. The
// messages that go with them.
#include <utility>

#include "base/gstocellusstream.h"

using ocellus::Expected;

namespace gst_ocellus {

// Returns a picture that may be written: the picture itself if nobody else uses it, otherwise a
// copy. Returns null after posting an error.
OwnedBuffer Stream::make_drawable(OwnedBuffer picture) {
  if (gst_buffer_is_writable(picture.get()) && gst_buffer_is_all_memory_writable(picture.get()))
    return picture;
  OwnedBuffer copy(pools_.acquire_picture());
  if (copy == nullptr) {
    GST_ELEMENT_ERROR(element_, RESOURCE, NO_SPACE_LEFT,
                      ("There is no memory for a copy of the picture to draw on."), (nullptr));
    return nullptr;
  }
  // Does not copy the metas that describe the memory layout: the copy has the layout of the caps.
  gst_buffer_copy_into(copy.get(), picture.get(), GST_BUFFER_COPY_METADATA, 0,
                       static_cast<gsize>(-1));
  const Expected<void> copied = gst_ocellus_copy_picture(picture.get(), copy.get(), caps_.video);
  if (!copied) {
    post_bad_buffer(element_, copied.error());
    return nullptr;
  }
  // In CUDA memory, drawing itself copies the picture to the host and back, and is counted in
  // draw_result.
  if (!caps_.cuda) state.count(&Counts::copies);
  return copy;
}

// Draws the result of `buffer` over the picture. Returns null after posting an error.
OwnedBuffer Stream::draw_result(OwnedBuffer picture, GstBuffer* buffer) {
  picture = make_drawable(std::move(picture));
  if (picture == nullptr) return nullptr;
  GstOcellusPicture planes;
  const auto readwrite = static_cast<GstMapFlags>(GST_MAP_READ | GST_MAP_WRITE);
  const Expected<void> mapped =
      planes.map(picture.get(), caps_.video,
                 static_cast<int>(GST_VIDEO_INFO_N_PLANES(&caps_.video)), readwrite);
  if (!mapped) {
    post_bad_buffer(element_, mapped.error());
    return nullptr;
  }
  const ocellus::OverlayImage image = planes.overlay(caps_.video);
  if (const auto draw = GST_OCELLUS_BASE_GET_CLASS(element_)->draw; draw != nullptr)
    draw(element_, buffer, image);
  else
    results_.draw(gst_ocellus_meta_of(buffer), image);
  if (caps_.cuda) state.count(&Counts::copies);
  return picture;
}

GstBuffer* Stream::wrap_output(OwnedBuffer picture, const GstOcellusResult* result) {
  OwnedBuffer buffer(pools_.acquire_empty());
  if (buffer == nullptr) {
    GST_ELEMENT_ERROR(element_, RESOURCE, NO_SPACE_LEFT,
                      ("There is no memory for an output buffer."), (nullptr));
    return nullptr;
  }
  if (result != nullptr) {
    if (!results_.attach(element_, buffer.get(), *result)) {
      GST_ELEMENT_ERROR(element_, RESOURCE, FAILED,
                        ("The memory of the result's planes cannot be mapped."), (nullptr));
      return nullptr;
    }
    if (state.get(state.properties.draw)) {
      picture = draw_result(std::move(picture), buffer.get());
      if (picture == nullptr) return nullptr;
    }
  }
  if (result != nullptr && op_.produces_video()) {
    gst_ocellus_pool_wrap(buffer.get(), gst_buffer_ref(result->data));
    gst_ocellus_pool_describe(buffer.get(), picture.get());
  } else if (gst_ocellus_pool_wrap(buffer.get(), picture.release())) {
    state.count(&Counts::copies);
  }
  if (result != nullptr) results_.add_items(buffer.get());
  if (mark_discont_) GST_BUFFER_FLAG_SET(buffer.get(), GST_BUFFER_FLAG_DISCONT);
  mark_discont_ = false;
  return buffer.release();
}

// ---- messages

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

void Stream::post_qos(GstBuffer* buffer, GstClockTimeDiff jitter, gdouble proportion) {
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  const StreamTimes times = stream_times(element_, pts);
  const Counts counts = state.counts();
  GstMessage* message =
      gst_message_new_qos(GST_OBJECT(element_), state.get(state.live), times.running, times.stream,
                          pts, GST_BUFFER_DURATION(buffer));
  gst_message_set_qos_values(message, jitter, proportion, 1000000);
  gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS, counts.frames, counts.dropped);
  gst_element_post_message(GST_ELEMENT(element_), message);
}

// Nanoseconds since 1970.
static guint64 wall_clock_of(Clock::time_point time) {
  return static_cast<guint64>(g_get_real_time()) * 1000 - nanoseconds(Clock::now() - time);
}

void Stream::post_frame(GstBuffer* buffer, Clock::time_point arrival,
                        GstClockTime arrival_to_result) {
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(element_);
  const auto settings = state.get<FrameSettings>(state.properties);
  const GstOcellusMeta* meta = gst_ocellus_meta_of(buffer);
  // Asked in any case, because the text is compared with that of the next frame.
  const bool wanted = results_.wants_message(meta, settings.messages);
  if (!wanted && !settings.post_messages) return;
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  const StreamTimes times = stream_times(element_, pts);
  GstStructure* structure = gst_structure_new(
      klass->message_name, "timestamp", G_TYPE_UINT64, pts, "stream-time", G_TYPE_UINT64,
      times.stream, "running-time", G_TYPE_UINT64, times.running, "duration", G_TYPE_UINT64,
      GST_BUFFER_DURATION(buffer), "wall-clock", G_TYPE_UINT64, wall_clock_of(arrival), "latency",
      G_TYPE_UINT64, arrival_to_result, nullptr);
  results_.describe(meta, structure);
  if (klass->describe != nullptr) klass->describe(element_, buffer, structure);
  gst_element_post_message(GST_ELEMENT(element_),
                           gst_message_new_element(GST_OBJECT(element_), structure));
}

}  // namespace gst_ocellus
