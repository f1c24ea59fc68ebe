// The element in a stream: delay, end, flush, discontinuities, lateness, budget and properties.
#include "gst/gst_support.h"
#include "gst/meta_reader.h"

namespace ocellus::gst_test {
namespace {

constexpr const char* kLong =
    "method=kernels taps=15x15x20";  // delay of 9.5 frames: 9 are held back
constexpr int kHeld = 9;

bool flagged(GstBuffer* buffer, GstOcellusMetaFlags flag) {
  const GstOcellusMeta* flow = flow_of(buffer);
  return flow != nullptr && (flow->flags & static_cast<guint>(flag)) != 0;
}

// Fails when the flow differs from the motion, or when the direction or scale of an axis is wrong.
TEST(Values, MotionOfATextureIsMeasured) {
  for (const char* properties :
       {"", "preset=quality", "preset=best", "levels=2", "method=kernels taps=15x15x9",
        "method=kernels taps=7x7x3 sigma-time=0.8", "method=kernels kernels=foveated taps=15x15x7",
        "method=kernels kernels=foveated taps=15x15x7 storage=half"}) {
    for (const auto& [u, v] : {std::pair{1.0, 0.0}, std::pair{-0.5, 0.75}}) {
      Harness harness(properties, {GST_VIDEO_FORMAT_GRAY8, 120, 90});
      harness.start();
      harness.push_frames(0, 24, u, v);
      std::vector<GstBuffer*> out = harness.pull();
      ASSERT_FALSE(out.empty()) << properties;
      const GstOcellusMeta* flow = flow_of(out.back());
      ASSERT_NE(flow, nullptr);
      EXPECT_EQ(flow->flags, 0u) << properties;
      // A derivative over three frames is less accurate; the others are accurate to a few
      // hundredths.
      EXPECT_NEAR(median_of(flow, "u", 16), u, 0.08) << properties;
      EXPECT_NEAR(median_of(flow, "v", 16), v, 0.08) << properties;
      EXPECT_GT(median_of(flow, "confidence", 16), 0.0f);
      const MetaReading reading = read_meta_in_c(out.back());
      EXPECT_TRUE(reading.found);
      EXPECT_NEAR(reading.mean_u, u, 0.3) << properties;
      unref_all(out);
    }
  }
}

// Fails when the region is shifted, or its flow differs from that of the whole picture at the same
// position.
TEST(Values, RegionOfInterest) {
  Harness whole("method=kernels taps=15x15x5", {});
  Harness part("method=kernels taps=15x15x5 roi=20,10,40,30", {});
  whole.start();
  part.start();
  whole.push_frames(0, 8, 0.8, 0.2);
  part.push_frames(0, 8, 0.8, 0.2);
  std::vector<GstBuffer*> a = whole.pull();
  std::vector<GstBuffer*> b = part.pull();
  ASSERT_FALSE(b.empty());
  const GstOcellusMeta* all = flow_of(a.back());
  const GstOcellusMeta* roi = flow_of(b.back());
  EXPECT_EQ(plane_of(roi, "u").x, 20);
  EXPECT_EQ(plane_of(roi, "u").y, 10);
  EXPECT_EQ(plane_of(roi, "u").width, 40);
  EXPECT_EQ(plane_of(roi, "u").height, 30);
  for (const auto& [x, y] :
       {std::pair{30, 20}, std::pair{20, 10}, std::pair{59, 39}, std::pair{45, 33}}) {
    for (const char* name : {"u", "v"}) {
      gdouble in_all, in_roi;
      ASSERT_TRUE(gst_ocellus_plane_get_value(&plane_of(all, name), x, y, &in_all));
      ASSERT_TRUE(gst_ocellus_plane_get_value(&plane_of(roi, name), x, y, &in_roi));
      EXPECT_NEAR(in_all, in_roi, 1e-3);
    }
  }
  gdouble u;
  EXPECT_FALSE(gst_ocellus_plane_get_value(&plane_of(roi, "u"), 60, 20, &u));
  unref_all(a);
  unref_all(b);
}

// Fails when the options confidence-threshold or invalid have no effect.
TEST(Values, InvalidFlowIsMarkedAsChosen) {
  for (const char* mark : {"nan", "zero"}) {
    Harness harness(std::string("confidence-threshold=1e8 invalid=") + mark, {});
    harness.start();
    harness.push_frames(0, 4);
    std::vector<GstBuffer*> out = harness.pull();
    const GstOcellusMeta* flow = flow_of(out.back());
    const bool nan = std::string(mark) == "nan";
    const float first = row_of(plane_of(flow, "u"), 0)[0];
    EXPECT_EQ(std::isnan(first), nan);
    if (!nan) {
      EXPECT_EQ(first, 0.0f);
    }
    unref_all(out);
  }
}

// Fails when frames are lost, repeated or reordered at the end, or carry the flow of another frame.
TEST(Stream, EosPushesTheHeldFrames) {
  Harness harness(kLong, {});
  harness.start();
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(harness.push(harness.frame(i)), GST_FLOW_OK);
    EXPECT_EQ(gst_harness_buffers_in_queue(harness.get()),
              static_cast<guint>(std::max(0, i + 1 - kHeld)));
  }
  harness.event(gst_event_new_eos());
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 30u);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const GstOcellusMeta* flow = flow_of(out[i]);
    ASSERT_NE(flow, nullptr);
    EXPECT_EQ(GST_BUFFER_PTS(out[i]), harness.pts(static_cast<int>(i)));
    EXPECT_EQ(flow->described_pts, GST_BUFFER_PTS(out[i])) << i;
    EXPECT_FLOAT_EQ(flow->delay_frames, 9.5f);
    EXPECT_EQ(flagged(out[i], GST_OCELLUS_META_FLAG_REPEATED), i >= 21) << i;
    EXPECT_EQ(flagged(out[i], GST_OCELLUS_META_FLAG_WARMING_UP), i < 10) << i;
    EXPECT_FALSE(GST_BUFFER_FLAG_IS_SET(out[i], GST_BUFFER_FLAG_DISCONT)) << i;
  }
  unref_all(out);
}

