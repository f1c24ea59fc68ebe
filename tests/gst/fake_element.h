// An element on the base class, whose operator follows a script: it is late, fails, or loses its
// device at a given frame. The plugin must not be loaded as well, because it registers the same
// types.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/gstocellusbase.h"
#include "gst/gst_support.h"
#include "ocellus/status.h"

namespace ocellus::gst_test {

/// What the operator must do, and a record of the calls it received.
struct Script {
  guint frames = 100;
  float delay = 0.0f;
  std::size_t result_bytes = 64;  // bytes per row
  int result_rows = 1;
  bool pictures = false;  // the results are pictures; the operator writes their first pixel
  int depth = 1;
  std::vector<bool> late;          // one value per submission; later ones are not late
  bool slow = false;               // an immediate deadline never finds a finished frame
  int lose_device_on_submit = -1;  // number of the submission
  int lose_device_on_wait = -1;
  bool lost_again = false;  // the second operator loses its device, too
  int fail_create = -1;     // number of the creation
  int fail_footprint = -1;
  Status failure = Status::kSystem;
  bool changes = false;              // options change while frames flow
  bool learns = false;               // the operator counts the frames that were submitted to it
  std::uint64_t shape = 0;           // of the model of the next operator
  bool lose_device_on_read = false;  // nobody can read what the operator has learned
  bool fail_save = false;
  // Another result: its description, the names of its classes, and what writes it. The element then
  // has no code of its own for results.
  std::function<void(OperatorInfo&)> describe;
  const ClassName* class_names = nullptr;
  std::function<void(const OperatorOutput&)> write;

  int creations = 0;
  int destructions = 0;
  int submissions = 0;
  int resets = 0;
  int draws = 0;
  std::vector<int> saves;  // the count of frames at each call that saves
  std::vector<std::uint64_t> sequences;
  std::vector<int> luma;  // first pixel of each submission
};
extern Script script;

/// Added to the first pixel of a frame, if the result is a picture.
inline constexpr int kMark = 100;

/// What the meta of a buffer says.
struct FakeResult {
  bool set = false;
  int value = -1;
  bool reused = false, late = false, repeated = false;
};
FakeResult fake_result(GstBuffer* buffer);

/// Creates a fake element, with align=false. Its results are pictures, or others, if the script
/// says so.
GstElement* make_fake();

inline constexpr guint64 kBudget = 60 * GST_SECOND;  // missed only if the script makes it late

class Fake {
 public:
  explicit Fake(const std::string& properties, const Script& told)
      : harness_((script = told, make_fake()), properties, {}) {}
  Harness& operator*() { return harness_; }
  Harness* operator->() { return &harness_; }

  /// Returns a frame whose first pixel is `value` and whose PTS is `value` frames.
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
    int picture, result;  // result is -1 if there is none
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
      const FakeResult result = fake_result(buffer);
      const int picture = static_cast<int>(GST_BUFFER_PTS(buffer) / harness_.pts(1));
      if (script.pictures) {
        guint8 pixel = 0;
        gst_buffer_extract(buffer, 0, &pixel, 1);
        EXPECT_EQ(static_cast<int>(pixel), result.set ? result.value : picture)
            << "the pushed picture is not the result of this frame";
      }
      outputs.push_back({picture, result.value, result.reused, result.late, result.repeated});
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
