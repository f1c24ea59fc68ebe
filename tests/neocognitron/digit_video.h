// Video frames of synthetic lines of digits, and what the operator reads in them.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "apps/io/digit_scene.h"
#include "gst/gst_support.h"
#include "ocellus/ocellus.h"
#include "support/run.h"

namespace ocellus::gst_test {

/// A sharp line of digits in even light, which any good model reads.
inline app::DigitSceneConfig easy_scene(ImageSize size, int digits) {
  app::DigitSceneConfig config;
  config.size = size;
  config.digits = digits;
  config.min_height = 0.35 * size.height;
  config.max_height = 0.5 * size.height;
  config.min_gap = 0.35;
  config.light_ratio = 1.1;
  config.tilt = 0;
  config.roll = 1;
  config.blur = 0.4;
  config.noise = 2;
  config.min_contrast = 0.7;
  return config;
}

inline app::DigitScene make_scene(const app::DigitSceneConfig& config, int number) {
  static const app::DigitImages digits = app::draw_digits(200, 3);
  return app::make_digit_scene(config, digits, number);
}

/// A buffer with the image as its luma. Chroma has a pattern.
inline GstBuffer* buffer_of(const app::GrayImage& image, const Video& video, GstClockTime pts) {
  const GstVideoInfo info = video_info(video);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
  GstMapInfo map;
  gst_buffer_map(buffer, &map, GST_MAP_WRITE);
  for (gsize i = 0; i < map.size; ++i) map.data[i] = static_cast<guint8>(90 + i % 60);
  const auto stride = static_cast<gsize>(GST_VIDEO_INFO_PLANE_STRIDE(&info, 0));
  const auto width = static_cast<gsize>(video.width);
  for (gsize y = 0; y < static_cast<gsize>(video.height); ++y) {
    guint8* const to = map.data + GST_VIDEO_INFO_PLANE_OFFSET(&info, 0) + y * stride;
    for (gsize x = 0; x < width; ++x) {
      const guint8 level = image.pixels[y * width + x];
      // level * 257 in 16 bits.
      if (is_wide(video.format))
        to[2 * x] = to[2 * x + 1] = level;
      else
        to[x] = level;
    }
  }
  gst_buffer_unmap(buffer, &map);
  GST_BUFFER_PTS(buffer) = pts;
  GST_BUFFER_DURATION(buffer) = gst_util_uint64_scale(GST_SECOND, static_cast<guint64>(video.fps_d),
                                                      static_cast<guint64>(video.fps_n));
  return buffer;
}

/// What the operator reads in a frame on the CPU.
inline NeocognitronRecord read_frame(NeocognitronConfig config, const app::GrayImage& image) {
  config.size = image.size;
  Engine engine = test::must(create_engine(test::engine_config(), {config}));
  Neocognitron op = test::must(Neocognitron::create(engine, config));
  const PlaneInfo& plane = op.info().planes[0];
  std::vector<float> scores(static_cast<std::size_t>(plane.size.width) *
                            static_cast<std::size_t>(plane.size.height));
  const ImageView view{
      scores.data(), plane.size,
      static_cast<std::ptrdiff_t>(plane.size.width) * static_cast<std::ptrdiff_t>(sizeof(float)),
      PixelFormat::kFloat32};
  NeocognitronRecord record;
  test::must(op.wait(test::must(op.submit(image.view(0, 0), view, &record)), Deadline::never()));
  return record;
}

inline constexpr const char* kElement = "ocellusdigits";
inline constexpr ImageSize kSize{320, 80};
inline constexpr Video kVideo{GST_VIDEO_FORMAT_GRAY8, kSize.width, kSize.height};

inline std::vector<GstVideoRegionOfInterestMeta*> regions_of(GstBuffer* buffer) {
  std::vector<GstVideoRegionOfInterestMeta*> regions;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
    regions.push_back(reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta));
  return regions;
}

/// Pushes a picture and returns the buffer that comes out.
inline GstBuffer* process(Harness& harness, const app::GrayImage& image, int index = 0) {
  EXPECT_EQ(harness.push(buffer_of(image, harness.video(), harness.pts(index))), GST_FLOW_OK)
      << harness.last_error();
  std::vector<GstBuffer*> out = harness.pull();
  EXPECT_EQ(out.size(), 1u);
  return out.empty() ? nullptr : out[0];
}

/// Pushes a picture and returns the string of its meta.
inline std::string string_of(Harness& harness, const app::GrayImage& image, int index = 0) {
  GstBuffer* const out = process(harness, image, index);
  if (out == nullptr) return "no buffer";
  const GstOcellusMeta* const meta = digits_of(out);
  const std::string string = meta != nullptr ? meta->string : "no meta";
  gst_buffer_unref(out);
  return string;
}

inline std::string names_of(const NeocognitronRecord& record) {
  const CharacterModelInfo model = test::must(Neocognitron::read_model_info("digits-small"));
  std::string string;
  for (std::size_t i = 0; i < static_cast<std::size_t>(record.count); ++i) {
    if ((record.flags[i] & kCharacterRejected) != 0)
      string += '?';
    else
      string += model.names[static_cast<std::size_t>(record.label[i])].c_str();
  }
  return string;
}

inline app::GrayImage flat_image(ImageSize size) {
  app::GrayImage image(size, PixelFormat::kGray8);
  std::fill(image.pixels.begin(), image.pixels.end(), guint8{170});
  return image;
}

/// One picture above the other. Both have the same width.
inline app::GrayImage stack(const app::GrayImage& top, const app::GrayImage& bottom) {
  app::GrayImage image({top.size.width, top.size.height + bottom.size.height}, PixelFormat::kGray8);
  std::copy(top.pixels.begin(), top.pixels.end(), image.pixels.begin());
  std::copy(bottom.pixels.begin(), bottom.pixels.end(),
            image.pixels.begin() + static_cast<std::ptrdiff_t>(top.pixels.size()));
  return image;
}

/// Two scenes on the same paper, so that one frame can hold both.
inline std::pair<app::DigitScene, app::DigitScene> two_scenes() {
  const app::DigitSceneConfig config = easy_scene(kSize, 4);
  return {make_scene(config, 1), make_scene(config, 2)};
}

/// The strings of the array `fields` of the next message.
inline std::vector<std::string> fields_of(Harness& harness) {
  std::vector<std::string> strings;
  GstMessage* message = harness.message(GST_MESSAGE_ELEMENT);
  EXPECT_NE(message, nullptr);
  if (message == nullptr) return strings;
  const GValue* fields = gst_structure_get_value(gst_message_get_structure(message), "fields");
  EXPECT_TRUE(fields != nullptr && GST_VALUE_HOLDS_ARRAY(fields));
  for (guint i = 0; i < gst_value_array_get_size(fields); ++i)
    strings.emplace_back(g_value_get_string(gst_value_array_get_value(fields, i)));
  gst_message_unref(message);
  return strings;
}

}  // namespace ocellus::gst_test
