// The base class, with an element whose operator follows a script.
#include "gst/fake_element.h"

namespace ocellus::gst_test {
namespace {

Script late_at_1_and_2() {
  Script told;
  told.late = {false, true, true, false, false};
  return told;
}

// Fails when the output of a policy has a wrong frame or a wrong result.
// Promises: GST-003.
TEST(OnMiss, Post) {
  Fake fake(kLimit + "post", late_at_1_and_2());
  fake->start();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(fake.pull(), (Outputs{{0, 0, false, false, false},
                                  {1, 1, false, true, false},
                                  {2, 2, false, true, false},
                                  {3, 3, false, false, false},
                                  {4, 4, false, false, false}}));
  EXPECT_EQ(fake->stat("misses"), 2u);
  EXPECT_EQ(fake->count_messages(GST_MESSAGE_QOS), 2);
}

// Promises: GST-003.
TEST(OnMiss, Drop) {
  Fake fake(kLimit + "drop", late_at_1_and_2());
  fake->start();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(fake.pull(), (Outputs{{0, 0, false, false, false},
                                  {3, 3, false, false, false},
                                  {4, 4, false, false, false}}));
  EXPECT_EQ(fake->stat("dropped"), 2u);
  EXPECT_EQ(script.luma, (std::vector<int>{0, 1, 2, 3, 4}))
      << "the operator did not get each frame once, in order";
}

// Promises: GST-003.
TEST(OnMiss, Reuse) {
  Fake fake(kLimit + "reuse", late_at_1_and_2());
  fake->start();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  // Frame 2 gets the result of frame 1, which is finished by then.
  EXPECT_EQ(fake.pull(), (Outputs{{0, 0, false, false, false},
                                  {1, 0, true, false, false},
                                  {2, 1, true, false, false},
                                  {3, 3, false, false, false},
                                  {4, 4, false, false, false}}));
}

// Promises: GST-003.
TEST(OnMiss, Passthrough) {
  Fake fake(kLimit + "passthrough", late_at_1_and_2());
  fake->start();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(fake.pull(), (Outputs{{0, 0, false, false, false},
                                  {1, -1, false, false, false},
                                  {2, -1, false, false, false},
                                  {3, 3, false, false, false},
                                  {4, 4, false, false, false}}));
}

// As above, for results that replace the pictures.
TEST(OnMiss, AppliesToResultPictures) {
  constexpr int kM = kMark;
  const std::vector<std::pair<std::string, Outputs>> cases = {
      {"post",
       {{0, 0 + kM, false, false, false},
        {1, 1 + kM, false, true, false},
        {2, 2 + kM, false, true, false},
        {3, 3 + kM, false, false, false}}},
      {"drop", {{0, 0 + kM, false, false, false}, {3, 3 + kM, false, false, false}}},
      {"reuse",
       {{0, 0 + kM, false, false, false},
        {1, 0 + kM, true, false, false},
        {2, 1 + kM, true, false, false},
        {3, 3 + kM, false, false, false}}},
      {"passthrough",
       {{0, 0 + kM, false, false, false},
        {1, -1, false, false, false},
        {2, -1, false, false, false},
        {3, 3 + kM, false, false, false}}},
  };
  for (const auto& [policy, outputs] : cases) {
    Script told = late_at_1_and_2();
    told.pictures = true;
    Fake fake(kLimit + policy, told);
    fake->start();
    for (int i = 0; i < 4; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
    EXPECT_EQ(fake.pull(), outputs) << policy;
    EXPECT_EQ(script.luma, (std::vector<int>{0, 1, 2, 3}));
  }
}

// Fails when a result from before a flush is reused after it.
TEST(OnMiss, FlushClearsTheResultForReuse) {
  Script told;
  told.late = {false, false, true};
  Fake fake(kLimit + "reuse", told);
  fake->start();
  fake.push(0);
  fake.push(1);
  fake->event(gst_event_new_flush_start());
  fake->event(gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  fake->event(gst_event_new_segment(&segment));
  fake->drop_output();
  fake.push(2);
  EXPECT_EQ(fake.pull(), (Outputs{{2, -1, false, false, false}}));
}

// Fails when the sum of the clock and a budget overflows. The deadline would be in the past, and
// every frame would miss it.
TEST(OnMiss, LongestBudgetsAreNotMissed) {
  for (const gint64 budget : {G_MAXINT64, G_MAXINT64 - 1}) {
    Script told;
    told.late = {true, true, true};
    Fake fake("on-miss=drop budget=" + std::to_string(budget), told);
    fake->start();
    for (int i = 0; i < 3; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
    EXPECT_EQ(fake.pull(), (Outputs{{0, 0, false, false, false},
                                    {1, 1, false, false, false},
                                    {2, 2, false, false, false}}));
    EXPECT_EQ(fake->stat("misses"), 0u);
    EXPECT_EQ(fake->count_messages(GST_MESSAGE_QOS), 0);
  }
}

// Fails when options that no operator can be created with end the stream or remain, when a change
// creates more than one operator, or when frames in flight are lost.
TEST(Changes, OperatorGoesOnIfNoneIsCreated) {
  Script told;
  told.changes = true;
  told.depth = 2;
  told.fail_create = 1;
  Fake fake("", told);
  fake->start();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  const auto level = [&fake] {
    gint value = -1;
    g_object_get(fake->element(), "level", &value, nullptr);
    return value;
  };
  g_object_set(fake->element(), "level", 3, nullptr);
  EXPECT_EQ(level(), 3);
  for (int i = 3; i < 6; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(fake->text_of(GST_MESSAGE_WARNING), "create failed as requested");
  EXPECT_EQ(level(), 0);
  EXPECT_EQ(script.creations, 1);
  EXPECT_EQ(script.destructions, 0);
  EXPECT_EQ(script.sequences, (std::vector<std::uint64_t>{0, 1, 2, 0, 1, 2}));
  script.fail_create = -1;
  g_object_set(fake->element(), "level", 4, nullptr);
  g_object_set(fake->element(), "level", 5, nullptr);
  for (int i = 6; i < 9; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(level(), 5);
  EXPECT_EQ(script.creations, 2);
  EXPECT_EQ(script.destructions, 1);
  EXPECT_EQ(fake->count_messages(GST_MESSAGE_WARNING), 0);
  EXPECT_TRUE(fake->event(gst_event_new_eos()));
  const Outputs out = fake.pull();
  ASSERT_EQ(out.size(), 9u);
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(out[static_cast<std::size_t>(i)], (Fake::Output{i, i, false, false, false}));
}

// Fails when a picture that the operator still reads is drawn on. The result would contain the
// drawn pixel.
TEST(OnMiss, PictureInFlightIsNotDrawnOn) {
  Script told;
  told.late = {false, true, false};
  Fake fake(kLimit + "reuse draw=true", told);
  fake->start();
  for (int i = 7; i < 10; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(script.draws, 3);
  EXPECT_EQ(fake->stat("copies"), 1u);
  // The result of frame 8 is finished after the drawing and must be that of the picture without
  // drawing. It becomes visible when frame 9 is late, too.
  script.late = {false, false, false, false, true};
  ASSERT_EQ(fake.push(10), GST_FLOW_OK);
  ASSERT_EQ(fake.push(11), GST_FLOW_OK);
  const Outputs outputs = fake.pull();
  ASSERT_EQ(outputs.size(), 5u);
  EXPECT_EQ(outputs[1], (Fake::Output{8, 7, true, false, false}));
  EXPECT_EQ(outputs[4], (Fake::Output{11, 10, true, false, false}));
}

// Fails when a delay of x.5 frames holds one picture too many, or when a picture gets a result that
// describes another picture.
TEST(Hold, PicturesGetTheResultsThatDescribeThem) {
  Script told;
  told.delay = 2.5f;
  Fake fake("align=true", told);
  // The harness has already started the element, but sets the caps only now.
  fake->start();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(fake.pull(), (Outputs{{0, 2, false, false, false},
                                  {1, 3, false, false, false},
                                  {2, 4, false, false, false}}));
  fake->event(gst_event_new_eos());
  EXPECT_EQ(fake.pull(), (Outputs{{3, 4, false, false, true}, {4, 4, false, false, true}}));
  EXPECT_EQ(script.luma, (std::vector<int>{0, 1, 2, 3, 4, 4, 4}));
  EXPECT_EQ(script.sequences, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

// Fails when a sum of times wraps around: the longest latencies would become short.
TEST(Times, LongestLatenciesDoNotWrapAround) {
  Script told;
  told.delay = 9.0f;
  const auto latency_of = [](Fake& fake) {
    gst_harness_set_upstream_latency(fake->get(), 7 * GST_MSECOND);
    return gst_harness_query_latency(fake->get());
  };
  {
    Fake fake("align=true", told);
    fake->set_video({GST_VIDEO_FORMAT_GRAY8, 96, 64, 1, G_MAXINT});  // one frame in 68 years
    EXPECT_EQ(latency_of(fake), static_cast<GstClockTime>(G_MAXINT64));
  }
  told.delay = 1.0f;
  Fake fake("align=true", told);
  fake->set_video({GST_VIDEO_FORMAT_GRAY8, 96, 64, 0, 1});
  ASSERT_EQ(fake.push_at(0, 0, GST_CLOCK_TIME_NONE), GST_FLOW_OK);
  ASSERT_EQ(fake.push_at(1, GST_CLOCK_TIME_NONE - 1, GST_CLOCK_TIME_NONE), GST_FLOW_OK);
  EXPECT_EQ(latency_of(fake), static_cast<GstClockTime>(G_MAXINT64));
}

// Fails when the lateness in a QoS event wraps around: frames that are too late would be pushed.
TEST(Times, LongestLatenessDoesNotWrapAround) {
  Script told;
  told.delay = 1.0f;
  Fake fake("align=true", told);
  fake->start();
  gst_harness_push_upstream_event(fake->get(),
                                  gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, G_MAXINT64,
                                                    (GstClockTime{1} << 63) + GST_SECOND));
  for (int i = 50; i < 54; ++i) fake.push(i);  // the PTS start at two seconds
  EXPECT_EQ(fake.pull(), Outputs{});
  EXPECT_EQ(fake->stat("dropped"), 3u);
}

// Fails when a message asks for the running time of a frame that has none, which GStreamer reports
// as a critical fault of the element: the segment is in bytes, or a flush has taken it away.
TEST(Times, FramesWithoutASegmentInTimeHaveNoRunningTime) {
  for (const bool in_bytes : {true, false}) {
    Fake fake(kLimit + "post post-messages=true", late_at_1_and_2());
    fake->start();
    if (in_bytes) {
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_BYTES);
      fake->event(gst_event_new_segment(&segment));
    } else {
      GstPad* pad = gst_element_get_static_pad(fake->element(), "sink");
      gst_pad_send_event(pad, gst_event_new_flush_start());
      gst_pad_send_event(pad, gst_event_new_flush_stop(TRUE));
      gst_object_unref(pad);
    }
    for (int i = 0; i < 3; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
    EXPECT_EQ(fake.pull().size(), 3u);
    // The message of the first frame; those of the others follow.
    GstMessage* message = fake->message(GST_MESSAGE_ELEMENT);
    ASSERT_NE(message, nullptr);
    guint64 running = 0;
    guint64 stream = 0;
    EXPECT_TRUE(gst_structure_get(gst_message_get_structure(message), "running-time", G_TYPE_UINT64,
                                  &running, "stream-time", G_TYPE_UINT64, &stream, nullptr));
    EXPECT_EQ(running, GST_CLOCK_TIME_NONE);
    EXPECT_EQ(stream, GST_CLOCK_TIME_NONE);
    gst_message_unref(message);
    EXPECT_EQ(fake->count_messages(GST_MESSAGE_QOS), 2);
  }
}

// Fails when the wall clock of a message is that of another moment than the frame's arrival, or has
// another unit than nanoseconds.
TEST(Times, AMessageHasTheWallClockOfTheArrival) {
  Fake fake(kLimit + "post post-messages=true", late_at_1_and_2());
  fake->start();
  constexpr guint64 kMicroseconds = 1000;
  const guint64 begin = static_cast<guint64>(g_get_real_time()) * kMicroseconds;
  ASSERT_EQ(fake.push(0), GST_FLOW_OK);
  const guint64 end = static_cast<guint64>(g_get_real_time()) * kMicroseconds;
  GstMessage* message = fake->message(GST_MESSAGE_ELEMENT);
  ASSERT_NE(message, nullptr);
  guint64 wall = 0;
  guint64 latency = 0;
  EXPECT_TRUE(gst_structure_get(gst_message_get_structure(message), "wall-clock", G_TYPE_UINT64,
                                &wall, "latency", G_TYPE_UINT64, &latency, nullptr));
  gst_message_unref(message);
  EXPECT_GE(wall + kMicroseconds, begin);
  EXPECT_LE(wall + latency, end + kMicroseconds);
}

void begin_segment(Fake& fake, double rate) {
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = rate;
  segment.stop = 1000 * GST_SECOND;
  ASSERT_TRUE(fake->event(gst_event_new_segment(&segment)));
}

// How a source sets the timestamps of its frames.
struct Stamps {
  const char* name;
  int fps_n, fps_d;
  GstClockTime (*pts)(int index);
  bool durations;
};

GstClockTime frames_at(int index, guint64 fps_n, guint64 fps_d) {
  return gst_util_uint64_scale(static_cast<guint64>(index) * GST_SECOND, fps_d, fps_n);
}

// Alternates short and long frames.
GstClockTime uneven(int index) {
  return static_cast<GstClockTime>(index / 2 * 100 + index % 2 * 20) * GST_MSECOND;
}

const Stamps kStamps[] = {
    {"30", 30, 1, [](int i) { return frames_at(i, 30, 1); }, true},
    {"30 to 1.001", 30000, 1001, [](int i) { return frames_at(i, 30000, 1001); }, true},
    {"24 to 1.001", 24000, 1001, [](int i) { return frames_at(i, 24000, 1001); }, true},
    {"60, whole milliseconds", 60, 1,
     [](int i) { return (frames_at(i, 60, 1) + GST_MSECOND / 2) / GST_MSECOND * GST_MSECOND; },
     true},
    {"variable", 0, 1, uneven, true},
    {"variable, no durations", 0, 1, uneven, false},
};

// Fails when descending timestamps are taken for discontinuities: in reverse playback, where
// sources flag every buffer, and from a source that does not announce reverse playback.
TEST(Reverse, DescendingTimestampsAreOneStream) {
  for (const Stamps& stamps : kStamps) {
    for (const auto& [rate, flagged] : {std::pair{-1.0, false}, std::pair{-1.0, true},
                                        std::pair{-2.5, true}, std::pair{1.0, false}}) {
      // The duration of a frame is not known.
      if (rate > 0.0 && stamps.fps_n == 0 && !stamps.durations) continue;
      SCOPED_TRACE(std::string(stamps.name) + ", rate " + std::to_string(rate));
      Script told;
      told.delay = 2.0f;
      Fake fake("align=true", told);
      fake->set_video({GST_VIDEO_FORMAT_GRAY8, 96, 64, stamps.fps_n, stamps.fps_d});
      begin_segment(fake, rate);
      const int resets = script.resets;
      for (int i = 60; i > 0; --i) {
        const GstClockTime pts = stamps.pts(i);
        const GstClockTime duration =
            stamps.durations ? stamps.pts(i + 1) - pts : GST_CLOCK_TIME_NONE;
        ASSERT_EQ(fake.push_at(i, pts, duration, flagged), GST_FLOW_OK);
      }
      EXPECT_EQ(script.resets, resets);
      std::vector<GstBuffer*> out = fake->pull();
      EXPECT_EQ(out.size(), 58u);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const int index = 60 - static_cast<int>(i);
        EXPECT_EQ(GST_BUFFER_PTS(out[i]), stamps.pts(index));
        EXPECT_EQ(fake_result(out[i]).value, index - 2)
            << "the result is not that of the frame two later";
        EXPECT_FALSE(fake_result(out[i]).repeated);
      }
      unref_all(out);
      fake->event(gst_event_new_eos());
      EXPECT_EQ(fake->drop_output(), 2);
    }
  }
}

// Fails when a restart of the source is not detected in one direction of playback. Also fails when
// a clock that is set back by less than a frame, or missing frames, are taken for a discontinuity.
TEST(Reverse, StepsAgainstTheDirectionAreDiscontinuities) {
  for (const Stamps& stamps : kStamps) {
    for (const int sign : {1, -1}) {
      SCOPED_TRACE(std::string(stamps.name) + (sign > 0 ? ", forward" : ", reverse"));
      Script told;
      told.delay = 2.0f;
      Fake fake("align=true", told);
      fake->set_video({GST_VIDEO_FORMAT_GRAY8, 96, 64, stamps.fps_n, stamps.fps_d});
      begin_segment(fake, sign);
      const auto push = [&](int index, GstClockTimeDiff offset) {
        const GstClockTime pts = stamps.pts(index);
        return fake.push_at(index, pts + static_cast<GstClockTime>(offset),
                            stamps.durations ? stamps.pts(index + 1) - pts : GST_CLOCK_TIME_NONE);
      };
      for (int i = 0; i < 10; ++i) ASSERT_EQ(push(100 + sign * i, 0), GST_FLOW_OK);
      EXPECT_EQ(fake->drop_output(), 8);
      const int resets = script.resets;
      // The clock is set back by half of a short frame: nearly the same time again.
      ASSERT_EQ(push(100 + sign * 9, -sign * 8 * GST_MSECOND), GST_FLOW_OK);
      // Frames are missing.
      ASSERT_EQ(push(100 + sign * 40, 0), GST_FLOW_OK);
      EXPECT_EQ(script.resets, resets);
      EXPECT_EQ(fake->drop_output(), 2);
      // The source restarts: a step of more than one and a half frames of any length.
      ASSERT_EQ(push(100 + sign * 30, 0), GST_FLOW_OK);
      EXPECT_EQ(script.resets, resets + 1);
      EXPECT_EQ(fake->drop_output(), 2) << "the frames held back were not pushed first";
      if (stamps.fps_n == 0 && !stamps.durations) continue;
      // Frames are missing, and the source sets the DISCONT flag.
      const GstClockTime pts = stamps.pts(100 + sign * 50);
      ASSERT_EQ(fake.push_at(7, pts, stamps.pts(101 + sign * 50) - pts, true), GST_FLOW_OK);
      EXPECT_EQ(script.resets, resets + 2);
      EXPECT_EQ(fake->drop_output(), 1);
    }
  }
}

// Fails when the latency is not reported for descending PTS.
TEST(Reverse, LatencyWithoutAFrameRateIsMeasured) {
  Script told;
  told.delay = 1.0f;
  Fake fake("align=true", told);
  fake->set_video({GST_VIDEO_FORMAT_GRAY8, 96, 64, 0, 1});
  begin_segment(fake, -1.0);
  for (const int ms : {500, 490, 450, 440})
    ASSERT_EQ(fake.push_at(0, static_cast<GstClockTime>(ms) * GST_MSECOND, GST_CLOCK_TIME_NONE),
              GST_FLOW_OK);
  EXPECT_EQ(gst_harness_query_latency(fake->get()), 40 * GST_MSECOND);
}

// Records what leaves the source pad of an element, in order: "buffer", or the name of an event or
// a query.
class Leaving {
 public:
  explicit Leaving(GstElement* element) : pad_(gst_element_get_static_pad(element, "src")) {
    constexpr auto kWhat = static_cast<GstPadProbeType>(
        GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
        GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH);
    probe_ = gst_pad_add_probe(pad_, kWhat, note, this, nullptr);
  }
  ~Leaving() {
    gst_pad_remove_probe(pad_, probe_);
    gst_object_unref(pad_);
  }
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;

  std::vector<std::string> take() { return std::exchange(names_, {}); }

 private:
  static GstPadProbeReturn note(GstPad*, GstPadProbeInfo* info, gpointer self) {
    auto& names = static_cast<Leaving*>(self)->names_;
    if ((info->type & GST_PAD_PROBE_TYPE_BUFFER) != 0)
      names.emplace_back("buffer");
    else if ((info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) != 0)
      names.emplace_back(GST_EVENT_TYPE_NAME(GST_PAD_PROBE_INFO_EVENT(info)));
    else
      names.emplace_back(GST_QUERY_TYPE_NAME(GST_PAD_PROBE_INFO_QUERY(info)));
    return GST_PAD_PROBE_OK;
  }
  GstPad* pad_;
  gulong probe_ = 0;
  std::vector<std::string> names_;
};

using Names = std::vector<std::string>;

/// Pushes five pictures to an element with align=true. Two stay in it, because its operator has a
/// delay of two frames.
void hold_two_back(Fake& fake) {
  fake->start();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(fake.pull().size(), 3u);
}

GstQuery* new_query(GstQueryType type, const Video& video) {
  if (type == GST_QUERY_DRAIN) return gst_query_new_drain();
  GstCaps* caps = caps_of(video);
  GstQuery* query = gst_query_new_allocation(caps, FALSE);
  gst_caps_unref(caps);
  return query;
}

// Fails when a serialized query is answered while earlier frames are held back, or resets the
// temporal state. Also fails when these frames are pushed out of order or after the query.
TEST(Release, SerializedQueriesPushHeldFramesAndKeepTheState) {
  for (const GstQueryType type : {GST_QUERY_DRAIN, GST_QUERY_ALLOCATION}) {
    SCOPED_TRACE(gst_query_type_get_name(type));
    Script told;
    told.delay = 2.0f;
    Fake fake("align=true post-messages=true", told);
    hold_two_back(fake);
    const int resets = script.resets;
    Leaving leaving(fake->element());
    GstQuery* query = new_query(type, fake->video());
    EXPECT_TRUE(gst_pad_peer_query(fake->get()->srcpad, query));
    gst_query_unref(query);
    EXPECT_EQ(leaving.take(), (Names{"buffer", "buffer", gst_query_type_get_name(type)}));
    EXPECT_EQ(fake.pull(), (Outputs{{3, 4, true, false, true}, {4, 4, true, false, true}}));
    EXPECT_EQ(fake->count_messages(GST_MESSAGE_ELEMENT), 5);
    for (int i = 5; i < 9; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
    EXPECT_EQ(fake.pull(), (Outputs{{5, 7, false, false, false}, {6, 8, false, false, false}}));
    EXPECT_EQ(script.resets, resets);
    EXPECT_EQ(script.luma, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    fake->event(gst_event_new_eos());
    EXPECT_EQ(fake.pull(), (Outputs{{7, 8, false, false, true}, {8, 8, false, false, true}}));
  }
}

// Fails when a query uses the operator of a pad that is flushing. GStreamer hands it to the pad
// even while the element stops, so two threads would use the operator.
TEST(Release, QueriesOfAFlushingPadLeaveTheOperatorAlone) {
  for (const GstQueryType type : {GST_QUERY_DRAIN, GST_QUERY_ALLOCATION}) {
    SCOPED_TRACE(gst_query_type_get_name(type));
    Script told;
    told.delay = 2.0f;
    Fake fake("align=true post-messages=true", told);
    hold_two_back(fake);
    fake->event(gst_event_new_flush_start());
    GstQuery* query = new_query(type, fake->video());
    GstPad* pad = gst_element_get_static_pad(fake->element(), "sink");
    EXPECT_FALSE(gst_pad_query(pad, query));
    gst_object_unref(pad);
    gst_query_unref(query);
    EXPECT_EQ(fake->count_messages(GST_MESSAGE_ELEMENT), 3) << "held pictures were released";
    fake->event(gst_event_new_flush_stop(TRUE));
    EXPECT_EQ(fake->count_messages(GST_MESSAGE_ELEMENT), 0);
  }
}

// Fails when the operator or the element keeps a picture after a serialized query: one that is held
// back, or one that missed its budget.
TEST(Release, SerializedQueriesReleaseAllPictures) {
  for (const GstQueryType type : {GST_QUERY_DRAIN, GST_QUERY_ALLOCATION}) {
    for (const char* policy : {"passthrough", "drop", "reuse"}) {
      for (const float delay : {0.0f, 3.0f}) {
        SCOPED_TRACE(std::string(gst_query_type_get_name(type)) + " " + policy);
        Script told;
        told.delay = delay;
        told.late = {false, false, true};
        Fake fake(kLimit + policy + " align=true", told);
        fake->start();
        std::vector<GstBuffer*> kept;
        for (int i = 0; i < 3; ++i) {
          kept.push_back(gst_buffer_ref(fake.frame(i)));
          fake->push(kept.back());
        }
        GstQuery* query = new_query(type, fake->video());
        EXPECT_TRUE(gst_pad_peer_query(fake->get()->srcpad, query));
        gst_query_unref(query);
        fake->drop_output();
        for (GstBuffer* buffer : kept) EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(buffer), 1);
        unref_all(kept);
        // The stream continues.
        ASSERT_EQ(fake.push(3), GST_FLOW_OK);
        EXPECT_EQ(script.luma, (std::vector<int>{0, 1, 2, 3}));
      }
    }
  }
}

// Fails when a query before the caps, or with no frame held back, has any effect.
TEST(Release, QueriesWithoutHeldFramesPass) {
  Fake fake("align=true", {});
  GstQuery* query = gst_query_new_drain();
  gst_pad_peer_query(fake->get()->srcpad, query);
  fake->start();
  ASSERT_EQ(fake.push(0), GST_FLOW_OK);
  EXPECT_TRUE(gst_pad_peer_query(fake->get()->srcpad, query));
  gst_query_unref(query);
  EXPECT_EQ(fake.pull(), (Outputs{{0, 0, false, false, false}}));
  EXPECT_EQ(script.submissions, 1);
}

// Fails when new caps for the same pictures overtake earlier frames or reset the temporal state, or
// when identical caps push frames.
TEST(Release, CapsForTheSamePicturesFollowTheHeldFrames) {
  Script told;
  told.delay = 2.0f;
  Fake fake("align=true", told);
  hold_two_back(fake);
  const int resets = script.resets;
  Leaving leaving(fake->element());
  // Not through the harness, which also sends a segment.
  GstCaps* caps = caps_of(fake->video());
  ASSERT_TRUE(fake->event(gst_event_new_caps(caps)));
  EXPECT_EQ(fake.pull(), Outputs{}) << "identical caps pushed frames";
  leaving.take();
  caps = gst_caps_make_writable(caps);
  gst_caps_set_simple(caps, "note", G_TYPE_STRING, "another", nullptr);
  ASSERT_TRUE(fake->event(gst_event_new_caps(caps)));
  gst_caps_unref(caps);
  const Names names = leaving.take();
  EXPECT_EQ(Names(names.begin(), names.begin() + std::min<std::ptrdiff_t>(3, std::ssize(names))),
            (Names{"buffer", "buffer", "caps"}));
  EXPECT_EQ(fake.pull(), (Outputs{{3, 4, true, false, true}, {4, 4, true, false, true}}));
  for (int i = 5; i < 8; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(fake.pull(), (Outputs{{5, 7, false, false, false}}));
  EXPECT_EQ(script.resets, resets);
  EXPECT_EQ(script.creations, 1);
}

// Fails when caps for other pictures or another rate overtake earlier frames, or when these are
// lost.
TEST(Release, CapsForOtherPicturesFollowTheHeldFrames) {
  for (const Video& video : {Video{GST_VIDEO_FORMAT_GRAY8, 48, 32}, Video{GST_VIDEO_FORMAT_I420},
                             Video{GST_VIDEO_FORMAT_GRAY8, 96, 64, 50, 1}}) {
    Script told;
    told.delay = 2.0f;
    Fake fake("align=true", told);
    hold_two_back(fake);
    Leaving leaving(fake->element());
    fake->set_video(video);
    const Names names = leaving.take();
    EXPECT_EQ(Names(names.begin(), names.begin() + std::min<std::ptrdiff_t>(3, std::ssize(names))),
              (Names{"buffer", "buffer", "caps"}));
    EXPECT_EQ(fake->drop_output(), 2);
  }
}

// Fails when a device loss during a DRAIN query aborts the process, or when pictures are not
// released.
TEST(Release, FailureReleasesAllPictures) {
  Script told;
  told.delay = 2.0f;
  told.late = {false, false, true};
  told.lose_device_on_wait = -1;
  Fake fake(kLimit + "passthrough align=true", told);
  fake->start();
  std::vector<GstBuffer*> kept;
  for (int i = 0; i < 3; ++i) {
    kept.push_back(gst_buffer_ref(fake.frame(i)));
    fake->push(kept.back());
  }
  script.lose_device_on_wait = 2;
  GstQuery* query = gst_query_new_drain();
  gst_pad_peer_query(fake->get()->srcpad, query);
  gst_query_unref(query);
  EXPECT_NE(fake->last_error().find("device lost in wait"), std::string::npos);
  fake->drop_output();
  for (GstBuffer* buffer : kept) EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(buffer), 1);
  unref_all(kept);
}

// Fails when a device loss is not reported, or loses a frame although the element may continue on
// the CPU.
// Promises: ERR-007.
TEST(DeviceLoss, ContinuesOnTheCpuOnRequest) {
  for (const bool in_wait : {false, true}) {
    for (const char* policy :
         {"on-device-loss=cpu", "on-device-loss=cpu budget=60000000000 on-miss=drop"}) {
      Script told;
      (in_wait ? told.lose_device_on_wait : told.lose_device_on_submit) = 2;
      Fake fake(policy, told);
      fake->start();
      for (int i = 0; i < 5; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
      EXPECT_EQ(fake.pull(), (Outputs{{0, 0, false, false, false},
                                      {1, 1, false, false, false},
                                      {2, 2, false, false, false},
                                      {3, 3, false, false, false},
                                      {4, 4, false, false, false}}));
      EXPECT_EQ(script.creations, 2);
      EXPECT_EQ(script.destructions, 1);
      EXPECT_EQ(script.luma, (std::vector<int>{0, 1, 2, 2, 3, 4}));
      EXPECT_NE(fake->text_of(GST_MESSAGE_WARNING).find("CPU"), std::string::npos);
      EXPECT_EQ(fake->count_messages(GST_MESSAGE_ERROR), 0);
    }
  }
}

// As above, with a late frame in flight: both it and the next frame must survive.
TEST(DeviceLoss, WhileAFrameIsInFlight) {
  Script told;
  told.late = {false, true};
  told.lose_device_on_wait = -1;
  Fake fake(kLimit + "passthrough on-device-loss=cpu", told);
  fake->start();
  fake.push(0);
  fake.push(1);
  script.lose_device_on_wait = 1;
  ASSERT_EQ(fake.push(2), GST_FLOW_OK);
  EXPECT_EQ(fake.pull(), (Outputs{{0, 0, false, false, false},
                                  {1, -1, false, false, false},
                                  {2, 2, false, false, false}}));
  EXPECT_EQ(script.creations, 2);
}

// Fails when the element recovers again and again.
TEST(DeviceLoss, SecondLossStopsTheStream) {
  Script told;
  told.lose_device_on_submit = 1;
  told.lost_again = true;
  Fake fake("on-device-loss=cpu", told);
  fake->start();
  ASSERT_EQ(fake.push(0), GST_FLOW_OK);
  EXPECT_EQ(fake.push(1), GST_FLOW_ERROR);
  EXPECT_NE(fake->last_error().find("device lost"), std::string::npos);
}

// Fails when the element continues on the CPU without being asked to.
// Promises: ERR-007.
TEST(DeviceLoss, StopsTheStreamByDefault) {
  Script told;
  told.lose_device_on_wait = 1;
  Fake fake("", told);
  fake->start();
  ASSERT_EQ(fake.push(0), GST_FLOW_OK);
  EXPECT_EQ(fake.push(1), GST_FLOW_ERROR);
  const std::string text = fake->last_error();
  EXPECT_NE(text.find("device lost in wait"), std::string::npos) << text;
}

// Fails when a failed creation leaves a partial operator, or its reason is not in the error
// message.
TEST(Errors, CreationFailureIsReported) {
  for (const bool footprint : {true, false}) {
    for (const Status status :
         {Status::kInvalidArgument, Status::kOutOfMemory, Status::kBackendUnavailable,
          Status::kCorruptFile, Status::kIoError, Status::kSystem}) {
      Script told;
      told.failure = status;
      Fake fake("", told);
      (footprint ? script.fail_footprint : script.fail_create) = 0;
      fake->start();
      EXPECT_EQ(fake.push(0), GST_FLOW_NOT_NEGOTIATED);
      EXPECT_NE(fake->last_error().find("failed as requested"), std::string::npos);
      // The element works after the cause is removed.
      script.fail_create = script.fail_footprint = -1;
      fake->set_video({GST_VIDEO_FORMAT_GRAY8, 32, 32});
      EXPECT_EQ(fake.push(1), GST_FLOW_OK);
      EXPECT_EQ(fake.pull().size(), 1u);
    }
  }
}

bool save_model(Fake& fake) {
  gboolean saved = FALSE;
  g_signal_emit_by_name(fake->element(), "save-model", "model", &saved);
  return saved != FALSE;
}

// Fails when new caps that are refused, or for which memory is short, destroy an operator that
// learns, or when the element cannot go on with the caps before.
TEST(Learning, RefusedCapsKeepTheOperator) {
  const Video other{GST_VIDEO_FORMAT_GRAY8, 48, 32};
  for (const char* where : {"footprint", "create", "shape"}) {
    SCOPED_TRACE(where);
    Script told;
    told.learns = true;
    told.failure = Status::kOutOfMemory;
    Fake fake("", told);
    const Video video = fake->video();
    fake->start();
    for (int i = 0; i < 3; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
    const std::string fails = where;
    if (fails == "footprint") script.fail_footprint = 1;
    if (fails == "create") script.fail_create = 1;
    script.shape = fails == "shape" ? 1 : 0;  // of another model
    fake->set_video(other);
    EXPECT_EQ(fake.push(3), GST_FLOW_NOT_NEGOTIATED);
    const std::string error = fake->last_error();
    EXPECT_NE(error.find(fails == "shape" ? "different shapes" : "failed as requested"),
              std::string::npos)
        << error;
    EXPECT_TRUE(save_model(fake));
    EXPECT_EQ(script.saves, (std::vector<int>{3}));
    // The caps before are accepted again, without a new operator.
    const int creations = script.creations;
    fake->set_video(video);
    ASSERT_EQ(fake.push(4), GST_FLOW_OK) << fake->last_error();
    EXPECT_EQ(script.creations, creations);
    // And the others, once the cause is removed.
    script.fail_footprint = script.fail_create = -1;
    script.shape = 0;
    fake->set_video(other);
    ASSERT_EQ(fake.push(5), GST_FLOW_OK) << fake->last_error();
    EXPECT_EQ(script.creations, creations + 1);
    EXPECT_EQ(fake->message(GST_MESSAGE_WARNING), nullptr);
    gst_element_set_state(fake->element(), GST_STATE_NULL);
    EXPECT_EQ(script.saves, (std::vector<int>{3, 5}));
    EXPECT_EQ(script.destructions, script.creations);
  }
}

// Fails when a lost device ends the stream although the element may continue, or the loss of what
// was learned is not said.
TEST(Learning, LostDeviceIsAWarning) {
  Script told;
  told.learns = true;
  told.lose_device_on_wait = 2;
  told.lose_device_on_read = true;
  Fake fake("on-device-loss=cpu", told);
  fake->start();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_NE(fake->text_of(GST_MESSAGE_WARNING).find("learned is lost"), std::string::npos);
  EXPECT_TRUE(save_model(fake));
  EXPECT_EQ(script.saves, (std::vector<int>{3}));
}

// Fails when a save that failed at the end of the stream is not made up for, or a save is made
// twice.
TEST(Learning, FailedSaveIsRepeated) {
  for (const bool fails : {true, false}) {
    Script told;
    told.learns = true;
    told.fail_save = fails;
    Fake fake("", told);
    fake->start();
    fake->event(gst_event_new_eos());
    EXPECT_EQ(script.saves, (std::vector<int>{})) << "nothing was learned yet";
    fake->event(gst_event_new_flush_start());
    fake->event(gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    fake->event(gst_event_new_segment(&segment));
    for (int i = 0; i < 3; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
    fake->event(gst_event_new_eos());
    EXPECT_EQ(script.saves, (std::vector<int>{3}));
    script.fail_save = false;
    gst_element_set_state(fake->element(), GST_STATE_NULL);
    EXPECT_EQ(script.saves, fails ? (std::vector<int>{3, 3}) : (std::vector<int>{3}));
    // What a stream before has learned is gone and is not saved again.
    gst_element_set_state(fake->element(), GST_STATE_PLAYING);
    gst_element_set_state(fake->element(), GST_STATE_NULL);
    EXPECT_EQ(script.saves.size(), fails ? 2u : 1u);
  }
}

// Fails when an operator is not destroyed, or is destroyed twice.
TEST(Lifecycle, EveryOperatorIsDestroyedOnce) {
  {
    Fake fake("", {});
    fake->start();
    fake.push(0);
    fake->set_video({GST_VIDEO_FORMAT_GRAY8, 48, 32});
    fake.push(1);
    // The same pictures at another rate need no new operator.
    fake->set_video({GST_VIDEO_FORMAT_GRAY8, 48, 32, 50, 1});
    fake.push(2);
    EXPECT_EQ(script.creations, 2);
    EXPECT_GE(script.resets, 2);
  }
  EXPECT_EQ(script.destructions, script.creations);
}

}  // namespace
}  // namespace ocellus::gst_test
