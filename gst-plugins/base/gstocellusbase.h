// GstOcellusBase: the base class of all elements of Ocellus.
//
// The base class negotiates caps and allocation, and owns the engine and the pools. It measures
// times (budget, misses, statistics, latency), holds frames back for a delayed result, and decides
// which buffers are pushed. An element adds its properties and the functions of
// GstOcellusBaseClass, which deal only with the operator. Each option of the operator becomes a
// property.
//
// Path of a frame: chain -> map luma (on the device if the picture is in CUDA memory) -> submit ->
// wait -> take an empty buffer with its metas from the pool -> give it the memory of the picture
// that the result describes, or of the result if that is a picture -> draw on request -> push.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include "base/gstocellusvideo.h"
#include "ocellus/frame.h"
#include "ocellus/memory.h"
#include "ocellus/operator.h"
#include "ocellus/operators.h"
#include "ocellus/overlay_image.h"
#include "ocellus/status.h"
#include "ocellus/ticket.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_BASE (gst_ocellus_base_get_type())
G_DECLARE_DERIVABLE_TYPE(GstOcellusBase, gst_ocellus_base, GST, OCELLUS_BASE, GstBaseTransform)

/// What to do with a frame whose result is not ready within the budget.
typedef enum {
  GST_OCELLUS_ON_MISS_POST,         ///< wait for the result and post a QoS message
  GST_OCELLUS_ON_MISS_DROP,         ///< drop the frame
  GST_OCELLUS_ON_MISS_REUSE,        ///< push it at once with the newest result available
  GST_OCELLUS_ON_MISS_PASSTHROUGH,  ///< push it at once without a result
} GstOcellusOnMiss;

#define GST_TYPE_OCELLUS_ON_MISS (gst_ocellus_on_miss_get_type())
GType gst_ocellus_on_miss_get_type(void);

/// What to do when the device is lost.
typedef enum {
  GST_OCELLUS_ON_DEVICE_LOSS_ERROR,  ///< stop the stream with an error
  GST_OCELLUS_ON_DEVICE_LOSS_CPU,    ///< recreate the operator on the CPU and post a warning
} GstOcellusOnDeviceLoss;

#define GST_TYPE_OCELLUS_ON_DEVICE_LOSS (gst_ocellus_on_device_loss_get_type())
GType gst_ocellus_on_device_loss_get_type(void);

G_END_DECLS

/// Holds the lock of an object.
class GstOcellusLock {
 public:
  explicit GstOcellusLock(gconstpointer object) : mutex_(GST_OBJECT_GET_LOCK(object)) {
    g_mutex_lock(mutex_);
  }
  ~GstOcellusLock() { g_mutex_unlock(mutex_); }
  GstOcellusLock(const GstOcellusLock&) = delete;
  GstOcellusLock& operator=(const GstOcellusLock&) = delete;

 private:
  GMutex* mutex_;
};

/// Larger than the pictures that most options name.
inline constexpr ocellus::ImageSize kGstOcellusTrialSize{640, 480};

/// A trial_size, below, that holds a tile, of an operator with tiles.
template <typename Config>
ocellus::ImageSize gst_ocellus_size_of_tile(const ocellus::OperatorConfig& settings) {
  const auto& config = *settings.get_if<Config>();
  return {MAX(config.tile_width, kGstOcellusTrialSize.width),
          MAX(config.tile_height, kGstOcellusTrialSize.height)};
}

struct _GstOcellusBaseClass {
  GstBaseTransformClass parent_class;

  /// Set by gst_ocellus_base_class_install_drawing().
  ocellus::OptionTable drawing;
  gpointer (*drawing_config)(GstOcellusBase* self);
  /// These two are set by gst_ocellus_base_class_set_operator().
  const ocellus::OperatorDescription* description;
  /// Name of the element message of a frame: the element's name, "ocellus" with the operator's.
  const gchar* message_name;

  /// Optional: the size of frames with which the configuration is checked before the caps are
  /// known. The options must fit in it, because an error then ends the start. Without this
  /// function it is kGstOcellusTrialSize.
  ocellus::ImageSize (*trial_size)(const ocellus::OperatorConfig& config);
  /// Optional; called from NULL to READY and from READY to PAUSED. Checks what the information and
  /// the footprint of an operator do not include, such as the contents of large files.
  ocellus::Expected<void> (*check_settings)(const ocellus::OperatorConfig& config);
  /// Optional: sets the members of the configuration that are not options, once the caps are known.
  /// Size, format and range of the frames are already set. The creation of the operator may fail
  /// afterwards.
  void (*adapt)(GstOcellusBase* self, ocellus::OperatorConfig& config);
  /// Optional: the operator was created. `config`: as before `adapt`.
  void (*begin)(GstOcellusBase* self, const ocellus::OperatorConfig& config);
  /// Optional: the part of the pictures that the planes of this configuration describe. Without
  /// this function it is the whole picture.
  ocellus::Rect (*region)(const ocellus::OperatorConfig& config);
  /// Optional: draws the result of `buffer`; see gst_ocellus_base_class_install_draw(). Without
  /// this function, the boxes and names of the record's items are drawn.
  void (*draw)(GstOcellusBase* self, GstBuffer* buffer, const ocellus::OverlayImage& image);
  /// Optional: adds fields to the element message of a frame, which has those of the record.
  void (*describe)(GstOcellusBase* self, GstBuffer* buffer, GstStructure* message);
};

/// For class_init: sets the operator, which must have static storage duration, and installs its
/// options as properties; if its record has classes, also `draw` and `messages`.
void gst_ocellus_base_class_set_operator(GstOcellusBaseClass* klass,
                                         const ocellus::OperatorDescription* description);

/// For class_init: installs the property `align`: whether frames are held back until the result
/// that describes them is ready. Without it they are not.
void gst_ocellus_base_class_install_align(GstOcellusBaseClass* klass);

/// For class_init: installs the property `draw`: whether results are drawn over the pictures.
void gst_ocellus_base_class_install_draw(GstOcellusBaseClass* klass, const gchar* help);
/// The same for the rows of a table. `defaults`: a configuration. `config`: that of an element; the
/// object lock guards it.
void gst_ocellus_base_class_install_drawing(GstOcellusBaseClass* klass, ocellus::OptionTable table,
                                            gconstpointer defaults,
                                            gpointer (*config)(GstOcellusBase* self));
gboolean gst_ocellus_base_get_draw(GstOcellusBase* self);

/// For class_init of an element whose operator learns: installs the property `save-location` and
/// the action signal `save-model`.
void gst_ocellus_base_class_install_learning(GstOcellusBaseClass* klass);

/// An element of one operator.
struct GstOcellusElement {
  const gchar* operator_name;  ///< "digits" is the operator of ocellusdigits, GstOcellusDigits
  const gchar* long_name;
  const gchar* classification;
  const gchar* description;
  /// Optional: sets functions of the class and installs further properties.
  void (*class_init)(GstOcellusBaseClass* klass) = nullptr;
  /// Of an element with members of its own, which begin with a GstOcellusBase.
  gsize instance_size = sizeof(GstOcellusBase);
  GInstanceInitFunc init = nullptr;
};

/// Registers such an element, which must have static storage duration. `plugin` may be NULL.
gboolean gst_ocellus_element_register(GstPlugin* plugin, const GstOcellusElement& element);