// Fails when a stream that is shorter than the delay gives too few or too many buffers.
TEST(Stream, StreamShorterThanTheDelay) {
  for (const int length : {1, 3, 9, 10}) {
    Harness harness(kLong, {});
    harness.start();
    harness.push_frames(0, length);
    harness.event(gst_event_new_eos());
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < out.size(); ++i) {
      const GstOcellusMeta* flow = flow_of(out[i]);
      ASSERT_NE(flow, nullptr);
      EXPECT_EQ(GST_BUFFER_PTS(out[i]), harness.pts(static_cast<int>(i)));
      EXPECT_EQ(flow->described_pts, GST_BUFFER_PTS(out[i]));
    }
    unref_all(out);
  }
  Harness empty(kLong, {});
  empty.start();
  empty.event(gst_event_new_eos());
  EXPECT_EQ(empty.drop_output(), 0);
}

// Fails when a frame is held back with align=false, or when the meta does not give the frame that
// it describes.
TEST(Stream, WithoutAlignBuffersPassAtOnce) {
  Harness harness("method=kernels taps=15x15x20 align=false", {});
  harness.start();
  for (int i = 0; i < 25; ++i) {
    ASSERT_EQ(harness.push(harness.frame(i)), GST_FLOW_OK);
    GstBuffer* buffer = gst_harness_try_pull(harness.get());
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(GST_BUFFER_PTS(buffer), harness.pts(i));
    const GstOcellusMeta* flow = flow_of(buffer);
    ASSERT_NE(flow, nullptr);
    EXPECT_EQ(flow->pts, harness.pts(i));
    EXPECT_EQ(flow->described_pts, harness.pts(std::max(0, i - kHeld))) << i;
    gst_buffer_unref(buffer);
  }
}

// Fails when a flush pushes old frames, or keeps them in the temporal state. The flow after it
// would differ from that of a new element.
// Promises: GST-001.
TEST(Stream, FlushResetsTheState) {
  Harness flushed(kLong, {});
  Harness fresh(kLong, {});
  flushed.start();
  fresh.start();
  flushed.push_frames(0, 15, 2.0, 2.0);
  flushed.drop_output();
  flushed.event(gst_event_new_flush_start());
  flushed.event(gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  flushed.event(gst_event_new_segment(&segment));
  EXPECT_EQ(flushed.drop_output(), 0) << "frames that were held back were pushed after the flush";
  flushed.push_frames(0, 15);
  fresh.push_frames(0, 15);
  std::vector<GstBuffer*> a = flushed.pull();
  std::vector<GstBuffer*> b = fresh.pull();
  ASSERT_EQ(a.size(), 6u);
  ASSERT_EQ(b.size(), 6u);
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(field_of(flow_of(a[i])), field_of(flow_of(b[i]))) << i;
  unref_all(a);
  unref_all(b);
}

// As above, for a discontinuity, a gap and a new segment, which first push the frames that are held
// back.
// Promises: GST-001.
TEST(Stream, DiscontinuitiesDrainAndResetTheState) {
  for (const std::string kind : {"discont", "gap", "segment", "back"}) {
    Harness broken(kLong, {});
    Harness fresh(kLong, {});
    broken.start();
    fresh.start();
    broken.push_frames(0, 15, 2.0, 2.0);
    const int begin = kind == "back" ? 3 : 100;
    if (kind == "gap") broken.event(gst_event_new_gap(broken.pts(15), GST_SECOND));
    if (kind == "segment") {
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      broken.event(gst_event_new_segment(&segment));
    }
    for (int i = 0; i < 15; ++i) {
      GstBuffer* buffer = make_frame(broken.video(), i, 0.0, broken.pts(begin + i));
      if (i == 0 && kind == "discont") GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
      ASSERT_EQ(broken.push(buffer), GST_FLOW_OK);
    }
    fresh.push_frames(0, 15);
    std::vector<GstBuffer*> a = broken.pull();
    std::vector<GstBuffer*> b = fresh.pull();
    ASSERT_EQ(a.size(), 15u + 6u) << kind;
    ASSERT_EQ(b.size(), 6u);
    for (std::size_t i = 0; i < 15; ++i) {
      EXPECT_EQ(GST_BUFFER_PTS(a[i]), broken.pts(static_cast<int>(i)));
      EXPECT_EQ(flagged(a[i], GST_OCELLUS_META_FLAG_REPEATED), i >= 6) << kind << i;
    }
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(GST_BUFFER_PTS(a[15 + i]), broken.pts(begin + static_cast<int>(i)));
      EXPECT_EQ(field_of(flow_of(a[15 + i])), field_of(flow_of(b[i]))) << kind << i;
    }
    if (kind == "discont") {
      EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(a[15], GST_BUFFER_FLAG_DISCONT));
    }
    unref_all(a);
    unref_all(b);
  }
}

