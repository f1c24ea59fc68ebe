// Model files: what is written is read, and what is wrong is named.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/model_file.h"
#include "neocognitron/half.h"
#include "neocognitron/model_file.h"
#include "neocognitron_model_generated.h"
#include "ocellus/neocognitron.h"
#include "ocellus/neocognitron_training.h"
#include "support/files.h"
#include "support/run.h"

namespace ocellus::test {
namespace {

/// A small network with weights that are numbers of binary16.
TrainedNeocognitron network() {
  TrainedNeocognitron out;
  out.planes = {16, 3, 5, 4};
  out.names = {"zero", "one", "?"};
  out.labels = {0, 0, 1, 2};
  out.lengths = {1.0f, 2.5f, 0.25f, 8.0f};
  constexpr std::array<int, 4> kTaps{12, 32, 32, 69};
  constexpr std::array<int, 4> kBelow{2, 16, 3, 5};
  for (std::size_t l = 0; l < 4; ++l) {
    out.weights[l].resize(static_cast<std::size_t>(kTaps[l] * kBelow[l] * out.planes[l]));
    for (std::size_t i = 0; i < out.weights[l].size(); ++i)
      out.weights[l][i] = static_cast<float>((i * 37 + l) % 1024) / 1024.0f;
  }
  return out;
}

class NeocognitronFile : public ::testing::Test {
 protected:
  std::string write(const std::vector<std::uint8_t>& bytes) {
    const std::string path = folder_ / "model.ocellus";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  /// The error text of these bytes, without the path.
  std::string error_of(const std::vector<std::uint8_t>& bytes) {
    const std::string path = write(bytes);
    const auto read = read_neocognitron(path.c_str());
    if (read) return {};
    EXPECT_EQ(read.error().status, Status::kCorruptFile);
    std::string text = read.error().text;
    const std::size_t at = text.find(path);
    EXPECT_NE(at, std::string::npos) << text;
    return at == std::string::npos ? text : text.erase(at, path.size());
  }
  static std::vector<std::uint8_t> encoded(const TrainedNeocognitron& from) {
    const auto bytes = encode_neocognitron(from, "a test");
    EXPECT_TRUE(bytes) << bytes.error().text;
    return *bytes;
  }
  /// Both hashes of a file whose arrays were changed.
  static void hash_again(std::vector<std::uint8_t>& bytes) {
    std::uint32_t table_bytes = 0;
    std::memcpy(&table_bytes, bytes.data() + 20, sizeof(table_bytes));
    const std::uint64_t begin = detail::model_arrays_at(table_bytes);
    const std::uint64_t arrays = XXH64(bytes.data() + begin, bytes.size() - begin, 0);
    std::memcpy(bytes.data() + 32, &arrays, sizeof(arrays));
    const std::uint64_t header = detail::model_header_hash(bytes.data(), begin);
    std::memcpy(bytes.data() + 40, &header, sizeof(header));
  }
  /// The same file with another table.
  template <typename Change>
  static std::vector<std::uint8_t> with_table(const std::vector<std::uint8_t>& whole,
                                              const Change& change) {
    std::uint32_t table_bytes = 0;
    std::memcpy(&table_bytes, whole.data() + 20, sizeof(table_bytes));
    const std::uint64_t begin = detail::model_arrays_at(table_bytes);
    const std::unique_ptr<file::NeocognitronT> table(
        flatbuffers::GetRoot<file::Neocognitron>(whole.data() + detail::kModelTableAt)->UnPack());
    change(*table);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(file::Neocognitron::Pack(builder, table.get()));
    const std::uint64_t arrays = whole.size() - begin;
    std::vector<std::uint8_t> bytes(detail::model_arrays_at(builder.GetSize()));
    detail::write_model_header(detail::kNeocognitronKind, builder.GetBufferPointer(),
                               builder.GetSize(), arrays, XXH64(whole.data() + begin, arrays, 0),
                               bytes.data());
    bytes.insert(bytes.end(), whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.end());
    return bytes;
  }

  TemporaryFolder folder_;
};

TEST_F(NeocognitronFile, WhatIsWrittenIsRead) {
  TrainedNeocognitron from = network();
  from.parameters.stages[2].threshold = 0.625f;
  from.normalization = {40.0f, false};
  from.calibration = {-2.5f, 30.0f, 1.25f};
  from.has_other = true;
  from.odds.weights = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11};
  from.odds.dropped = 1.5f;
  from.sizes.assign(from.names.size() - 1, {0.5f, 0.75f, 0.125f, 0.25f, -0.5f});
  from.sizes[1].correlation = 0.25f;
  const auto read = read_neocognitron(write(encoded(from)).c_str());
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->planes, from.planes);
  EXPECT_EQ(read->names, from.names);
  EXPECT_EQ(read->labels, from.labels);
  EXPECT_EQ(read->lengths, from.lengths);
  for (std::size_t l = 0; l < 4; ++l) EXPECT_EQ(read->weights[l], from.weights[l]);
  EXPECT_EQ(read->parameters.stages[2].threshold, 0.625f);
  EXPECT_EQ(read->normalization.extent, 40.0f);
  EXPECT_FALSE(read->normalization.deslant);
  EXPECT_EQ(read->calibration.offset, -2.5f);
  EXPECT_EQ(read->calibration.per_margin, 30.0f);
  EXPECT_EQ(read->calibration.per_similarity, 1.25f);
  EXPECT_TRUE(read->has_other);
  EXPECT_EQ(read->characters(), from.names.size() - 1);
  EXPECT_EQ(read->odds.weights, from.odds.weights);
  EXPECT_EQ(read->odds.dropped, 1.5f);
  ASSERT_EQ(read->sizes.size(), from.sizes.size());
  EXPECT_EQ(read->sizes[0].width, 0.5f);
  EXPECT_EQ(read->sizes[0].height, 0.75f);
  EXPECT_EQ(read->sizes[0].width_deviation, 0.125f);
  EXPECT_EQ(read->sizes[0].height_deviation, 0.25f);
  EXPECT_EQ(read->sizes[0].correlation, -0.5f);
  EXPECT_EQ(read->sizes[1].correlation, 0.25f);
}

// Fails when a weight that a file cannot hold is written as another number.
TEST_F(NeocognitronFile, WeightsBeyondBinary16AreRefused) {
  for (const float weight : {std::nanf(""), 65536.0f, -HUGE_VALF}) {
    TrainedNeocognitron from = network();
    from.weights[2][7] = weight;
    const auto refused = encode_neocognitron(from, "");
    ASSERT_FALSE(refused) << weight;
    EXPECT_EQ(refused.error().status, Status::kInvalidArgument);
    EXPECT_NE(std::string(refused.error().text).find("a weight of stage 3 is"), std::string::npos)
        << refused.error().text;
  }
}

// Fails when a reader holds the arrays of a damaged file, or when the operator's memory is taken
// before the file is known to be good.
// Promises: FILE-004.
TEST_F(NeocognitronFile, ADamagedFileTakesNoMemory) {
  TrainedNeocognitron large = network();
  large.planes = {16, 1024, 1024, 4};
  constexpr std::array<int, 4> kTaps{12, 32, 32, 69};
  constexpr std::array<int, 4> kBelow{2, 16, 1024, 1024};
  for (std::size_t l = 0; l < 4; ++l)
    large.weights[l].assign(static_cast<std::size_t>(kTaps[l] * kBelow[l] * large.planes[l]), 0.5f);
  std::vector<std::uint8_t> bytes = encoded(large);
  bytes.back() ^= 1;
  const std::string path = write(bytes);
  const std::size_t arrays = bytes.size();
  large = {};
  bytes = {};
  // Memory that this process holds for other reasons would hide what the readers take.
  malloc_trim(0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto most_resident = [] {
      std::ifstream file("/proc/self/status");
      std::string word;
      long kib = -1;
      while (file >> word)
        if (word == "VmHWM:") file >> kib;
      return kib;
    };
    std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM begins anew
    const long before = most_resident();
    EngineConfig cpu;  // a CUDA driver that starts takes memory
    cpu.backend = {BackendChoice::kCpu, 0};
    NeocognitronConfig config;
    config.size = {64, 64};
    if (!config.model.assign(path)) _exit(3);
    const bool refused = !read_neocognitron(path.c_str()) &&
                         !Neocognitron::footprint(must(Engine::probe(cpu)), config);
    _exit(!refused ? 2 : most_resident() - before < 8 * 1024 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 2) << "the file is taken";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "memory is taken for " << arrays << " bytes of arrays";
}

// Fails when a file from before the choice is refused, or numbers that do not fit are taken.
TEST_F(NeocognitronFile, TheChoiceIsOptionalAndInItsRange) {
  TrainedNeocognitron from = network();
  from.has_other = true;
  from.sizes.assign(from.names.size() - 1, {});
  const std::vector<std::uint8_t> whole = encoded(from);
  const auto read = read_neocognitron(write(with_table(whole, [](file::NeocognitronT& table) {
                                        table.other = false;
                                        table.odds.reset();
                                        table.sizes.clear();
                                      })).c_str());
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_FALSE(read->has_other);
  EXPECT_EQ(read->odds.weights, CharacterOdds{}.weights);
  EXPECT_TRUE(read->sizes.empty());
  const auto error = [&](const auto& change) { return error_of(with_table(whole, change)); };
  EXPECT_EQ(error([](file::NeocognitronT& table) { table.odds->weights.pop_back(); }),
            "neocognitron model \"\": there must be 11 weights of the odds");
  EXPECT_EQ(error([](file::NeocognitronT& table) { table.odds->weights[3] = std::nanf(""); }),
            "neocognitron model \"\": weight 3 of the odds is nan; it must be -10000 to 10000");
  EXPECT_EQ(error([](file::NeocognitronT& table) { table.odds->dropped = -1; }),
            "neocognitron model \"\": what dropped ink costs is -1; it must be 0 to 10000");
  EXPECT_EQ(error([](file::NeocognitronT& table) { table.sizes.pop_back(); }),
            "neocognitron model \"\": it has " + std::to_string(from.sizes.size() - 1) +
                " sizes for " + std::to_string(from.sizes.size()) + " classes of characters");
  EXPECT_NE(error([](file::NeocognitronT& table) {
              table.sizes[1]->width_deviation = 0;
            }).find("class 1: the size of its characters is"),
            std::string::npos);
  from.sizes.pop_back();
  EXPECT_FALSE(encode_neocognitron(from, ""));
  from.sizes.clear();
  from.odds.weights[0] = std::nanf("");
  EXPECT_FALSE(encode_neocognitron(from, ""));
}

// Fails when a file from before the confidence is refused, or a number out of range is taken.
TEST_F(NeocognitronFile, TheConfidenceIsOptionalAndInItsRange) {
  const std::vector<std::uint8_t> whole = encoded(network());
  const auto with = [&](const auto& change) { return with_table(whole, change); };
  const auto read = read_neocognitron(
      write(with([](file::NeocognitronT& table) { table.confidence.reset(); })).c_str());
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->calibration.per_margin, ConfidenceCalibration{}.per_margin);
  EXPECT_EQ(
      error_of(
          with([](file::NeocognitronT& table) { table.confidence->per_margin = std::nanf(""); })),
      "neocognitron model \"\": the numbers of the confidence are -14, nan and 15; they must be "
      "-10000 to 10000");
  EXPECT_NE(error_of(with([](file::NeocognitronT& table) { table.confidence->offset = 2e4f; })),
            "");
  TrainedNeocognitron from = network();
  from.calibration.per_similarity = std::nanf("");
  EXPECT_FALSE(encode_neocognitron(from, ""));
}

// Fails when the side of US4 gets lost, or a file from before it is not read as it was meant.
TEST_F(NeocognitronFile, WithoutASideUS4HasAllCells) {
  TrainedNeocognitron from = network();
  for (const int side : {1, 5}) {
    from.parameters.reference_side = side;
    const auto read = read_neocognitron(write(encoded(from)).c_str());
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->parameters.reference_side, side);
  }
  // The default of the table is not written: the field is missing, as in an older file.
  const std::vector<std::uint8_t> older = encoded(from);
  EXPECT_FALSE(flatbuffers::GetRoot<flatbuffers::Table>(older.data() + detail::kModelTableAt)
                   ->CheckField(file::Neocognitron::VT_REFERENCE_SIDE));
  EXPECT_EQ(
      error_of(with_table(older, [](file::NeocognitronT& table) { table.reference_side = 3; })),
      "neocognitron model \"\": neocognitron: reference_side is 3; it must be 1 or 5");
  from.parameters.reference_side = 2;
  EXPECT_FALSE(encode_neocognitron(from, ""));
}

