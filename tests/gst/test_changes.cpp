// Options that change while frames flow.
#include <atomic>
#include <ostream>
#include <thread>

#include "gst/gst_support.h"

namespace ocellus::gst_test {
namespace {

constexpr int kBefore = 3;
constexpr int kAfter = 4;

struct Change {
  const char* factory;
  const char* before;  ///< properties, as in set_properties()
  const char* change;
  const char* bad;   ///< a property with a value that is refused
  const char* says;  ///< part of the warning

  friend std::ostream& operator<<(std::ostream& out, const Change& one) {
    return out << one.factory << " " << one.change;
  }
};

/// All that a result says of the picture, or the picture.
std::vector<guint8> result_of(GstBuffer* buffer) {
  const GstOcellusMeta* meta = gst_buffer_get_ocellus_meta(buffer, nullptr);
  EXPECT_NE(meta, nullptr);
  if (meta == nullptr || meta->n_planes == 0) return bytes_of(buffer);
  std::vector<guint8> bytes;
  const auto add = [&bytes](const void* data, gsize size) {
    const auto* begin = static_cast<const guint8*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  for (guint i = 0; i < meta->n_planes; ++i) {
    const GstOcellusPlane& plane = meta->planes[i];
    add(&plane.x, sizeof(plane.x));
    add(&plane.y, sizeof(plane.y));
    const gsize element = plane.type == GST_OCELLUS_TYPE_FLOAT    ? 4
                          : plane.type == GST_OCELLUS_TYPE_UINT16 ? 2
                                                                  : 1;
    for (int y = 0; y < plane.height; ++y)
      add(static_cast<const guint8*>(plane.data) + static_cast<gsize>(y) * plane.stride,
          static_cast<gsize>(plane.width) * element);
  }
  for (guint i = 0; i < meta->n_parts; ++i) add(meta->parts[i], std::strlen(meta->parts[i]) + 1);
  return bytes;
}

using Results = std::vector<std::vector<guint8>>;

Results push(Harness& harness, int from, int count) {
  Results results;
  harness.push_frames(from, from + count);
  std::vector<GstBuffer*> out = harness.pull();
  for (GstBuffer* buffer : out) results.push_back(result_of(buffer));
  unref_all(out);
  return results;
}

class Changes : public testing::TestWithParam<Change> {};
INSTANTIATE_TEST_SUITE_P(
    All, Changes,
    testing::Values(
        Change{"ocellusflow", "align=false", "roi=8,8,40,32", "roi=900,8,40,32", "roi"},
        Change{"ocellusflow", "align=false", "method=kernels taps=7x7x3", "taps=many", "taps"},
        Change{"ocellusflow", "align=false roi=8,8,40,32", "window=5", "window=6", "window"},
        Change{"ocellusflow", "align=false", "draw=true", "window=6", "window"},
        Change{"ocellusflow", "align=false draw=true", "draw=false", "window=6", "window"},
        Change{"ocellusfilter", "align=false taps=7x7x3", "roi=8,8,40,32", "roi=0,0,97,1", "roi"},
        Change{"ocellusrestore", "filter=gaussian-2", "filter=gaussian-1", "filter=/no/such/filter",
               "/no/such/filter"},
        Change{"ocellushalftone", "", "preset=fast", "template=none", "template"},
        Change{"ocelluscnn", "template=edge", "template=hole", "template=none", "template"},
        Change{"ocellusdigits", "", "fields=4,4,40,40;50,4,40,40", "fields=4,4,400,40", "fields"},
        Change{"ocellusdigits", "layout=tiles min-confidence=0", "min-confidence=1", "fields=4,4",
               "fields"},
        Change{"ocelluscortex", "", "layout=tiles", "model=/no/such/model", "/no/such/model"}));

// Fails when an option has no effect before the element stops, when it takes effect on frames
// before it, or when a frame is lost. The frames after the change have the results of an element
// that begins with them and these options.
TEST_P(Changes, TakeEffectWithTheNextFrame) {
  const Change& change = GetParam();
  Harness harness(change.before, {}, change.factory);
  harness.start();
  const Results before = push(harness, 0, kBefore);
  set_properties(harness.element(), change.change);
  const Results after = push(harness, kBefore, kAfter);
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_WARNING), 0);
  EXPECT_EQ(harness.stat("frames"), guint64{kBefore + kAfter});

