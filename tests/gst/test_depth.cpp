// Several frames in flight: the order of the output, the reported latency, and the handling of the
// frames that the operator has.
#include "gst/fake_element.h"

namespace ocellus::gst_test {
namespace {

// With this script a frame is pushed only when its slot is needed.
Script slow(int depth) {
  Script told;
  told.depth = depth;
  told.slow = true;
  return told;
}

Outputs own_results(int first, int end, bool late = false) {
  Outputs outputs;
  for (int i = first; i < end; ++i) outputs.push_back({i, i, false, late, false});
  return outputs;
}

// Fails when the operator has fewer frames than `depth`, when a frame is lost or reordered, or when
// frames are missing at the end of the stream.
TEST(Depth, PushesAllFramesInOrder) {
  for (int depth = 1; depth <= kMaxDepth; ++depth) {
    for (const bool pictures : {false, true}) {
      Script told = slow(depth);
      told.pictures = pictures;
      Fake fake("", told);
      fake->start();
      int out = 0;
      for (int i = 0; i < 12; ++i) {
        ASSERT_EQ(fake.push(i), GST_FLOW_OK);
        const Outputs outputs = fake.pull();
        EXPECT_EQ(outputs.size(), i + 1 < depth ? 0u : 1u) << "depth " << depth << " frame " << i;
        for (const Fake::Output& output : outputs) EXPECT_EQ(output.picture, out++);
      }
      fake->event(gst_event_new_eos());
      for (const Fake::Output& output : fake.pull()) {
        EXPECT_EQ(output.picture, out);
        EXPECT_EQ(output.result, out + (pictures ? kMark : 0));
        ++out;
      }
      EXPECT_EQ(out, 12) << "depth " << depth;
      EXPECT_EQ(fake->stat("frames"), 12u);
    }
  }
}

// Fails when a finished frame waits for others.
TEST(Depth, PushesFinishedFramesAtOnce) {
  Script told;
  told.depth = 3;
  Fake fake("", told);
  fake->start();
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(fake.push(i), GST_FLOW_OK);
    EXPECT_EQ(fake.pull(), own_results(i, i + 1));
  }
}

// Fails when frames in flight are missing in the latency, or are counted together with the same
// frames that are held back.
// Promises: GST-002.
TEST(Depth, IsReportedAsLatency) {
  struct Case {
    int depth;
    float delay;
    guint frames;
  };
  for (const Case& item :
       {Case{1, 0.0f, 0}, Case{3, 0.0f, 2}, Case{1, 2.5f, 2}, Case{4, 2.5f, 5}}) {
    Script told = slow(item.depth);
    told.delay = item.delay;
    Fake fake("align=true", told);
    fake->start();
    EXPECT_EQ(gst_harness_query_latency(fake->get()), item.frames * 40 * GST_MSECOND);
    // This many frames arrive before the first one is pushed.
    for (int i = 0; i < 8; ++i) {
      fake.push(i);
      EXPECT_EQ(fake->drop_output(), static_cast<guint>(i) < item.frames ? 0 : 1)
          << "depth " << item.depth << " delay " << item.delay << " frame " << i;
    }
  }
}

// Fails when the latency at an unknown frame rate is not the time for which frames are kept.
TEST(Depth, LatencyWithoutAFrameRateIsMeasured) {
  Fake fake("", slow(3));
  fake->set_video({GST_VIDEO_FORMAT_GRAY8, 96, 64, 0, 1});
  fake->start();
  EXPECT_EQ(gst_harness_query_latency(fake->get()), 0u);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(fake.push_at(i, static_cast<GstClockTime>(i) * 10 * GST_MSECOND, 10 * GST_MSECOND),
              GST_FLOW_OK);
  EXPECT_EQ(gst_harness_query_latency(fake->get()), 20 * GST_MSECOND);
}

// Fails when the pool of upstream is not requested to be large enough for the frames in flight.
TEST(Depth, IsPartOfTheProposedAllocation) {
  for (const int depth : {1, 4}) {
    Fake fake("", slow(depth));
    fake->start();
    GstCaps* caps = caps_of(fake->video());
    GstQuery* query = gst_query_new_allocation(caps, TRUE);
    gst_pad_peer_query(fake->get()->srcpad, query);
    guint min = 0;
    ASSERT_GT(gst_query_get_n_allocation_pools(query), 0u);
    gst_query_parse_nth_allocation_pool(query, 0, nullptr, nullptr, &min, nullptr);
    EXPECT_GE(min, static_cast<guint>(depth) + 1);
    gst_query_unref(query);
    gst_caps_unref(caps);
  }
}

// Fails when the budget counts from the time at which the element waits for a frame instead of its
// arrival: frame 0 would not be late.
// Promises: GST-003.
TEST(Depth, BudgetCountsFromTheArrival) {
  for (const auto& [policy, expected] :
       {std::pair<std::string, Outputs>{"post", own_results(0, 1, true)},
        {"drop", {}},
        {"reuse", own_results(0, 1, true)},
        {"passthrough", own_results(0, 1, true)}}) {
    // The frame is done at the first wait with a deadline, but this is after the budget.
    Fake fake("budget=20000000 on-miss=" + policy, slow(2));
    fake->start();
    ASSERT_EQ(fake.push(0), GST_FLOW_OK);
    g_usleep(40000);
    ASSERT_EQ(fake.push(1), GST_FLOW_OK);
    Outputs outputs = fake.pull();
    // A wait with an immediate deadline finds frame 0 unfinished.
    EXPECT_EQ(fake->stat("misses"), 1u) << policy;
    EXPECT_EQ(fake->count_messages(GST_MESSAGE_QOS), 1) << policy;
    EXPECT_EQ(outputs, expected) << policy;
  }
}

// Fails when a frame that missed its budget keeps its picture until its slot is needed.
TEST(Depth, GivesUpLateFramesBeforeTheirSlotIsNeeded) {
  Script told = slow(4);
  told.late = {true};
  Fake fake("budget=20000000 on-miss=passthrough", told);
  fake->start();
  ASSERT_EQ(fake.push(0), GST_FLOW_OK);
  EXPECT_EQ(fake->drop_output(), 0);
  g_usleep(40000);
  ASSERT_EQ(fake.push(1), GST_FLOW_OK);
  EXPECT_EQ(fake.pull(), (Outputs{{0, -1, false, false, false}}));
  EXPECT_EQ(fake->stat("misses"), 1u);
}

// Fails when the output of a policy has a wrong frame, a wrong result, or a frame twice.
// Promises: GST-003.
TEST(Depth, OnMissPolicies) {
  const std::vector<std::pair<std::string, Outputs>> cases = {
      {"post",
       {{0, 0, false, false, false},
        {1, 1, false, true, false},
        {2, 2, false, true, false},
        {3, 3, false, false, false},
        {4, 4, false, false, false},
        {5, 5, false, false, false}}},
      {"drop",
       {{0, 0, false, false, false},
        {3, 3, false, false, false},
        {4, 4, false, false, false},
        {5, 5, false, false, false}}},
      {"reuse",
       {{0, 0, false, false, false},
        {1, 0, true, false, false},
        {2, 1, true, false, false},
        {3, 3, false, false, false},
        {4, 4, false, false, false},
        {5, 5, false, false, false}}},
      {"passthrough",
       {{0, 0, false, false, false},
        {1, -1, false, false, false},
        {2, -1, false, false, false},
        {3, 3, false, false, false},
        {4, 4, false, false, false},
        {5, 5, false, false, false}}},
  };
  for (const auto& [policy, outputs] : cases) {
    Script told = slow(2);
    told.late = {false, true, true};
    Fake fake(kLimit + policy, told);
    fake->start();
    for (int i = 0; i < 6; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
    fake->event(gst_event_new_eos());
    EXPECT_EQ(fake.pull(), outputs) << policy;
    EXPECT_EQ(fake->stat("frames"), 6u) << policy;
    EXPECT_EQ(fake->stat("misses"), 2u) << policy;
    EXPECT_EQ(script.luma, (std::vector<int>{0, 1, 2, 3, 4, 5})) << policy;
  }
}

// Fails when frames in flight are pushed after a flush, or their pictures are not released.
TEST(Depth, FlushDropsTheFramesInFlight) {
  Fake fake("", slow(4));
  fake->start();
  std::vector<GstBuffer*> kept;
  for (int i = 0; i < 3; ++i) {
    kept.push_back(gst_buffer_ref(fake.frame(i)));
    ASSERT_EQ(fake->push(kept.back()), GST_FLOW_OK);
  }
  fake->event(gst_event_new_flush_start());
  fake->event(gst_event_new_flush_stop(TRUE));
  EXPECT_EQ(fake->drop_output(), 0);
  for (GstBuffer* buffer : kept) EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(buffer), 1);
  unref_all(kept);
}

// Fails when a discontinuity or a DRAIN query leaves frames in flight, or when frames before and
// after it are mixed.
TEST(Depth, DiscontinuitiesAndQueriesFinishTheFramesInFlight) {
  for (const bool query : {false, true}) {
    Fake fake("", slow(4));
    fake->start();
    for (int i = 0; i < 3; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
    EXPECT_EQ(fake->drop_output(), 0);
    if (query) {
      GstQuery* drain = gst_query_new_drain();
      gst_pad_peer_query(fake->get()->srcpad, drain);
      gst_query_unref(drain);
    } else {
      ASSERT_EQ(fake.push_at(3, 3 * fake->pts(1), fake->pts(1), true), GST_FLOW_OK);
    }
    EXPECT_EQ(fake.pull(), own_results(0, 3));
    EXPECT_EQ(script.sequences, query ? (std::vector<std::uint64_t>{0, 1, 2})
                                      : (std::vector<std::uint64_t>{0, 1, 2, 0}));
  }
}

// Fails when pictures that are held back get results that describe other frames.
TEST(Depth, HeldPicturesGetTheirOwnResults) {
  Script told = slow(3);
  told.delay = 2.0f;
  Fake fake("align=true", told);
  fake->start();
  for (int i = 0; i < 7; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  fake->event(gst_event_new_eos());
  EXPECT_EQ(fake.pull(), (Outputs{{0, 2, false, false, false},
                                  {1, 3, false, false, false},
                                  {2, 4, false, false, false},
                                  {3, 5, false, false, false},
                                  {4, 6, false, false, false},
                                  {5, 6, false, false, true},
                                  {6, 6, false, false, true}}));
}

// Fails when a device loss loses a frame in flight or changes the order of the frames.
TEST(Depth, DeviceLossKeepsAllFrames) {
  for (const bool in_wait : {false, true}) {
    Script told = slow(3);
    (in_wait ? told.lose_device_on_wait : told.lose_device_on_submit) = 2;
    Fake fake("on-device-loss=cpu", told);
    fake->start();
    for (int i = 0; i < 6; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
    fake->event(gst_event_new_eos());
    EXPECT_EQ(fake.pull(), own_results(0, 6));
    EXPECT_EQ(script.creations, 2);
    EXPECT_EQ(fake->count_messages(GST_MESSAGE_ERROR), 0);
  }
}

// Fails when pictures are not released after an error.
TEST(Depth, FailureReleasesAllPictures) {
  Fake fake("", slow(3));
  fake->start();
  std::vector<GstBuffer*> kept;
  for (int i = 0; i < 3; ++i) {
    kept.push_back(gst_buffer_ref(fake.frame(i)));
    if (i == 2) script.lose_device_on_wait = 0;
    EXPECT_EQ(fake->push(kept.back()), i == 2 ? GST_FLOW_ERROR : GST_FLOW_OK);
  }
  EXPECT_NE(fake->last_error().find("device lost in wait"), std::string::npos);
  for (GstBuffer* buffer : kept) EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(buffer), 1);
  unref_all(kept);
}

// Fails when frames that were finished before an error are lost at the end of the stream, or when
// the error is posted twice.
TEST(Depth, FramesBeforeAFailureGoOut) {
  Fake fake("", slow(4));
  fake->start();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  script.lose_device_on_wait = 2;
  fake->event(gst_event_new_eos());
  EXPECT_EQ(fake.pull(), own_results(0, 2));
  EXPECT_EQ(fake->count_messages(GST_MESSAGE_ERROR), 1);
}

// Fails when a failed recovery is reported twice, or a later event reports it again.
TEST(Depth, AFailedRecoveryIsReportedOnce) {
  Script told = slow(3);
  told.lost_again = true;
  told.lose_device_on_submit = 2;
  Fake fake("on-device-loss=cpu", told);
  fake->start();
  ASSERT_EQ(fake.push(0), GST_FLOW_OK);
  ASSERT_EQ(fake.push(1), GST_FLOW_OK);
  EXPECT_EQ(fake.push(2), GST_FLOW_ERROR);
  fake->event(gst_event_new_eos());
  EXPECT_EQ(fake->count_messages(GST_MESSAGE_ERROR), 1);
}

// Fails when an event that belongs between two frames overtakes the frame before it.
TEST(Depth, EventsKeepTheirPlace) {
  Fake fake("", slow(4));
  fake->start();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  EXPECT_EQ(fake->drop_output(), 0);
  fake->event(gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "title", nullptr)));
  EXPECT_EQ(fake.pull(), own_results(0, 3));
  // The temporal state is kept.
  ASSERT_EQ(fake.push(3), GST_FLOW_OK);
  EXPECT_EQ(script.sequences, (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

// Fails when the mark of a dropped frame outlives a flush.
TEST(Depth, AFlushClearsTheMarkOfADroppedFrame) {
  Script told = slow(2);
  told.late = {true, false, false};
  Fake fake(kLimit + "drop", told);
  fake->start();
  ASSERT_EQ(fake.push(0), GST_FLOW_OK);
  ASSERT_EQ(fake.push(1), GST_FLOW_OK);
  EXPECT_EQ(fake->stat("dropped"), 1u);
  fake->event(gst_event_new_flush_start());
  fake->event(gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  fake->event(gst_event_new_segment(&segment));
  for (int i = 2; i < 5; ++i) ASSERT_EQ(fake.push(i), GST_FLOW_OK);
  std::vector<GstBuffer*> out = fake->pull();
  ASSERT_GE(out.size(), 2u);
  EXPECT_FALSE(GST_BUFFER_FLAG_IS_SET(out[1], GST_BUFFER_FLAG_DISCONT));
  unref_all(out);
}

}  // namespace
}  // namespace ocellus::gst_test
