// Files of cortical networks: a network continues where it was saved, and what is wrong is named.
#include <gtest/gtest.h>
#include <malloc.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cortical_network/network_file.h"
#include "cortical_network_generated.h"
#include "ocellus/cortical_network.h"
#include "support/files.h"

namespace ocellus::test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using detail::kCorticalNetworkKind;

/// Windows of 12 inputs, which are padded in memory, and numbers of minicolumns that are, too.
CorticalNetworkConfig small_tiles() {
  CorticalNetworkConfig config;
  config.width = 5;
  config.height = 4;
  config.lgn = LgnTransform::kContrast;
  config.lgn_threshold = 17;
  config.level_count = 2;
  config.levels[0] = {3, 2, 2, 2, 7};
  config.levels[1] = {2, 2, 1, 1, 5};
  config.learning = {0.8f, 0.7f, 0.2f, 0.05f, 0.4f, 0.6f, 6};
  config.feedback_rounds = 2;
  config.feedback_tolerance = 3;
  config.seed = 0xfedcba9876543210ULL;
  return config;
}

class NetworkFile : public ::testing::Test {
 protected:
  static std::vector<Bytes> images(const CorticalNetworkConfig& config, int count) {
    std::mt19937 random(9);
    std::vector<Bytes> made(static_cast<std::size_t>(count));
    for (Bytes& image : made) {
      image.resize(static_cast<std::size_t>(config.width) *
                   static_cast<std::size_t>(config.height));
      for (auto& p : image) p = random() % 3 == 0 ? 250 : 10;
    }
    return made;
  }
  static CorticalNetwork trained(const CorticalNetworkConfig& config, int steps) {
    CorticalNetwork network = *CorticalNetwork::create(config);
    const auto shown = images(config, 3);
    for (int i = 0; i < steps; ++i)
      network.step(shown[static_cast<std::size_t>(i % 3)].data(), config.width, true);
    return network;
  }
  Bytes encoded() {
    const std::string path = folder_ / "good.ocellus";
    const auto saved = trained(small_tiles(), 60).save_file(path.c_str());
    EXPECT_TRUE(saved) << saved.error().text;
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string error_of(const Bytes& bytes) {
    const std::string path = folder_ / "bad.ocellus";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const auto read = CorticalNetwork::load_file(path.c_str());
    if (read) return "accepted";
    EXPECT_EQ(read.error().status, Status::kCorruptFile) << read.error().text;
    return read.error().text;
  }
  static std::uint64_t arrays_at(const Bytes& bytes) {
    std::uint32_t table_bytes = 0;
    std::memcpy(&table_bytes, bytes.data() + 20, sizeof(table_bytes));
    return detail::model_arrays_at(table_bytes);
  }
  /// The same arrays with another table and right checksums.
  static Bytes with(const Bytes& whole,
                    const std::function<void(file::CorticalNetworkT&)>& change) {
    const std::unique_ptr<file::CorticalNetworkT> table(
        flatbuffers::GetRoot<file::CorticalNetwork>(whole.data() + detail::kModelTableAt)
            ->UnPack());
    change(*table);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(file::CorticalNetwork::Pack(builder, table.get()));
    const std::uint64_t begin = arrays_at(whole);
    const std::uint64_t arrays = whole.size() - begin;
    Bytes bytes(detail::model_arrays_at(builder.GetSize()));
    detail::write_model_header(kCorticalNetworkKind, builder.GetBufferPointer(), builder.GetSize(),
                               arrays, XXH64(whole.data() + begin, arrays, 0), bytes.data());
    bytes.insert(bytes.end(), whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.end());
    return bytes;
  }

  TemporaryFolder folder_;
};

void expect_same_weights(const CorticalNetwork& a, const CorticalNetwork& b) {
  for (int l = 0; l < a.levels(); ++l)
    for (int h = 0; h < a.grid(l).width * a.grid(l).height; ++h)
      for (int i = 0; i < a.inputs(l); ++i)
        for (int m = 0; m < a.minicolumns(l); ++m)
          ASSERT_EQ(a.weight(l, h, i, m), b.weight(l, h, i, m));
}

// Fails if something of the state is not saved, or is rebuilt otherwise: weights, wins, the number
// of steps, which the random numbers depend on, or the configuration. 1,000 steps at once must be
// 500 steps, save, load and 500 steps.
TEST_F(NetworkFile, ContinuesAsTheSavedOne) {
  for (const CorticalNetworkConfig& config : {binary_tree(8, 32), small_tiles()}) {
    const auto shown = images(config, 6);
    std::mt19937 random(2);
    auto whole = CorticalNetwork::create(config);
    ASSERT_TRUE(whole);
    const std::string path = folder_ / "half.ocellus";
    const auto next = [&] {
      Bytes image = shown[random() % shown.size()];
      if (random() % 4 == 0) image[random() % image.size()] ^= 0xff;
      return image;
    };
    for (int step = 0; step < 500; ++step) whole->step(next().data(), config.width, true);
    const auto saved = whole->save_file(path.c_str());
    ASSERT_TRUE(saved) << saved.error().text;
    auto loaded = CorticalNetwork::load_file(path.c_str(), 2);
    ASSERT_TRUE(loaded) << loaded.error().text;
    EXPECT_EQ(loaded->steps(), 500u);
    EXPECT_EQ(loaded->config().workers, 2);
    EXPECT_EQ(loaded->config().seed, config.seed);
    EXPECT_EQ(loaded->config().feedback_rounds, config.feedback_rounds);
    EXPECT_EQ(loaded->config().feedback_tolerance, config.feedback_tolerance);
    expect_same_weights(*whole, *loaded);
    int winners = 0;
    for (int step = 0; step < 500; ++step) {
      const Bytes image = next();
      whole->step(image.data(), config.width, true);
      loaded->step(image.data(), config.width, true);
      for (int l = 0; l < config.level_count; ++l) {
        const auto a = whole->winners(l);
        const auto b = loaded->winners(l);
        ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin())) << "step " << step << " level " << l;
        winners += a[0] != kSilent;
      }
    }
    EXPECT_GT(winners, 500);
    EXPECT_EQ(loaded->steps(), whole->steps());
    expect_same_weights(*whole, *loaded);
  }
}

