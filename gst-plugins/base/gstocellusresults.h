// The results of an element: its metas, the regions of its items, and its messages, all from the
// description of the operator and the table of its record.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "base/gstocellusmeta.h"
#include "base/gstocellusstate.h"
#include "ocellus/overlay_image.h"

/// Record of a result. OperatorInfo::record describes its type.
using GstOcellusRecord = std::array<guint64, ocellus::kMaxRecordBytes / sizeof(guint64)>;

/// A result that the base class attaches to a buffer.
struct GstOcellusResult {
  GstBuffer* data =
      nullptr;  ///< memory that the operator wrote: all planes in one memory, or a picture
  ocellus::FrameInfo info;
  GstOcellusRecord record{};
  bool repeated = false;  ///< computed with the last frame repeated in place of later ones
  bool reused = false;    ///< computed for an earlier frame
  bool late = false;      ///< ready only after the budget had elapsed
};

namespace gst_ocellus {

/// The streaming thread calls everything here, or another thread while the stream is stopped.
class Results {
 public:
  Results() = default;
  ~Results() {
    clear();
    forget_newest();
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  /// `info`: of the created operator. `region`: what its pictures describe; empty: the whole
  /// picture.
  void begin(const char* operator_name, const ocellus::OperatorInfo& info,
             const ocellus::Rect& region);

  /// Bytes of the planes of a result, one after the other.
  static gsize plane_bytes(const ocellus::OperatorInfo& info);
  /// Plane `index` of a result that starts at `data`.
  ocellus::ImageView plane(guint8* data, int index) const;

  /// Fills in the meta of a buffer.
  /// Returns false if the memory of the planes cannot be mapped; the meta is empty then.
  bool attach(GstOcellusBase* self, GstBuffer* buffer, const GstOcellusResult& result) const;
  /// Adds the metas that other elements know, from the meta that `attach` has filled in: a
  /// GstVideoRegionOfInterestMeta for each item that has a box and, if there are classes, a class;
  /// and what GStreamer's analytics library has. After those of the picture, so that they follow
  /// the ones of elements upstream.
  void add_items(GstBuffer* buffer) const;
  /// Draws boxes and names of the items.
  void draw(const GstOcellusMeta* meta, const ocellus::OverlayImage& image) const;

  /// Adds the values of a result to an element message.
  void describe(const GstOcellusMeta* meta, GstStructure* message) const;
  /// Whether a frame has a message. For each frame with a result, in the order in which they are
  /// pushed. Results without a text have none.
  bool wants_message(const GstOcellusMeta* meta, GstOcellusMessages messages);

  /// Keeps the result for frames without one of their own.
  void remember(const GstOcellusResult& result);
  void forget_newest() { gst_clear_buffer(&newest_.data); }
  /// The result that was kept, marked as reused. `data` may be null, and is no new reference.
  GstOcellusResult newest() const;

 private:
  void clear();
  void set_planes(GstOcellusMeta* meta, guint8* data) const;
  void set_text(GstOcellusMeta* meta) const;
  GstStructure* structure_of(const ocellus::RecordItems& items, const void* record, int item) const;

  ocellus::OperatorInfo info_;
  // The operator may end before its results are drawn.
  std::unique_ptr<ocellus::ClassName[]> class_names_;
  const GstOcellusResultInfo* described_ = nullptr;
  ocellus::Rect region_;
  bool has_text_ = false;
  std::string text_;  // of the frame before
  GstOcellusResult newest_;
};

}  // namespace gst_ocellus