// Fails when PTS that step back by less than a frame are taken for a discontinuity.
TEST(Stream, SmallBackwardStepIsNoDiscontinuity) {
  Harness harness("method=kernels taps=15x15x3", {});
  harness.start();
  for (int i = 0; i < 12; ++i) {
    const GstClockTime pts = harness.pts(i) - (i >= 6 ? harness.pts(1) + harness.pts(1) / 2 : 0);
    ASSERT_EQ(harness.push(make_frame(harness.video(), i, 0.5, pts)), GST_FLOW_OK);
  }
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 11u);
  for (std::size_t i = 2; i < out.size(); ++i) EXPECT_EQ(flow_of(out[i])->flags, 0u) << i;
  unref_all(out);
}

// Fails when descending timestamps are taken for discontinuities, or when the flow is not that of
// the pictures in the order of arrival, which is reversed.
TEST(Stream, ReversePlaybackGivesTheDisplayedMotion) {
  for (const char* properties : {"", "method=kernels taps=15x15x5"}) {
    for (const double rate : {-1.0, 1.0}) {  // 1: a source that does not announce reverse playback
      Harness harness(properties, {GST_VIDEO_FORMAT_GRAY8, 120, 90, 30, 1});
      harness.start();
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      segment.rate = rate;
      segment.stop = 10 * GST_SECOND;
      harness.event(gst_event_new_segment(&segment));
      for (int i = 60; i > 0; --i)
        ASSERT_EQ(harness.push(harness.frame(i, 0.75, -0.5)), GST_FLOW_OK);
      std::vector<GstBuffer*> out = harness.pull();
      const int warm = static_cast<int>(60 - out.size());  // held back; as many warm up
      for (std::size_t i = 0; i < out.size(); ++i) {
        const GstOcellusMeta* flow = flow_of(out[i]);
        ASSERT_NE(flow, nullptr);
        EXPECT_EQ(GST_BUFFER_PTS(out[i]), harness.pts(60 - static_cast<int>(i)));
        EXPECT_EQ(flow->described_pts, GST_BUFFER_PTS(out[i]));
        EXPECT_FALSE(flagged(out[i], GST_OCELLUS_META_FLAG_REPEATED)) << i;
        EXPECT_EQ(flagged(out[i], GST_OCELLUS_META_FLAG_WARMING_UP),
                  static_cast<int>(i) < warm && *properties != '\0')
            << i;
      }
      const GstOcellusMeta* last = flow_of(out.back());
      EXPECT_NEAR(median_of(last, "u", 16), -0.75, 0.08) << properties;
      EXPECT_NEAR(median_of(last, "v", 16), 0.5, 0.08) << properties;
      unref_all(out);
      harness.event(gst_event_new_eos());
      EXPECT_EQ(harness.drop_output(), warm);
    }
  }
}

// Fails when the last frame of a stream has zero motion, because a pyramid of two frames compared
// it with itself.
TEST(Stream, LastFrameReusesThePreviousField) {
  Harness harness("", {GST_VIDEO_FORMAT_GRAY8, 120, 90});
  harness.start();
  harness.push_frames(0, 6, 1.5, 0.5);
  harness.event(gst_event_new_eos());
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 6u);
  const GstOcellusMeta* before = flow_of(out[4]);
  const GstOcellusMeta* last = flow_of(out[5]);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(before->flags, 0u);
  EXPECT_EQ(last->flags, static_cast<guint>(GST_OCELLUS_META_FLAG_REPEATED) |
                             static_cast<guint>(GST_OCELLUS_META_FLAG_REUSED));
  EXPECT_EQ(last->described_pts, harness.pts(4));
  EXPECT_NEAR(median_of(last, "u", 16), 1.5, 0.08);
  EXPECT_EQ(field_of(last), field_of(before));
  unref_all(out);
}

// Fails when a frame that downstream has no time for is missing in the temporal state. The flow of
// a later frame would differ from that of an element without lateness. Also fails when late frames
// are not dropped, or no QoS message is posted.
TEST(Stream, LateFramesAreComputedAndDropped) {
  for (const char* properties :
       {"method=kernels taps=15x15x5 align=false", "method=kernels taps=15x15x5"}) {
    Harness late(properties, {});
    Harness calm(properties, {});
    late.start();
    calm.start();
    late.push_frames(0, 6);
    calm.push_frames(0, 20);
    const int before = late.drop_output();
    // A sink that shows frame 4 with a delay of 100 ms sends this event. Everything up to 4 x 40 +
    // 200 = 360 ms (frames 5 to 9) is too late.
    gst_harness_push_upstream_event(
        late.get(),
        gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, 200 * GST_MSECOND, 160 * GST_MSECOND));
    late.push_frames(6, 20);
    std::vector<GstBuffer*> a = late.pull();
    std::vector<GstBuffer*> b = calm.pull();
    const int first = before;        // frames 0 to first-1 were pushed before
    const int dropped = 10 - first;  // up to frame 9
    ASSERT_EQ(a.size() + static_cast<std::size_t>(dropped),
              b.size() - static_cast<std::size_t>(before))
        << properties;
    EXPECT_EQ(late.stat("dropped"), static_cast<guint64>(dropped));
    EXPECT_EQ(late.stat("frames"), 20u);
    EXPECT_GE(late.count_messages(GST_MESSAGE_QOS), dropped);
    EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(a[0], GST_BUFFER_FLAG_DISCONT));
    for (std::size_t i = 0; i < a.size(); ++i) {
      GstBuffer* other = b[b.size() - a.size() + i];
      ASSERT_EQ(GST_BUFFER_PTS(a[i]), GST_BUFFER_PTS(other));
      EXPECT_EQ(field_of(flow_of(a[i])), field_of(flow_of(other))) << i;
    }
    unref_all(a);
    unref_all(b);
  }
}

