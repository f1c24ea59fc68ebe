// Neocognitron on a CUDA device against the CPU. Both compute (1) to (6) in floats in different
// orders of the sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "neocognitron/digit_scene.h"
#include "neocognitron/geometry.h"
#include "neocognitron/labeled_shapes.h"
#include "ocellus/buffer.h"
#include "ocellus/neocognitron.h"
#include "ocellus/neocognitron_training.h"
#include "support/files.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

constexpr float kTolerance = 1e-4f;
/// Of a capped candidate. Backends round differently, so that another cell may be the last one.
constexpr float kCappedTolerance = 2e-2f;

// ---- models

/// Model files for the time of the program.
class Models {
 public:
  static const Models& instance() {
    static const Models models;
    return models;
  }
  std::string path(const std::string& name) const { return folder_ / name; }

 private:
  Models() {
    const TrainedNeocognitron learned = must(train_neocognitron(shapes(60, 1), small_training()));
    write("shapes", learned);
    TrainedNeocognitron five = learned;
    five.parameters.reference_side = 5;
    write("five", five);
    // Numbers of planes that are no multiples of 8, 16 or 32. Lists of inputs that need two rounds.
    write("odd", random_network(five, {33, 71, 3}, 5, 9));
    // One plane, one reference, one class.
    write("tiny", random_network(learned, {1, 1, 1}, 1, 10));
    // More planes than a block of stage 4 has, and more than a warp of stage 2.
    write("wide", random_network(learned, {130, 24, 23}, 29, 11));
    write("wide_five", random_network(five, {130, 24, 23}, 29, 11));
    TrainedNeocognitron plain = learned;
    for (NeocognitronStage& stage : plain.parameters.stages) stage.surround = 0.0f;
    plain.normalization.deslant = false;
    write("plain", plain);
  }

  /// Stage 1 of `learned`, then random weights. `planes`: of stages 2 and 3, and references of each
  /// class.
  static TrainedNeocognitron random_network(const TrainedNeocognitron& learned,
                                            const std::array<int, 3>& planes, int classes,
                                            std::uint32_t seed) {
    TrainedNeocognitron network = learned;
    network.planes = {kEdgePlanes, planes[0], planes[1], planes[2] * classes};
    network.names.clear();
    network.labels.clear();
    for (int c = 0; c < classes; ++c) {
      network.names.push_back("c" + std::to_string(c));
      network.labels.insert(network.labels.end(), static_cast<std::size_t>(planes[2]),
                            static_cast<std::uint16_t>(c));
    }
    network.lengths.assign(network.labels.size(), 1.0f);
    network.parameters.stages[1].threshold = 0.5f;
    network.parameters.stages[2].threshold = 0.6f;
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
    for (std::size_t i = 1; i < network.weights.size(); ++i) {
      const detail::CellWindow window =
          detail::simple_window(network.parameters, static_cast<int>(i));
      const auto below = static_cast<std::size_t>(network.planes[i - 1]);
      const auto own = static_cast<std::size_t>(network.planes[i]);
      std::vector<float>& weights = network.weights[i];
      weights.resize(static_cast<std::size_t>(window.taps) * below * own);
      for (float& weight : weights) weight = std::pow(uniform(random), 3.0f);
      for (std::size_t k = 0; k < own; ++k) {
        // a / b of (4).
        double square = 0.0;
        for (std::size_t at = k; at < weights.size(); at += own) {
          const auto a = static_cast<double>(weights[at]);
          square += a * a / static_cast<double>(window.tap[at / own / below].weight);
        }
        for (std::size_t at = k; at < weights.size(); at += own)
          weights[at] /= static_cast<float>(std::sqrt(square));
      }
    }
    return network;
  }

