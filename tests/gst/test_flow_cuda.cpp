// Optical flow of pictures in CUDA memory: negotiation, contexts, copies, and leaks.
#include <algorithm>
#include <atomic>
#include <set>
#include <tuple>

#include "gst/cuda_fixture.h"

#ifdef OCELLUS_FAKE_CUDA
#include "elements.h"
#endif

namespace ocellus::gst_test {
namespace {

class FlowCuda : public CudaTest {};

constexpr Video kVideo = kCudaVideo;

// Returns the fields for pictures in system memory, for comparison.
std::vector<std::vector<float>> fields_in_system_memory(const Video& video, int frames) {
  Harness harness("backend=cuda", video);
  harness.start();
  harness.push_frames(0, frames, 0.7, -0.4);
  harness.event(gst_event_new_eos());
  std::vector<std::vector<float>> fields;
  std::vector<GstBuffer*> out = harness.pull();
  for (GstBuffer* buffer : out) fields.push_back(field_of(flow_of(buffer)));
  unref_all(out);
  return fields;
}

class FlowCudaFormats
    : public FlowCuda,
      public testing::WithParamInterface<std::tuple<GstVideoFormat, std::pair<int, int>, bool>> {};

// Fails when a picture in CUDA memory gives a field other than the same picture in system memory,
// or when the picture, its metas or its times change. Also fails when a picture in the offered
// context is copied, or a copy from another context is not counted.
// Promises: GST-005.
TEST_P(FlowCudaFormats, MatchesTheFieldOfSystemMemory) {
  const auto& [format, size, foreign] = GetParam();
  const Video video{format, size.first, size.second};
  const auto expected = fields_in_system_memory(video, 4);
  ASSERT_EQ(expected.size(), 4u);
  {
    Harness harness("backend=cuda", video);
    start_cuda(harness, video);
    GstCudaContext* context =
        foreign ? gst_cuda_context_new(0) : offered_context(harness.get()->srcpad);
    ASSERT_NE(context, nullptr);
    GstBufferPool* pool = cuda_pool(context, video);
    std::vector<std::vector<guint8>> sent;
    std::vector<GstMemory*> memories;
    for (int i = 0; i < 4; ++i) {
      GstBuffer* picture = harness.frame(i, 0.7, -0.4);
      sent.push_back(planes_of(picture, video));
      GstBuffer* buffer = to_cuda(pool, video, picture);
      gst_buffer_unref(picture);
      gst_buffer_add_video_region_of_interest_meta(buffer, "mine", 1, 2, 3, 4);
      memories.push_back(first_memory(buffer));
      ASSERT_EQ(harness.push(buffer), GST_FLOW_OK) << harness.last_error();
    }
    harness.event(gst_event_new_eos());
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), 4u);
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_EQ(first_memory(out[i]), memories[i])
          << "the output does not have the memory of the input";
      EXPECT_EQ(GST_BUFFER_PTS(out[i]), harness.pts(static_cast<int>(i)));
      EXPECT_NE(gst_buffer_get_video_region_of_interest_meta_id(out[i], 0), nullptr);
      EXPECT_NE(gst_buffer_get_video_meta(out[i]), nullptr);
      const GstOcellusMeta* flow = flow_of(out[i]);
      ASSERT_NE(flow, nullptr);
      EXPECT_EQ(plane_of(flow, "u").width, size.first);
      EXPECT_EQ(plane_of(flow, "u").height, size.second);
      if (kComputes) {
        EXPECT_EQ(field_of(flow), expected[i]) << "frame " << i;
      }
      // In GStreamer 1.22 chroma of odd height overlaps, so only the other cases compare the host's
      // copy.
      if (size.second % 2 == 0 || format != GST_VIDEO_FORMAT_I420) {
        EXPECT_EQ(planes_of(out[i], video), sent[i]) << "frame " << i;
      }
    }
    unref_all(out);
    EXPECT_EQ(harness.stat("copies"), foreign ? 4u : 0u);
    GstCaps* caps = gst_pad_get_current_caps(harness.get()->sinkpad);
    EXPECT_TRUE(gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:CUDAMemory"));
    gst_caps_unref(caps);
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
    gst_object_unref(context);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FlowCudaFormats,
    testing::Combine(testing::Values(GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12,
                                     GST_VIDEO_FORMAT_BGRx, GST_VIDEO_FORMAT_RGB),
                     testing::Values(std::pair{384, 288}, std::pair{385, 289}, std::pair{385, 385}),
                     testing::Bool()));

// Fails when the upload of pixels that the host wrote last is not counted as a copy.
// Promises: GST-005.
TEST_F(FlowCuda, UploadsOfHostPixelsAreCounted) {
  Harness harness("backend=cuda", kVideo);
  start_cuda(harness, kVideo);
  GstCudaContext* context = offered_context(harness.get()->srcpad);
  ASSERT_NE(context, nullptr);
  GstBufferPool* pool = cuda_pool(context, kVideo);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(harness.push(cuda_frame(harness, pool, kVideo, i, i != 1)), GST_FLOW_OK);
  EXPECT_EQ(harness.stat("copies"), 1u);
  harness.drop_output();
  drop_pool(pool);
  gst_object_unref(context);
}

// Fails when frames of two contexts in one stream are mixed up.
TEST_F(FlowCuda, ContextsMayChangeFromFrameToFrame) {
  const auto expected = fields_in_system_memory(kVideo, 6);
  Harness harness("backend=cuda", kVideo);
  start_cuda(harness, kVideo);
  GstCudaContext* ours = offered_context(harness.get()->srcpad);
  GstCudaContext* other = gst_cuda_context_new(0);
  GstBufferPool* pools[] = {cuda_pool(ours, kVideo), cuda_pool(other, kVideo)};
  for (int i = 0; i < 6; ++i) {
    GstBuffer* picture = harness.frame(i, 0.7, -0.4);
    ASSERT_EQ(harness.push(to_cuda(pools[i % 2], kVideo, picture)), GST_FLOW_OK);
    gst_buffer_unref(picture);
  }
  std::vector<GstBuffer*> out = harness.pull();
  ASSERT_EQ(out.size(), 5u);
  for (std::size_t i = 0; i < out.size() && kComputes; ++i)
    EXPECT_EQ(field_of(flow_of(out[i])), expected[i]) << i;
  unref_all(out);
  EXPECT_EQ(harness.stat("copies"), 3u);
  for (GstBufferPool* pool : pools) drop_pool(pool);
  gst_object_unref(ours);
  gst_object_unref(other);
}

GstCaps* caps_at(GstPad* pad) {
  return gst_pad_peer_query_caps(pad, nullptr);
}

bool has_cuda(const GstCaps* caps) {
  for (guint i = 0; i < gst_caps_get_size(caps); ++i)
    if (gst_caps_features_contains(gst_caps_get_features(caps, i), "memory:CUDAMemory"))
      return true;
  return false;
}

// Fails when caps that change only the memory of the pictures overtake frames that are held back,
// or drop them.
TEST_F(FlowCuda, MemoryMayChangeWithinTheStream) {
  Harness harness("backend=cuda method=kernels taps=15x15x9", kVideo);
  GstBufferPool* pool = nullptr;
  GstCudaContext* context = nullptr;
  constexpr int kFrames = 10;
  constexpr int kHeldBack = 4;
  int at = 0;
  std::vector<GstBuffer*> out;
  for (const bool in_cuda : {false, true, false}) {
    if (in_cuda)
      start_cuda(harness, kVideo);
    else
      harness.start();
    for (GstBuffer* buffer : harness.pull()) out.push_back(buffer);
    EXPECT_EQ(out.size(), static_cast<std::size_t>(at)) << "frames are still held back, or lost";
    if (in_cuda) {
      context = offered_context(harness.get()->srcpad);
      ASSERT_NE(context, nullptr);
      pool = cuda_pool(context, kVideo);
    }
    for (const int end = at + kFrames; at < end; ++at) {
      GstBuffer* buffer = in_cuda ? cuda_frame(harness, pool, kVideo, at) : harness.frame(at);
      ASSERT_EQ(harness.push(buffer), GST_FLOW_OK) << at << harness.last_error();
    }
    for (GstBuffer* buffer : harness.pull()) out.push_back(buffer);
    EXPECT_EQ(out.size(), static_cast<std::size_t>(at - kHeldBack));
  }
  harness.event(gst_event_new_eos());
  for (GstBuffer* buffer : harness.pull()) out.push_back(buffer);
  ASSERT_EQ(out.size(), static_cast<std::size_t>(at));
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(GST_BUFFER_PTS(out[i]), harness.pts(static_cast<int>(i)));
    EXPECT_EQ(gst_is_cuda_memory(first_memory(out[i])) != FALSE, i / kFrames == 1) << i;
    const GstOcellusMeta* flow = flow_of(out[i]);
    ASSERT_NE(flow, nullptr) << i;
    EXPECT_EQ(flow->described_pts, GST_BUFFER_PTS(out[i])) << i;
  }
  unref_all(out);
  drop_pool(pool);
  gst_object_unref(context);
}