// Fails when `depth` changes a result, the order of the frames, or the picture of a result.
TEST(Stream, DepthChangesNoResult) {
  for (const char* properties : {"", "align=false", "method=kernels taps=15x15x5"}) {
    Harness one(properties, {});
    Harness four(std::string(properties) + " depth=4", {});
    for (Harness* harness : {&one, &four}) {
      harness->start();
      harness->push_frames(0, 12, 0.7, -0.4);
      harness->event(gst_event_new_eos());
    }
    std::vector<GstBuffer*> a = one.pull();
    std::vector<GstBuffer*> b = four.pull();
    ASSERT_EQ(a.size(), 12u);
    ASSERT_EQ(b.size(), 12u);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const GstOcellusMeta* alone = flow_of(a[i]);
      const GstOcellusMeta* deep = flow_of(b[i]);
      EXPECT_EQ(GST_BUFFER_PTS(a[i]), GST_BUFFER_PTS(b[i]));
      EXPECT_EQ(alone->pts, deep->pts);
      EXPECT_EQ(alone->described_pts, deep->described_pts);
      EXPECT_EQ(alone->flags, deep->flags);
      EXPECT_EQ(field_of(alone), field_of(deep)) << properties << " frame " << i;
    }
    unref_all(a);
    unref_all(b);
  }
}

GstClockTime own_latency(Harness& harness) {
  gst_harness_set_upstream_latency(harness.get(), 7 * GST_MSECOND);
  return gst_harness_query_latency(harness.get()) - 7 * GST_MSECOND;
}

// Fails when the latency is not that of floor(delay) frames, or frames are held back without
// latency.
// Promises: GST-002.
TEST(Latency, EqualsTheHeldFrames) {
  struct Case {
    const char* properties;
    Video video;
    GstClockTime expected;
  };
  for (const Case& item :
       {Case{kLong, {GST_VIDEO_FORMAT_GRAY8, 64, 48, 25, 1}, 9 * 40 * GST_MSECOND},
        Case{
            "method=kernels taps=15x15x20 align=false", {GST_VIDEO_FORMAT_GRAY8, 64, 48, 25, 1}, 0},
        Case{"method=kernels taps=15x15x2", {GST_VIDEO_FORMAT_GRAY8, 64, 48, 25, 1}, 0},
        Case{"method=kernels taps=15x15x3",
             {GST_VIDEO_FORMAT_GRAY8, 64, 48, 50, 1},
             20 * GST_MSECOND},
        Case{"", {GST_VIDEO_FORMAT_GRAY8, 64, 48, 20, 1}, 50 * GST_MSECOND},
        Case{"method=kernels taps=15x15x7",
             {GST_VIDEO_FORMAT_GRAY8, 64, 48, 30000, 1001},
             3 * GST_SECOND * 1001 / 30000}}) {
    Harness harness(item.properties, item.video);
    harness.start();
    EXPECT_EQ(own_latency(harness), item.expected) << item.properties;
    EXPECT_EQ(harness.count_messages(GST_MESSAGE_LATENCY), item.expected > 0 ? 1 : 0)
        << "no LATENCY message was posted";
  }
}

// Fails when the latency of a stream without a frame rate is not the time for which frames are held
// back.
TEST(Latency, WithoutAFrameRateIsMeasured) {
  Harness harness("method=kernels taps=15x15x5", {GST_VIDEO_FORMAT_GRAY8, 64, 48, 0, 1});
  harness.start();
  EXPECT_EQ(own_latency(harness), 0u);
  const GstClockTime times[] = {0, 10, 30, 100, 110, 120, 130};  // ms; two frames are held back
  for (std::size_t i = 0; i < std::size(times); ++i)
    ASSERT_EQ(harness.push(
                  make_frame(harness.video(), static_cast<double>(i), 0.0, times[i] * GST_MSECOND)),
              GST_FLOW_OK);
  EXPECT_EQ(own_latency(harness), 90 * GST_MSECOND);          // from 10 to 100
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_LATENCY), 2);  // 30, then 90
}

constexpr Video kLarge{GST_VIDEO_FORMAT_GRAY8, 320, 240, 25, 1};

// Fails when a missed budget is not detected, counted or posted.
// Promises: GST-003.
TEST(Budget, MissIsPosted) {
  Harness harness("budget=1 align=false", kLarge);
  harness.start();
  harness.push_frames(0, 5);
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 5u) << "on-miss=post dropped frames";
  for (GstBuffer* buffer : out) EXPECT_TRUE(flagged(buffer, GST_OCELLUS_META_FLAG_LATE));
  EXPECT_EQ(harness.stat("misses"), 5u);
  GstMessage* message = harness.message(GST_MESSAGE_QOS);
  ASSERT_NE(message, nullptr);
  gint64 jitter = 0;
  gdouble proportion = 0;
  gst_message_parse_qos_values(message, &jitter, &proportion, nullptr);
  EXPECT_GT(jitter, 0);
  EXPECT_GT(proportion, 1.0);
  guint64 running = 0;
  gst_message_parse_qos(message, nullptr, &running, nullptr, nullptr, nullptr);
  EXPECT_EQ(running, 0u);
  gst_message_unref(message);
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_QOS), 4);
  unref_all(out);
}

// Fails when a budget that is met counts as missed.
TEST(Budget, MetBudgetIsNoMiss) {
  Harness harness("budget=60000000000", kLarge);
  harness.start();
  harness.push_frames(0, 5);
  EXPECT_EQ(harness.drop_output(), 4);
  EXPECT_EQ(harness.stat("misses"), 0u);
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_QOS), 0);
  EXPECT_GT(harness.stat("p50"), 0u);
  EXPECT_GE(harness.stat("p99"), harness.stat("p50"));
  EXPECT_GE(harness.stat("max"), harness.stat("p50"));
  EXPECT_EQ(harness.stat("overflow"), 0u);
}