  void write(const std::string& name, const TrainedNeocognitron& network) {
    const std::vector<std::uint8_t> bytes = must(encode_neocognitron(network, "for a test"));
    std::ofstream out(path(name), std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    if (!out) ADD_FAILURE() << "cannot write " << path(name);
  }

  TemporaryFolder folder_;
};

// ---- frames

enum class Ground { kStrokes, kNoise, kMixed };

/// A grid of tiles with strokes of digits, noise, or both and empty tiles.
FrameBuffer tiles_of(ImageSize tile, int columns, int rows, Ground ground, PixelFormat format,
                     bool light = false) {
  const int width = tile.width * columns;
  const int height = tile.height * rows;
  Scene scene(width, height);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  const double side = std::min(tile.width, tile.height);
  for (int i = 0; i < columns * rows; ++i) {
    if (ground == Ground::kMixed && i % 3 == 2) continue;
    scene.digit((i * 7 + 3) % 10, i % columns * tile.width + 0.25 * tile.width + unit(random),
                i / columns * tile.height + 0.2 * tile.height + unit(random), 0.6 * side,
                std::max(1.5, side / 10), 8 * unit(random) - 4);
  }
  const std::vector<std::uint8_t> pixels = scene.pixels(light);
  FrameBuffer frame({width, height}, format, 5);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int tile_index = y / tile.height * columns + x / tile.width;
      const bool noise =
          ground == Ground::kNoise || (ground == Ground::kMixed && tile_index % 3 == 1);
      double gray = pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                           static_cast<std::size_t>(x)];
      if (noise) gray = std::floor(256.0 * unit(random));
      // Conversion of 16 bits rounds down.
      frame.set(x, y, gray);
    }
  }
  return frame;
}

// ---- runs

struct Answer {
  NeocognitronRecord record;
  std::vector<float> scores;  ///< rows without gaps
  std::size_t rows = 0;
  std::uint32_t flags = 0;
};

/// Sends the frames, `config.depth` at a time.
class Reader {
 public:
  Reader(BackendChoice backend, const NeocognitronConfig& config,
         MemorySpace space = MemorySpace::kHost)
      : config_(config), space_(space) {
    EngineConfig settings = engine_config(2, backend);
    const EngineInfo info = must(Engine::probe(settings));
    settings.memory = must(Neocognitron::footprint(info, config));
    const OperatorInfo made = must(Neocognitron::info_for(config));
    classes_ = made.planes[0].size.width;
    rows_ = made.planes[0].size.height;
    if (space != MemorySpace::kHost)
      for (int i = 0; i < config.depth; ++i)
        for (const std::size_t bytes : {in_bytes(), out_bytes()})
          add(settings.memory, Buffer::footprint(space, bytes));
    engine_.emplace(must(Engine::create(settings)));
    op_.emplace(must(Neocognitron::create(*engine_, config)));
    if (space == MemorySpace::kHost) return;
    for (int i = 0; i < config.depth; ++i) {
      in_.push_back(must(Buffer::create(*engine_, space, in_bytes())));
      out_.push_back(must(Buffer::create(*engine_, space, out_bytes())));
    }
  }

  std::vector<Answer> read(const std::vector<FrameBuffer>& frames) {
    std::vector<Answer> answers(frames.size());
    std::vector<Ticket> tickets(frames.size());
    const auto depth = static_cast<std::size_t>(config_.depth);
    const auto land = [&](std::size_t f) {
      answers[f].flags =
          must(op_->wait(tickets[f], Deadline::after(std::chrono::seconds(600)))).flags;
      if (space_ != MemorySpace::kHost)
        must(out_[f % depth].read(0, answers[f].scores.data(), out_bytes()));
    };
    for (std::size_t f = 0; f < frames.size(); ++f) {
      if (f >= depth) land(f - depth);
      Answer& answer = answers[f];
      answer.scores.assign(out_bytes() / sizeof(float), -7.0f);
      answer.rows = static_cast<std::size_t>(rows_);
      Frame frame = frames[f].frame(f);
      ImageView out = float_plane(answer.scores.data(), {classes_, rows_},
                                  static_cast<std::ptrdiff_t>(row_bytes()), MemorySpace::kHost);
      if (space_ != MemorySpace::kHost) {
        const std::size_t i = f % depth;
        must(in_[i].write(
            0, frame.data,
            static_cast<std::size_t>(frame.stride) * static_cast<std::size_t>(frame.size.height)));
        must(out_[i].write(0, answer.scores.data(), out_bytes()));
        frame.data = in_[i].data();
        out.data = out_[i].data();
        frame.space = out.space = space_;
      }
      tickets[f] = must(op_->submit(frame, out, &answer.record));
    }
    for (std::size_t f = frames.size() - std::min(depth, frames.size()); f < frames.size(); ++f)
      land(f);
    return answers;
  }

