// An element over the base class whose operator does what a test tells it: it is late, fails, or
// loses its device at a chosen frame. The plugin is not loaded beside it, because both bring the
// same types.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/gstocellusbase.h"
#include "gst/gst_support.h"
#include "ocellus/status.h"

namespace ocellus::gst_test {

/// What the operator shall do, and what it was asked to.
struct Script {
  guint frames = 100;
  float delay = 0.0f;
  std::size_t result_bytes = 64;  // of a row
  int result_rows = 1;
  bool pictures = false;  // the results are pictures, of which it writes the first pixel
  int depth = 1;
  std::vector<bool> late;          // per submission; the end is "not late"
  bool slow = false;               // no frame is done at a look that does not wait
  int lose_device_on_submit = -1;  // number of the submission
  int lose_device_on_wait = -1;
  bool lost_again = false;  // the new operator loses its device, too
  int fail_create = -1;     // number of the creation
  int fail_footprint = -1;
  Status failure = Status::kSystem;

  int creations = 0;
  int destructions = 0;
  int submissions = 0;
  int resets = 0;
  int draws = 0;
  std::vector<std::uint64_t> sequences;
  std::vector<int> luma;  // first pixel of each submission
};
extern Script script;

/// Added to the first pixel of a frame in a result that is a picture.
inline constexpr int kMark = 100;

struct FakeMeta {
  GstMeta meta;
  gint value;
  gboolean set, reused, late, repeated;
};
FakeMeta* fake_meta(GstBuffer* buffer);

/// An element; its results are pictures if the script says so.
GstElement* make_fake();

inline constexpr guint64 kBudget = 60 * GST_SECOND;  // only a frame that is late as told misses it

class Fake {
 public:
  explicit Fake(const std::string& properties, const Script& told)
      : harness_((script = told, make_fake()), properties, {}) {}
  Harness& operator*() { return harness_; }
  Harness* operator->() { return &harness_; }

  /// Holds frames back until their results are there. Before the caps come.
  void align() { gst_ocellus_base_set_align(GST_OCELLUS_BASE(harness_.element()), TRUE); }

  /// A frame whose first pixel is `value`; its PTS is `value` frames.
  GstBuffer* frame(int value) {
    GstBuffer* buffer = harness_.frame(value);
    gst_buffer_memset(buffer, 0, static_cast<guint8>(value), 1);
    return buffer;
  }
  GstFlowReturn push(int value) { return harness_.push(frame(value)); }
  GstFlowReturn push_at(int value, GstClockTime pts, GstClockTime duration, bool discont = false) {
    GstBuffer* buffer = frame(value);
    GST_BUFFER_PTS(buffer) = pts;
    GST_BUFFER_DURATION(buffer) = duration;
    if (discont) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    return harness_.push(buffer);
  }

  struct Output {
    int picture, result;  // result -1: none
    bool reused, late, repeated;
    friend bool operator==(const Output&, const Output&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Output& o) {
      return out << "{picture " << o.picture << " result " << o.result
                 << (o.reused ? " reused" : "") << (o.late ? " late" : "")
                 << (o.repeated ? " repeated" : "") << "}";
    }
  };
  std::vector<Output> pull() {
    std::vector<Output> outputs;
    std::vector<GstBuffer*> buffers = harness_.pull();
    for (GstBuffer* buffer : buffers) {
      const FakeMeta* meta = fake_meta(buffer);
      const int picture = static_cast<int>(GST_BUFFER_PTS(buffer) / harness_.pts(1));
      if (script.pictures) {
        guint8 pixel = 0;
        gst_buffer_extract(buffer, 0, &pixel, 1);
        EXPECT_EQ(static_cast<int>(pixel), meta->set ? meta->value : picture)
            << "the result of another frame, or none, went out as the picture";
      }
      if (meta->set)
        outputs.push_back({picture, meta->value, meta->reused != FALSE, meta->late != FALSE,
                           meta->repeated != FALSE});
      else
        outputs.push_back({picture, -1, false, false, false});
    }
    unref_all(buffers);
    return outputs;
  }

 private:
  Harness harness_;
};

using Outputs = std::vector<Fake::Output>;
inline const std::string kLimit = "budget=" + std::to_string(kBudget) + " on-miss=";

}  // namespace ocellus::gst_test