// Fails when an element on the CPU accepts CUDA memory, or one on a device does not.
TEST_F(FlowCuda, CapsFollowTheBackend) {
  for (const bool cuda : {false, true}) {
    Harness harness(cuda ? "backend=cuda" : "backend=cpu", kVideo);
    GstCaps* before = caps_at(harness.get()->srcpad);
    EXPECT_EQ(has_cuda(before), cuda);
    gst_caps_unref(before);
    harness.start();
    GstCaps* after = caps_at(harness.get()->srcpad);
    // The sink pad of the harness accepts its own caps.
    gst_caps_unref(after);
    GstQuery* query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
    EXPECT_EQ(gst_pad_peer_query(harness.get()->srcpad, query) != FALSE, cuda);
    gst_query_unref(query);
  }
  Harness gray("backend=cuda", kVideo);
  GstCaps* caps = caps_at(gray.get()->srcpad);
  GstCaps* wanted = gst_caps_from_string("video/x-raw(memory:CUDAMemory), format=GRAY8");
  EXPECT_FALSE(gst_caps_can_intersect(caps, wanted))
      << "GStreamer's CUDA library does not support gray formats";
  gst_caps_unref(caps);
  gst_caps_unref(wanted);
}

// Fails when an element on the CPU reads CUDA memory, or the message does not name the solution.
TEST_F(FlowCuda, CudaMemoryOnTheCpuIsRefusedWithAReason) {
  Harness harness("backend=cpu", kVideo);
  start_cuda(harness, kVideo);
  GstBuffer* buffer = harness.frame(0);
  EXPECT_EQ(harness.push(buffer), GST_FLOW_NOT_NEGOTIATED);
  const std::string text = harness.last_error();
  EXPECT_NE(text.find("cudadownload"), std::string::npos) << text;
}

