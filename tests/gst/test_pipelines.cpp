// Complete pipelines: repeated, concurrent, and their memory use.
#include <malloc.h>

#include <atomic>
#include <set>
#include <thread>

#include "gst/gst_support.h"
#include "gst/meta_reader.h"

namespace ocellus::gst_test {
namespace {

constexpr const char* kSource =
    "videotestsrc pattern=ball num-buffers=20 ! "
    "video/x-raw,format=I420,width=160,height=120,framerate=30/1 ! ";

// Fails when state changes leave something behind that makes a later start fail, hang or crash.
// Promises: GST-004.
TEST(Pipelines, HundredStateChanges) {
  Pipeline pipeline(std::string("videotestsrc ! video/x-raw,format=NV12,width=64,height=48 ! "
                                "ocellusflow name=flow draw=true ! ") +
                    kSink);
  for (int i = 0; i < 100; ++i) {
    // Changes up to PLAYING and down to each of the lower states in turn, sometimes without waiting
    // for the state in between.
    ASSERT_TRUE(pipeline.reach(i % 3 == 0 ? GST_STATE_PAUSED : GST_STATE_PLAYING)) << i;
    if (i % 5 == 0) pipeline.set_state(GST_STATE_PLAYING);
    ASSERT_TRUE(pipeline.reach(i % 2 == 0 ? GST_STATE_NULL : GST_STATE_READY)) << i;
  }
}

// Fails when the planes are freed with the element, the pipeline or its pools, or are overwritten
// while the buffer is held.
// Promises: GST-007.
TEST(Pipelines, BufferOutlivesItsPipeline) {
  std::vector<GstBuffer*> kept;
  std::vector<std::vector<float>> fields;
  std::vector<std::vector<guint8>> pictures;
  for (const char* properties : {"", "draw=true", "method=kernels taps=15x15x5", "align=false"}) {
    Pipeline pipeline(std::string(kSource) + "ocellusflow " + properties + " ! " + kSink);
    Watch watch{[&](GstBuffer* buffer) {
      if (kept.size() % 3 == 2) return;
      kept.push_back(gst_buffer_ref(buffer));
      const GstOcellusMeta* flow = flow_of(buffer);
      ASSERT_NE(flow, nullptr);
      fields.push_back(field_of(flow));
      pictures.push_back(bytes_of(buffer));
    }};
    watch.attach(pipeline);
    ASSERT_EQ(pipeline.run_to_end(), "");
    if (kept.size() % 3 == 2) {
      kept.push_back(nullptr);
      fields.emplace_back();
      pictures.emplace_back();
    }
  }
  ASSERT_GE(kept.size(), 8u);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] == nullptr) continue;
    EXPECT_EQ(field_of(flow_of(kept[i])), fields[i]);
    EXPECT_EQ(bytes_of(kept[i]), pictures[i]);
    gst_buffer_unref(kept[i]);
  }
}

// Fails when the second element overwrites, hides or loses the field of the first.
TEST(Pipelines, TwoElementsInSeries) {
  Pipeline pipeline(std::string(kSource) +
                    "ocellusflow name=first roi=0,0,80,60 ! ocellusflow name=second ! " + kSink);
  int count = 0;
  Watch watch{[&count](GstBuffer* buffer) {
    ++count;
    const GstOcellusMeta* last = flow_of(buffer);
    ASSERT_NE(last, nullptr);
    EXPECT_STREQ(g_quark_to_string(last->source), "second");
    EXPECT_EQ(plane_of(last, "u").width, 160);
    std::set<std::string> sources;
    gpointer state = nullptr;
    while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
               buffer, &state, g_type_from_name(GST_OCELLUS_META_API_NAME))) {
      const auto* flow = reinterpret_cast<GstOcellusMeta*>(meta);
      sources.insert(g_quark_to_string(flow->source));
      // The last frame has no next frame to compare with, so it gets the previous flow.
      EXPECT_EQ(flow->described_pts != GST_BUFFER_PTS(buffer), count == 20);
      if (flow != last) {
        EXPECT_EQ(plane_of(flow, "u").width, 80);
      }
    }
    EXPECT_EQ(sources.size(), 2u);
  }};
  watch.attach(pipeline);
  EXPECT_EQ(pipeline.run_to_end(), "");
  EXPECT_EQ(count, 20);
}