// Fails when the longest budgets, whose end the clock cannot or can just represent, are taken as
// expired.
TEST(Budget, LongestBudgetsAreNotMissed) {
  constexpr guint64 kLongest = G_MAXINT64;
  for (const guint64 budget :
       {kLongest, kLongest - 1, kLongest - guint64{3600} * GST_SECOND, kLongest / 50 * 49}) {
    Harness harness("on-miss=drop align=false", kLarge);
    g_object_set(harness.element(), "budget", budget, nullptr);
    harness.start();
    harness.push_frames(0, 3);
    EXPECT_EQ(harness.drop_output(), 3) << budget;
    EXPECT_EQ(harness.stat("misses"), 0u) << budget;
  }
}

// Fails when a late frame is pushed with on-miss=drop.
TEST(Budget, MissDrops) {
  Harness harness("budget=1 on-miss=drop align=false", kLarge);
  harness.start();
  harness.push_frames(0, 4);
  EXPECT_EQ(harness.drop_output(), 0);
  EXPECT_EQ(harness.stat("dropped"), 4u);
  // Without a budget, the next frame is pushed and marked as a discontinuity. Its flow is correct,
  // because the dropped frames are part of the temporal state.
  g_object_set(harness.element(), "budget", guint64{0}, nullptr);
  harness.push_frames(4, 5);
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(out[0], GST_BUFFER_FLAG_DISCONT));
  const GstOcellusMeta* flow = flow_of(out[0]);
  ASSERT_NE(flow, nullptr);
  EXPECT_NEAR(median_of(flow, "u", 20), 1.0f, 0.05f);
  unref_all(out);
}

// Fails when a frame that missed its budget waits for its result, carries another one without the
// flag, or is not passed as `on-miss` says. A budget of one nanosecond is always missed. The
// operator is slow here (robust, large), so a frame is finished at the check only if this thread
// lost the processor for that long.
TEST(Budget, MissPassesWithoutWaiting) {
  constexpr int kFrames = 6;
  for (const bool reuse : {false, true}) {
    Harness harness("budget=1 align=false preset=quality draw=true on-miss=" +
                        std::string(reuse ? "reuse" : "passthrough"),
                    {GST_VIDEO_FORMAT_GRAY8, 640, 480, 25, 1});
    harness.start();
    int finished = 0;
    for (int i = 0; i < kFrames; ++i) {
      SCOPED_TRACE((reuse ? "reuse " : "passthrough ") + std::to_string(i));
      ASSERT_EQ(harness.push(harness.frame(i)), GST_FLOW_OK);
      GstBuffer* buffer = gst_harness_try_pull(harness.get());
      ASSERT_NE(buffer, nullptr);
      EXPECT_EQ(GST_BUFFER_PTS(buffer), harness.pts(i));
      const GstOcellusMeta* flow = flow_of(buffer);
      if (flow == nullptr) {
        EXPECT_TRUE(!reuse || i == 0) << "there is a result to reuse";
      } else if (flow->flags == GST_OCELLUS_META_FLAG_LATE) {
        ++finished;
        EXPECT_EQ(flow->pts, harness.pts(i));
      } else {
        EXPECT_TRUE(reuse);
        EXPECT_TRUE(flagged(buffer, GST_OCELLUS_META_FLAG_REUSED));
        // The previous frame is finished before this one is submitted.
        EXPECT_EQ(flow->pts, harness.pts(i - 1));
      }
      if (flow != nullptr && flow->pts > harness.pts(1)) {
        EXPECT_NEAR(median_of(flow, "u", 20), 1.0f, 0.05f);
      }
      gst_buffer_unref(buffer);
    }
    EXPECT_EQ(harness.stat("misses"), static_cast<guint64>(kFrames));
    EXPECT_LT(finished, kFrames) << "every frame was finished at the check";
    harness.event(gst_event_new_eos());
  }
}

// Fails when a flush, the end of the stream or a state change releases a frame that the operator
// still has.
TEST(Budget, FrameInFlightSurvivesTheEnd) {
  for (const char* how : {"flush", "eos", "null"}) {
    Harness harness("budget=1 on-miss=passthrough preset=quality",
                    {GST_VIDEO_FORMAT_GRAY8, 640, 480, 25, 1});
    harness.start();
    harness.push_frames(0, 3);
    if (std::string(how) == "flush") {
      harness.event(gst_event_new_flush_start());
      harness.event(gst_event_new_flush_stop(TRUE));
    } else if (std::string(how) == "eos") {
      harness.event(gst_event_new_eos());
      EXPECT_EQ(harness.drop_output(), 3);
    } else {
      EXPECT_EQ(gst_element_set_state(harness.element(), GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
    }
  }
}

// Fails when messages are posted without a request, or not for each frame that is pushed.
TEST(Messages, OnePerFrameOnRequest) {
  Harness quiet("", {});
  quiet.start();
  quiet.push_frames(0, 4);
  EXPECT_EQ(quiet.count_messages(GST_MESSAGE_ELEMENT), 0);

  Harness harness("post-messages=true", {});
  harness.start();
  harness.push_frames(0, 6, 1.0, -0.5);
  harness.event(gst_event_new_eos());
  for (int i = 0; i < 6; ++i) {
    GstMessage* message = harness.message(GST_MESSAGE_ELEMENT);
    ASSERT_NE(message, nullptr) << i;
    const GstStructure* structure = gst_message_get_structure(message);
    EXPECT_TRUE(gst_structure_has_name(structure, "ocellusflow"));
    guint64 timestamp = 0;
    gdouble u = 0;
    gdouble v = 0;
    gdouble valid = 0;
    EXPECT_TRUE(gst_structure_get(structure, "timestamp", G_TYPE_UINT64, &timestamp, "mean-u",
                                  G_TYPE_DOUBLE, &u, "mean-v", G_TYPE_DOUBLE, &v, "valid",
                                  G_TYPE_DOUBLE, &valid, nullptr));
    EXPECT_EQ(timestamp, harness.pts(i));
    if (i < 5) {
      EXPECT_NEAR(u, 1.0, 0.2);
      EXPECT_NEAR(v, -0.5, 0.2);
      EXPECT_GT(valid, 0.9);
    }
    gst_message_unref(message);
  }
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_ELEMENT), 0);
}

