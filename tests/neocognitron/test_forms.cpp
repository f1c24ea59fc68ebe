// Forms: many fields of one frame, read by the operator on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "apps/io/digit_scene.h"
#include "ocellus/neocognitron.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

constexpr unsigned kSeed = 77;  // parameters were chosen with other seeds
constexpr int kForms = 12;

/// The least number of letters to insert, delete and replace.
int edit_distance(const std::string& a, const std::string& b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

NeocognitronConfig config_for(ImageSize size) {
  NeocognitronConfig config;
  config.size = size;
  for (const app::FormField& field : app::form_fields(size))
    config.fields.fields[static_cast<std::size_t>(config.fields.count++)] = field.box;
  return config;
}

/// An operator with its engine.
class FormReader {
 public:
  explicit FormReader(const NeocognitronConfig& config) {
    EngineConfig settings = engine_config(2);
    settings.memory = must(Neocognitron::footprint(must(Engine::probe(settings)), config));
    engine_.emplace(must(Engine::create(settings)));
    op_.emplace(must(Neocognitron::create(*engine_, config)));
  }
  /// Reads a frame. Returns the text of each field.
  std::vector<std::string> read(const app::GrayImage& image, NeocognitronRecord& record) {
    const ImageSize rows = op_->info().planes[0].size;
    std::vector<float> scores(static_cast<std::size_t>(rows.width) *
                              static_cast<std::size_t>(rows.height));
    ImageView out;
    out.data = scores.data();
    out.size = rows;
    out.stride = static_cast<std::ptrdiff_t>(sizeof(float)) * rows.width;
    out.format = PixelFormat::kFloat32;
    Frame frame;
    frame.data = image.pixels.data();
    frame.size = image.size;
    frame.stride = image.stride();
    frame.format = image.format;
    const Ticket ticket = must(op_->submit(frame, out, &record));
    must(op_->wait(ticket, Deadline::never()));
    std::vector<std::string> texts;
    for (int part = 0; part < op_->info().text_parts; ++part) {
      std::array<char, 256> text{};
      write_text(op_->info(), &record, part, text);
      texts.emplace_back(text.data());
    }
    return texts;
  }
  const OperatorInfo& info() const { return op_->info(); }

 private:
  std::optional<Engine> engine_;
  std::optional<Neocognitron> op_;
};

// Fails if fields behind the first 64 characters are not read, if outlines are read as digits, or
// if too many digits of the fields are wrong.
TEST(Forms, AreRead) {
  app::DigitSceneConfig scenes;
  scenes.size = {1280, 960};
  scenes.seed = kSeed;
  const app::DigitImages digits = app::draw_digits(400, kSeed);
  NeocognitronConfig config = config_for(scenes.size);
  config.min_confidence = 0.0f;
  FormReader reader(config);
  EXPECT_EQ(reader.info().planes[0].size.height, kMaxCharacters);
  int fields = 0;
  int fields_right = 0;
  int count = 0;
  int wrong = 0;
  NeocognitronRecord record;
  for (int number = 0; number < kForms; ++number) {
    const app::DigitScene scene = app::make_form_scene(scenes, digits, number);
    const std::vector<std::string> expected = lines_of(scene.string);
    const std::vector<std::string> texts = reader.read(scene.image, record);
    ASSERT_EQ(texts.size(), expected.size());
    EXPECT_FALSE(record.truncated);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ++fields;
      fields_right += texts[i] == expected[i] ? 1 : 0;
      count += static_cast<int>(expected[i].size());
      wrong += edit_distance(texts[i], expected[i]);
      if (texts[i] != expected[i])
        std::cout << "form " << number << ", field " << i << ": " << texts[i] << " in place of "
                  << expected[i] << '\n';
    }
  }
  const double digit_share = 100.0 * (count - wrong) / count;
  const double field_share = 100.0 * fields_right / fields;
  std::cout << digit_share << " % of " << count << " digits, " << field_share << " % of " << fields
            << " fields\n";
  EXPECT_GE(digit_share, 98.0);
  EXPECT_GE(field_share, 93.0);
}

// Fails if a limit of the frame leaves nothing for the last fields, or is kept silently.
TEST(Forms, EachFieldHasItsShareOfTheLimit) {
  app::DigitSceneConfig scenes;
  scenes.size = {1280, 960};
  const app::DigitScene scene = app::make_form_scene(scenes, app::draw_digits(400, 1), 0);
  NeocognitronConfig config = config_for(scenes.size);
  config.max_characters = 64;
  FormReader reader(config);
  EXPECT_EQ(reader.info().planes[0].size.height, 64);
  NeocognitronRecord record;
  const std::vector<std::string> texts = reader.read(scene.image, record);
  EXPECT_TRUE(record.truncated);
  EXPECT_LE(record.count, 64);
  EXPECT_GE(record.count, 50);
  for (const std::string& text : texts) EXPECT_FALSE(text.empty());
}

// Fails if the 64 fields of a frame, all with digits, are not all read.
TEST(Forms, SixtyFourFields) {
  NeocognitronConfig config;
  config.size = {640, 480};
  app::DigitSceneConfig scenes;
  scenes.size = config.size;
  scenes.digits = 8;
  const app::DigitScene scene = app::make_digit_scene(scenes, app::draw_digits(100, 3), 0);
  // Fields may overlap.
  config.fields.count = kMaxTextFields;
  for (Rect& field : config.fields.fields) field = {0, 0, 640, 480};
  FormReader reader(config);
  NeocognitronRecord record;
  const std::vector<std::string> texts = reader.read(scene.image, record);
  ASSERT_EQ(texts.size(), 64u);
  EXPECT_EQ(texts.front().size(), 8u);
  for (const std::string& text : texts) EXPECT_EQ(text, texts.front());
  EXPECT_EQ(record.count, kMaxCharacters);
  EXPECT_FALSE(record.truncated);
}

}  // namespace
}  // namespace ocellus::test
