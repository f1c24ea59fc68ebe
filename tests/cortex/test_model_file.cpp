// Model files of the cortical classifier: what is written is read, and what is wrong is named.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cortex/labeled_strokes.h"
#include "cortex/model_file.h"
#include "cortex_model_generated.h"
#include "ocellus/cortex_training.h"
#include "ocellus/ocellus.h"
#include "support/files.h"

namespace ocellus::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

class CortexFile : public ::testing::Test {
 protected:
  static TrainedCortex cortex() {
    CortexTraining training;
    training.parameters.levels[0] = {8, 8, 4, 4, 10};
    training.parameters.level_count = 2;
    training.parameters.levels[1] = {2, 2, 1, 1, 6};
    training.parameters.competitors = 2;
    training.feature_images = 100;
    LabeledImages images = labeled_strokes(200, 1);
    images.names = {"-", "|", "\\", "/"};
    return *train_cortex(images, training);
  }
  static TrainedCortex with_fields() {
    CortexTraining training;
    training.parameters.fields = 5;
    training.parameters.field_inputs = 9;
    training.parameters.levels[0].minicolumns = 10;
    training.feature_images = 100;
    training.rewirings = 3;
    return *train_cortex(labeled_strokes(200, 1), training);
  }
  static Bytes encoded() {
    const auto bytes = encode_cortex(cortex(), "a test");
    EXPECT_TRUE(bytes) << bytes.error().text;
    return *bytes;
  }
  std::string write(const Bytes& bytes) {
    const std::string path = folder_ / "model.ocellus";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string error_of(const Bytes& bytes) {
    const auto read = read_cortex(write(bytes).c_str());
    if (read) return "accepted";
    EXPECT_EQ(read.error().status, Status::kCorruptFile);
    return read.error().text;
  }
  static std::uint64_t arrays_at(const Bytes& bytes) {
    std::uint32_t table_bytes = 0;
    std::memcpy(&table_bytes, bytes.data() + 20, sizeof(table_bytes));
    return detail::model_arrays_at(table_bytes);
  }
  /// The same arrays with another table.
  static Bytes with(const Bytes& whole, const std::function<void(file::CortexT&)>& change) {
    const std::unique_ptr<file::CortexT> table(
        flatbuffers::GetRoot<file::Cortex>(whole.data() + detail::kModelTableAt)->UnPack());
    change(*table);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(file::Cortex::Pack(builder, table.get()));
    const std::uint64_t begin = arrays_at(whole);
    const std::uint64_t arrays = whole.size() - begin;
    Bytes bytes(detail::model_arrays_at(builder.GetSize()));
    detail::write_model_header(detail::kCortexKind, builder.GetBufferPointer(), builder.GetSize(),
                               arrays, XXH64(whole.data() + begin, arrays, 0), bytes.data());
    bytes.insert(bytes.end(), whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.end());
    return bytes;
  }

  TemporaryFolder folder_;
};

// Fails if a member is not written, or is read from another place.
TEST_F(CortexFile, WhatIsWrittenIsRead) {
  const TrainedCortex from = cortex();
  const auto read = read_cortex(write(*encode_cortex(from, "a test")).c_str());
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->parameters.width, 16);
  EXPECT_EQ(read->parameters.deslant, from.parameters.deslant);
  EXPECT_EQ(read->parameters.lgn_threshold, from.parameters.lgn_threshold);
  EXPECT_EQ(read->parameters.level_count, 2);
  EXPECT_EQ(read->parameters.levels[1], from.parameters.levels[1]);
  EXPECT_EQ(read->parameters.competitors, 2);
  EXPECT_EQ(read->parameters.softness, from.parameters.softness);
  EXPECT_EQ(read->names, from.names);
  EXPECT_EQ(read->weights, from.weights);
  EXPECT_EQ(read->bias, from.bias);
  EXPECT_EQ(read->read_out, from.read_out);
  EXPECT_EQ(read->class_bias, from.class_bias);
  EXPECT_EQ(read->sharpness, from.sharpness);
}

// Fails if the free fields are not written, or are read from another place.
TEST_F(CortexFile, FieldsAreWrittenAndRead) {
  const TrainedCortex from = with_fields();
  const auto read = read_cortex(write(*encode_cortex(from, "")).c_str());
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->parameters.fields, 5);
  EXPECT_EQ(read->parameters.field_inputs, 9);
  EXPECT_EQ(read->parameters.levels[0].minicolumns, 10);
  EXPECT_EQ(read->fields, from.fields);
  EXPECT_EQ(read->weights, from.weights);
  EXPECT_EQ(read->bias, from.bias);
  EXPECT_EQ(read->read_out, from.read_out);
  EXPECT_EQ(read->class_bias, from.class_bias);
}

