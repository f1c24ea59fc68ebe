// GstOcellusCuda: pictures in CUDA memory (memory:CUDAMemory), by GStreamer's CUDA library.
//
// The library computes in the device's primary context. An element offers that context to its
// neighbors, so that their pictures lie where the operator reads them without a copy. A picture
// from another context is fetched into memory of the engine, and the copy is counted.
//
// No type of CUDA stands here. Without GStreamer's CUDA library (OCELLUS_GST_CUDA in CMake) `open`
// says so, and nothing else is ever called.
#pragma once

#include <gst/video/video.h>

#include <memory>

#include "ocellus/frame.h"
#include "ocellus/status.h"

/// Names of the caps feature and of the context's type, in builds without the library, too.
#define GST_OCELLUS_CUDA_FEATURE "memory:CUDAMemory"
#define GST_OCELLUS_CUDA_CONTEXT "gst.cuda.context"

class GstOcellusCuda {
 public:
  /// Where a picture's pixels are.
  struct Place {
    bool in_cuda = false;  ///< in memory of GStreamer's CUDA library
    bool ours = false;     ///< in the primary context of this device
    bool stale = false;    ///< the host wrote last: mapping brings the pixels to the device first
  };

  /// Whether this build has GStreamer's CUDA library.
  static bool built() noexcept;
  /// Whether caps are of pictures in CUDA memory.
  static bool is_feature_of(const GstCaps* caps);
  /// Caps without those of pictures in CUDA memory. Takes `caps`.
  static GstCaps* without_feature(GstCaps* caps);
  /// The flag of gst_memory_map() that gives an address on the device.
  static GstMapFlags map_flag() noexcept;
  /// The handle of the CUDA context that a context of GStreamer carries; null for other contexts.
  static gpointer handle_of(GstContext* context);

  /// The primary context of a device; loads the driver.
  /// Errors: Unsupported (not built), BackendUnavailable.
  static ocellus::Expected<std::shared_ptr<GstOcellusCuda>> open(int device);
  ~GstOcellusCuda();
  GstOcellusCuda(const GstOcellusCuda&) = delete;
  GstOcellusCuda& operator=(const GstOcellusCuda&) = delete;

  int device() const noexcept;
  /// The primary context's handle.
  gpointer handle() const noexcept;
  /// What is offered to neighbors. A new reference.
  GstContext* new_context() const;

  /// A pool of pictures in the primary context, not active; `bytes` of one of them. Null when the
  /// device gave no memory.
  GstBufferPool* new_pool(GstCaps* caps, guint min, guint max, guint* bytes) const;
  /// Whether the pictures of a pool lie in the primary context.
  bool is_pool_ours(GstBufferPool* pool) const;

  Place place_of(GstBuffer* picture) const;
  /// For a picture of ours that is mapped: the stream after whose work it is ready.
  ocellus::StreamHandle ready_after(GstBuffer* picture) const;
  /// Copies rows of a mapped picture of another context, or of another device, into device memory
  /// of ours. Does not wait: they are there after the work in the stream returned.
  ocellus::Expected<ocellus::StreamHandle> fetch(GstBuffer* picture, const void* from,
                                                 gsize from_stride, void* to, gsize to_stride,
                                                 gsize row_bytes, gsize rows) const;
  /// Sets rows of memory of ours to one byte; does not wait.
  ocellus::Expected<void> fill(void* to, gsize to_stride, gsize row_bytes, gsize rows,
                               guint8 value) const;
  /// Waits for what `fetch` and `fill` began.
  ocellus::Expected<void> finish() const;

 private:
  struct Handles;
  explicit GstOcellusCuda(std::unique_ptr<Handles> handles);
  std::unique_ptr<Handles> handles_;
};

inline bool GstOcellusCuda::is_feature_of(const GstCaps* caps) {
  return gst_caps_get_size(caps) > 0 &&
         gst_caps_features_contains(gst_caps_get_features(caps, 0), GST_OCELLUS_CUDA_FEATURE);
}

inline GstCaps* GstOcellusCuda::without_feature(GstCaps* caps) {
  if (gst_caps_is_any(caps)) return caps;
  GstCaps* rest = gst_caps_make_writable(caps);
  for (guint i = gst_caps_get_size(rest); i-- > 0;)
    if (gst_caps_features_contains(gst_caps_get_features(rest, i), GST_OCELLUS_CUDA_FEATURE))
      gst_caps_remove_structure(rest, i);
  return rest;
}
