#include "base/gstocellusoutput.h"

#include "base/gstocellusmessages.h"
#include "base/gstocellusstream.h"

using ocellus::Expected;

namespace gst_ocellus {

// Returns a picture that may be written: the picture itself if nobody else uses it, otherwise a
// copy. Takes and returns a reference.
static GstBuffer* make_drawable(GstOcellusBase* self, GstBuffer* picture) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  if (gst_buffer_is_writable(picture) && gst_buffer_is_all_memory_writable(picture)) return picture;
  GstBuffer* copy = priv->pools.acquire_picture();
  if (copy == nullptr) {
    gst_buffer_unref(picture);
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT,
                      ("There is no memory for a copy of the picture to draw on."), (nullptr));
    return nullptr;
  }
  // Does not copy the metas that describe the memory layout: the copy has the layout of the caps.
  gst_buffer_copy_into(copy, picture, GST_BUFFER_COPY_METADATA, 0, static_cast<gsize>(-1));
  const Expected<void> copied = gst_ocellus_copy_picture(picture, copy, priv->caps.video);
  gst_buffer_unref(picture);
  if (!copied) {
    gst_buffer_unref(copy);
    post_bad_buffer(self, copied.error());
    return nullptr;
  }
  // In CUDA memory, drawing itself copies the picture to the host and back, and is counted in
  // draw_result.
  if (!priv->caps.cuda) priv->statistics.count_copy();
  return copy;
}

// Draws the result of `buffer` over the picture. Takes and returns a reference. Returns null after
// posting an error.
static GstBuffer* draw_result(GstOcellusBase* self, GstBuffer* picture, GstBuffer* buffer) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  picture = make_drawable(self, picture);
  if (picture == nullptr) return nullptr;
  GstOcellusPicture planes;
  const auto readwrite = static_cast<GstMapFlags>(GST_MAP_READ | GST_MAP_WRITE);
  const Expected<void> mapped =
      planes.map(picture, priv->caps.video,
                 static_cast<int>(GST_VIDEO_INFO_N_PLANES(&priv->caps.video)), readwrite);
  if (!mapped) {
    gst_buffer_unref(picture);
    post_bad_buffer(self, mapped.error());
    return nullptr;
  }
  const ocellus::OverlayImage image = planes.overlay(priv->caps.video);
  if (const auto draw = GST_OCELLUS_BASE_GET_CLASS(self)->draw; draw != nullptr)
    draw(self, buffer, image);
  else
    priv->results.draw(gst_ocellus_meta_of(buffer), image);
  if (priv->caps.cuda) priv->statistics.count_copy();
  return picture;
}

GstBuffer* wrap_output(GstOcellusBase* self, GstBuffer* picture, const GstOcellusResult* result) {
  GstOcellusBasePrivate* priv = gst_ocellus_base_get_private(self);
  GstOcellusBaseClass* klass = GST_OCELLUS_BASE_GET_CLASS(self);
  GstBuffer* buffer = priv->pools.acquire_empty();
  if (buffer == nullptr) {
    gst_buffer_unref(picture);
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("There is no memory for an output buffer."),
                      (nullptr));
    return nullptr;
  }
  if (result != nullptr) {
    if (!priv->results.attach(self, priv->op, buffer, *result)) {
      gst_buffer_unref(picture);
      gst_buffer_unref(buffer);
      GST_ELEMENT_ERROR(self, RESOURCE, FAILED,
                        ("The memory of the result's planes cannot be mapped."), (nullptr));
      return nullptr;
    }
    if (get_settings(self).draw) {
      picture = draw_result(self, picture, buffer);
      if (picture == nullptr) {
        gst_buffer_unref(buffer);
        return nullptr;
      }
    }
  }
  if (result != nullptr && klass->produces_video) {
    gst_ocellus_pool_wrap(buffer, gst_buffer_ref(result->data));
    gst_ocellus_pool_describe(buffer, picture);
    gst_buffer_unref(picture);
  } else if (gst_ocellus_pool_wrap(buffer, picture)) {
    priv->statistics.count_copy();
  }
  if (priv->mark_discont) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
  priv->mark_discont = false;
  return buffer;
}

}  // namespace gst_ocellus
