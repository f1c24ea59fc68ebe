// ocellushalftone with pictures in CUDA memory: the location of the output, its chroma, copies, and
// leaks.
#include <set>
#include <tuple>

#include "gst/cuda_fixture.h"

namespace ocellus::gst_test {
namespace {

class CellularNetworkCuda : public CudaTest {};

constexpr Video kVideo = kCudaVideo;

/// Returns luma and chroma of the output for pictures in system memory, for comparison.
std::vector<std::vector<guint8>> pictures_in_system_memory(const std::string& properties,
                                                           const Video& video, int frames) {
  Harness harness(properties, video, "ocellushalftone");
  harness.start();
  harness.push_frames(0, frames);
  std::vector<std::vector<guint8>> pictures;
  std::vector<GstBuffer*> out = harness.pull();
  for (GstBuffer* buffer : out) pictures.push_back(planes_of(buffer, video));
  unref_all(out);
  return pictures;
}

class CellularNetworkCudaFormats
    : public CellularNetworkCuda,
      public testing::WithParamInterface<
          std::tuple<GstVideoFormat, std::pair<int, int>, bool, bool>> {};

// Fails when the output in CUDA memory differs from that in system memory, is not in device memory,
// overwrites the input, or has other chroma or colors. Also fails when a picture is copied although
// it is in the offered context, or when a copy from another context is not counted.
TEST_P(CellularNetworkCudaFormats, MatchesTheOutputOfSystemMemory) {
  const auto& [format, size, foreign, keep] = GetParam();
  const Video video{format, size.first, size.second};
  const std::string properties = std::string("backend=cuda chroma=") + (keep ? "keep" : "neutral");
  const auto expected = pictures_in_system_memory(properties, video, 3);
  ASSERT_EQ(expected.size(), 3u);
  Harness harness(properties, video, "ocellushalftone");
  start_cuda(harness, video);
  GstCudaContext* offered = offered_context(harness.get()->srcpad);
  ASSERT_NE(offered, nullptr);
  GstCudaContext* context =
      foreign ? gst_cuda_context_new(0) : GST_CUDA_CONTEXT(gst_object_ref(offered));
  GstBufferPool* pool = cuda_pool(context, video);
  // Without computation, luma and pixels with color are undefined.
  const bool defined = kComputes || !is_color(format);
  const gsize luma = static_cast<gsize>(size.first) * static_cast<gsize>(size.second);
  for (std::size_t i = 0; i < 3; ++i) {
    GstBuffer* buffer = cuda_frame(harness, pool, video, static_cast<int>(i));
    gst_buffer_add_video_region_of_interest_meta(buffer, "mine", 1, 2, 3, 4);
    GstBuffer* sent = gst_buffer_ref(buffer);
    const std::vector<guint8> before = planes_of(sent, video);
    ASSERT_EQ(harness.push(buffer), GST_FLOW_OK) << harness.last_error();
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_TRUE(gst_is_cuda_memory(first_memory(out[0])));
    EXPECT_EQ(gst_cuda_context_get_handle(GST_CUDA_MEMORY_CAST(first_memory(out[0]))->context),
              gst_cuda_context_get_handle(offered));
    EXPECT_NE(first_memory(out[0]), first_memory(sent));
    EXPECT_EQ(GST_BUFFER_PTS(out[0]), harness.pts(static_cast<int>(i)));
    EXPECT_NE(gst_buffer_get_video_region_of_interest_meta_id(out[0], 0), nullptr);
    EXPECT_NE(cells_of(out[0]), nullptr);
    std::vector<guint8> got = planes_of(out[0], video);
    std::vector<guint8> wanted = expected[i];
    ASSERT_EQ(got.size(), wanted.size());
    if (!kComputes && defined) {
      got.erase(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(luma));
      wanted.erase(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(luma));
    }
    // In GStreamer 1.22 chroma of odd height overlaps.
    if (size.second % 2 == 0 || format != GST_VIDEO_FORMAT_I420) {
      if (defined) {
        EXPECT_EQ(got, wanted) << "frame " << i;
      }
      EXPECT_EQ(planes_of(sent, video), before) << "the input picture was overwritten";
    }
    unref_all(out);
    gst_buffer_unref(sent);
  }
  EXPECT_EQ(harness.stat("copies"), foreign ? 3u : 0u);
  drop_pool(pool);
  gst_object_unref(context);
  gst_object_unref(offered);
}

INSTANTIATE_TEST_SUITE_P(
    All, CellularNetworkCudaFormats,
    testing::Combine(testing::Values(GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12,
                                     GST_VIDEO_FORMAT_BGRA, GST_VIDEO_FORMAT_RGBx,
                                     GST_VIDEO_FORMAT_BGR),
                     testing::Values(std::pair{384, 288}, std::pair{385, 289}), testing::Bool(),
                     testing::Bool()));

// Fails when each frame allocates memory, a stream or a context, or pictures are not reused.
TEST_F(CellularNetworkCuda, FramesAllocateNothing) {
  for (const char* properties : {"backend=cuda", "backend=cuda chroma=keep warm-start=true"}) {
    Harness harness(properties, kVideo, "ocellushalftone");
    start_cuda(harness, kVideo);
    GstCudaContext* context = offered_context(harness.get()->srcpad);
    GstBufferPool* pool = cuda_pool(context, kVideo, 4);
    std::set<const void*> buffers;
    std::set<const void*> memories;
    push_and_expect_nothing_new(harness, pool, 100, [&](GstBuffer* buffer) {
      buffers.insert(buffer);
      memories.insert(first_memory(buffer));
    });
    EXPECT_LE(buffers.size(), 4u);
    EXPECT_LE(memories.size(), 4u);
    drop_pool(pool);
    gst_object_unref(context);
  }
}

// Fails when downstream's pool is not used although it is in the offered context, or is used in
// another context, where the operator cannot write.
TEST_F(CellularNetworkCuda, UsesDownstreamsPoolInTheSameContext) {
  for (const bool foreign : {false, true}) {
    Harness harness("backend=cuda", kVideo, "ocellushalftone");
    start_cuda(harness, kVideo);
    GstCudaContext* offered = offered_context(harness.get()->srcpad);
    GstCudaContext* context =
        foreign ? gst_cuda_context_new(0) : GST_CUDA_CONTEXT(gst_object_ref(offered));
    GstBufferPool* theirs = gst_cuda_buffer_pool_new(context);
    PoolOffer offer{theirs, 10000, 1, 0, true};
    offer_pool(harness, offer);
    GstBufferPool* pool = cuda_pool(offered, kVideo);
    ASSERT_EQ(harness.push(cuda_frame(harness, pool, kVideo, 0)), GST_FLOW_OK)
        << harness.last_error();
    EXPECT_EQ(gst_buffer_pool_is_active(theirs) != FALSE, !foreign);
    harness.drop_output();
    gst_element_set_state(harness.element(), GST_STATE_NULL);
    drop_pool(theirs);
    drop_pool(pool);
    gst_object_unref(context);
    gst_object_unref(offered);
  }
}

#ifdef OCELLUS_FAKE_CUDA

// Fails when a byte of a picture with color crosses to the host, or back, on its way through an
// element whose result is a picture. Only the parameters of a frame, less than 1 KiB, are sent.
TEST_F(CellularNetworkCuda, ColorStaysOnTheDevice) {
  for (const char* factory : {"ocellushalftone", "ocellusrestore"}) {
    for (const GstVideoFormat format :
         {GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_BGR, GST_VIDEO_FORMAT_BGRA, GST_VIDEO_FORMAT_RGBx,
          GST_VIDEO_FORMAT_NV12}) {
      SCOPED_TRACE(factory + std::string(" ") + gst_video_format_to_string(format));
      const Video video{format, 96, 64};
      Harness harness("backend=cuda", video, factory);
      start_cuda(harness, video);
      GstCudaContext* context = offered_context(harness.get()->srcpad);
      ASSERT_NE(context, nullptr);
      GstBufferPool* pool = cuda_pool(context, video);
      for (int i = 0; i < 4; ++i) {
        GstBuffer* buffer = cuda_frame(harness, pool, video, i);
        FakeLibcuda& driver = *fake_libcuda();
        test::FakeDriver& runtime = test::fake_driver();
        driver.bytes_to_device = driver.bytes_to_host = 0;
        runtime.bytes_to_device = runtime.bytes_to_host = 0;
        ASSERT_EQ(harness.push(buffer), GST_FLOW_OK) << harness.last_error();
        std::vector<GstBuffer*> out = harness.pull();
        ASSERT_EQ(out.size(), 1u);
        EXPECT_TRUE(gst_is_cuda_memory(first_memory(out[0])));
        if (i == 0) runtime.bytes_to_device = 0;  // creation sends tables
        EXPECT_LT(runtime.bytes_to_device, 1024u);
        EXPECT_EQ(runtime.bytes_to_host, 0u);
        EXPECT_EQ(driver.bytes_to_device, 0u);
        EXPECT_EQ(driver.bytes_to_host, 0u);
        unref_all(out);
      }
      EXPECT_EQ(harness.stat("copies"), 0u);
      drop_pool(pool);
      gst_object_unref(context);
    }
  }
}

// Fails when a device loss at any call of a frame hangs the stream, is not reported with the call,
// or is not handled as on-device-loss specifies.
TEST_F(CellularNetworkCuda, EveryCallOfAFrameMayLoseTheDevice) {
  lose_at_every_call(
      "ocellushalftone", [](GstBuffer* buffer) { return cells_of(buffer) != nullptr; }, 10);
}

// Fails when an error of the device while it writes chroma is not reported.
TEST_F(CellularNetworkCuda, ChromaMayLoseTheDevice) {
  lose_in_second_frame("ocellushalftone", false, "cuMemsetD2D8Async");
}

#endif

}  // namespace
}  // namespace ocellus::gst_test