// Fails when drawing in one branch of a tee changes the picture in the other branch.
TEST(Pipelines, DrawingDoesNotChangeOtherBranches) {
  Pipeline pipeline(
      std::string("videotestsrc pattern=ball num-buffers=20 ! "
                  "video/x-raw,format=I420,width=160,height=120 ! tee name=t  t. ! queue ! "
                  "ocellusflow draw=true name=drawer ! fakesink sync=false  t. ! queue ! ") +
      kSink);
  std::vector<std::vector<guint8>> seen;
  Watch watch{[&seen](GstBuffer* buffer) { seen.push_back(bytes_of(buffer)); }};
  watch.attach(pipeline);
  ASSERT_EQ(pipeline.run_to_end(), "");

  Pipeline plain(std::string("videotestsrc pattern=ball num-buffers=20 ! "
                             "video/x-raw,format=I420,width=160,height=120 ! ") +
                 kSink);
  std::size_t at = 0;
  Watch compare{[&](GstBuffer* buffer) {
    ASSERT_LT(at, seen.size());
    EXPECT_EQ(bytes_of(buffer), seen[at]) << at;
    ++at;
  }};
  compare.attach(plain);
  ASSERT_EQ(plain.run_to_end(), "");
  EXPECT_EQ(at, 20u);
}

// Fails when elements share state: each of eight concurrent pipelines must give the same result as
// alone.
// Promises: GST-004.
TEST(Pipelines, EightConcurrentPipelines) {
  const auto sum_of_run = [](int which) {
    const char* properties[] = {"", "preset=quality", "method=kernels taps=15x15x7",
                                "preset=best threads=1"};
    Pipeline pipeline("videotestsrc pattern=ball num-buffers=30 ! video/x-raw,format=GRAY8,width=" +
                      std::to_string(96 + 16 * (which % 4)) + ",height=80 ! ocellusflow " +
                      properties[which % 4] + " ! " + kSink);
    double sum = 0.0;
    int count = 0;
    Watch watch{[&](GstBuffer* buffer) {
      for (const float value : field_of(flow_of(buffer)))
        if (value < 1e29f) sum += static_cast<double>(value);
      ++count;
    }};
    watch.attach(pipeline);
    EXPECT_EQ(pipeline.run_to_end(), "");
    EXPECT_EQ(count, 30);
    return sum;
  };
  double alone[4];
  for (int i = 0; i < 4; ++i) alone[i] = sum_of_run(i);
  double together[8] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&, i] { together[i] = sum_of_run(i); });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(together[i], alone[i % 4]) << i;
}

// Fails when a flushing seek pushes old frames afterwards, deadlocks, or keeps old frames in the
// temporal state.
// Promises: GST-004.
TEST(Pipelines, FlushingSeek) {
  Pipeline pipeline(
      std::string("videotestsrc ! video/x-raw,format=GRAY8,width=160,height=120,framerate=30/1 ! "
                  "ocellusflow method=kernels taps=15x15x9 ! ") +
      kSink);
  std::atomic<bool> after{false};
  std::atomic<int> old_frames{0};
  std::atomic<int> new_frames{0};
  std::atomic<int> warming{0};
  Watch watch{[&](GstBuffer* buffer) {
    if (!after) return;
    const GstOcellusMeta* flow = flow_of(buffer);
    if (GST_BUFFER_PTS(buffer) < 100 * GST_SECOND) ++old_frames;
    if (flow != nullptr && (flow->flags & GST_OCELLUS_META_FLAG_WARMING_UP) != 0) ++warming;
    ++new_frames;
  }};
  watch.attach(pipeline);
  ASSERT_TRUE(pipeline.reach(GST_STATE_PLAYING));
  g_usleep(100000);
  // In PAUSED the sink holds one frame and the streaming thread waits, so all frames after the seek
  // are new.
  ASSERT_TRUE(pipeline.reach(GST_STATE_PAUSED));
  after = true;
  ASSERT_TRUE(gst_element_seek_simple(
      pipeline.get(), GST_FORMAT_TIME,
      static_cast<GstSeekFlags>(GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE), 100 * GST_SECOND));
  ASSERT_TRUE(pipeline.reach(GST_STATE_PLAYING));
  for (int i = 0; i < 2000 && new_frames < 30; ++i) g_usleep(10000);
  pipeline.set_state(GST_STATE_NULL);
  EXPECT_EQ(old_frames, 0);
  EXPECT_GE(new_frames, 30);
  EXPECT_EQ(warming, 4) << "with kernels of 9 frames, the first four output frames warm up";
}

