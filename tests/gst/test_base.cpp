// The base class alone, under an element whose operator does what a test tells it.
#include "gst/fake_element.h"

namespace ocellus::gst_test {
namespace {

Script late_at_1_and_2() {
  Script told;
  told.late = {false, true, true, false, false};
  return told;
}

// Fails when a policy lets out another frame or another result than it says.
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

TEST(OnMiss, Drop) {
  Fake fake(kLimit + "drop", late_at_1_and_2());
  fake->start();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(fake.pull(), (Outputs{{0, 0, false, false, false},
                                  {3, 3, false, false, false},
                                  {4, 4, false, false, false}}));
  EXPECT_EQ(fake->stat("dropped"), 2u);
  EXPECT_EQ(script.luma, (std::vector<int>{0, 1, 2, 3, 4}))
      << "the operator sees every frame once, in order";
}

TEST(OnMiss, Reuse) {
  Fake fake(kLimit + "reuse", late_at_1_and_2());
  fake->start();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  // Frame 2 gets the result of frame 1, which was finished meanwhile.
  EXPECT_EQ(fake.pull(), (Outputs{{0, 0, false, false, false},
                                  {1, 0, true, false, false},
                                  {2, 1, true, false, false},
                                  {3, 3, false, false, false},
                                  {4, 4, false, false, false}}));
}

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

// As above, where results go out in the place of the pictures.
TEST(OnMiss, OfPictures) {
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

// Fails when the past of one stream serves as the result of the next.
TEST(OnMiss, ReuseForgetsAtAFlush) {
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

// Fails when the sum of the clock and a budget overflows: the deadline would be past, and every
// frame a miss.
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

// Fails when a picture that the operator still reads is drawn on: the result would hold the drawn
// pixel.
TEST(OnMiss, PictureInFlightIsNotDrawnOn) {
  Script told;
  told.late = {false, true, false};
  Fake fake(kLimit + "reuse draw=true", told);
  fake->start();
  for (int i = 7; i < 10; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(script.draws, 3);
  EXPECT_EQ(fake->stat("copies"), 1u);
  // Finished after the drawing, frame 8's result is that of the undrawn picture; it shows when
  // frame 9 is late, too.
  script.late = {false, false, false, false, true};
  ASSERT_EQ(fake.push(10), GST_FLOW_OK);
  ASSERT_EQ(fake.push(11), GST_FLOW_OK);
  const Outputs outputs = fake.pull();
  ASSERT_EQ(outputs.size(), 5u);
  EXPECT_EQ(outputs[1], (Fake::Output{8, 7, true, false, false}));
  EXPECT_EQ(outputs[4], (Fake::Output{11, 10, true, false, false}));
}

// Fails when a delay of x.5 frames holds one too many, or results land on other pictures than they
// describe.
TEST(Hold, ResultGoesToThePictureThatItDescribes) {
  Script told;
  told.delay = 2.5f;
  Fake fake("", told);
  fake.align();
  // The harness has started the element, but the caps come only now.
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

// Fails when a sum of times wraps around: the longest latencies would become short ones.
TEST(Times, LongestLatenciesDoNotWrap) {
  Script told;
  told.delay = 9.0f;
  const auto latency_of = [](Fake& fake) {
    gst_harness_set_upstream_latency(fake->get(), 7 * GST_MSECOND);
    return gst_harness_query_latency(fake->get());
  };
  {
    Fake fake("", told);
    fake.align();
    fake->set_video({GST_VIDEO_FORMAT_GRAY8, 96, 64, 1, G_MAXINT});  // a frame in 68 years
    EXPECT_EQ(latency_of(fake), static_cast<GstClockTime>(G_MAXINT64));
  }
  told.delay = 1.0f;
  Fake fake("", told);
  fake.align();
  fake->set_video({GST_VIDEO_FORMAT_GRAY8, 96, 64, 0, 1});
  ASSERT_EQ(fake.push_at(0, 0, GST_CLOCK_TIME_NONE), GST_FLOW_OK);
  ASSERT_EQ(fake.push_at(1, GST_CLOCK_TIME_NONE - 1, GST_CLOCK_TIME_NONE), GST_FLOW_OK);
  EXPECT_EQ(latency_of(fake), static_cast<GstClockTime>(G_MAXINT64));
}

// Fails when what downstream says of its lateness wraps around: frames that it has no time for
// would go out.
TEST(Times, LongestLatenessDoesNotWrap) {
  Script told;
  told.delay = 1.0f;
  Fake fake("", told);
  fake.align();
  fake->start();
  gst_harness_push_upstream_event(fake->get(),
                                  gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, G_MAXINT64,
                                                    (GstClockTime{1} << 63) + GST_SECOND));
  for (int i = 50; i < 54; ++i) fake.push(i);  // from two seconds on
  EXPECT_EQ(fake.pull(), Outputs{});
  EXPECT_EQ(fake->stat("dropped"), 3u);
}

void begin_segment(Fake& fake, double rate) {
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = rate;
  segment.stop = 1000 * GST_SECOND;
  ASSERT_TRUE(fake->event(gst_event_new_segment(&segment)));
}

// How a source stamps its frames.
struct Stamps {
  const char* name;
  int fps_n, fps_d;
  GstClockTime (*pts)(int index);
  bool durations;
};

GstClockTime frames_at(int index, guint64 fps_n, guint64 fps_d) {
  return gst_util_uint64_scale(static_cast<guint64>(index) * GST_SECOND, fps_d, fps_n);
}

// Short and long frames in turn.
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

// Fails when frames that come last first are taken for so many new streams: in reverse playback, in
// which sources flag every buffer, and from a source that says nothing of it.
TEST(Reverse, FramesThatComeLastFirstAreOneStream) {
  for (const Stamps& stamps : kStamps) {
    for (const auto& [rate, flagged] : {std::pair{-1.0, false}, std::pair{-1.0, true},
                                        std::pair{-2.5, true}, std::pair{1.0, false}}) {
      // Nothing says how long a frame is.
      if (rate > 0.0 && stamps.fps_n == 0 && !stamps.durations) continue;
      SCOPED_TRACE(std::string(stamps.name) + ", rate " + std::to_string(rate));
      Script told;
      told.delay = 2.0f;
      Fake fake("", told);
      fake.align();
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
        EXPECT_EQ(fake_meta(out[i])->value, index - 2) << "another result than that of two later";
        EXPECT_FALSE(fake_meta(out[i])->repeated);
      }
      unref_all(out);
      fake->event(gst_event_new_eos());
      EXPECT_EQ(fake->drop_output(), 2);
    }
  }
}

// Fails when a source that begins anew is not noticed in one direction of playing, or a clock that
// is set by less than a frame, or a step over frames left out, is taken for a new stream.
TEST(Reverse, StepsAgainstTheDirectionAreBreaks) {
  for (const Stamps& stamps : kStamps) {
    for (const int sign : {1, -1}) {
      SCOPED_TRACE(std::string(stamps.name) + (sign > 0 ? ", forward" : ", reverse"));
      Script told;
      told.delay = 2.0f;
      Fake fake("", told);
      fake.align();
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
      // The clock is set back by half of a short frame: the same moment comes again, nearly.
      ASSERT_EQ(push(100 + sign * 9, -sign * 8 * GST_MSECOND), GST_FLOW_OK);
      // Frames are left out.
      ASSERT_EQ(push(100 + sign * 40, 0), GST_FLOW_OK);
      EXPECT_EQ(script.resets, resets);
      EXPECT_EQ(fake->drop_output(), 2);
      // The beginning once more, by more than one and a half frames of any length.
      ASSERT_EQ(push(100 + sign * 30, 0), GST_FLOW_OK);
      EXPECT_EQ(script.resets, resets + 1);
      EXPECT_EQ(fake->drop_output(), 2) << "what was held back goes out before";
      if (stamps.fps_n == 0 && !stamps.durations) continue;
      // Frames are left out, and the source says that the stream does not go on.
      const GstClockTime pts = stamps.pts(100 + sign * 50);
      ASSERT_EQ(fake.push_at(7, pts, stamps.pts(101 + sign * 50) - pts, true), GST_FLOW_OK);
      EXPECT_EQ(script.resets, resets + 2);
      EXPECT_EQ(fake->drop_output(), 1);
    }
  }
}

// Fails when the time for which frames are held is not told because PTS fall.
TEST(Reverse, LatencyWithoutAFrameRateIsMeasured) {
  Script told;
  told.delay = 1.0f;
  Fake fake("", told);
  fake.align();
  fake->set_video({GST_VIDEO_FORMAT_GRAY8, 96, 64, 0, 1});
  begin_segment(fake, -1.0);
  for (const int ms : {500, 490, 450, 440})
    ASSERT_EQ(fake.push_at(0, static_cast<GstClockTime>(ms) * GST_MSECOND, GST_CLOCK_TIME_NONE),
              GST_FLOW_OK);
  EXPECT_EQ(gst_harness_query_latency(fake->get()), 40 * GST_MSECOND);
}

// What leaves an element by its source pad, in order: "buffer", or the name of an event or a query.
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

/// Five pictures, of which two stay in the element: its operator is two behind.
void hold_two_back(Fake& fake) {
  fake.align();
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

// Fails when a query that comes in the stream is answered while frames of before are still held
// back, when they go out in another order or after it, or when the stream's past is lost by it.
TEST(Release, QueriesInTheStreamLetFramesOutAndKeepThePast) {
  for (const GstQueryType type : {GST_QUERY_DRAIN, GST_QUERY_ALLOCATION}) {
    SCOPED_TRACE(gst_query_type_get_name(type));
    Script told;
    told.delay = 2.0f;
    Fake fake("post-messages=true", told);
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

// Fails when the operator, or the element, keeps a picture that upstream wants back: one held back,
// or one that missed its budget.
TEST(Release, QueriesInTheStreamGivePicturesBack) {
  for (const GstQueryType type : {GST_QUERY_DRAIN, GST_QUERY_ALLOCATION}) {
    for (const char* policy : {"passthrough", "drop", "reuse"}) {
      for (const float delay : {0.0f, 3.0f}) {
        SCOPED_TRACE(std::string(gst_query_type_get_name(type)) + " " + policy);
        Script told;
        told.delay = delay;
        told.late = {false, false, true};
        Fake fake(kLimit + policy, told);
        fake.align();
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
        // The stream goes on.
        ASSERT_EQ(fake.push(3), GST_FLOW_OK);
        EXPECT_EQ(script.luma, (std::vector<int>{0, 1, 2, 3}));
      }
    }
  }
}

// Fails when a query before the caps, or with nothing held back, does anything but pass.
TEST(Release, QueriesWithNothingHeldBackPass) {
  Fake fake("", {});
  fake.align();
  GstQuery* query = gst_query_new_drain();
  gst_pad_peer_query(fake->get()->srcpad, query);
  fake->start();
  ASSERT_EQ(fake.push(0), GST_FLOW_OK);
  EXPECT_TRUE(gst_pad_peer_query(fake->get()->srcpad, query));
  gst_query_unref(query);
  EXPECT_EQ(fake.pull(), (Outputs{{0, 0, false, false, false}}));
  EXPECT_EQ(script.submissions, 1);
}

// Fails when caps that say something else of the same pictures overtake those of before, or cost
// the stream its past; also when caps that say nothing new release anything.
TEST(Release, CapsOfTheSamePicturesComeAfterTheFramesBefore) {
  Script told;
  told.delay = 2.0f;
  Fake fake("", told);
  hold_two_back(fake);
  const int resets = script.resets;
  Leaving leaving(fake->element());
  // Not by the harness, which sends a segment with them.
  GstCaps* caps = caps_of(fake->video());
  ASSERT_TRUE(fake->event(gst_event_new_caps(caps)));
  EXPECT_EQ(fake.pull(), Outputs{}) << "the same caps once more";
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

// Fails when caps of other pictures, or of another rate, overtake frames of before, or these are
// lost.
TEST(Release, CapsOfOtherPicturesComeAfterTheFramesBefore) {
  for (const Video& video : {Video{GST_VIDEO_FORMAT_GRAY8, 48, 32}, Video{GST_VIDEO_FORMAT_I420},
                             Video{GST_VIDEO_FORMAT_GRAY8, 96, 64, 50, 1}}) {
    Script told;
    told.delay = 2.0f;
    Fake fake("", told);
    hold_two_back(fake);
    Leaving leaving(fake->element());
    fake->set_video(video);
    const Names names = leaving.take();
    EXPECT_EQ(Names(names.begin(), names.begin() + std::min<std::ptrdiff_t>(3, std::ssize(names))),
              (Names{"buffer", "buffer", "caps"}));
    EXPECT_EQ(fake->drop_output(), 2);
  }
}

// Fails when a device that is lost while frames are let out ends the process, or keeps them.
TEST(Release, AFailureLetsGoOfAll) {
  Script told;
  told.delay = 2.0f;
  told.late = {false, false, true};
  told.lose_device_on_wait = -1;
  Fake fake(kLimit + "passthrough", told);
  fake.align();
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

// Fails when a lost device is passed over in silence, or a frame is lost although the CPU may take
// over.
TEST(DeviceLoss, GoesOnWithTheCpuOnRequest) {
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

// As above, when the frame was late before: the frame that waits and the one that comes.
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

// Fails when the element tries for ever.
TEST(DeviceLoss, SecondLossEndsTheStream) {
  Script told;
  told.lose_device_on_submit = 1;
  told.lost_again = true;
  Fake fake("on-device-loss=cpu", told);
  fake->start();
  ASSERT_EQ(fake.push(0), GST_FLOW_OK);
  EXPECT_EQ(fake.push(1), GST_FLOW_ERROR);
  EXPECT_NE(fake->last_error().find("device lost"), std::string::npos);
}

// Fails when the loss is hidden unless asked to.
TEST(DeviceLoss, EndsTheStreamByDefault) {
  Script told;
  told.lose_device_on_wait = 1;
  Fake fake("", told);
  fake->start();
  ASSERT_EQ(fake.push(0), GST_FLOW_OK);
  EXPECT_EQ(fake.push(1), GST_FLOW_ERROR);
  const std::string text = fake->last_error();
  EXPECT_NE(text.find("device lost in wait"), std::string::npos) << text;
}

// Fails when a failed creation leaves half an operator, or its reason does not reach the user.
TEST(Errors, CreationFails) {
  for (const bool footprint : {true, false}) {
    for (const Status status :
         {Status::kInvalidArgument, Status::kOutOfMemory, Status::kBackendUnavailable,
          Status::kCorruptFile, Status::kIoError, Status::kSystem}) {
      Script told;
      (footprint ? told.fail_footprint : told.fail_create) = 0;
      told.failure = status;
      Fake fake("", told);
      fake->start();
      EXPECT_EQ(fake.push(0), GST_FLOW_NOT_NEGOTIATED);
      EXPECT_NE(fake->last_error().find("failed as told"), std::string::npos);
      // The same element works once the reason is gone.
      script.fail_create = script.fail_footprint = -1;
      fake->set_video({GST_VIDEO_FORMAT_GRAY8, 32, 32});
      EXPECT_EQ(fake.push(1), GST_FLOW_OK);
      EXPECT_EQ(fake.pull().size(), 1u);
    }
  }
}

// Fails when operators are made and not destroyed, or destroyed twice.
TEST(Lifecycle, EveryOperatorIsDestroyedOnce) {
  {
    Fake fake("", {});
    fake->start();
    fake.push(0);
    fake->set_video({GST_VIDEO_FORMAT_GRAY8, 48, 32});
    fake.push(1);
    // The same picture at another rate needs no new operator.
    fake->set_video({GST_VIDEO_FORMAT_GRAY8, 48, 32, 50, 1});
    fake.push(2);
    EXPECT_EQ(script.creations, 2);
    EXPECT_GE(script.resets, 2);
  }
  EXPECT_EQ(script.destructions, script.creations);
}

}  // namespace
}  // namespace ocellus::gst_test