 private:
  std::size_t row_bytes() const { return static_cast<std::size_t>(classes_) * sizeof(float); }
  std::size_t out_bytes() const { return row_bytes() * static_cast<std::size_t>(rows_); }
  // FrameBuffer has rows with padding.
  std::size_t in_bytes() const {
    return static_cast<std::size_t>(config_.size.width + 8) *
           static_cast<std::size_t>(config_.size.height) *
           static_cast<std::size_t>(bytes_per_pixel(config_.format));
  }
  static void add(Footprint& sum, const Footprint& more) {
    sum.host += more.host;
    sum.pinned += more.pinned;
    sum.device += more.device;
  }

  NeocognitronConfig config_;
  MemorySpace space_;
  int classes_ = 0;
  int rows_ = 0;
  std::optional<Engine> engine_;
  std::optional<Neocognitron> op_;
  std::vector<Buffer> in_;
  std::vector<Buffer> out_;
};

void expect_equal(const Answer& cpu, const Answer& cuda) {
  EXPECT_EQ(cuda.flags, cpu.flags);
  ASSERT_EQ(cuda.record.count, cpu.record.count);
  EXPECT_EQ(cuda.record.truncated, cpu.record.truncated);
  ASSERT_EQ(cuda.scores.size(), cpu.scores.size());
  ASSERT_EQ(cuda.rows, cpu.rows);
  const std::size_t classes = cpu.scores.size() / cpu.rows;
  for (std::size_t i = 0; i < cpu.rows; ++i) {
    SCOPED_TRACE("character " + std::to_string(i));
    const bool capped = ((cpu.record.flags[i] | cuda.record.flags[i]) & kCharacterCapped) != 0;
    const float tolerance = capped ? kCappedTolerance : kTolerance;
    for (std::size_t c = 0; c < classes; ++c)
      ASSERT_NEAR(cuda.scores[i * classes + c], cpu.scores[i * classes + c], tolerance)
          << "class " << c;
    const NeocognitronRecord& a = cpu.record;
    const NeocognitronRecord& b = cuda.record;
    if (a.margin[i] > 2.0f * tolerance || a.label[i] < 0) {
      EXPECT_EQ(b.label[i], a.label[i]);
    }
    EXPECT_NEAR(b.similarity[i], a.similarity[i], tolerance);
    EXPECT_NEAR(b.margin[i], a.margin[i], 2.0f * tolerance);
    // The logistic function has a slope of up to 75 / 4.
    EXPECT_NEAR(b.confidence[i], a.confidence[i], 60.0f * tolerance);
    EXPECT_EQ(b.x[i], a.x[i]);
    EXPECT_EQ(b.y[i], a.y[i]);
    EXPECT_EQ(b.width[i], a.width[i]);
    EXPECT_EQ(b.height[i], a.height[i]);
    EXPECT_EQ(b.line[i], a.line[i]);
    EXPECT_EQ(b.field[i], a.field[i]);
    if (std::abs(a.confidence[i] - 0.5f) > 60.0f * tolerance) {
      EXPECT_EQ(b.flags[i], a.flags[i]);
    }
  }
}

void expect_equal(const NeocognitronConfig& config, const std::vector<FrameBuffer>& frames,
                  MemorySpace space = MemorySpace::kHost) {
  const std::vector<Answer> cpu = Reader(BackendChoice::kCpu, config).read(frames);
  const std::vector<Answer> cuda = Reader(BackendChoice::kCuda, config, space).read(frames);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    SCOPED_TRACE("frame " + std::to_string(f));
    expect_equal(cpu[f], cuda[f]);
  }
}

NeocognitronConfig tile_config(const std::string& model, ImageSize tile, int columns, int rows,
                               PixelFormat format = PixelFormat::kGray8) {
  NeocognitronConfig config;
  config.size = {tile.width * columns, tile.height * rows};
  config.format = format;
  config.layout = CharacterLayout::kTiles;
  config.tile_width = tile.width;
  config.tile_height = tile.height;
  EXPECT_TRUE(config.model.assign(
      model == "digits-small" ? model.c_str() : Models::instance().path(model).c_str()));
  return config;
}

// ---- tiles

struct TileCase {
  const char* name;
  const char* model;
  ImageSize tile;
  int columns;
  int rows;
  Ground ground;
  PixelFormat format = PixelFormat::kGray8;
};