// Fails if a changed byte or a missing end is not found.
// Promises: FILE-003.
TEST_F(NetworkFile, DamageIsFound) {
  const Bytes good = encoded();
  ASSERT_EQ(error_of(good), "accepted");
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= 0x10;
    ASSERT_NE(error_of(bad), "accepted") << "byte " << at;
  }
  for (std::size_t length = 0; length < good.size(); ++length) {
    ASSERT_NE(error_of(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length))),
              "accepted")
        << "length " << length;
  }
}

// Fails if a file with right checksums and wrong values is accepted, or if the error does not name
// what is wrong.
TEST_F(NetworkFile, WrongValuesAreNamed) {
  const Bytes good = encoded();
  const auto has = [&](const std::function<void(file::CorticalNetworkT&)>& change,
                       const char* part) {
    const std::string error = error_of(with(good, change));
    EXPECT_NE(error.find(part), std::string::npos) << error;
    EXPECT_NE(error.find("bad.ocellus"), std::string::npos) << error;
  };
  using T = file::CorticalNetworkT;
  EXPECT_EQ(error_of(with(good, [](T&) {})), "accepted");
  has([](T& t) { t.width = 0; }, "width is 0");
  has([](T& t) { t.height = 1 << 30; }, "height is 1073741824");
  has([](T& t) { t.lgn = 2; }, "lgn is 2");
  has([](T& t) { t.lgn_threshold = 300; }, "lgn_threshold is 300");
  has([](T& t) { t.levels.clear(); }, "it has 0 levels");
  has([](T& t) { t.levels[1] = {2, 2, 1, 1, 1}; }, "minicolumns of level 2 is 1");
  has([](T& t) { t.levels[1] = {2, 2, -1, 1, 5}; }, "stride_x of level 2 is -1");
  has([](T& t) { t.levels[0] = {3, 2, 2, 2, 8}; }, "bytes of arrays");
  has([](T& t) { t.levels.pop_back(); }, "bytes of arrays");
  has([](T& t) { t.levels[0] = {2, 2, 2, 2, 7}; }, "bytes of arrays");
  has([](T& t) { t.threshold = std::numeric_limits<float>::quiet_NaN(); }, "threshold is");
  has([](T& t) { t.potentiation = 1.5f; }, "potentiation is 1.5");
  has([](T& t) { t.stable_wins = 0; }, "stable_wins is 0");
  has([](T& t) { t.feedback_rounds = -1; }, "feedback_rounds is -1");
  has([](T& t) { t.feedback_tolerance = 0; }, "feedback_tolerance is 0");
  // The first minicolumns have more wins.
  has([](T& t) { t.stable_wins = 1; }, "a number of wins is");
}

