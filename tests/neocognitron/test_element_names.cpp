// ocellusdigits with a model whose classes have names of several characters.
#include <fstream>
#include <string>
#include <vector>

#include "gst/gst_support.h"
#include "neocognitron/labeled_shapes.h"
#include "support/files.h"

namespace ocellus::gst_test {
namespace {

const std::vector<std::string> kNames = {"ring", "cross", "T", "L", "roof"};
constexpr int kSide = 28;

// Trains a small network and writes its model.
void write_model(const std::string& path) {
  LabeledImages images = test::shapes(100, 1);
  images.names = kNames;
  const auto network = test::must(train_neocognitron(images, test::small_training()));
  const auto bytes = test::must(encode_neocognitron(network, "shapes"));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// Fails when the element does not use the names of the model, or writes them without spaces.
TEST(DigitsNames, LongNamesAreApart) {
  const test::TemporaryFolder folder;
  const std::string model = folder / "shapes.ocellus";
  write_model(model);
  // A row of tiles, with an image of each class.
  const auto classes = static_cast<int>(kNames.size());
  const Video video{GST_VIDEO_FORMAT_GRAY8, classes * kSide, kSide};
  const LabeledImages images = test::shapes(kNames.size(), 2);
  std::string fields;
  for (int i = 0; i < classes; ++i)
    fields += (i > 0 ? ";" : "") + std::to_string(i * kSide) + ",0,28,28";
  for (const std::string& layout : {std::string("layout=tiles"), "layout=boxes fields=" + fields}) {
    Harness harness(layout + " ink=light min-confidence=0 model=" + model, video, "ocellusdigits");
    harness.start();
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, images.ink.size(), nullptr);
    GstMapInfo map;
    ASSERT_TRUE(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < classes * kSide; ++x) {
        const int image = x / kSide;
        map.data[y * classes * kSide + x] =
            images.ink[static_cast<std::size_t>((image * kSide + y) * kSide + x % kSide)];
      }
    }
    gst_buffer_unmap(buffer, &map);
    GST_BUFFER_PTS(buffer) = 0;
    ASSERT_EQ(harness.push(buffer), GST_FLOW_OK) << harness.last_error();
    std::vector<GstBuffer*> out = harness.pull();
    ASSERT_EQ(out.size(), 1u);
    const GstOcellusMeta* meta = digits_of(out[0]);
    ASSERT_NE(meta, nullptr);
    ASSERT_EQ(meta->n_items, kNames.size()) << meta->string;
    std::string expected;
    int right = 0;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      const double label = value_of(meta, "label", i);
      ASSERT_GE(label, 0.0);
      const std::string name = gst_ocellus_meta_get_name(meta, static_cast<guint>(i));
      EXPECT_EQ(name, kNames[static_cast<std::size_t>(label)]);
      expected += (i > 0 ? " " : "") + name;
      right += label == static_cast<double>(i) ? 1 : 0;
    }
    EXPECT_EQ(meta->string, expected);
    EXPECT_GE(right, 4) << meta->string;
    unref_all(out);
  }
}

}  // namespace
}  // namespace ocellus::gst_test