class Tiles : public testing::TestWithParam<TileCase> {
 protected:
  void SetUp() override { skip_without_device(); }
};

// Fails when a layer on the device differs from the CPU's for this shape of the model or tile.
TEST_P(Tiles, ScoresOfBothBackendsAreEqual) {
  const TileCase& c = GetParam();
  const NeocognitronConfig config = tile_config(c.model, c.tile, c.columns, c.rows, c.format);
  expect_equal(config, {tiles_of(c.tile, c.columns, c.rows, c.ground, c.format)});
}

INSTANTIATE_TEST_SUITE_P(
    Neocognitron, Tiles,
    testing::Values(
        TileCase{"one", "digits-small", {28, 28}, 1, 1, Ground::kStrokes},
        TileCase{"eight", "digits-small", {28, 28}, 8, 1, Ground::kStrokes},
        TileCase{"mixed", "digits-small", {28, 28}, 5, 4, Ground::kMixed},
        TileCase{"all", "shapes", {20, 24}, 8, 8, Ground::kMixed},
        TileCase{"noise", "digits-small", {28, 28}, 3, 1, Ground::kNoise},
        TileCase{"least", "shapes", {8, 8}, 3, 2, Ground::kStrokes},
        TileCase{"flat", "shapes", {61, 9}, 2, 3, Ground::kMixed},
        TileCase{"large", "shapes", {301, 257}, 2, 1, Ground::kStrokes},
        TileCase{"gray16", "shapes", {28, 28}, 3, 2, Ground::kMixed, PixelFormat::kGray16},
        TileCase{"float", "shapes", {28, 28}, 3, 2, Ground::kMixed, PixelFormat::kFloat32},
        TileCase{"odd", "odd", {28, 28}, 3, 1, Ground::kStrokes},
        TileCase{"odd_noise", "odd", {28, 28}, 2, 1, Ground::kNoise},
        TileCase{"tiny", "tiny", {28, 28}, 2, 1, Ground::kMixed},
        TileCase{"wide", "wide", {28, 28}, 2, 1, Ground::kStrokes},
        TileCase{"wide_five", "wide_five", {28, 28}, 2, 1, Ground::kStrokes},
        TileCase{"five", "five", {28, 28}, 3, 1, Ground::kMixed},
        TileCase{"plain", "plain", {28, 28}, 3, 1, Ground::kMixed}),
    [](const auto& made) { return made.param.name; });

class NeocognitronOnDevice : public OnDevice {};

// Fails when cells beyond the capacity count on the device, or when the mark is missing. The
// smallest capacity is exceeded in each layer.
TEST_F(NeocognitronOnDevice, CappedTilesAreMarked) {
  for (const char* const model : {"digits-small", "odd"}) {
    for (const float share : {0.01f, 0.05f, 0.15f}) {
      SCOPED_TRACE(model + std::string(", ") + std::to_string(share));
      NeocognitronConfig config = tile_config(model, {28, 28}, 3, 1);
      config.max_active = share;
      config.min_confidence = 0.0f;
      const std::vector<FrameBuffer> frames = {
          tiles_of({28, 28}, 3, 1, Ground::kMixed, PixelFormat::kGray8)};
      const std::vector<Answer> cpu = Reader(BackendChoice::kCpu, config).read(frames);
      const std::vector<Answer> cuda = Reader(BackendChoice::kCuda, config).read(frames);
      expect_equal(cpu[0], cuda[0]);
      if (share < 0.02f) {
        EXPECT_NE(cuda[0].record.flags[1] & kCharacterCapped, 0u);
      }
    }
  }
}

// Fails when the ink of a frame is taken for its ground.
TEST_F(NeocognitronOnDevice, InkIsDarkOrLight) {
  for (const CharacterInk ink : {CharacterInk::kAuto, CharacterInk::kDark, CharacterInk::kLight}) {
    NeocognitronConfig config = tile_config("shapes", {28, 28}, 2, 1);
    config.ink = ink;
    const auto frame = [](bool light) {
      return tiles_of({28, 28}, 2, 1, Ground::kStrokes, PixelFormat::kGray8, light);
    };
    expect_equal(config, {frame(false), frame(true)});
  }
}

