// Pictures in CUDA memory, and an element that uploads them.
#pragma once

#include <gst/base/gstbasetransform.h>
#if GST_CHECK_VERSION(1, 24, 0)
#include <gst/cuda/gstcuda.h>
#else
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>
#endif

#include "gst/gst_support.h"

namespace ocellus::gst_test {

inline GstCaps* cuda_caps_of(const Video& video) {
  GstCaps* caps = caps_of(video);
  gst_caps_set_features_simple(caps,
                               gst_caps_features_new(GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY, nullptr));
  return caps;
}

/// Returns the CUDA context that the element behind `pad` offers, or null.
inline GstCudaContext* offered_context(GstPad* pad) {
  GstQuery* query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
  GstCudaContext* offered = nullptr;
  GstContext* context = nullptr;
  if (gst_pad_peer_query(pad, query)) gst_query_parse_context(query, &context);
  if (context != nullptr)
    gst_structure_get(gst_context_get_structure(context), GST_CUDA_CONTEXT_TYPE,
                      GST_TYPE_CUDA_CONTEXT, &offered, nullptr);
  gst_query_unref(query);
  return offered;
}

/// Returns an active pool of pictures in a context.
inline GstBufferPool* cuda_pool(GstCudaContext* context, const Video& video, guint min = 2) {
  GstBufferPool* pool = gst_cuda_buffer_pool_new(context);
  GstStructure* config = gst_buffer_pool_get_config(pool);
  GstCaps* caps = cuda_caps_of(video);
  const GstVideoInfo info = video_info(video);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(GST_VIDEO_INFO_SIZE(&info)),
                                    min, 0);
  gst_caps_unref(caps);
  EXPECT_TRUE(gst_buffer_pool_set_config(pool, config));
  EXPECT_TRUE(gst_buffer_pool_set_active(pool, TRUE));
  return pool;
}

/// Copies the planes through the host. Both buffers have these caps.
inline bool copy_planes(GstBuffer* from, GstBuffer* to, const GstVideoInfo& info) {
  GstVideoFrame source;
  GstVideoFrame target;
  GstVideoInfo copy = info;
  if (!gst_video_frame_map(&source, &copy, from, GST_MAP_READ)) return false;
  const bool mapped = gst_video_frame_map(&target, &copy, to, GST_MAP_WRITE);
  if (mapped) {
    gst_video_frame_copy(&target, &source);
    gst_video_frame_unmap(&target);
  }
  gst_video_frame_unmap(&source);
  return mapped;
}

/// Copies the pixels that the host wrote to the device. The device's copy is then the valid one, as
/// after an element that writes on the device.
inline bool settle_on_device(GstBuffer* buffer) {
  GstMapInfo map;
  if (!gst_buffer_map(buffer, &map, static_cast<GstMapFlags>(GST_MAP_READWRITE | GST_MAP_CUDA)))
    return false;
  gst_buffer_unmap(buffer, &map);
  return true;
}

/// Returns a picture in CUDA memory with the pixels and times of a picture in ordinary memory.
inline GstBuffer* to_cuda(GstBufferPool* pool, const Video& video, GstBuffer* picture,
                          bool settle = true) {
  GstBuffer* buffer = nullptr;
  EXPECT_EQ(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
  EXPECT_TRUE(copy_planes(picture, buffer, video_info(video)));
  if (settle) {
    EXPECT_TRUE(settle_on_device(buffer));
  }
  gst_buffer_copy_into(buffer, picture, GST_BUFFER_COPY_TIMESTAMPS, 0, static_cast<gsize>(-1));
  return buffer;
}

/// Returns the bytes of the planes without padding, read through the host.
inline std::vector<guint8> planes_of(GstBuffer* buffer, const Video& video) {
  GstVideoInfo info = video_info(video);
  GstVideoFrame frame;
  std::vector<guint8> bytes;
  if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ)) return bytes;
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES(&frame); ++p) {
    const auto* data = static_cast<const guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, p));
    const int row = GST_VIDEO_FRAME_COMP_WIDTH(&frame, p) * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, p);
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, p); ++y)
      bytes.insert(bytes.end(), data + y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p),
                   data + y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p) + row);
  }
  gst_video_frame_unmap(&frame);
  return bytes;
}

// ---- a neighboring element

/// "ocellustestupload" uploads pictures to CUDA memory. With `insist` it uses its own context.
/// Otherwise it uses the context that its neighbors offer, like GStreamer's own elements.
struct TestUpload {
  GstBaseTransform parent_instance;
  gboolean insist;
  GstCudaContext* context;
};
struct TestUploadClass {
  GstBaseTransformClass parent_class;
};

inline GType test_upload_get_type();
inline gpointer test_upload_parent_class = nullptr;

inline TestUpload* test_upload(gpointer object) {
  return static_cast<TestUpload*>(object);
}

inline void test_upload_set_context(GstElement* element, GstContext* context) {
  TestUpload* self = test_upload(element);
  if (!self->insist) gst_cuda_handle_set_context(element, context, 0, &self->context);
  GST_ELEMENT_CLASS(test_upload_parent_class)->set_context(element, context);
}