// Fails if fields that a backend could not read are accepted, or if the error does not name them.
TEST_F(CortexFile, WrongFieldsAreNamed) {
  const TrainedCortex good = with_fields();
  const Bytes bytes = *encode_cortex(good, "");
  const std::uint64_t at = bytes.size() - 16 - 128;  // 90 bytes, padded; then 4 class biases
  std::uint16_t first = 0;
  std::memcpy(&first, bytes.data() + at, sizeof(first));
  ASSERT_EQ(first, good.fields[0]);
  const auto with_input = [&](std::size_t input, std::uint16_t pixel) {
    TrainedCortex bad = good;
    bad.fields[input] = pixel;
    const auto refused = encode_cortex(bad, "");
    EXPECT_FALSE(refused);
    Bytes changed = bytes;
    std::memcpy(changed.data() + at + 2 * input, &pixel, sizeof(pixel));
    const std::string error = error_of(with(changed, [](file::CortexT&) {}));
    EXPECT_NE(std::string(refused.error().text).find(" of field "), std::string::npos);
    return error;
  };
  EXPECT_NE(with_input(44, 256).find("input 8 of field 4 is pixel 256"), std::string::npos);
  EXPECT_NE(with_input(10, good.fields[9]).find("input 1 of field 1"), std::string::npos);
  TrainedCortex bad = good;
  bad.fields.pop_back();
  const auto refused = encode_cortex(bad, "");
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string(refused.error().text).find("fields has 44 elements"), std::string::npos);
  using T = file::CortexT;
  const auto has = [&](const std::function<void(T&)>& change, const char* part) {
    const std::string error = error_of(with(bytes, change));
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  has([](T& t) { t.fields = 2000; }, "fields is 2000");
  has([](T& t) { t.fields = 6; }, "bytes of arrays");
  has([](T& t) { t.field_inputs = 257; }, "field_inputs is 257");
  has([](T& t) { t.field_inputs = 0; }, "field_inputs is 0");
}

// Fails if a changed byte or a missing end is not found.
// Promises: FILE-003.
TEST_F(CortexFile, DamageIsFound) {
  const Bytes good = encoded();
  for (std::size_t at = 0; at < good.size(); at += at < 1000 ? 1 : 97) {
    Bytes bad = good;
    bad[at] ^= 0x10;
    ASSERT_NE(error_of(bad), "accepted") << "byte " << at;
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{63}, good.size() - 1})
    EXPECT_NE(error_of(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length))),
              "accepted");
}

// Fails if a file with right checksums and wrong values is accepted, or if the error does not name
// what is wrong.
TEST_F(CortexFile, WrongValuesAreNamed) {
  const Bytes good = encoded();
  const auto has = [&](const std::function<void(file::CortexT&)>& change, const char* part) {
    const std::string error = error_of(with(good, change));
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  using T = file::CortexT;
  EXPECT_EQ(error_of(with(good, [](T&) {})), "accepted");
  has([](T& t) { t.width = 7; }, "width is 7");
  has([](T& t) { t.levels.clear(); }, "it has 0 levels");
  has([](T& t) { t.levels[1]->minicolumns = 0; }, "minicolumns of level 2 is 0");
  has([](T& t) { t.levels[1]->window_width = 9; }, "the window of level 2 is 9x2");
  has([](T& t) { t.levels[0]->minicolumns = 40; }, "bytes of arrays");
  has([](T& t) { t.classes.clear(); }, "it has 0 classes");
  has([](T& t) { t.classes[2] = "a b"; }, "the name of class 2");
  has([](T& t) { t.classes.pop_back(); }, "bytes of arrays");
  has([](T& t) { t.competitors = 0; }, "competitors is 0");
  has([](T& t) { t.softness = -1.0f; }, "softness is -1");
  has([](T& t) { t.sharpness = 0.0f; }, "sharpness is 0");
  has([](T& t) { t.sharpness = std::numeric_limits<float>::quiet_NaN(); }, "sharpness is");
}

// Fails if a bias that could overflow a score is accepted.
TEST_F(CortexFile, LargeBiasIsNamed) {
  TrainedCortex bad = cortex();
  bad.bias[3] = 1 << 30;
  const auto refused = encode_cortex(bad, "");
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string(refused.error().text).find("a bias of a minicolumn is 1073741824"),
            std::string::npos);
  Bytes bytes = encoded();
  const std::uint64_t begin = arrays_at(bytes);
  const TrainedCortex good = cortex();
  const std::uint64_t at = begin + (good.weights.size() + 63) / 64 * 64;
  const std::int32_t large = -(1 << 30);
  std::memcpy(bytes.data() + at, &large, sizeof(large));
  const std::string error = error_of(with(bytes, [](file::CortexT&) {}));
  EXPECT_NE(error.find("a bias of a minicolumn is -1073741824"), std::string::npos) << error;
}

