// Filter files: they are read as they were written, and every damaged byte is detected.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/model_file.h"
#include "filter_library_generated.h"
#include "ocellus/restoration.h"
#include "restoration/filter_file.h"
#include "restoration_filter_generated.h"
#include "support/files.h"

namespace ocellus::detail {
std::span<const std::uint8_t> filter_library() noexcept;
}  // namespace ocellus::detail

namespace ocellus {
namespace {

class FilterFile : public testing::Test {
 protected:
  /// A stable filter whose coefficients all differ.
  static RestorationFilter filter(int support) {
    RestorationFilter made;
    made.support = support;
    float value = 0.001f;
    for (std::size_t q = 0; q < kFilterQuadrants; ++q) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(support * support); ++i) {
        made.feedforward[q][i] = value;
        made.feedback[q][i] = i == 0 ? 0.0f : -value / static_cast<float>(8 * support * support);
        value += 0.0005f;
      }
    }
    std::snprintf(made.note, sizeof(made.note), "made by a test");
    return made;
  }

  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  /// Writes a file of a support and an array, with correct checksums.
  void write_array(int support, const std::vector<float>& array,
                   const FilterFileInfo& info = {0.5f, 20, 1.0f}) const {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(
        file::CreateRestorationFilter(builder, static_cast<std::uint8_t>(support), 0, info.margin,
                                      static_cast<std::uint16_t>(info.response), info.residual));
    const std::size_t bytes = array.size() * sizeof(float);
    std::string all(detail::model_arrays_at(builder.GetSize()), '\0');
    detail::write_model_header(detail::kFilterKind, builder.GetBufferPointer(), builder.GetSize(),
                               bytes, XXH64(array.data(), bytes, 0), all.data());
    all.append(reinterpret_cast<const char*>(array.data()), bytes);
    write(all);
  }
  void write_file(const RestorationFilter& filter, float residual = -1.0f) const {
    detail::FilterFileBytes file;
    const auto made = detail::encode_filter(filter, residual, file);
    ASSERT_TRUE(made) << made.error().text;
    write({reinterpret_cast<const char*>(file.bytes), file.count});
  }
  Error error() const {
    const auto read = read_restoration_filter(path_.c_str());
    return read ? Error{} : read.error();
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "x.ocellus";
};

// Fails when a coefficient, the support or the note is not written, or is read into another place.
TEST_F(FilterFile, KeepsEverything) {
  for (const int support : {1, 2, 7, 31}) {
    const RestorationFilter written = filter(support);
    write_file(written, 2.5f);
    FilterFileInfo info;
    const auto read = read_restoration_filter(path_.c_str(), &info);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->support, support);
    EXPECT_EQ(read->feedforward, written.feedforward);
    EXPECT_EQ(read->feedback, written.feedback);
    EXPECT_STREQ(read->note, "made by a test");
    const auto properties = analyze_filter(written);
    ASSERT_TRUE(properties) << properties.error().text;
    EXPECT_FLOAT_EQ(info.margin, static_cast<float>(1.0 - properties->largest_root));
    EXPECT_EQ(info.response, properties->response);
    EXPECT_EQ(info.residual, 2.5f);
  }
}

// Fails when an operator does not take its filter from the file.
TEST_F(FilterFile, IsTheFilterOfAnOperator) {
  write_file(filter(7));
  RestorationConfig config;
  config.size = {64, 48};
  ASSERT_TRUE(set_option(config, "filter", path_));
  const auto info = Restoration::info_for(config);
  ASSERT_TRUE(info) << info.error().text;
  EXPECT_NE(std::string(info->summary).find("7x7"), std::string::npos) << info->summary;
}

// Fails when a file with a huge coefficient becomes a filter: its sums are infinite, and their
// differences are not numbers.
TEST_F(FilterFile, GainsAreBounded) {
  for (const float huge : {std::numeric_limits<float>::max(), -2e6f}) {
    std::vector<float> array(32);
    array[18] = huge;  // a(1, 0) of quadrant 2
    write_array(2, array);
    const auto read = read_restoration_filter(path_.c_str());
    ASSERT_TRUE(read) << read.error().text;
    const auto refused = analyze_filter(*read);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kInvalidArgument);
    EXPECT_NE(std::string(refused.error().text).find("the factor must be at most 1e+06"),
              std::string::npos)
        << refused.error().text;
    RestorationConfig config;
    config.size = {64, 48};
    ASSERT_TRUE(set_option(config, "filter", path_));
    EXPECT_FALSE(Restoration::info_for(config));
  }
  RestorationFilter large = filter(2);
  large.feedforward[2][2] = 9e5f;
  EXPECT_TRUE(analyze_filter(large));
}

