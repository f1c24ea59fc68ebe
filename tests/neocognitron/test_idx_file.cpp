// IDX files: what is read, and every way in which a file is refused.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "apps/io/idx_file.h"
#include "support/files.h"
#include "support/idx_files.h"

namespace ocellus::app {
namespace {

using test::gzipped;
using test::idx_header;
using test::idx_images;
using test::idx_labels;

class IdxFile : public testing::Test {
 protected:
  std::string file(const std::string& bytes, const std::string& name = "images") const {
    return test::write_bytes(folder_ / name, bytes);
  }
  /// The error text of a file with images, without its path.
  std::string error_of(const std::string& bytes, const std::string& name = "images") const {
    return refusal(file(bytes, name), [](const std::string& path) { read_idx_images(path); });
  }
  std::string label_error_of(const std::string& bytes) const {
    return refusal(file(bytes), [](const std::string& path) { read_idx_labels(path); });
  }
  template <typename Read>
  static std::string refusal(const std::string& path, const Read& read) {
    try {
      read(path);
    } catch (const InputError& error) {
      const std::string text = error.what();
      EXPECT_EQ(text.substr(0, path.size() + 2), path + ": ");
      return text.substr(std::min(text.size(), path.size() + 2));
    }
    return "";
  }

  const test::TemporaryFolder folder_;
};

std::vector<std::uint8_t> counted_up(std::size_t count) {
  std::vector<std::uint8_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::uint8_t{0});
  return numbers;
}

// Fails when rows and columns are exchanged, or gzip files are not read whatever their name.
TEST_F(IdxFile, PlainAndGzipAreRead) {
  const std::string bytes = idx_images(2, 3, 5, counted_up(30));
  for (const std::string& path :
       {file(bytes, "plain"), file(gzipped(bytes), "named.gz"), file(gzipped(bytes), "unnamed")}) {
    const IdxImages images = read_idx_images(path);
    EXPECT_EQ(images.width, 5);
    EXPECT_EQ(images.height, 3);
    EXPECT_EQ(images.count, 2u);
    EXPECT_EQ(images.pixels, counted_up(30)) << path;
  }
  const std::vector<std::uint8_t> labels{3, 0, 255};
  EXPECT_EQ(read_idx_labels(file(idx_labels(labels))), labels);
  EXPECT_EQ(read_idx_labels(file(gzipped(idx_labels(labels)))), labels);
  // Larger than a part of the reader.
  const std::vector<std::uint8_t> many(5000 * 4000, 7);
  EXPECT_EQ(read_idx_images(file(gzipped(idx_images(5000, 40, 100, many)))).pixels, many);
}

TEST_F(IdxFile, OtherMagicNumbersAreNamed) {
  EXPECT_EQ(error_of(idx_labels({1, 2})),
            "the magic number is 0x00000801; it must be 0x00000803 for images (idx3 of unsigned "
            "bytes); it holds labels");
  EXPECT_EQ(label_error_of(idx_images(1, 1, 1, {0})),
            "the magic number is 0x00000803; it must be 0x00000801 for labels (idx1 of unsigned "
            "bytes); it holds images");
  EXPECT_EQ(label_error_of(idx_header({0x0c01, 1, 300})),
            "the magic number is 0x00000c01; it must be 0x00000801 for labels (idx1 of unsigned "
            "bytes); it holds numbers of 32 bits, but labels must be unsigned bytes (at most 256 "
            "classes)");
  EXPECT_EQ(error_of(idx_header({0x0804, 1, 1, 1, 1})),
            "the magic number is 0x00000804; it must be 0x00000803 for images (idx3 of unsigned "
            "bytes); it holds unsigned bytes in 4 dimensions");
  EXPECT_EQ(error_of("P5 2 2 255\nabcd"),
            "the magic number is 0x50352032; it must be 0x00000803 for images (idx3 of unsigned "
            "bytes)");
}

TEST_F(IdxFile, TruncatedFilesAreRefused) {
  const std::string bytes = idx_images(2, 3, 5, counted_up(30));
  EXPECT_EQ(error_of(bytes.substr(0, 45)),
            "truncated: its header announces 2 images of 5x3 in 30 bytes, 29 follow");
  EXPECT_EQ(error_of(gzipped(bytes.substr(0, 45))),
            "truncated: its header announces 2 images of 5x3 in 30 bytes, 29 follow");
  EXPECT_EQ(error_of(bytes.substr(0, 11)), "truncated in its header");
  EXPECT_EQ(error_of(bytes.substr(0, 2)), "truncated in its header");
  EXPECT_EQ(label_error_of(idx_header({0x0801, 4}) + "ab"),
            "truncated: its header announces 4 labels in 4 bytes, 2 follow");
  EXPECT_EQ(error_of(""), "the file is empty");
  // Every length of a gzip file.
  const std::string packed = gzipped(bytes);
  for (std::size_t length = 1; length < packed.size(); ++length)
    EXPECT_NE(error_of(packed.substr(0, length)), "") << length;
  EXPECT_EQ(error_of(packed.substr(0, packed.size() - 12)),
            "truncated: the gzip file ends too early");
}

TEST_F(IdxFile, DamagedFilesAreRefused) {
  const std::string bytes = idx_images(2, 3, 5, counted_up(30));
  EXPECT_EQ(error_of(bytes + "x"),
            "damaged: more bytes follow the 2 images of 5x3 that its header announces");
  EXPECT_EQ(error_of(gzipped(bytes + "x")),
            "damaged: more bytes follow the 2 images of 5x3 that its header announces");
  std::string packed = gzipped(bytes);
  packed[packed.size() - 6] ^= 1;  // the checksum
  EXPECT_EQ(error_of(packed),
            "damaged: the gzip file cannot be decompressed (incorrect data check)");
  EXPECT_EQ(error_of(bytes, "plain.gz"), "the name ends in .gz, but the file is not a gzip file");
}

TEST_F(IdxFile, SizesAreChecked) {
  EXPECT_EQ(error_of(idx_images(2, 0, 0, {})),
            "its header announces images of 0x0; width and height must be 1 to 16384");
  EXPECT_EQ(error_of(idx_images(2, 3, 0, {})),
            "its header announces images of 0x3; width and height must be 1 to 16384");
  EXPECT_EQ(error_of(idx_images(0, 3, 3, {})), "its header announces no images");
  EXPECT_EQ(label_error_of(idx_labels({})), "its header announces no labels");
  // A header must not make the program take memory.
  EXPECT_EQ(error_of(gzipped(idx_header({0x0803, 0xffffffff, 16384, 16384}))),
            "its header announces 4294967295 images of 16384x16384; at most 2147483648 pixels are "
            "allowed");
  EXPECT_EQ(error_of(gzipped(idx_header({0x0803, 2, 16384, 16384}))),
            "truncated: its header announces 2 images of 16384x16384 in 536870912 bytes, 0 follow");
}

TEST_F(IdxFile, ImagesAndLabelsMustFit) {
  const std::string images = file(idx_images(2, 1, 1, {0, 1}), "images");
  const std::string labels = file(idx_labels({1, 2, 3}), "labels");
  try {
    read_labeled_idx(images, labels);
    FAIL() << "different numbers are taken";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              images + " has 2 images and " + labels + " has 3 labels; both must be equal");
  }
}