TrainedCortex with_probabilities(TrainedCortex cortex) {
  for (std::size_t i = 0; i < cortex.weights.size(); ++i)
    cortex.probabilities.push_back(static_cast<std::uint32_t>(i * 2654435761u) >> 1);
  cortex.probabilities[5] = 1u << 31;
  return cortex;
}

// Fails if P of an operator that learned is lost, or moves the other arrays.
TEST_F(CortexFile, ProbabilitiesAreRead) {
  const TrainedCortex from = with_probabilities(cortex());
  const auto read = read_cortex(write(*encode_cortex(from, "a test")).c_str());
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->probabilities, from.probabilities);
  EXPECT_EQ(read->weights, from.weights);
  EXPECT_EQ(read->class_bias, from.class_bias);
  EXPECT_EQ(read->names, from.names);
  EXPECT_TRUE(read_cortex(write(encoded()).c_str())->probabilities.empty());
}

// Fails if an operator accepts a P above 1, a missing or a superfluous P, or a damaged byte of P,
// with `learn` or without it, or does not name what is wrong.
TEST_F(CortexFile, DamagedProbabilitiesAreFound) {
  const auto error_of_operator = [&](const Bytes& bytes, bool learn) -> std::string {
    CortexConfig config;
    config.size = {16, 16};
    EXPECT_TRUE(config.model.assign(write(bytes).c_str()));
    config.learn = learn;
    EngineConfig settings;
    settings.backend.choice = BackendChoice::kCpu;
    settings.workers = 1;
    const auto footprint = Cortex::footprint(*Engine::probe(settings), config);
    if (!footprint) return footprint.error().text;
    settings.memory = *footprint;
    Engine engine = std::move(*Engine::create(settings));
    const auto made = Cortex::create(engine, config);
    return made ? "accepted" : made.error().text;
  };
  const auto expect = [&](const Bytes& bytes, const char* part) {
    EXPECT_NE(error_of(bytes).find(part), std::string::npos) << error_of(bytes);
    for (const bool learn : {false, true}) {
      const std::string error = error_of_operator(bytes, learn);
      EXPECT_NE(error.find(part), std::string::npos) << error;
    }
  };
  const Bytes good = *encode_cortex(with_probabilities(cortex()), "a test");
  expect(good, "accepted");
  const Bytes plain = encoded();
  expect(plain, "accepted");
  expect(with(plain, [](file::CortexT& t) { t.probabilities = true; }), "bytes of arrays");
  expect(with(good, [](file::CortexT& t) { t.probabilities = false; }), "bytes of arrays");
  Bytes bad = good;
  bad[bad.size() - 9] ^= 1;
  expect(bad, "damaged (the checksum of its arrays does not match)");
  const std::uint32_t large = (1u << 31) + 1;
  std::memcpy(bad.data() + bad.size() - 4, &large, sizeof(large));
  expect(with(bad, [](file::CortexT&) {}), "a probability is 2147483649 / 2^31");
  TrainedCortex short_one = with_probabilities(cortex());
  short_one.probabilities.pop_back();
  const auto refused = encode_cortex(short_one, "");
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string(refused.error().text).find("probabilities has"), std::string::npos);
}

// Fails if arrays that do not fit are written.
TEST_F(CortexFile, ArraysMustFit) {
  TrainedCortex bad = cortex();
  bad.read_out.pop_back();
  EXPECT_FALSE(encode_cortex(bad, ""));
  bad = cortex();
  bad.names[0] = "";
  EXPECT_FALSE(encode_cortex(bad, ""));
  EXPECT_EQ(read_cortex("").error().status, Status::kInvalidArgument);
  EXPECT_EQ(read_cortex("/no/such/file").error().status, Status::kIoError);
}

}  // namespace
}  // namespace ocellus::test
