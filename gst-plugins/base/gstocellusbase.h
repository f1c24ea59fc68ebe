// GstOcellusBase: what all elements of Ocellus share.
//
// The base class negotiates, owns the engine and the pools, keeps the time (budget, misses,
// statistics, latency), holds frames back for a delayed result, and decides what goes out. An
// element adds its properties and the few functions of GstOcellusBaseClass, which speak of the
// library's operator only. The operator's options become properties by themselves.
//
// A frame's way: chain -> map luma (on the device, when the picture is in CUDA memory) -> submit ->
// wait -> take an empty buffer with its metas from the pool, give it the memory of the picture that
// the result belongs to, or of the result that is a picture itself -> draw on request -> push.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include <array>

#include "base/gstocellusvideo.h"
#include "ocellus/flow_draw.h"
#include "ocellus/frame.h"
#include "ocellus/memory.h"
#include "ocellus/operator.h"
#include "ocellus/operators.h"
#include "ocellus/status.h"
#include "ocellus/ticket.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_BASE (gst_ocellus_base_get_type())
G_DECLARE_DERIVABLE_TYPE(GstOcellusBase, gst_ocellus_base, GST, OCELLUS_BASE, GstBaseTransform)

/// What happens to a frame whose result is not there within the budget.
typedef enum {
  GST_OCELLUS_ON_MISS_POST,         ///< it waits for its result, and a QoS message is posted
  GST_OCELLUS_ON_MISS_DROP,         ///< it does not go out
  GST_OCELLUS_ON_MISS_REUSE,        ///< it goes out at once with the newest result there is
  GST_OCELLUS_ON_MISS_PASSTHROUGH,  ///< it goes out at once without a result
} GstOcellusOnMiss;

#define GST_TYPE_OCELLUS_ON_MISS (gst_ocellus_on_miss_get_type())
GType gst_ocellus_on_miss_get_type(void);

/// What happens when the device answers no more.
typedef enum {
  GST_OCELLUS_ON_DEVICE_LOSS_ERROR,  ///< the stream ends with an error
  GST_OCELLUS_ON_DEVICE_LOSS_CPU,    ///< the operator is made anew on the CPU, and a warning is
                                     ///< posted
} GstOcellusOnDeviceLoss;

#define GST_TYPE_OCELLUS_ON_DEVICE_LOSS (gst_ocellus_on_device_loss_get_type())
GType gst_ocellus_on_device_loss_get_type(void);

G_END_DECLS

/// The operator's record of a result; its type is OperatorInfo::record.
using GstOcellusRecord = std::array<guint64, ocellus::kMaxRecordBytes / sizeof(guint64)>;

/// What the base class knows of a result when it puts it on a buffer.
struct GstOcellusResult {
  GstBuffer* data =
      nullptr;  ///< what the operator wrote into: all planes in one memory, or a picture
  ocellus::FrameInfo info;
  GstOcellusRecord record{};
  bool repeated = false;  ///< computed while draining: the last frame stood in for those to come
  bool reused = false;    ///< computed for an earlier frame
  bool late = false;      ///< ready only after the budget
};

struct _GstOcellusBaseClass {
  GstBaseTransformClass parent_class;

  /// See gst_ocellus_base_class_set_operator().
  const ocellus::OperatorDescription* description;
  /// Name of the element message of a frame: the element's name.
  const gchar* message_name;
  /// The result is a picture like the one that came, and goes out in its place. The operator's
  /// first plane is luma; chroma is neutral, or that of the picture that came.
  gboolean produces_video;

  /// Optional, READY -> PAUSED: checks what setting the options does not, as far as that can be
  /// done without a size.
  ocellus::Expected<void> (*check_settings)(const ocellus::OperatorConfig& config);
  /// Optional: sets what is no option, once the caps are there. Size, format and range of the
  /// frames are set.
  void (*adapt)(GstOcellusBase* self, ocellus::OperatorConfig& config, const GstVideoInfo& video);

  /// Adds the element's empty meta to a new buffer of the pool, and empties it when the buffer
  /// comes back.
  void (*attach_meta)(GstBuffer* buffer);
  void (*clear_meta)(GstBuffer* buffer);
  /// Fills in the meta; takes its own reference to result.data.
  void (*set_result)(GstOcellusBase* self, GstBuffer* buffer, const GstOcellusResult& result);
  /// Optional: draws the result that is on `buffer`, see gst_ocellus_base_set_draw().
  void (*draw)(GstOcellusBase* self, GstBuffer* buffer, const ocellus::OverlayImage& image);
  /// Optional: what the element message of a frame says of the result that is on `buffer`.
  void (*describe)(GstOcellusBase* self, GstBuffer* buffer, GstStructure* message);
};

/// For class_init: the operator, of static storage, and its options as properties. A class that has
/// properties of its own sets its functions for them before, which hand the others on to the
/// parent.
void gst_ocellus_base_class_set_operator(GstOcellusBaseClass* klass,
                                         const ocellus::OperatorDescription* description);

/// Whether frames are held back until the result that describes them is there. Before the caps
/// come.
void gst_ocellus_base_set_align(GstOcellusBase* self, gboolean align);
gboolean gst_ocellus_base_get_align(GstOcellusBase* self);

/// Where plane `index` of a result lies in the mapped memory of GstOcellusResult::data.
ocellus::ImageView gst_ocellus_base_get_plane(GstOcellusBase* self, guint8* data, int index);

/// Whether results are drawn over the pictures.
void gst_ocellus_base_set_draw(GstOcellusBase* self, gboolean draw);
gboolean gst_ocellus_base_get_draw(GstOcellusBase* self);

/// Whether a result that is a picture takes the chroma of the one that came. Before the caps come.
void gst_ocellus_base_set_keep_chroma(GstOcellusBase* self, gboolean keep);
gboolean gst_ocellus_base_get_keep_chroma(GstOcellusBase* self);

/// For property setters: TRUE in NULL and READY, and for properties that may change later. Else
/// posts a warning that names the property, which then keeps its value.
gboolean gst_ocellus_base_may_configure(GstOcellusBase* self, GParamSpec* pspec);