std::vector<FrameBuffer> different_frames(PixelFormat format) {
  std::vector<FrameBuffer> frames;
  for (const Ground ground : {Ground::kStrokes, Ground::kMixed, Ground::kNoise, Ground::kStrokes})
    frames.push_back(tiles_of({28, 28}, 4, 2, ground, format));
  return frames;
}

// Fails when frames in flight share memory that they must not share, or when a frame leaves a trace
// in the next one.
TEST_F(NeocognitronOnDevice, FramesInFlightAreIndependent) {
  for (int depth = 1; depth <= 3; ++depth) {
    for (const MemorySpace space : {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda}) {
      SCOPED_TRACE("depth " + std::to_string(depth) + ", memory " +
                   std::to_string(static_cast<int>(space)));
      NeocognitronConfig config = tile_config("shapes", {28, 28}, 4, 2);
      config.depth = depth;
      expect_equal(config, different_frames(PixelFormat::kGray8), space);
    }
  }
}

// Fails when the result depends on the timing of blocks or warps.
// Promises: RES-001.
TEST_F(NeocognitronOnDevice, EqualFramesGiveEqualBytes) {
  NeocognitronConfig config = tile_config("digits-small", {28, 28}, 4, 2);
  config.depth = 2;
  std::vector<FrameBuffer> frames;
  for (int f = 0; f < 6; ++f)
    frames.push_back(tiles_of({28, 28}, 4, 2, Ground::kMixed, PixelFormat::kGray8));
  const std::vector<Answer> answers = Reader(BackendChoice::kCuda, config).read(frames);
  for (const Answer& answer : answers) {
    EXPECT_EQ(std::memcmp(answer.scores.data(), answers[0].scores.data(),
                          answer.scores.size() * sizeof(float)),
              0);
    EXPECT_EQ(answer.record.confidence, answers[0].record.confidence);
  }
}

// Fails when a frame with NaN has a result, or spoils the next frame.
TEST_F(NeocognitronOnDevice, BadFramesHaveNoCharacters) {
  for (const CharacterLayout layout : {CharacterLayout::kTiles, CharacterLayout::kFind}) {
    NeocognitronConfig config = tile_config("shapes", {28, 28}, 4, 2, PixelFormat::kFloat32);
    config.layout = layout;
    config.depth = 2;
    std::vector<FrameBuffer> frames = different_frames(PixelFormat::kFloat32);
    frames[1].set(111, 55, std::numeric_limits<double>::quiet_NaN());
    frames[2].set(0, 0, std::numeric_limits<double>::infinity());
    expect_equal(config, frames);
    const std::vector<Answer> answers = Reader(BackendChoice::kCuda, config).read(frames);
    for (const std::size_t f : {std::size_t{1}, std::size_t{2}}) {
      EXPECT_NE(answers[f].flags & kBadPixels, 0u);
      EXPECT_EQ(answers[f].record.count, 0);
      EXPECT_EQ(*std::max_element(answers[f].scores.begin(), answers[f].scores.end()), 0.0f);
    }
    EXPECT_EQ(answers[3].flags & kBadPixels, 0u);
  }
}

// ---- find and boxes

FrameBuffer line_of_digits(PixelFormat format, bool light) {
  constexpr ImageSize kSize{320, 120};
  Scene scene(kSize.width, kSize.height);
  for (int i = 0; i < 7; ++i) scene.digit((3 * i + 1) % 10, 20 + 40 * i, 30 + 3 * i, 32, 4);
  scene.blur(0.7);
  const std::vector<std::uint8_t> pixels = scene.pixels(light, 1.3, 2.0);
  FrameBuffer frame(kSize, format, 3);
  for (int y = 0; y < kSize.height; ++y)
    for (int x = 0; x < kSize.width; ++x)
      frame.set(x, y,
                pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(kSize.width) +
                       static_cast<std::size_t>(x)]);
  return frame;
}