// Fails when the ink is taken for the background, which covers the border.
TEST_F(IdxFile, TheBorderTellsTheColorOfTheInk) {
  const auto with = [](std::uint8_t ground, std::uint8_t ink) {
    IdxImages images{5, 4, 3, std::vector<std::uint8_t>(60, ground)};
    for (std::size_t i = 0; i < 3; ++i)
      for (const std::size_t at : {6, 7, 8, 12, 13}) images.pixels[i * 20 + at] = ink;
    return images;
  };
  EXPECT_FALSE(has_dark_ink(with(0, 255)));
  EXPECT_TRUE(has_dark_ink(with(255, 0)));
  EXPECT_TRUE(has_dark_ink(with(90, 10)));
  EXPECT_FALSE(has_dark_ink(with(170, 250)));
  IdxImages dark = with(255, 10);
  EXPECT_TRUE(make_ink_bright(dark, InkColor::kAuto));
  EXPECT_EQ(dark.pixels, with(0, 245).pixels);
  EXPECT_FALSE(make_ink_bright(dark, InkColor::kAuto));
  EXPECT_TRUE(make_ink_bright(dark, InkColor::kDark));
  EXPECT_FALSE(make_ink_bright(dark, InkColor::kBright));
  EXPECT_EQ(dark.pixels, with(255, 10).pixels);
}

TEST_F(IdxFile, ClassNamesAreRead) {
  const auto names = [&](const std::string& text) { return read_class_names(file(text, "names")); };
  EXPECT_EQ(names("ka\n\nkha  \r\nga"), (std::vector<std::string>{"ka", "kha", "ga"}));
  EXPECT_EQ(names("0 Greek/alpha\n1 Greek/beta\n"),
            (std::vector<std::string>{"Greek/alpha", "Greek/beta"}));
  const auto error = [&](const std::string& text) {
    return refusal(file(text, "names"), [](const std::string& path) { read_class_names(path); });
  };
  EXPECT_EQ(error("0 a\n2 b\n"),
            "line 2: its label is 2; it must be 1, because labels begin at 0 and ascend");
  EXPECT_EQ(error("a\nb\na\n"), "line 3: the name a is also that of label 0");
  EXPECT_EQ(error("0 a b\n"), "line 1: it has 3 words; it must have a name, or a label and a name");
  EXPECT_EQ(error("\n\n"), "it has no names");
  std::string many;
  for (int i = 0; i <= 256; ++i) many += "c" + std::to_string(i) + "\n";
  EXPECT_EQ(error(many), "line 257: there are more than 256 names");
}

}  // namespace
}  // namespace ocellus::app