inline gboolean test_upload_start(GstBaseTransform* trans) {
  TestUpload* self = test_upload(trans);
  if (self->insist) {
    self->context = gst_cuda_context_new(0);
    return self->context != nullptr;
  }
  return gst_cuda_ensure_element_context(GST_ELEMENT(trans), 0, &self->context);
}

inline gboolean test_upload_stop(GstBaseTransform* trans) {
  gst_clear_object(&test_upload(trans)->context);
  return TRUE;
}

inline GstCaps* test_upload_transform_caps(GstBaseTransform*, GstPadDirection direction,
                                           GstCaps* caps, GstCaps* filter) {
  GstCaps* other = gst_caps_copy(caps);
  gst_caps_set_features_simple(
      other, direction == GST_PAD_SINK
                 ? gst_caps_features_new(GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY, nullptr)
                 : gst_caps_features_new(GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY, nullptr));
  if (filter != nullptr) {
    GstCaps* both = gst_caps_intersect_full(filter, other, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(other);
    return both;
  }
  return other;
}

inline gboolean test_upload_get_unit_size(GstBaseTransform*, GstCaps* caps, gsize* size) {
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, caps)) return FALSE;
  *size = GST_VIDEO_INFO_SIZE(&info);
  return TRUE;
}

inline gboolean test_upload_decide_allocation(GstBaseTransform* trans, GstQuery* query) {
  TestUpload* self = test_upload(trans);
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  GstBufferPool* pool = nullptr;
  guint size = 0;
  guint min = 2;
  guint max = 0;
  if (gst_query_get_n_allocation_pools(query) > 0) {
    gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &min, &max);
    if (pool != nullptr &&
        (!GST_IS_CUDA_BUFFER_POOL(pool) || GST_CUDA_BUFFER_POOL(pool)->context != self->context))
      gst_clear_object(&pool);
  }
  GstVideoInfo info;
  gst_video_info_from_caps(&info, caps);
  if (pool == nullptr) pool = gst_cuda_buffer_pool_new(self->context);
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(GST_VIDEO_INFO_SIZE(&info)),
                                    min, max);
  if (!gst_buffer_pool_set_config(pool, config)) return FALSE;
  if (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_set_nth_allocation_pool(query, 0, pool, size, min, max);
  else
    gst_query_add_allocation_pool(query, pool, size, min, max);
  gst_object_unref(pool);
  return GST_BASE_TRANSFORM_CLASS(test_upload_parent_class)->decide_allocation(trans, query);
}

inline GstFlowReturn test_upload_transform(GstBaseTransform* trans, GstBuffer* in, GstBuffer* out) {
  GstCaps* caps = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(trans));
  GstVideoInfo info;
  gst_video_info_from_caps(&info, caps);
  gst_caps_unref(caps);
  return copy_planes(in, out, info) && settle_on_device(out) ? GST_FLOW_OK : GST_FLOW_ERROR;
}

inline void test_upload_class_init(gpointer klass, gpointer) {
  test_upload_parent_class = g_type_class_peek_parent(klass);
  GstElementClass* element = GST_ELEMENT_CLASS(klass);
  GstBaseTransformClass* trans = GST_BASE_TRANSFORM_CLASS(klass);
  static GstStaticPadTemplate sink = GST_STATIC_PAD_TEMPLATE(
      "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw, format={ I420, NV12 }"));
  static GstStaticPadTemplate src = GST_STATIC_PAD_TEMPLATE(
      "src", GST_PAD_SRC, GST_PAD_ALWAYS,
      GST_STATIC_CAPS("video/x-raw(memory:CUDAMemory), format={ I420, NV12 }"));
  gst_element_class_add_static_pad_template(element, &sink);
  gst_element_class_add_static_pad_template(element, &src);
  gst_element_class_set_static_metadata(element, "Upload", "Testing",
                                        "Uploads pictures to CUDA memory", "The Ocellus authors");
  G_OBJECT_CLASS(klass)->set_property = [](GObject* object, guint, const GValue* value,
                                           GParamSpec*) {
    test_upload(object)->insist = g_value_get_boolean(value);
  };
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), 1,
      g_param_spec_boolean("insist", "Insist", "Use a separate context", FALSE,
                           static_cast<GParamFlags>(G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS)));
  element->set_context = test_upload_set_context;
  trans->start = test_upload_start;
  trans->stop = test_upload_stop;
  trans->transform_caps = test_upload_transform_caps;
  trans->get_unit_size = test_upload_get_unit_size;
  trans->decide_allocation = test_upload_decide_allocation;
  trans->transform = test_upload_transform;
}

inline GType test_upload_get_type() {
  static const GType type = g_type_register_static_simple(
      GST_TYPE_BASE_TRANSFORM, "OcellusTestUpload", sizeof(TestUploadClass),
      [](gpointer klass, gpointer data) { test_upload_class_init(klass, data); },
      sizeof(TestUpload),
      [](GTypeInstance* instance, gpointer) {
        test_upload(instance)->insist = FALSE;
        test_upload(instance)->context = nullptr;
      },
      static_cast<GTypeFlags>(0));
  return type;
}

/// Registers the element. Call it once, after gst_init().
inline void register_test_upload() {
  gst_element_register(nullptr, "ocellustestupload", GST_RANK_NONE, test_upload_get_type());
}

}  // namespace ocellus::gst_test
