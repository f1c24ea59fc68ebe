// ocellusdigits with pictures in CUDA memory: results, copies, allocations, and a lost device.
#include <string>
#include <tuple>
#include <vector>

#include "gst/cuda_fixture.h"

namespace ocellus::gst_test {
namespace {

class DigitsCuda : public CudaTest {};

constexpr const char* kElement = "ocellusdigits";
// Tiles have characters in any picture.
constexpr const char* kTiles = "backend=cuda layout=tiles tile-width=32 tile-height=32";

/// The values of a result, for comparison.
std::vector<float> values_of(const GstOcellusMeta* meta) {
  std::vector<float> values;
  for (guint i = 0; i < meta->n_items; ++i) {
    for (const char* name :
         {"label", "x", "y", "width", "height", "line", "confidence", "similarity", "margin"})
      values.push_back(static_cast<float>(value_of(meta, name, i)));
  }
  return values;
}

class DigitsCudaFormats
    : public DigitsCuda,
      public testing::WithParamInterface<std::tuple<GstVideoFormat, const char*, bool>> {};

// Fails when a picture in CUDA memory gives a result other than the same picture in system memory,
// or when the picture, its metas or its times change. Also fails when a picture in the offered
// context is copied, or a copy from another context is not counted.
TEST_P(DigitsCudaFormats, MatchesTheResultOfSystemMemory) {
  const auto& [format, properties, foreign] = GetParam();
  const Video video{format, 192, 128};
  constexpr int kFrames = 3;
  std::vector<std::vector<float>> expected;
  {
    Harness harness(properties, video, kElement);
    harness.start();
    harness.push_frames(0, kFrames, 0.7, -0.4);
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), static_cast<std::size_t>(kFrames));
    for (GstBuffer* buffer : out) expected.push_back(values_of(digits_of(buffer)));
    unref_all(out);
  }
  Harness harness(properties, video, kElement);
  start_cuda(harness, video);
  GstCudaContext* context =
      foreign ? gst_cuda_context_new(0) : offered_context(harness.get()->srcpad);
  ASSERT_NE(context, nullptr);
  GstBufferPool* pool = cuda_pool(context, video);
  for (int i = 0; i < kFrames; ++i) {
    GstBuffer* picture = harness.frame(i, 0.7, -0.4);
    const std::vector<guint8> sent = planes_of(picture, video);
    GstBuffer* buffer = to_cuda(pool, video, picture);
    gst_buffer_unref(picture);
    gst_buffer_add_video_region_of_interest_meta(buffer, "mine", 1, 2, 3, 4);
    GstMemory* const memory = first_memory(buffer);
    ASSERT_EQ(harness.push(buffer), GST_FLOW_OK) << harness.last_error();
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(first_memory(out[0]), memory) << "the output does not have the memory of the input";
    EXPECT_EQ(GST_BUFFER_PTS(out[0]), harness.pts(i));
    const GstOcellusMeta* meta = digits_of(out[0]);
    ASSERT_NE(meta, nullptr);
    guint regions = 0;
    guint mine = 0;
    gpointer state = nullptr;
    while (GstMeta* found = gst_buffer_iterate_meta_filtered(
               out[0], &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
      const auto* region = reinterpret_cast<GstVideoRegionOfInterestMeta*>(found);
      const bool ours = region->roi_type == g_quark_from_static_string("digit");
      ++(ours ? regions : mine);
    }
    EXPECT_EQ(mine, 1u) << "the meta of the picture is lost";
    guint characters = 0;
    for (guint c = 0; c < meta->n_items; ++c) characters += value_of(meta, "label", c) >= 0 ? 1 : 0;
    EXPECT_EQ(regions, characters);
    if (kComputes) {
      EXPECT_EQ(values_of(meta), expected[static_cast<std::size_t>(i)]) << "frame " << i;
    }
    EXPECT_EQ(planes_of(out[0], video), sent) << "frame " << i;
    unref_all(out);
  }
  EXPECT_EQ(harness.stat("copies"), foreign ? static_cast<guint64>(kFrames) : 0u);
  drop_pool(pool);
  gst_object_unref(context);
}

INSTANTIATE_TEST_SUITE_P(
    All, DigitsCudaFormats,
    testing::Combine(testing::Values(GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12,
                                     GST_VIDEO_FORMAT_BGR, GST_VIDEO_FORMAT_RGBA),
                     testing::Values("backend=cuda", kTiles), testing::Bool()));

// Fails when each frame allocates memory, a stream or a context.
TEST_F(DigitsCuda, FramesAllocateNothing) {
  Harness harness(std::string(kTiles) + " depth=2", kCudaVideo, kElement);
  start_cuda(harness, kCudaVideo);
  GstCudaContext* context = offered_context(harness.get()->srcpad);
  GstBufferPool* pool = cuda_pool(context, kCudaVideo, 4);
  int buffers = 0;
  push_and_expect_nothing_new(harness, pool, 60, [&](GstBuffer* buffer) {
    ++buffers;
    const GstOcellusMeta* meta = digits_of(buffer);
    ASSERT_NE(meta, nullptr);
    if (kComputes) {
      EXPECT_EQ(meta->n_items, 6u);
    }
  });
  EXPECT_GE(buffers, 59);
  drop_pool(pool);
  gst_object_unref(context);
}

// Fails when the copies for drawing are not counted.
TEST_F(DigitsCuda, DrawingCopiesThePicture) {
  Harness harness(std::string(kTiles) + " draw=true", kCudaVideo, kElement);
  start_cuda(harness, kCudaVideo);
  GstCudaContext* context = offered_context(harness.get()->srcpad);
  GstBufferPool* pool = cuda_pool(context, kCudaVideo);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(harness.push(cuda_frame(harness, pool, kCudaVideo, i)), GST_FLOW_OK)
        << harness.last_error();
  }
  EXPECT_EQ(harness.drop_output(), 3);
  EXPECT_EQ(harness.stat("copies"), 3u);
  drop_pool(pool);
  gst_object_unref(context);
}

#ifdef OCELLUS_FAKE_CUDA

// Fails when a device loss at any call of a frame hangs the stream, is not reported with the call,
// or is not handled as on-device-loss specifies.
TEST_F(DigitsCuda, EveryCallOfAFrameMayLoseTheDevice) {
  lose_at_every_call(
      kElement, [](GstBuffer* buffer) { return digits_of(buffer) != nullptr; }, 10);
}

#endif

}  // namespace
}  // namespace ocellus::gst_test