// Fails when the host's part of a frame reads another frame than the device's, when the frame does
// not come from device memory, or when candidates are mixed up.
// Promises: RES-004.
TEST_F(NeocognitronOnDevice, FoundCharactersAreEqual) {
  for (const PixelFormat format :
       {PixelFormat::kGray8, PixelFormat::kGray16, PixelFormat::kFloat32}) {
    for (const MemorySpace space : {MemorySpace::kHost, MemorySpace::kPinned, MemorySpace::kCuda}) {
      SCOPED_TRACE("format " + std::to_string(static_cast<int>(format)) + ", memory " +
                   std::to_string(static_cast<int>(space)));
      NeocognitronConfig config;
      config.size = {320, 120};
      config.format = format;
      config.depth = 1 + static_cast<int>(space);
      const std::vector<FrameBuffer> frames = {
          line_of_digits(format, false), line_of_digits(format, true),
          FrameBuffer(config.size, format).fill(PlaneD(320, 120)), line_of_digits(format, false)};
      expect_equal(config, frames, space);
      if (format != PixelFormat::kGray8) continue;
      const std::vector<Answer> answers = Reader(BackendChoice::kCuda, config, space).read(frames);
      EXPECT_GE(answers[0].record.count, 5) << "the scene has no characters: the test is void";
    }
  }
}

// Fails when fields or boxes are not handled as on the CPU.
TEST_F(NeocognitronOnDevice, FieldsAndBoxesAreEqual) {
  NeocognitronConfig config;
  config.size = {320, 120};
  config.fields.count = 3;
  config.fields.fields[0] = {10, 20, 100, 90};
  config.fields.fields[1] = {105, 30, 120, 80};
  config.fields.fields[2] = {0, 0, 12, 12};
  for (const CharacterLayout layout : {CharacterLayout::kFind, CharacterLayout::kBoxes}) {
    config.layout = layout;
    expect_equal(config, {line_of_digits(PixelFormat::kGray8, false),
                          line_of_digits(PixelFormat::kGray8, true)});
  }
}

/// A frame of digits that is read `fields` times.
void expect_equal_batches(const char* model, int fields) {
  NeocognitronConfig config;
  config.size = {320, 120};
  config.depth = 2;
  ASSERT_TRUE(config.model.assign(model));
  config.fields.count = fields;
  for (int i = 0; i < fields; ++i)
    config.fields.fields[static_cast<std::size_t>(i)] = {i % 7, i % 5, 310, 112};
  const std::vector<FrameBuffer> frames = {
      line_of_digits(PixelFormat::kGray8, false),
      FrameBuffer(config.size, PixelFormat::kGray8).fill(PlaneD(320, 120))};
  const std::vector<Answer> cpu = Reader(BackendChoice::kCpu, config).read(frames);
  EXPECT_GT(cpu[0].record.count, 2 * kMaxFieldCharacters) << "one batch: the test is void";
  EXPECT_EQ(cpu[1].record.count, 0);
  const std::vector<Answer> cuda = Reader(BackendChoice::kCuda, config).read(frames);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    SCOPED_TRACE("frame " + std::to_string(f));
    expect_equal(cpu[f], cuda[f]);
  }
}

// Fails when a format or a field is read otherwise than on the CPU, or when a bad frame spoils the
// next one. The network is small, because the host may run it.
TEST_F(NeocognitronOnDevice, InkOfFormatsAndFieldsIsEqual) {
  for (const PixelFormat format : {PixelFormat::kGray16, PixelFormat::kFloat32}) {
    SCOPED_TRACE("format " + std::to_string(static_cast<int>(format)));
    NeocognitronConfig config;
    config.size = {320, 120};
    config.format = format;
    config.depth = 2;
    ASSERT_TRUE(config.model.assign(Models::instance().path("tiny").c_str()));
    config.fields.count = 2;
    config.fields.fields[0] = {10, 20, 100, 90};
    config.fields.fields[1] = {93, 17, 227, 103};
    std::vector<FrameBuffer> frames = {line_of_digits(format, false), line_of_digits(format, true)};
    if (format == PixelFormat::kFloat32) {
      frames.push_back(line_of_digits(format, false));
      frames[0].set(319, 0, std::numeric_limits<double>::infinity());
    }
    expect_equal(config, frames);
  }
}

// Fails when candidates behind the first batch, or of a batch that is not full, are read wrongly,
// or a batch leaves something for the next frame.
TEST_F(NeocognitronOnDevice, SeveralBatchesAreEqual) {
  expect_equal_batches(Models::instance().path("tiny").c_str(), 20);
}

// Fails when a frame with as many fields as there may be is not read as on the CPU.
TEST_F(NeocognitronOnDevice, AllFieldsAreEqual) {
  expect_equal_batches("digits-small", kMaxTextFields);
}

}  // namespace
}  // namespace ocellus::test