// Fails if a weight above 1 is accepted: the sums of a response could overflow.
TEST_F(NetworkFile, LargeWeightIsNamed) {
  Bytes bytes = encoded();
  const std::uint16_t large = 32769;
  std::memcpy(bytes.data() + arrays_at(bytes) + 10, &large, sizeof(large));
  const std::string error = error_of(with(bytes, [](file::CorticalNetworkT&) {}));
  EXPECT_NE(error.find("a weight is 32769; it must be 0 to 32768"), std::string::npos) << error;
}

// Fails if a save that cannot be completed changes the older file or leaves a part, or if an error
// of the arguments is not reported.
TEST_F(NetworkFile, FailuresAreReported) {
  const CorticalNetwork network = trained(small_tiles(), 3);
  EXPECT_EQ(network.save_file("").error().status, Status::kInvalidArgument);
  EXPECT_EQ(network.save_file(std::string(5000, 'x').c_str()).error().status,
            Status::kInvalidArgument);
  EXPECT_EQ(network.save_file("/no/such/folder/network").error().status, Status::kIoError);
  // A folder in place of the file makes the last step fail.
  const std::string path = folder_ / "network";
  ASSERT_EQ(mkdir(path.c_str(), 0777), 0);
  const auto saved = network.save_file(path.c_str());
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().status, Status::kIoError);
  EXPECT_NE(std::string(saved.error().text).find("cannot be written"), std::string::npos);
  EXPECT_EQ(CorticalNetwork::load_file("").error().status, Status::kInvalidArgument);
  EXPECT_EQ(CorticalNetwork::load_file("/no/such/file").error().status, Status::kIoError);
  EXPECT_EQ(CorticalNetwork::load_file("/no/such/file", 0).error().status,
            Status::kInvalidArgument);
}

#if defined(__GLIBC__)
// Fails when a network before its first step reads cells that nobody has written. New memory of the
// system is 0, which would hide this.
TEST_F(NetworkFile, HasNoResponseBeforeTheFirstStep) {
  const CorticalNetworkConfig config = small_tiles();
  const std::string path = folder_ / "responses.ocellus";
  const auto saved = trained(config, 60).save_file(path.c_str());
  ASSERT_TRUE(saved) << saved.error().text;
  mallopt(M_PERTURB, 0xfe);
  const auto network = CorticalNetwork::load_file(path.c_str());
  mallopt(M_PERTURB, 0);
  ASSERT_TRUE(network) << network.error().text;
  const ImageSize grid = network->grid(0);
  for (int h = 0; h < grid.width * grid.height; ++h) {
    std::vector<std::int64_t> g(static_cast<std::size_t>(network->minicolumns(0)), 7);
    network->responses(0, h, g);
    EXPECT_EQ(g, std::vector<std::int64_t>(g.size(), 0)) << "hypercolumn " << h;
  }
}
#endif

}  // namespace
}  // namespace ocellus::test