// Fails when reverse playback by a seek with a negative rate is taken for discontinuities, at frame
// rates whose durations are not whole nanoseconds.
// Promises: GST-004.
TEST(Pipelines, ReverseSeek) {
  for (const char* rate : {"30/1", "30000/1001", "25/1"}) {
    Pipeline pipeline(std::string("videotestsrc ! video/x-raw,format=GRAY8,width=64,height=48,"
                                  "framerate=") +
                      rate + " ! ocellusflow method=kernels taps=15x15x5 ! " + kSink);
    std::atomic<bool> after{false};
    std::vector<GstClockTime> times;
    int warming = 0;
    int repeated = 0;
    Watch watch{[&](GstBuffer* buffer) {
      if (!after) return;
      const GstOcellusMeta* flow = flow_of(buffer);
      times.push_back(GST_BUFFER_PTS(buffer));
      if (flow == nullptr) return;
      if ((flow->flags & GST_OCELLUS_META_FLAG_WARMING_UP) != 0) ++warming;
      if ((flow->flags & GST_OCELLUS_META_FLAG_REPEATED) != 0) ++repeated;
    }};
    watch.attach(pipeline);
    ASSERT_TRUE(pipeline.reach(GST_STATE_PAUSED));
    after = true;
    // The last frame starts shortly before the end, so that the sink accepts it, too.
    ASSERT_TRUE(gst_element_seek(pipeline.get(), -1.0, GST_FORMAT_TIME,
                                 static_cast<GstSeekFlags>(GST_SEEK_FLAG_FLUSH), GST_SEEK_TYPE_SET,
                                 0, GST_SEEK_TYPE_SET, 2010 * GST_MSECOND));
    EXPECT_EQ(pipeline.run_to_end(), "");
    EXPECT_GE(times.size(), 48u);
    EXPECT_TRUE(std::is_sorted(times.rbegin(), times.rend())) << rate;
    EXPECT_EQ(warming, 2) << rate;
    EXPECT_EQ(repeated, 2) << rate;
  }
}

// Fails when the sinks of a live pipeline do not get the delay. Every frame would be late.
// Promises: GST-002.
TEST(Pipelines, LiveLatency) {
  Pipeline pipeline(
      "videotestsrc is-live=true ! video/x-raw,format=GRAY8,width=160,height=120,framerate=25/1 ! "
      "ocellusflow name=flow "
      "method=kernels taps=15x15x20 ! fakesink sync=true");
  ASSERT_NE(gst_element_set_state(pipeline.get(), GST_STATE_PLAYING), GST_STATE_CHANGE_FAILURE);
  ASSERT_NE(gst_element_get_state(pipeline.get(), nullptr, nullptr, 20 * GST_SECOND),
            GST_STATE_CHANGE_FAILURE);
  GstQuery* query = gst_query_new_latency();
  ASSERT_TRUE(gst_element_query(pipeline.get(), query));
  gboolean live = FALSE;
  GstClockTime min = 0;
  gst_query_parse_latency(query, &live, &min, nullptr);
  EXPECT_TRUE(live);
  EXPECT_GE(min, 9 * 40 * GST_MSECOND);
  EXPECT_LE(min, 11 * 40 * GST_MSECOND);  // the live source adds one frame
  gst_query_unref(query);
}

// Fails when an element that changes only the colors loses the field, or one that changes the size
// keeps it.
// Promises: GST-006.
TEST(Pipelines, MetaPassesThroughOtherElements) {
  for (const auto& [filter, kept] :
       {std::pair{"videoconvert ! video/x-raw,format=RGB", true}, std::pair{"identity", true},
        std::pair{"queue", true}, std::pair{"videobalance", true},
        std::pair{"videoscale ! video/x-raw,width=80,height=60", false}}) {
    Pipeline pipeline(std::string(kSource) + "ocellusflow ! " + filter + " ! " + kSink);
    int with = 0;
    int all = 0;
    Watch watch{[&](GstBuffer* buffer) {
      ++all;
      if (read_meta_in_c(buffer).found) ++with;
    }};
    watch.attach(pipeline);
    ASSERT_EQ(pipeline.run_to_end(), "") << filter;
    EXPECT_EQ(all, 20) << filter;
    EXPECT_EQ(with, kept ? 20 : 0) << filter;
  }
}

// Fails when memory grows with the number of frames.
// Promises: MEM-008.
TEST(Pipelines, MemoryIsStable) {
  for (const char* properties : {"", "draw=true method=kernels taps=15x15x9",
                                 "budget=1 on-miss=reuse", "post-messages=false preset=quality"}) {
    Harness harness(properties, {GST_VIDEO_FORMAT_I420, 96, 64});
    harness.start();
    const auto run = [&harness](int from, int to) {
      for (int i = from; i < to; ++i) {
        ASSERT_EQ(harness.push(harness.frame(i)), GST_FLOW_OK);
        harness.drop_output();
        harness.count_messages(GST_MESSAGE_ANY);
      }
    };
    run(0, 200);
    const std::size_t before = mallinfo2().uordblks;
    run(200, 2200);
    const std::size_t after = mallinfo2().uordblks;
    // A leak of one small struct per frame would be at least 64 KiB.
    EXPECT_LT(after, before + 32 * 1024) << properties;
  }
}

}  // namespace
}  // namespace ocellus::gst_test
