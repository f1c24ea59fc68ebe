// The results of an element: its metas, the regions of its items, and its messages, all from the
// description of the operator and the table of its record.
#pragma once

#include <memory>
#include <string>

#include "base/gstocellusbase.h"
#include "base/gstocellusmeta.h"

G_BEGIN_DECLS

typedef enum {
  GST_OCELLUS_MESSAGES_NONE,
  GST_OCELLUS_MESSAGES_CHANGES,  ///< for the first frame, and when the text has changed
  GST_OCELLUS_MESSAGES_ALL,
} GstOcellusMessages;

#define GST_TYPE_OCELLUS_MESSAGES (gst_ocellus_messages_get_type())
GType gst_ocellus_messages_get_type(void);

G_END_DECLS

namespace gst_ocellus {

class ElementOperator;

/// The streaming thread calls everything here, or another thread while the stream is stopped.
class Results {
 public:
  Results() = default;
  ~Results() { clear(); }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  /// `info`: of the created operator. `region`: what its pictures describe; empty: the whole
  /// picture. `is_video`: its result is the picture that goes out.
  void begin(const char* operator_name, const ocellus::OperatorInfo& info,
             const ocellus::Rect& region, bool is_video);

  /// Fills in the meta of a buffer, and adds a GstVideoRegionOfInterestMeta for each item that has
  /// a box and, if there are classes, a class.
  /// Returns false if the memory of the planes cannot be mapped; the meta is empty then.
  bool attach(GstOcellusBase* self, const ElementOperator& op, GstBuffer* buffer,
              const GstOcellusResult& result) const;
  /// Draws boxes and names of the items.
  void draw(const GstOcellusMeta* meta, const ocellus::OverlayImage& image) const;

  /// Adds the values of a result to an element message.
  void describe(const GstOcellusMeta* meta, GstStructure* message) const;
  /// Whether a frame has a message. For each frame with a result, in the order in which they are
  /// pushed. Results without a text have none.
  bool wants_message(const GstOcellusMeta* meta, GstOcellusMessages messages);

 private:
  void clear();
  void set_planes(const ElementOperator& op, GstOcellusMeta* meta, guint8* data) const;
  void set_text(GstOcellusMeta* meta) const;
  void add_regions(GstBuffer* buffer, const GstOcellusMeta* meta) const;
  GstStructure* structure_of(const ocellus::RecordItems& items, const void* record, int item) const;

  ocellus::OperatorInfo info_;
  // The operator may end before its results are drawn.
  std::unique_ptr<ocellus::ClassName[]> class_names_;
  const GstOcellusResultInfo* described_ = nullptr;
  ocellus::Rect region_;
  bool is_video_ = false;
  bool has_text_ = false;
  std::string text_;  // of the frame before
};

}  // namespace gst_ocellus