// Fails when ordinary memory with caps for CUDA memory is read as device memory.
TEST_F(FlowCuda, OrdinaryMemoryWithCudaCapsIsRefused) {
  Harness harness("backend=cuda", kVideo);
  start_cuda(harness, kVideo);
  EXPECT_EQ(harness.push(harness.frame(0)), GST_FLOW_ERROR);
  const std::string text = harness.last_error();
  EXPECT_NE(text.find("memory:CUDAMemory"), std::string::npos) << text;
}

// Fails when a picture whose meta needs more memory than it has is read past its end.
TEST_F(FlowCuda, VideoMetaBeyondTheMemoryIsRefused) {
  Harness harness("backend=cuda", kVideo);
  start_cuda(harness, kVideo);
  GstCudaContext* context = offered_context(harness.get()->srcpad);
  GstBufferPool* pool = cuda_pool(context, kVideo);
  GstBuffer* buffer = cuda_frame(harness, pool, kVideo, 0);
  gst_buffer_get_video_meta(buffer)->stride[0] *= 4;
  EXPECT_EQ(harness.push(buffer), GST_FLOW_ERROR);
  EXPECT_NE(harness.last_error().find("too small"), std::string::npos);
  drop_pool(pool);
  gst_object_unref(context);
}

/// Returns the pool that is proposed to upstream, and in `min` its minimum number of buffers.
GstBufferPool* proposed_pool(Harness& harness, guint* min) {
  GstCaps* caps = cuda_caps_of(kVideo);
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  gst_caps_unref(caps);
  GstBufferPool* pool = nullptr;
  EXPECT_TRUE(gst_pad_peer_query(harness.get()->srcpad, query));
  EXPECT_GE(gst_query_get_n_allocation_pools(query), 1u);
  if (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_parse_nth_allocation_pool(query, 0, &pool, nullptr, min, nullptr);
  EXPECT_TRUE(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr));
  gst_query_unref(query);
  return pool;
}