  Harness first(change.before, {}, change.factory);
  first.start();
  EXPECT_EQ(before, push(first, 0, kBefore));
  Harness second(std::string(change.before) + " " + change.change, {}, change.factory);
  second.start();
  EXPECT_EQ(after, push(second, kBefore, kAfter));
  EXPECT_NE(after, push(first, kBefore, kAfter)) << "the test's change makes no difference";
}

// Fails when a bad value ends the stream, has no warning with its reason, remains as the value of
// the property, or clears the temporal state.
TEST_P(Changes, BadValuesAreRefused) {
  const Change& change = GetParam();
  const std::string bad = change.bad;
  const std::string property = bad.substr(0, bad.find('='));
  Harness harness(change.before, {}, change.factory);
  harness.start();
  const Results before = push(harness, 0, kBefore);
  const std::string value = property_text(harness.element(), property.c_str());
  set_properties(harness.element(), bad);
  const std::string warning = harness.text_of(GST_MESSAGE_WARNING);
  EXPECT_NE(warning.find(change.says), std::string::npos) << warning;
  EXPECT_EQ(property_text(harness.element(), property.c_str()), value);
  const Results after = push(harness, kBefore, kAfter);
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_WARNING), 0);
  EXPECT_EQ(harness.last_error(), "");

  Harness same(change.before, {}, change.factory);
  same.start();
  EXPECT_EQ(before, push(same, 0, kBefore));
  EXPECT_EQ(after, push(same, kBefore, kAfter));
}

// Fails when options that fit only together are checked one by one although one call sets them.
TEST(Together, OptionsOfOneCallAreCheckedTogether) {
  Harness harness("align=false levels=3", {});
  harness.start();
  push(harness, 0, kBefore);
  g_object_set(harness.element(), "taps", "7x7x3", nullptr);
  EXPECT_NE(harness.text_of(GST_MESSAGE_WARNING).find("taps"), std::string::npos);
  g_object_set(harness.element(), "window", 5, "roi", "many", nullptr);
  EXPECT_NE(harness.text_of(GST_MESSAGE_WARNING).find("roi"), std::string::npos);
  EXPECT_EQ(property_text(harness.element(), "window"), "11")
      << "a part of a refused change remains";
  Harness other("align=false", {});
  other.start();
  push(other, 0, kBefore);
  g_object_set(other.element(), "taps", "7x7x3", "method", 0, nullptr);
  EXPECT_EQ(other.count_messages(GST_MESSAGE_WARNING), 0);
  EXPECT_EQ(property_text(other.element(), "taps"), "7x7x3");
}

// Fails when the frames that are held back or in flight at a change are lost or change their order,
// or when the latency remains that of the options before.
TEST(Held, FramesBeforeAChangeGoOut) {
  Harness harness("method=kernels taps=7x7x5 depth=3", {});
  harness.start();
  harness.push_frames(0, 6);
  gst_element_set_state(harness.element(), GST_STATE_PLAYING);
  EXPECT_EQ(gst_harness_query_latency(harness.get()), harness.pts(4));
  g_object_set(harness.element(), "taps", "7x7x9", "depth", 1, nullptr);
  harness.push_frames(6, 16);
  EXPECT_EQ(gst_harness_query_latency(harness.get()), harness.pts(4));
  g_object_set(harness.element(), "depth", 2, nullptr);
  harness.push_frames(16, 24);
  EXPECT_EQ(gst_harness_query_latency(harness.get()), harness.pts(5));
  EXPECT_TRUE(harness.event(gst_event_new_eos()));
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 24u);
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(GST_BUFFER_PTS(out[static_cast<std::size_t>(i)]), harness.pts(i));
    EXPECT_NE(flow_of(out[static_cast<std::size_t>(i)]), nullptr) << i;
  }
  unref_all(out);
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_WARNING), 0) << "a change was refused";
}

// Fails when a setting of an element that learns changes what it has learned.
TEST(Learning, ElementsThatLearnKeepTheirOptions) {
  Harness harness("learn=true", {}, "ocelluscortex");
  harness.start();
  push(harness, 0, kBefore);
  set_properties(harness.element(), "learn=false");
  EXPECT_NE(harness.text_of(GST_MESSAGE_WARNING).find("learns"), std::string::npos);
  EXPECT_EQ(property_text(harness.element(), "learn"), "true");
}

// Fails when a thread that sets options while frames flow loses frames, ends the stream, or leaves
// the operator with other options than the properties.
TEST(Threads, OptionsChangeWhileFramesFlow) {
  constexpr int kFrames = 400;
  Pipeline pipeline("videotestsrc num-buffers=" + std::to_string(kFrames) +
                    " ! video/x-raw,format=GRAY8,width=96,height=64 ! ocellusflow name=it ! " +
                    kSink);
  std::atomic<int> seen = 0;
  std::atomic<int> width = 0;
  Watch watch{[&](GstBuffer* buffer) {
    ++seen;
    const GstOcellusMeta* flow = flow_of(buffer);
    if (flow != nullptr) width = plane_of(flow, "u").width;
  }};
  watch.attach(pipeline);
  pipeline.set_state(GST_STATE_PLAYING);
  for (int i = 0; seen < kFrames * 3 / 4; ++i) {
    const std::string roi = "0,0," + std::to_string(24 + i % 64) + ",48";
    g_object_set(pipeline.by_name("it"), "roi", roi.c_str(), "objects", i % 3, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  g_object_set(pipeline.by_name("it"), "roi", "4,4,55,40", nullptr);
  EXPECT_EQ(pipeline.wait_for_end(), "");
  EXPECT_EQ(seen, kFrames);
  EXPECT_EQ(width, 55);
}

}  // namespace
}  // namespace ocellus::gst_test