// Fails when a changed or missing byte is not detected, or the error does not name the file.
// Promises: FILE-003.
TEST_F(FilterFile, EveryDamageIsDetected) {
  write_file(filter(2));
  const std::string good = test::bytes_of(path_);
  ASSERT_FALSE(good.empty());
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write(bad);
    EXPECT_EQ(error().status, Status::kCorruptFile) << "byte " << i;
    EXPECT_NE(std::string(error().text).find(path_), std::string::npos) << error().text;
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{63}, good.size() - 1}) {
    write(good.substr(0, length));
    EXPECT_EQ(error().status, Status::kCorruptFile) << "length " << length;
  }
}

// Fails when a value out of range is taken although the checksums are right.
TEST_F(FilterFile, ValuesAreChecked) {
  for (const int support : {0, 32, 255}) {
    write_array(support, std::vector<float>(8));
    EXPECT_NE(std::string(error().text).find("support is " + std::to_string(support)),
              std::string::npos)
        << error().text;
  }
  write_array(2, std::vector<float>(31));
  EXPECT_NE(std::string(error().text).find("124 bytes of coefficients; support 2 needs 128"),
            std::string::npos)
      << error().text;
  std::vector<float> array(32);
  array[2 * 8 + 4 + 3] = std::numeric_limits<float>::quiet_NaN();
  write_array(2, array);
  EXPECT_NE(std::string(error().text).find("b(1, 1) of quadrant 2 is nan"), std::string::npos)
      << error().text;
  // What the file says of the filter.
  const std::vector<float> zeros(32);
  write_array(2, zeros, {1.0f, 512, -1.0f});
  EXPECT_TRUE(read_restoration_filter(path_.c_str())) << error().text;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [info, says] : {std::pair{FilterFileInfo{0.0f, 1, 1.0f}, "margin is 0"},
                                   std::pair{FilterFileInfo{1.5f, 1, 1.0f}, "margin is 1.5"},
                                   std::pair{FilterFileInfo{kNan, 1, 1.0f}, "margin is nan"},
                                   std::pair{FilterFileInfo{0.5f, 513, 1.0f}, "response is 513"},
                                   std::pair{FilterFileInfo{0.5f, 1, -2.0f}, "residual is -2"},
                                   std::pair{FilterFileInfo{0.5f, 1, kNan}, "residual is nan"}}) {
    write_array(2, zeros, info);
    EXPECT_EQ(error().status, Status::kCorruptFile) << says;
    EXPECT_NE(std::string(error().text).find(says), std::string::npos) << error().text;
  }
}

// Fails when the message of a damaged file does not name the damage.
// Promises: FILE-003.
TEST_F(FilterFile, MessagesNameTheDamage) {
  write_file(filter(2));
  const std::string good = test::bytes_of(path_);
  const auto says = [&](const std::string& bytes) {
    write(bytes);
    return std::string(error().text);
  };
  EXPECT_NE(says(good.substr(0, good.size() / 2)).find("truncated"), std::string::npos)
      << error().text;
  std::string wrong = good;
  wrong.back() = static_cast<char>(wrong.back() ^ 1);
  EXPECT_NE(says(wrong).find("checksum"), std::string::npos) << error().text;
  wrong = good;
  wrong[70] = static_cast<char>(wrong[70] ^ 1);
  EXPECT_NE(says(wrong).find("checksum"), std::string::npos) << error().text;
}

// Fails when a file is written that no operator would take.
TEST_F(FilterFile, UnstableFiltersAreNotWritten) {
  RestorationFilter unstable = filter(3);
  unstable.feedback[2][1] = 1.5f;
  detail::FilterFileBytes file;
  const auto made = detail::encode_filter(unstable, -1.0f, file);
  ASSERT_FALSE(made);
  EXPECT_NE(std::string(made.error().text).find("quadrant 2 is unstable"), std::string::npos)
      << made.error().text;
}

// Fails when the library's data have a list of a wrong length, which is copied as it is.
TEST(FilterLibrary, ListsHaveTheirLengths) {
  const std::span<const std::uint8_t> bytes = detail::filter_library();
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  ASSERT_TRUE(verifier.VerifyBuffer<file::FilterLibrary>());
  const auto& library = *flatbuffers::GetRoot<file::FilterLibrary>(bytes.data());
  ASSERT_GE(library.filters()->size(), 1u);
  for (const file::LibraryFilter* const one : *library.filters()) {
    const unsigned square = unsigned{one->support()} * one->support();
    EXPECT_EQ(one->feedforward()->size(), square) << one->name()->str();
    EXPECT_EQ(one->feedback()->size(), square) << one->name()->str();
  }
}

}  // namespace
}  // namespace ocellus