// Fails when an object has no region, another box in the message, or another motion than the field.
TEST(Objects, AreAttachedAndPosted) {
  for (const bool wanted : {true, false}) {
    Harness harness(
        std::string("preset=quality align=false post-messages=true ") + (wanted ? "objects=8" : ""),
        {GST_VIDEO_FORMAT_GRAY8, 160, 120});
    harness.start();
    harness.push_frames(0, 4, 2.0, -1.0);
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), 4u);
    gpointer state = nullptr;
    const auto* region =
        reinterpret_cast<GstVideoRegionOfInterestMeta*>(gst_buffer_iterate_meta_filtered(
            out.back(), &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
    GstMessage* last = nullptr;
    while (GstMessage* message = harness.message(GST_MESSAGE_ELEMENT)) {
      gst_clear_message(&last);
      last = message;
    }
    ASSERT_NE(last, nullptr);
    const GValue* objects = gst_structure_get_value(gst_message_get_structure(last), "objects");
    if (!wanted) {
      EXPECT_EQ(region, nullptr);
      EXPECT_EQ(objects, nullptr);
    } else {
      ASSERT_NE(region, nullptr);
      EXPECT_STREQ(g_quark_to_string(region->roi_type), "moving-object");
      // The whole picture moves. At its border the motion is less certain.
      EXPECT_GE(region->w, 120u);
      EXPECT_GE(region->h, 90u);
      EXPECT_LE(region->x + region->w, 160u);
      EXPECT_LE(region->y + region->h, 120u);
      const GstStructure* values = gst_video_region_of_interest_meta_get_param(
          const_cast<GstVideoRegionOfInterestMeta*>(region), "moving-object");
      ASSERT_NE(values, nullptr);
      gdouble u = 0.0, v = 0.0;
      gint area = 0;
      EXPECT_TRUE(gst_structure_get(values, "mean-u", G_TYPE_DOUBLE, &u, "mean-v", G_TYPE_DOUBLE,
                                    &v, "area", G_TYPE_INT, &area, nullptr));
      EXPECT_NEAR(u, 2.0, 0.2);
      EXPECT_NEAR(v, -1.0, 0.2);
      EXPECT_GT(area, 120 * 60);
      ASSERT_NE(objects, nullptr);
      ASSERT_GE(gst_value_array_get_size(objects), 1u);
      const auto* object =
          static_cast<GstStructure*>(g_value_get_boxed(gst_value_array_get_value(objects, 0)));
      gint width = 0;
      EXPECT_TRUE(gst_structure_get_int(object, "width", &width));
      EXPECT_EQ(width, static_cast<gint>(region->w));
    }
    gst_message_unref(last);
    unref_all(out);
  }
}

/// Pushes a frame that moves. Returns the number of bytes that are drawn.
int bytes_drawn(Harness& harness, int index) {
  EXPECT_EQ(harness.push(harness.frame(index, 2.0, -1.0)), GST_FLOW_OK);
  std::vector<GstBuffer*> out = harness.pull();
  GstBuffer* plain = harness.frame(index, 2.0, -1.0);
  const auto drawn = bytes_of(out.back());
  const auto before = bytes_of(plain);
  int count = 0;
  for (std::size_t i = 0; i < before.size(); ++i) count += drawn[i] != before[i] ? 1 : 0;
  gst_buffer_unref(plain);
  unref_all(out);
  return count;
}

// Fails when an option of drawing does not reach the picture, or cannot be changed while it runs.
TEST(Drawing, FollowsItsProperties) {
  Harness harness("draw=true preset=quality align=false", {GST_VIDEO_FORMAT_GRAY8, 160, 120});
  harness.start();
  harness.push_frames(0, 3, 2.0, -1.0);
  harness.drop_output();
  const auto changed = [&](int index, const char* properties) {
    set_properties(harness.element(), properties);
    return bytes_drawn(harness, index);
  };
  const int arrows = changed(3, "arrow-step=16");
  EXPECT_GT(arrows, 500);
  EXPECT_GT(changed(4, "arrow-step=8"), arrows);
  EXPECT_EQ(changed(5, "style=none"), 0);
  EXPECT_GT(changed(6, "legend=true"), 500);
  EXPECT_GT(changed(7, "legend=false style=wheel"), 8000);
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_WARNING), 0);
}

// Fails when a threshold of the operator does not hold for what is drawn, or when a box is drawn
// although no objects are asked for.
TEST(Drawing, FollowsTheThresholdsOfObjects) {
  const auto drawn = [](const std::string& properties) {
    Harness harness("draw=true preset=quality align=false style=" + properties,
                    {GST_VIDEO_FORMAT_GRAY8, 160, 120});
    harness.start();
    harness.push_frames(0, 3, 2.0, -1.0);
    harness.drop_output();
    return bytes_drawn(harness, 3);
  };
  EXPECT_GT(drawn("wheel"), 8000);
  EXPECT_EQ(drawn("wheel min-motion=5"), 0);
  EXPECT_EQ(drawn("wheel min-area=30000"), 0);
  EXPECT_EQ(drawn("none"), 0);
  EXPECT_GT(drawn("none objects=1"), 200);
}

