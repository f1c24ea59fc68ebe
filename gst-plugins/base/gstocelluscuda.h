// GstOcellusCuda: pictures in CUDA memory (memory:CUDAMemory), through GStreamer's CUDA library.
//
// Ocellus computes in the primary context of the device. An element offers that context to its
// neighbors, so that the operator reads their pictures without a copy. A picture from another
// context is copied into memory of the engine, and the copy is counted.
//
// This header uses no CUDA type. In builds without GStreamer's CUDA library (OCELLUS_GST_CUDA in
// CMake), `open` returns an error.
#pragma once

#include <gst/video/video.h>

#include <memory>

#include "ocellus/frame.h"
#include "ocellus/status.h"

/// Names of the caps feature and of the context type, also in builds without GStreamer's CUDA
/// library.
#define GST_OCELLUS_CUDA_FEATURE "memory:CUDAMemory"
#define GST_OCELLUS_CUDA_CONTEXT "gst.cuda.context"

class GstOcellusCuda {
 public:
  /// Location of the pixels of a picture.
  struct Place {
    bool in_cuda = false;  ///< in CUDA memory of GStreamer
    bool ours = false;     ///< in the primary context of this device
    bool stale = false;  ///< the host wrote last, so mapping first copies the pixels to the device
  };

  /// Whether this build has GStreamer's CUDA library.
  static constexpr bool built() {
#ifdef OCELLUS_GST_CUDA
    return true;
#else
    return false;
#endif
  }
  /// Whether the first structure of `caps` is for CUDA memory.
  static bool is_feature_of(const GstCaps* caps);
  /// Returns the caps without the structures for CUDA memory. Takes ownership of `caps`.
  static GstCaps* without_feature(GstCaps* caps);
  /// Returns the handle of the CUDA context in a GstContext; null for other context types.
  static gpointer handle_of(GstContext* context);

  /// Returns the primary context of a device. Loads the driver. Errors: Unsupported (not built),
  /// BackendUnavailable.
  static ocellus::Expected<std::shared_ptr<GstOcellusCuda>> open(int device);
  virtual ~GstOcellusCuda() = default;

  virtual int device() const = 0;
  /// Handle of the primary context.
  virtual gpointer handle() const = 0;
  /// Returns the GstContext for neighbors, as a new reference.
  virtual GstContext* new_context() const = 0;

  /// Returns an inactive pool of pictures in the primary context, and in `bytes` the size of one
  /// buffer. Null if device memory is exhausted.
  virtual GstBufferPool* new_pool(GstCaps* caps, guint min, guint max, guint* bytes) const = 0;
  /// Whether the pool allocates in the primary context.
  virtual bool is_pool_ours(GstBufferPool* pool) const = 0;

  /// The flag of gst_memory_map() that requests a device address.
  virtual GstMapFlags map_flag() const = 0;
  virtual Place place_of(GstBuffer* picture) const = 0;
  /// For a mapped picture in the primary context: the picture is ready after the work in the
  /// returned stream.
  virtual ocellus::StreamHandle ready_after(GstBuffer* picture) const = 0;
  /// The same for a mapped picture that the operator writes. The library makes this stream wait for
  /// the result, so no stream of `fetch` and `fill` is given.
  virtual ocellus::StreamHandle writable_after(GstBuffer* result) const = 0;
  /// Copies rows of a mapped picture of another context or device into device memory of this
  /// context. Does not wait. The copy is complete after the work in the returned stream.
  virtual ocellus::Expected<ocellus::StreamHandle> fetch(GstBuffer* picture, const void* from,
                                                         gsize from_stride, void* to,
                                                         gsize to_stride, gsize row_bytes,
                                                         gsize rows) const = 0;
  /// Sets rows of device memory of this context to one byte value. Does not wait.
  virtual ocellus::Expected<void> fill(void* to, gsize to_stride, gsize row_bytes, gsize rows,
                                       guint8 value) const = 0;
  /// Waits for all work that `fetch` and `fill` started.
  virtual ocellus::Expected<void> finish() const = 0;
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