// Fails when upstream is not offered a pool in the primary context with enough buffers for the
// frames that are held back.
TEST_F(FlowCuda, ProposesAPoolInThePrimaryContext) {
  Harness harness("backend=cuda method=kernels taps=15x15x20", kVideo);
  start_cuda(harness, kVideo);
  GstCudaContext* context = offered_context(harness.get()->srcpad);
  guint min = 0;
  GstBufferPool* pool = proposed_pool(harness, &min);
  ASSERT_TRUE(GST_IS_CUDA_BUFFER_POOL(pool));
  EXPECT_EQ(gst_cuda_context_get_handle(GST_CUDA_BUFFER_POOL(pool)->context),
            gst_cuda_context_get_handle(context));
  EXPECT_GE(min, 10u);
  ASSERT_TRUE(gst_buffer_pool_set_active(pool, TRUE));
  ASSERT_EQ(harness.push(cuda_frame(harness, pool, kVideo, 0)), GST_FLOW_OK);
  EXPECT_EQ(harness.stat("copies"), 0u);
  harness.event(gst_event_new_flush_start());
  harness.event(gst_event_new_flush_stop(TRUE));
  drop_pool(pool);
  gst_object_unref(context);
}

// Fails when downstream's pool is not proposed although its pictures need no copy, or is proposed
// although they do.
TEST_F(FlowCuda, ProposesDownstreamsPoolInTheSameContext) {
  for (const bool foreign : {false, true}) {
    Harness harness("backend=cuda", kVideo);
    start_cuda(harness, kVideo);
    GstCudaContext* context =
        foreign ? gst_cuda_context_new(0) : offered_context(harness.get()->srcpad);
    GstBufferPool* theirs = cuda_pool(context, kVideo);
    PoolOffer offer{theirs, 10000, 3, 0, false};
    offer_pool(harness, offer);
    guint min = 0;
    GstBufferPool* pool = proposed_pool(harness, &min);
    EXPECT_EQ(pool == theirs, !foreign);
    EXPECT_GE(min, 5u) << "the frame held back and the one in the operator are not included";
    gst_clear_object(&pool);
    drop_pool(theirs);
    gst_object_unref(context);
  }
}

// Fails when elements offer different contexts, or a context other than the primary one.
TEST_F(FlowCuda, AllOfferThePrimaryContext) {
  Harness first("backend=cuda", kVideo);
  Harness second("backend=auto", kVideo);
  GstCudaContext* a = offered_context(first.get()->srcpad);
  GstCudaContext* b = offered_context(second.get()->sinkpad);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(gst_cuda_context_get_handle(a), gst_cuda_context_get_handle(b));
  gst_object_unref(a);
  gst_object_unref(b);
}