// Fails when a property of the engine changes while it runs, or keeps its value without a warning.
TEST(Properties, EnginePropertiesAreFixedWhileItRuns) {
  Harness harness("", {});
  harness.start();
  harness.push_frames(0, 3);
  gchar* before = nullptr;
  g_object_get(harness.element(), "backend", &before, nullptr);
  g_object_set(harness.element(), "threads", 2, nullptr);
  EXPECT_NE(harness.text_of(GST_MESSAGE_WARNING).find("threads"), std::string::npos);
  g_object_set(harness.element(), "backend", "cuda:1", nullptr);
  EXPECT_NE(harness.text_of(GST_MESSAGE_WARNING).find("backend"), std::string::npos);
  gint threads = -1;
  gchar* backend = nullptr;
  g_object_get(harness.element(), "threads", &threads, "backend", &backend, nullptr);
  EXPECT_EQ(threads, 0);
  EXPECT_STREQ(backend, before);
  g_free(backend);
  g_free(before);
  // These properties may change at any time.
  g_object_set(harness.element(), "draw", TRUE, "budget", guint64{5}, "post-messages", TRUE,
               nullptr);
  EXPECT_EQ(harness.count_messages(GST_MESSAGE_WARNING), 0);
  gst_element_set_state(harness.element(), GST_STATE_READY);
  g_object_set(harness.element(), "threads", 2, nullptr);
  g_object_get(harness.element(), "threads", &threads, nullptr);
  EXPECT_EQ(threads, 2);
}

// Fails when GObject accepts a value that the library later refuses, or a default is out of range.
TEST(Properties, RangesAndDefaults) {
  GstElement* element = gst_element_factory_make("ocellusflow", nullptr);
  ASSERT_NE(element, nullptr);
  guint count = 0;
  GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  int checked = 0;
  for (guint i = 0; i < count; ++i) {
    if ((specs[i]->flags & G_PARAM_WRITABLE) == 0 || specs[i]->owner_type == GST_TYPE_OBJECT ||
        specs[i]->owner_type == GST_TYPE_BASE_TRANSFORM)
      continue;
    const bool ready = (specs[i]->flags & GST_PARAM_MUTABLE_READY) != 0;
    const bool playing = (specs[i]->flags & GST_PARAM_MUTABLE_PLAYING) != 0;
    EXPECT_NE(ready, playing) << specs[i]->name << " does not define when it can be changed";
    EXPECT_GT(std::strlen(g_param_spec_get_blurb(specs[i])), 10u) << specs[i]->name;
    GValue value = G_VALUE_INIT;
    g_value_init(&value, specs[i]->value_type);
    g_object_get_property(G_OBJECT(element), specs[i]->name, &value);
    EXPECT_TRUE(g_param_value_defaults(specs[i], &value))
        << specs[i]->name << " does not have its default value at the start";
    g_value_unset(&value);
    ++checked;
  }
  g_free(specs);
  EXPECT_GE(checked, 28);

  // GLib warns (since 2.80 with a critical message) and keeps the value. The test hides these
  // messages.
  const GLogLevelFlags fatal =
      g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_FATAL_MASK));
  g_log_set_default_handler([](const gchar*, GLogLevelFlags, const gchar*, gpointer) {}, nullptr);
  const auto keeps = [element](const char* name, int bad) {
    gint before = 0;
    gint after = 0;
    g_object_get(element, name, &before, nullptr);
    g_object_set(element, name, bad, nullptr);
    g_object_get(element, name, &after, nullptr);
    EXPECT_EQ(before, after) << name << "=" << bad;
  };
  keeps("levels", 7);
  keeps("levels", 0);
  keeps("sweeps", 29);
  keeps("sweeps", 0);
  keeps("window", 33);
  keeps("window", 1);
  keeps("solver", 2);
  keeps("threads", 65);
  keeps("threads", -1);
  keeps("warps", 11);
  g_log_set_default_handler(g_log_default_handler, nullptr);
  g_log_set_always_fatal(fatal);
  gst_object_unref(element);
}

