// Halftone and Cnn: networks described by texts and numbers, and the files that they name.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "image/pgm.h"
#include "ocellus/ocellus.h"
#include "support/files.h"
#include "support/networks.h"
#include "support/scene.h"

namespace ocellus {
namespace {

using test::cells_of;
using test::FrameBuffer;
using test::must;
using test::TemporaryFolder;

constexpr ImageSize kSize{20, 12};

void store(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Gray levels that no other image in the tests has.
int level_of(int i) {
  return (i * 37 + i * i * 11) % 256;
}

std::string pgm_of(ImageSize size, bool wide) {
  std::string bytes = "P5\n# a comment\n" + std::to_string(size.width) + " " +
                      std::to_string(size.height) + (wide ? "\n65535\n" : "\n255\n");
  for (int i = 0; i < size.width * size.height; ++i) {
    bytes += static_cast<char>(level_of(i));
    if (wide) bytes += static_cast<char>(level_of(i));  // 257 times the level
  }
  return bytes;
}

CnnConfig begun_with(const std::string& path) {
  CnnConfig config;
  config.size = kSize;
  EXPECT_TRUE(config.chain.assign("hlf5"));
  EXPECT_TRUE(config.initial.assign(path));
  return config;
}

template <typename Operator, typename Config>
test::CellBytes result_of(const Config& config) {
  FrameBuffer frame(kSize, PixelFormat::kGray8);
  frame.fill(test::noise(kSize, 3));
  auto rig = test::Rig<Operator>::make(config);
  return cells_of(rig.op, frame.frame());
}

/// The error of each call, which must be the same for all calls.
template <typename Operator, typename Config>
Error refusal(const Config& config) {
  const auto info = Operator::info_for(config);
  Engine engine = must(Engine::create(test::engine_config()));
  const auto footprint = Operator::footprint(engine.info(), config);
  const auto made = Operator::create(engine, config);
  EXPECT_FALSE(info);
  EXPECT_FALSE(footprint);
  EXPECT_FALSE(made);
  if (info || footprint || made) return {};
  EXPECT_STREQ(footprint.error().text, info.error().text);
  EXPECT_STREQ(made.error().text, info.error().text);
  return info.error();
}

void expect_error(const Error& error, Status status, const std::vector<std::string>& words) {
  EXPECT_EQ(error.status, status) << error.text;
  for (const std::string& word : words)
    EXPECT_NE(std::string(error.text).find(word), std::string::npos)
        << "\"" << word << "\" is missing in: " << error.text;
}

// Fails when 8-bit or 16-bit values are read wrongly.
TEST(Initial, ReadsFilesOf8And16Bits) {
  const TemporaryFolder folder;
  const std::string path = folder / "initial.pgm";
  // The larger image is read in several parts.
  for (const ImageSize size : {kSize, ImageSize{131, 97}}) {
    for (const bool wide : {false, true}) {
      store(path, pgm_of(size, wide));
      std::vector<float> values(static_cast<std::size_t>(size.width * size.height), -1.0f);
      const Expected<void> done = detail::read_pgm(path.c_str(), size, values.data());
      ASSERT_TRUE(done) << done.error().text;
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_FLOAT_EQ(values[i], static_cast<float>(level_of(static_cast<int>(i))) / 255.0f) << i;
    }
  }
  // A range of 1 in 8-bit samples, and 16-bit samples with the high byte first.
  std::vector<float> two(2);
  store(folder / "bits.pgm", std::string("P5 2 1 1\n\0\1", 11));
  ASSERT_TRUE(detail::read_pgm((folder / "bits.pgm").c_str(), {2, 1}, two.data()));
  EXPECT_EQ(two, (std::vector<float>{0.0f, 1.0f}));
  store(folder / "order.pgm", std::string("P5 2 1 1024\n\1\0\4\0", 16));
  ASSERT_TRUE(detail::read_pgm((folder / "order.pgm").c_str(), {2, 1}, two.data()));
  EXPECT_EQ(two, (std::vector<float>{0.25f, 1.0f}));
}

// Fails when the first stage does not start from the file, in either polarity, or when a network of
// the same stages gives a different result.
TEST(Initial, TheFirstStageStartsFromTheFile) {
  const TemporaryFolder folder;
  const std::string narrow = folder / "narrow.pgm";
  const std::string wide = folder / "wide.pgm";
  store(narrow, pgm_of(kSize, false));
  store(wide, pgm_of(kSize, true));
  for (const CellPolarity polarity : {CellPolarity::kBlackIsOne, CellPolarity::kWhiteIsOne}) {
    CnnConfig config = begun_with(narrow);
    config.polarity = polarity;
    config.max_sweeps = 1;  // so that the start is visible
    const test::CellBytes got = result_of<Cnn>(config);
    CnnConfig other = config;
    ASSERT_TRUE(other.initial.assign(wide));
    EXPECT_EQ(result_of<Cnn>(other), got);
    other.initial = {};
    EXPECT_NE(result_of<Cnn>(other), got) << "the file has no effect, so nothing was tested";

    std::vector<float> plane;
    for (int i = 0; i < kSize.width * kSize.height; ++i) {
      const float value = 2.0f * static_cast<float>(level_of(i)) / 255.0f - 1.0f;
      plane.push_back(polarity == CellPolarity::kWhiteIsOne ? value : -value);
    }
    CellularNetworkConfig network;
    network.size = kSize;
    network.polarity = polarity;
    network.stage_count = must(parse_cell_chain("hlf5", network.stages));
    network.stages[0].max_sweeps = 1;
    network.stages[0].start = CellStart::kPlane;
    network.stages[0].start_plane = plane.data();
    network.stages[0].start_stride = kSize.width * static_cast<std::ptrdiff_t>(sizeof(float));
    EXPECT_EQ(result_of<CellularNetwork>(network), got);
  }
}

// Fails when a file that is missing, damaged, or of another kind or size is accepted. Also fails
// when the error does not name the option, the file and the reason.
TEST(Initial, RefusesBadFiles) {
  const TemporaryFolder folder;
  const std::string path = folder / "initial.pgm";
  expect_error(refusal<Cnn>(begun_with(path)), Status::kIoError, {"initial: ", path, "No such"});
  expect_error(refusal<Cnn>(begun_with(folder.path())), Status::kIoError,
               {"initial: ", folder.path(), "regular file"});
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_error(refusal<Cnn>(begun_with(pipe)), Status::kIoError,
               {"initial: ", pipe, "regular file"});

  const std::string good = pgm_of(kSize, false);
  struct Bad {
    std::string bytes;
    Status status;
    std::vector<std::string> words;
  };
  const std::vector<Bad> table = {
      {"", Status::kInvalidArgument, {"not a binary PGM file"}},
      {"P2\n20 12\n255\n0 0 0", Status::kInvalidArgument, {"not a binary PGM file"}},
      {"\x89PNG\r\n", Status::kInvalidArgument, {"not a binary PGM file"}},
      {"P5", Status::kCorruptFile, {"header is damaged"}},
      {"P5 20 12", Status::kCorruptFile, {"header is damaged"}},
      {"P5 20 12 0\n", Status::kCorruptFile, {"header is damaged"}},
      {"P5 20 12 65536\n", Status::kCorruptFile, {"header is damaged", "65535"}},
      {"P5 -20 12 255\n", Status::kCorruptFile, {"header is damaged"}},
      {"P5 a b 255\n", Status::kCorruptFile, {"header is damaged"}},
      {"P5\n#" + std::string(5000, 'c'), Status::kCorruptFile, {"header is longer"}},
      {pgm_of({12, 20}, false), Status::kInvalidArgument, {"12x20", "must be 20x12"}},
      {"P5 99999999999999999999 12 255\n",
       Status::kInvalidArgument,
       {"at least 1000000x12", "must be 20x12"}},
      {good.substr(0, good.size() - 1), Status::kCorruptFile, {"truncated"}},
      {pgm_of(kSize, true).substr(0, pgm_of(kSize, true).size() - 1),
       Status::kCorruptFile,
       {"truncated"}},
      {"P5 20 12 100\n" + std::string(240, '\xc8'),
       Status::kCorruptFile,
       {"value is larger than its header says"}},
  };
  for (const Bad& bad : table) {
    SCOPED_TRACE(bad.words.back());
    store(path, bad.bytes);
    const Error error = refusal<Cnn>(begun_with(path));
    expect_error(error, bad.status, bad.words);
    expect_error(error, bad.status, {"initial: ", path});
  }
  store(path, good);
  CnnConfig large = begun_with(path);
  large.size = {kMaxImageSide + 1, 12};
  expect_error(refusal<Cnn>(large), Status::kInvalidArgument, {"size", "16385"});
}

// Fails when an option of a chain is out of range or invalid, and the error does not name it.
TEST(ChainOptions, MistakesAreReported) {
  CnnConfig good;
  good.size = kSize;
  CnnConfig config = good;
  EXPECT_TRUE(config.chain.assign("nonsense"));
  expect_error(refusal<Cnn>(config), Status::kInvalidArgument, {"template: ", "nonsense"});
  config.chain = {};
  expect_error(refusal<Cnn>(config), Status::kInvalidArgument, {"template: "});
  EXPECT_TRUE(config.chain.assign("/no/such/file.ocellus"));
  expect_error(refusal<Cnn>(config), Status::kIoError, {"template: ", "/no/such/file.ocellus"});
  for (const char* bad : {"nonsense", "1.01", "-2", "nan", "0.5x", "Periodic", " periodic"}) {
    config = good;
    EXPECT_TRUE(config.boundary.assign(bad));
    expect_error(refusal<Cnn>(config), Status::kInvalidArgument,
                 {std::string("boundary is \"") + bad + "\"", "zero-flux", "periodic", "-1 to 1"});
  }
  for (const char* taken : {"", "zero-flux", "periodic", "-1", "0.25", "1"}) {
    config = good;
    EXPECT_TRUE(config.boundary.assign(taken));
    EXPECT_TRUE(Cnn::info_for(config)) << taken;
  }
  config = good;
  config.levels = 1;
  expect_error(refusal<Cnn>(config), Status::kInvalidArgument, {"levels is 1", "2 to 256", "0"});
  config.levels = 257;
  expect_error(refusal<Cnn>(config), Status::kInvalidArgument, {"levels is 257", "256"});
  config = good;
  config.start = static_cast<ChainStart>(9);
  expect_error(refusal<Cnn>(config), Status::kInvalidArgument,
               {"start is 9", "0 (template)", "4 (error-diffusion)"});
  config = good;
  config.update = static_cast<ChainUpdate>(9);
  expect_error(refusal<Cnn>(config), Status::kInvalidArgument,
               {"update is 9", "0 (template)", "3 (synchronous)"});
  config = good;
  config.polarity = static_cast<CellPolarity>(9);
  expect_error(refusal<Cnn>(config), Status::kInvalidArgument, {"polarity is 9", "0 (black)"});
  config = good;
  config.depth = 9;
  expect_error(refusal<Cnn>(config), Status::kInvalidArgument, {"depth is 9", "1 to 8"});
  config = good;
  config.format = static_cast<PixelFormat>(9);
  expect_error(refusal<Cnn>(config), Status::kInvalidArgument, {"format is 9"});
}

// Fails when a preset is accepted together with a template, or levels without one, or when the
// error does not name the condition.
TEST(ChainOptions, APresetExcludesATemplate) {
  HalftoneConfig config;
  const OptionSetting both[] = {{"preset", "fast"}, {"template", "hlf5"}};
  const Expected<void> preset = set_options(config, both);
  ASSERT_FALSE(preset);
  expect_error(preset.error(), Status::kInvalidArgument,
               {"preset has no meaning", "an empty template"});
  config = {};
  const Expected<void> levels = set_option(config, "levels", "4");
  ASSERT_FALSE(levels);
  expect_error(levels.error(), Status::kInvalidArgument,
               {"levels has no meaning", "a template", "levels of their own"});
  config = {};
  const OptionSetting good[] = {{"levels", "4"}, {"template", "hlf5"}};
  ASSERT_TRUE(set_options(config, good));
  config.size = kSize;
  EXPECT_TRUE(Halftone::info_for(config));
}

// Fails when the result is not that of the preset or the template.
TEST(ChainOptions, AHalftoneEqualsThatOfItsNetwork) {
  const std::pair<HalftonePreset, int> levels[] = {{HalftonePreset::kQuality, 2},
                                                   {HalftonePreset::kFast, 2},
                                                   {HalftonePreset::kGray4, 4},
                                                   {HalftonePreset::kGray16, 16}};
  for (const auto& [preset, count] : levels) {
    HalftoneConfig config;
    config.size = kSize;
    config.preset = preset;
    EXPECT_EQ(result_of<Halftone>(config),
              result_of<CellularNetwork>(halftone_config(kSize, preset)));
    EXPECT_EQ(must(Halftone::info_for(config)).planes[0].levels, count);
  }
  HalftoneConfig config;
  config.size = kSize;
  EXPECT_TRUE(config.chain.assign("hlf5"));
  CellularNetworkConfig network;
  network.size = kSize;
  network.stage_count = must(parse_cell_chain("hlf5", network.stages));
  EXPECT_EQ(result_of<Halftone>(config), result_of<CellularNetwork>(network));
  config.start = ChainStart::kNoise;
  config.seed = 77;
  config.max_sweeps = 1;
  network.stages[0].start = CellStart::kNoise;
  network.stages[0].seed = 77;
  network.stages[0].max_sweeps = 1;
  const test::CellBytes noise = result_of<Halftone>(config);
  EXPECT_EQ(noise, result_of<CellularNetwork>(network));
  config.seed = 78;
  EXPECT_NE(result_of<Halftone>(config), noise) << "the seed has no effect";
}

}  // namespace
}  // namespace ocellus