// Fails when an element offers its context although the application set another one. Its neighbors
// would use different contexts.
TEST_F(FlowCuda, OffersNoContextWhenAnotherWasSet) {
  GstCudaContext* other = gst_cuda_context_new(0);
  {
    Harness harness("backend=cuda", kVideo);
    GstContext* context = gst_context_new_cuda_context(other);
    gst_element_set_context(harness.element(), context);
    gst_context_unref(context);
    start_cuda(harness, kVideo);
    EXPECT_EQ(offered_context(harness.get()->srcpad), nullptr);
    GstBufferPool* pool = cuda_pool(other, kVideo);
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(harness.push(cuda_frame(harness, pool, kVideo, i)), GST_FLOW_OK);
    EXPECT_EQ(harness.stat("copies"), 3u);
    harness.drop_output();
    drop_pool(pool);
  }
  gst_object_unref(other);
}

// Fails when drawing has no effect, is not counted as a copy, or changes a picture that somebody
// else references.
TEST_F(FlowCuda, DrawsThroughTheHost) {
  for (const bool shared : {false, true}) {
    Harness harness("backend=cuda draw=true align=false", kVideo);
    start_cuda(harness, kVideo);
    GstCudaContext* context = offered_context(harness.get()->srcpad);
    GstBufferPool* pool = cuda_pool(context, kVideo);
    std::vector<GstBuffer*> kept;
    std::vector<std::vector<guint8>> sent;
    for (int i = 0; i < 3; ++i) {
      GstBuffer* picture = harness.frame(i, 3.0, 1.0);
      sent.push_back(planes_of(picture, kVideo));
      GstBuffer* buffer = to_cuda(pool, kVideo, picture);
      gst_buffer_unref(picture);
      if (shared) kept.push_back(gst_buffer_ref(buffer));
      ASSERT_EQ(harness.push(buffer), GST_FLOW_OK) << harness.last_error();
    }
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(harness.stat("copies"), 3u);
    EXPECT_TRUE(gst_is_cuda_memory(first_memory(out[2])));
    // The device must see the drawing, so it is uploaded and read back.
    EXPECT_TRUE(settle_on_device(out[2]));
    if (kComputes) {
      EXPECT_NE(planes_of(out[2], kVideo), sent[2]);
    }
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(planes_of(kept[i], kVideo), sent[i]);
    unref_all(out);
    unref_all(kept);
    drop_pool(pool);
    gst_object_unref(context);
  }
}

// Fails when the field is in memory from which the library must copy once more, or is freed with
// the element.
TEST_F(FlowCuda, FieldsAreInPinnedMemory) {
  GstBuffer* kept = nullptr;
  std::vector<float> field;
  const auto is_pinned = [](const void* address) {
#ifdef OCELLUS_FAKE_CUDA
    for (void* block : test::fake_driver().host_blocks)
      if (address >= block && address < static_cast<char*>(block) + (1 << 20)) return true;
    return false;
#else
    cudaPointerAttributes attributes{};
    return cudaPointerGetAttributes(&attributes, address) == cudaSuccess &&
           attributes.type == cudaMemoryTypeHost;
#endif
  };
  {
    Harness harness("backend=cuda", kVideo);
    harness.start();
    harness.push_frames(0, 4);
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), 3u);
    for (GstBuffer* buffer : out) EXPECT_TRUE(is_pinned(plane_of(flow_of(buffer), "u").data));
    kept = gst_buffer_ref(out[1]);
    field = field_of(flow_of(kept));
    unref_all(out);
    // More buffers than the engine has pinned memory for: the others are in ordinary memory.
    for (int i = 4; i < 24; ++i) ASSERT_EQ(harness.push(harness.frame(i)), GST_FLOW_OK);
    out = harness.pull();
    EXPECT_EQ(out.size(), 20u);
    const auto pinned = std::count_if(out.begin(), out.end(), [&](GstBuffer* buffer) {
      return is_pinned(plane_of(flow_of(buffer), "u").data);
    });
    EXPECT_GE(pinned, 4);
    EXPECT_LT(pinned, 20);
    unref_all(out);
  }
  EXPECT_TRUE(is_pinned(plane_of(flow_of(kept), "u").data));
  EXPECT_EQ(field_of(flow_of(kept)), field);
  gst_buffer_unref(kept);
}