// Promises: FILE-003.
TEST_F(NeocognitronFile, EveryTruncationIsAnError) {
  const std::vector<std::uint8_t> whole = encoded(network());
  for (std::size_t length = 0; length < whole.size(); length += length < 1200 ? 7 : 997) {
    const std::vector<std::uint8_t> part(whole.begin(),
                                         whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_NE(error_of(part), "") << length << " bytes";
  }
}

// Promises: FILE-003.
TEST_F(NeocognitronFile, EveryChangedByteIsAnError) {
  const std::vector<std::uint8_t> whole = encoded(network());
  for (std::size_t at = 0; at < whole.size(); at += at < 1200 ? 5 : 991) {
    std::vector<std::uint8_t> bytes = whole;
    bytes[at] ^= 0x10;
    EXPECT_NE(error_of(bytes), "") << "byte " << at;
  }
}

TEST_F(NeocognitronFile, BadNumbersAreNamed) {
  const std::vector<std::uint8_t> whole = encoded(network());
  std::uint32_t table_bytes = 0;
  std::memcpy(&table_bytes, whole.data() + 20, sizeof(table_bytes));
  const std::uint64_t begin = detail::model_arrays_at(table_bytes);
  {
    std::vector<std::uint8_t> bytes = whole;
    constexpr std::uint16_t kNan = 0x7e00;
    std::memcpy(bytes.data() + begin + 10, &kNan, sizeof(kNan));
    hash_again(bytes);
    EXPECT_EQ(error_of(bytes),
              "neocognitron model \"\": a weight of stage 1 is nan; it must be 0 or more");
  }
  // References may have negative weights. Their lengths follow them.
  const TrainedNeocognitron written = network();
  const std::size_t references = whole.size() - written.lengths.size() * sizeof(float) -
                                 (2 * written.weights[3].size() + 63) / 64 * 64;
  const std::uint16_t infinity = 0xfc00;
  const std::uint16_t negative = 0xb800;
  for (const std::uint16_t weight : {infinity, negative}) {
    std::vector<std::uint8_t> bytes = whole;
    std::memcpy(bytes.data() + references, &weight, sizeof(weight));
    hash_again(bytes);
    EXPECT_EQ(error_of(bytes), weight == negative
                                   ? ""
                                   : "neocognitron model \"\": a weight of stage 4 is "
                                     "-inf; it must be finite");
  }
  {
    std::vector<std::uint8_t> bytes = whole;
    const float length = -8.0f;
    std::memcpy(bytes.data() + bytes.size() - sizeof(length), &length, sizeof(length));
    hash_again(bytes);
    EXPECT_EQ(error_of(bytes),
              "neocognitron model \"\": the length of reference 3 is -8; it must be above 0");
  }
}

TEST_F(NeocognitronFile, PartsThatDoNotFitAreNotWritten) {
  const auto error = [](const TrainedNeocognitron& from) {
    const auto bytes = encode_neocognitron(from, "");
    return bytes ? std::string() : std::string(bytes.error().text);
  };
  TrainedNeocognitron from = network();
  from.weights[1].pop_back();
  EXPECT_EQ(error(from), "neocognitron: stage 2 has 1535 weights; it must have 1536");
  from = network();
  from.labels[3] = 3;
  EXPECT_EQ(error(from), "neocognitron: labels, lengths and names do not fit 4 references");
  from = network();
  from.planes[2] = 0;
  EXPECT_EQ(error(from), "neocognitron: stage 3 has 0 planes; it must have 1 to 1024");
}

TEST(NeocognitronPath, ErrorsNameThePath) {
  const auto none = read_neocognitron("");
  ASSERT_FALSE(none);
  EXPECT_STREQ(none.error().text, "the path of the neocognitron model is empty");
  const auto missing = read_neocognitron("/nonexistent/m.ocellus");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().status, Status::kIoError);
  EXPECT_NE(std::string(missing.error().text).find("/nonexistent/m.ocellus"), std::string::npos);
}

}  // namespace
}  // namespace ocellus::test