// Fails when an invalid setting is ignored, or the message does not name it and the valid values.
TEST(Properties, InvalidSettingsPreventTheStart) {
  struct Case {
    const char* properties;
    const char* words[2];
  };
  for (const Case& bad :
       {Case{"roi=1,2,3", {"roi", "x,y,width,height"}}, Case{"roi=0,0,0,5", {"roi", "width"}},
        Case{"roi=1,2,3,4x", {"roi", "1,2,3,4x"}},
        Case{"roi=4294967296,0,8,16", {"roi", "4294967296,0,8,16"}},
        Case{"window=4", {"window is 4", "odd, 3 to 31"}},
        Case{"window-sigma=2", {"window-sigma", "window-weight=gaussian"}},
        Case{"preset=quality smoothing-size=5", {"smoothing-size", "solver=lucas-kanade"}},
        Case{"levels=2 coarse-warps=1", {"coarse-warps", "3 levels"}},
        Case{"method=kernels levels=3", {"levels", "method=pyramid"}},
        Case{"method=kernels preset=quality", {"preset", "method=pyramid"}},
        Case{"taps=9x9x5", {"taps", "not read from a file"}},
        Case{"method=kernels taps=9x9", {"taps: it is \"9x9\"", "15x15x20"}},
        Case{"method=kernels taps=9x9x26", {"9x9x26", "2 to 25"}},
        Case{"method=kernels storage=half", {"storage", "differ by pixel"}},
        Case{"method=kernels fovea-x=20", {"fovea-x", "kernels=foveated"}},
        Case{"kernels=foveated", {"kernels", "method=kernels"}},
        Case{"method=kernels kernels=/nowhere/bank.ocellus",
             {"/nowhere/bank.ocellus", "No such file"}},
        Case{"backend=gpu", {"gpu", "auto"}}, Case{"backend=cuda:", {"cuda:", "auto"}}}) {
    // Not in a harness, which requires that its element starts.
    GError* error = nullptr;
    GstElement* pipeline = gst_parse_launch(
        (std::string("videotestsrc ! ocellusflow name=flow ") + bad.properties + " ! fakesink")
            .c_str(),
        &error);
    ASSERT_EQ(error, nullptr) << error->message;
    EXPECT_EQ(gst_element_set_state(pipeline, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE)
        << bad.properties;
    GstBus* bus = gst_element_get_bus(pipeline);
    GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    ASSERT_NE(message, nullptr) << bad.properties;
    gst_message_parse_error(message, &error, nullptr);
    const std::string text = error->message;
    g_error_free(error);
    gst_message_unref(message);
    gst_object_unref(bus);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
    for (const char* word : bad.words)
      EXPECT_NE(text.find(word), std::string::npos) << bad.properties << ": " << text;
  }
}

// Fails when a setting that prevented the start cannot be corrected afterwards.
TEST(Properties, InvalidSettingsCanBeCorrected) {
  Pipeline pipeline("videotestsrc ! ocellusflow name=flow roi=1,2,3 ! fakesink");
  EXPECT_EQ(gst_element_set_state(pipeline.get(), GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  g_object_set(pipeline.by_name("flow"), "roi", "1,2,30,20", nullptr);
  EXPECT_TRUE(pipeline.reach(GST_STATE_PAUSED));
}

// Fails when settings that are invalid only for the size of the pictures are not reported with the
// caps.
TEST(Properties, SettingsInvalidForTheSizeAreReportedWithTheCaps) {
  Harness harness("roi=50,40,50,30", {GST_VIDEO_FORMAT_GRAY8, 64, 48, 25, 1});
  harness.start();
  EXPECT_EQ(harness.push(harness.frame(0)), GST_FLOW_NOT_NEGOTIATED);
  const std::string text = harness.last_error();
  EXPECT_NE(text.find("roi"), std::string::npos) << text;
  EXPECT_NE(text.find("64x48"), std::string::npos) << text;
}

// Fails when active-backend is not the backend in use.
TEST(Properties, ActiveBackendIsKnownWithTheCaps) {
  Harness harness("backend=cpu threads=1", {});
  gchar* backend = nullptr;
  g_object_get(harness.element(), "active-backend", &backend, nullptr);
  EXPECT_EQ(backend, nullptr);
  harness.start();
  harness.push_frames(0, 2);
  g_object_get(harness.element(), "active-backend", &backend, nullptr);
  EXPECT_STREQ(backend, "cpu");
  g_free(backend);
  gst_element_set_state(harness.element(), GST_STATE_READY);
  g_object_get(harness.element(), "active-backend", &backend, nullptr);
  EXPECT_EQ(backend, nullptr);
}

// Fails when a copy of a buffer loses the field or copies the planes, or a copy of a region keeps
// the field.
TEST(Meta, CopiesShareThePlanes) {
  Harness harness("", {});
  harness.start();
  harness.push_frames(0, 4);
  std::vector<GstBuffer*> out = harness.pull();
  GstBuffer* copy = gst_buffer_copy(out.back());
  GstBuffer* part = gst_buffer_copy_region(out.back(), GST_BUFFER_COPY_ALL, 0, 64);
  const GstOcellusMeta* original = flow_of(out.back());
  const GstOcellusMeta* copied = flow_of(copy);
  ASSERT_NE(copied, nullptr);
  EXPECT_EQ(plane_of(copied, "u").data, plane_of(original, "u").data);
  EXPECT_EQ(flow_of(part), nullptr);
  const std::vector<float> before = field_of(copied);
  // The original returns to its pool and is reused, which must not change the copy.
  unref_all(out);
  harness.push_frames(4, 30, -3.0, 2.0);
  harness.drop_output();
  EXPECT_EQ(field_of(flow_of(copy)), before);
  gst_buffer_unref(copy);
  gst_buffer_unref(part);
}

// Fails when buffers or planes are allocated for every frame.
TEST(Meta, BuffersAndPlanesAreReused) {
  for (const char* properties : {"", kLong, "draw=true", "budget=1 on-miss=reuse"}) {
    Harness harness(properties, {});
    harness.start();
    std::vector<const void*> buffers;
    std::vector<const void*> planes;
    for (int i = 0; i < 200; ++i) {
      ASSERT_EQ(harness.push(harness.frame(i)), GST_FLOW_OK);
      while (GstBuffer* buffer = gst_harness_try_pull(harness.get())) {
        const GstOcellusMeta* flow = flow_of(buffer);
        if (std::find(buffers.begin(), buffers.end(), buffer) == buffers.end())
          buffers.push_back(buffer);
        const void* const u = flow != nullptr ? plane_of(flow, "u").data : nullptr;
        if (u != nullptr && std::find(planes.begin(), planes.end(), u) == planes.end())
          planes.push_back(u);
        gst_buffer_unref(buffer);
      }
    }
    EXPECT_LE(buffers.size(), 4u) << properties;
    EXPECT_LE(planes.size(), 5u) << properties;
    EXPECT_GE(planes.size(), 1u);
  }
}

}  // namespace
}  // namespace ocellus::gst_test