// Fails when each frame allocates memory, a stream or a context, or output buffers are not reused.
// The tests of the library check its own allocations.
TEST_F(FlowCuda, FramesAllocateNothing) {
  for (const bool foreign : {false, true}) {
    Harness harness("backend=cuda", kVideo);
    start_cuda(harness, kVideo);
    GstCudaContext* context =
        foreign ? gst_cuda_context_new(0) : offered_context(harness.get()->srcpad);
    GstBufferPool* pool = cuda_pool(context, kVideo, 6);
    std::set<const void*> buffers;
    std::set<const void*> planes;
    std::set<const void*> memories;
    push_and_expect_nothing_new(harness, pool, 200, [&](GstBuffer* buffer) {
      buffers.insert(buffer);
      planes.insert(plane_of(flow_of(buffer), "u").data);
      memories.insert(first_memory(buffer));
    });
    EXPECT_LE(buffers.size(), 4u);
    EXPECT_LE(planes.size(), 5u);
    EXPECT_LE(memories.size(), 7u);
    drop_pool(pool);
    gst_object_unref(context);
  }
}

// Fails when starting and stopping leaks a context.
TEST_F(FlowCuda, StartingAndStoppingLeaksNoContext) {
  constexpr int kRounds = kComputes ? 30 : 1000;
  static std::atomic<int> alive{0};
  Harness harness("backend=cuda", kVideo);
  for (int round = 0; round < kRounds; ++round) {
    start_cuda(harness, kVideo);
    GstCudaContext* context = offered_context(harness.get()->srcpad);
    ASSERT_NE(context, nullptr);
    ++alive;
    g_object_weak_ref(
        G_OBJECT(context), [](gpointer, GObject*) { --alive; }, nullptr);
    GstBufferPool* pool = cuda_pool(context, kVideo);
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(harness.push(cuda_frame(harness, pool, kVideo, i)), GST_FLOW_OK);
    harness.drop_output();
    drop_pool(pool);
    gst_object_unref(context);
    ASSERT_EQ(gst_element_set_state(harness.element(), GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
    harness.count_messages(GST_MESSAGE_ANY);  // one of the messages holds the context
    ASSERT_EQ(alive, 0) << "round " << round;
    expect_nothing_left();
    ASSERT_EQ(gst_element_set_state(harness.element(), GST_STATE_PLAYING),
              GST_STATE_CHANGE_SUCCESS);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    harness.event(gst_event_new_stream_start("again"));
  }
}

// Fails when pipelines with several threads and two elements copy although the neighbors share a
// context. Also fails when copies from another context are not counted, or a context leaks.
TEST_F(FlowCuda, PipelinesShareTheContext) {
  for (const bool insist : {false, true}) {
    std::vector<GstBuffer*> kept;
    {
      Pipeline pipeline(
          std::string("videotestsrc pattern=ball num-buffers=40 ! "
                      "video/x-raw,format=NV12,width=160,height=120,framerate=30/1 ! "
                      "ocellustestupload insist=") +
          (insist ? "true" : "false") + " ! queue ! ocellusflow name=first backend=cuda ! " +
          // The fake driver supports one thread at a time.
          (kComputes ? "queue ! " : "") +
          "ocellusflow name=second backend=cuda method=kernels taps=15x15x5 ! queue ! " + kSink);
      int count = 0;
      Watch watch{[&](GstBuffer* buffer) {
        if (++count == 20) kept.push_back(gst_buffer_ref(buffer));
        ASSERT_TRUE(gst_is_cuda_memory(first_memory(buffer)));
        ASSERT_NE(flow_of(buffer), nullptr);
      }};
      watch.attach(pipeline);
      ASSERT_EQ(pipeline.run_to_end(), "");
      EXPECT_EQ(count, 40);
      for (const char* name : {"first", "second"}) {
        GstStructure* stats = nullptr;
        g_object_get(pipeline.by_name(name), "stats", &stats, nullptr);
        guint64 copies = G_MAXUINT64;
        gst_structure_get_uint64(stats, "copies", &copies);
        gst_structure_free(stats);
        // At the end the kernels of five frames read the last frame twice more.
        if (!insist) {
          EXPECT_EQ(copies, 0u) << name;
        } else {
          EXPECT_EQ(copies, std::string(name) == "first" ? 40u : 42u) << name;
        }
      }
    }
    // A picture outlives the pipeline and keeps its context.
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(planes_of(kept[0], {GST_VIDEO_FORMAT_NV12, 160, 120}).size(), 160u * 120 * 3 / 2);
    unref_all(kept);
    if (!HasFailure()) expect_nothing_left();
  }
}

#ifndef OCELLUS_FAKE_CUDA

// Fails when pictures in CUDA memory take longer than pictures that must be uploaded. The times are
// those of the element, from the arrival of a frame to its result, with frames back to back.
TEST_F(FlowCuda, Times) {
  for (const Video& video :
       {Video{GST_VIDEO_FORMAT_NV12, 640, 480}, Video{GST_VIDEO_FORMAT_NV12, 1920, 1080}}) {
    for (const char* properties : {"", " method=kernels kernels=foveated"}) {
      guint64 typical[3] = {};
      for (const int place : {0, 1, 2}) {
        Harness harness(std::string("backend=cuda") + properties, video);
        GstCudaContext* context = nullptr;
        GstBufferPool* pool = nullptr;
        if (place > 0) {
          start_cuda(harness, video);
          context = place == 1 ? offered_context(harness.get()->srcpad) : gst_cuda_context_new(0);
          pool = cuda_pool(context, video, 4);
        } else {
          harness.start();
        }
        std::vector<GstBuffer*> pictures;
        for (int i = 0; i < 4; ++i)
          pictures.push_back(place > 0 ? cuda_frame(harness, pool, video, i) : harness.frame(i));
        for (int i = 0; i < 1000; ++i) {
          GstBuffer* buffer = gst_buffer_copy(pictures[static_cast<std::size_t>(i % 4)]);
          GST_BUFFER_PTS(buffer) = harness.pts(i);
          ASSERT_EQ(harness.push(buffer), GST_FLOW_OK);
          harness.drop_output();
        }
        typical[place] = harness.stat("p50");
        g_print("%dx%d%s, %s: p50 %.3f ms, p99 %.3f ms, %d copies\n", video.width, video.height,
                properties,
                place == 0   ? "ordinary memory"
                : place == 1 ? "CUDA memory"
                             : "CUDA memory of another context",
                static_cast<double>(typical[place]) / 1e6,
                static_cast<double>(harness.stat("p99")) / 1e6,
                static_cast<int>(harness.stat("copies")));
        unref_all(pictures);
        if (pool != nullptr) drop_pool(pool);
        gst_clear_object(&context);
      }
      EXPECT_LT(typical[1], typical[0]);
    }
  }
}

// Fails when this element and GStreamer's own elements do not use the same context, in either
// order.
TEST_F(FlowCuda, SharesTheContextWithGStreamersElements) {
  GstElementFactory* upload = gst_element_factory_find("cudaupload");
  if (upload == nullptr)
    GTEST_SKIP() << "no cudaupload: GStreamer 1.22 omits it if the driver has no video codecs";
  gst_object_unref(upload);
  GstElementFactory* scale = gst_element_factory_find("cudascale");
  const bool converts = scale != nullptr;  // registered only if NVRTC is available
  gst_clear_object(&scale);
  for (const char* line :
       {"cudaupload ! ocellusflow name=flow backend=cuda ! cudadownload ! ",
        "cudaupload ! queue ! ocellusflow name=flow backend=cuda ! queue ! cudadownload ! ",
        "cudaupload ! cudascale ! video/x-raw(memory:CUDAMemory),width=200,height=150 ! "
        "ocellusflow name=flow ! cudaconvert ! video/x-raw(memory:CUDAMemory),format=BGRx ! "
        "cudadownload ! "}) {
    if (!converts && std::string(line).find("cudascale") != std::string::npos) continue;
    Pipeline pipeline(std::string("videotestsrc pattern=ball num-buffers=20 ! "
                                  "video/x-raw,format=NV12,width=160,height=120 ! ") +
                      line + kSink);
    int count = 0;
    Watch watch{[&count](GstBuffer*) { ++count; }};
    watch.attach(pipeline);
    EXPECT_EQ(pipeline.run_to_end(), "") << line;
    EXPECT_EQ(count, 20) << line;
    GstStructure* stats = nullptr;
    g_object_get(pipeline.by_name("flow"), "stats", &stats, nullptr);
    guint64 copies = G_MAXUINT64;
    gst_structure_get_uint64(stats, "copies", &copies);
    gst_structure_free(stats);
    EXPECT_EQ(copies, 0u) << line;
  }
}

#endif

#ifdef OCELLUS_FAKE_CUDA

// Fails when a device loss at any call of a frame hangs the stream, is not reported with the call,
// or is not handled as on-device-loss specifies.
TEST_F(FlowCuda, EveryCallOfAFrameMayLoseTheDevice) {
  lose_at_every_call(
      "ocellusflow", [](GstBuffer* buffer) { return flow_of(buffer) != nullptr; }, 20);
}

// Fails when a failed copy from another context is not reported.
TEST_F(FlowCuda, CopyFromAnotherContextMayLoseTheDevice) {
  lose_in_second_frame("ocellusflow", true, "cuMemcpy3DPeerAsync");
}

#else

// Fails when a real device loss hangs a running pipeline, is not reported, or is not handled as
// on-device-loss specifies. A kernel that writes to an invalid address causes the loss. The
// pipelines run in separate processes, because a process cannot use the device again.
TEST_F(FlowCuda, HandlesTheLossOfARealDevice) {
  const char* program = std::getenv("OCELLUS_LOST_DEVICE");
  if (program == nullptr) GTEST_SKIP() << "OCELLUS_LOST_DEVICE is not set; run by ctest";
  for (const std::string memory : {"system", "cuda", "foreign"}) {
    for (const std::string policy : {"error", "cpu"}) {
      int status = 0;
      const std::string text =
          run_command(std::string(program) + " " + policy + " " + memory, &status);
      SCOPED_TRACE(policy + " " + memory + "\n" + text);
      EXPECT_TRUE(WIFEXITED(status))
          << "the process was killed by a signal, which is SIGALRM if it hung";
      EXPECT_EQ(WEXITSTATUS(status), 0);
      EXPECT_NE(text.find("an illegal memory access was encountered (700)"), std::string::npos);
      if (policy == "error") {
        EXPECT_NE(text.find("ERROR flow: cu"), std::string::npos);
        EXPECT_NE(text.find("backend cuda:0"), std::string::npos);
      } else if (memory != "system") {
        // A fatal error destroys all contexts of the process, also those of GStreamer.
        EXPECT_NE(text.find("cudadownload"), std::string::npos);
      } else {
        EXPECT_NE(text.find("WARNING The device was lost. The element continues on the CPU."),
                  std::string::npos);
        EXPECT_NE(text.find("EOS, 40 frames, 40 fields"), std::string::npos);
        EXPECT_NE(text.find("backend cpu"), std::string::npos);
      }
    }
  }
}

#endif

}  // namespace
}  // namespace ocellus::gst_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gst_init(&argc, &argv);
  ocellus::gst_test::register_test_upload();
#ifdef OCELLUS_FAKE_CUDA
  gst_ocellus_register_elements(nullptr);
#else
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    g_print("no CUDA device\n");
    return 0;
  }
  cudaFree(nullptr);  // keeps the primary context, which each element would otherwise create again
#endif
  const int result = RUN_ALL_TESTS();
  gst_deinit();
  return result;
}
