// The program's readers and writers of files, and its measures of error.
#include <gtest/gtest.h>
#include <png.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <thread>
#include <tuple>

#include "apps/common/common.h"
#include "apps/common/json_text.h"
#include "apps/common/operator_options.h"
#include "apps/common/printable.h"
#include "apps/io/flow_file.h"
#include "apps/io/frames.h"
#include "apps/io/image_io.h"
#include "apps/io/input_file.h"
#include "apps/io/numbered_name.h"
#include "apps/measure/flow_errors.h"
#include "apps/optical_flow/run.h"
#include "ocellus/luma.h"
#include "support/files.h"

namespace ocellus::app {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class Files : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  /// Runs `work` and returns the text of its error, which must name the file.
  template <typename Work>
  std::string error_of(const std::string& file, Work&& work) {
    try {
      work();
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "no error for " << file;
    return "";
  }

 private:
  test::TemporaryFolder folder_;
};

// Example failure: a comment in the header, a maximum below 255 or the byte order of 16-bit samples
// is read wrongly.
TEST_F(Files, ReadsAllFormsOfPgm) {
  struct Case {
    std::string bytes;
    PixelFormat format;
    std::vector<float> expected;
  };
  using namespace std::string_literals;
  const Case cases[] = {
      {"P5\n3 1\n255\n\x00\x7f\xff"s, PixelFormat::kGray8, {0.0f, 127.0f, 255.0f}},
      {"P5 # width\n# height next\n3 # x\n1\n255\n\x01\x02\x03"s,
       PixelFormat::kGray8,
       {1.0f, 2.0f, 3.0f}},
      {"P5\n2 1\n15\n\x00\x0f"s, PixelFormat::kGray8, {0.0f, 255.0f}},
      {"P5\n2 1\n65535\n\x01\x02\xff\xff"s, PixelFormat::kGray16, {258.0f / 257.0f, 255.0f}},
      {"P5\n1 1\n1023\n\x03\xff"s, PixelFormat::kGray16, {255.0f}},
      {"P2\n3 1\n255\n0 9\n 255\n"s, PixelFormat::kGray8, {0.0f, 9.0f, 255.0f}},
      {"P2\n2 1\n65535\n0 32768"s, PixelFormat::kGray16, {0.0f, 32768.0f / 257.0f}},
      {"P6\n1 1\n255\n\xff\x00\x00"s, PixelFormat::kGray8, {76.0f}},
  };
  for (const Case& c : cases) {
    const GrayImage image = read_image(write("a.pgm", c.bytes));
    EXPECT_EQ(image.format, c.format);
    ASSERT_EQ(image.size, (ImageSize{static_cast<int>(c.expected.size()), 1}));
    for (std::size_t x = 0; x < c.expected.size(); ++x)
      EXPECT_NEAR(image.brightness(static_cast<int>(x), 0), c.expected[x], 1e-4f)
          << c.bytes.substr(0, 12);
  }
}

// Example failure: a truncated file gives an image with undefined pixels.
TEST_F(Files, RefusesDamagedImages) {
  using namespace std::string_literals;
  struct Case {
    const char* name;
    std::string bytes;
    const char* says;
  };
  const std::string png_head = "\x89PNG\r\n\x1a\n"s;
  const Case cases[] = {
      {"empty.pgm", "", "empty"},
      {"text.pgm", "hello, this is no image", "not an image"},
      {"short.pgm", "P5\n4 4\n255\n123", "truncated"},
      {"head.pgm", "P5\n4", "height is missing"},
      {"zero.pgm", "P5\n0 4\n255\n", "0x4"},
      {"huge.pgm", "P5\n99999 99999\n255\n", "99999x99999"},
      {"maximum.pgm", "P5\n1 1\n70000\nx", "70000"},
      {"above.pgm", "P2\n1 1\n7\n9", "above"},
      {"text-short.pgm", "P2\n2 2\n7\n1 2 3", "truncated"},
      {"text-end.pgm", "P2\n2 2\n7\n1 2 3    ", "3 of 4"},
      {"a.png", png_head, "PNG"},
      {"b.png", png_head + "\0\0\0\x0dIHDR\0\0"s, "PNG"},
      {"a.jpg", "\xff\xd8\xff\xe0\0\x10JFIF\0"s, "JPEG"},
  };
  for (const Case& c : cases) {
    const std::string file = write(c.name, c.bytes);
    const std::string text = error_of(c.name, [&] { read_image(file); });
    EXPECT_NE(text.find(c.says), std::string::npos) << text;
  }
  error_of("absent.png", [&] { read_image(path("absent.png")); });
}

/// Writes 8-bit RGB in seven passes.
void write_interlaced(const std::string& path, ImageSize size, std::vector<std::uint8_t>& rgb) {
  FILE* const file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, static_cast<png_uint_32>(size.width),
               static_cast<png_uint_32>(size.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_ADAM7,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_bytep> rows;
  for (int y = 0; y < size.height; ++y) rows.push_back(rgb.data() + y * 3 * size.width);
  png_write_info(png, info);
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
}

// Example failure: gamma is applied to 16-bit samples, color has wrong weights, or the last row of
// a damaged file is left gray.
TEST_F(Files, ReadsAllFormsOfPng) {
  const std::uint8_t rgb[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9};
  write_png_rgb(path("c.png"), {2, 2}, rgb);
  const GrayImage color = read_image(path("c.png"));
  EXPECT_EQ(color.format, PixelFormat::kGray8);
  EXPECT_EQ(color.pixels, (std::vector<std::uint8_t>{76, 150, 29, 9}));

  const std::string whole = test::bytes_of(path("c.png"));
  for (std::size_t length = 8; length < whole.size(); length += 7) {
    const std::string file = write("cut.png", whole.substr(0, length));
    error_of("cut.png", [&] { read_image(file); });
  }

  // Interlaced, also in sizes for which some passes are empty.
  for (const auto& [width, height] :
       {std::pair{1, 1}, {3, 1}, {1, 5}, {4, 4}, {5, 7}, {8, 8}, {13, 11}, {17, 16}}) {
    const ImageSize size{width, height};
    std::vector<std::uint8_t> samples(static_cast<std::size_t>(3 * width * height));
    for (std::size_t i = 0; i < samples.size(); ++i)
      samples[i] = static_cast<std::uint8_t>(i * i + 7 * i);
    write_png_rgb(path("plain.png"), size, samples.data());
    write_interlaced(path("i.png"), size, samples);
    std::vector<GrayImage> planes;
    EXPECT_EQ(read_image(path("i.png"), &planes).pixels, read_image(path("plain.png")).pixels)
        << width << "x" << height;
    ASSERT_EQ(planes.size(), 3u);
    for (std::size_t i = 0; i < samples.size(); ++i)
      ASSERT_EQ(planes[i % 3].pixels[i / 3], samples[i]) << "sample " << i;
  }

  // 16 bits, written by libpng itself.
  FILE* const file = std::fopen(path("w.png").c_str(), "wb");
  ASSERT_NE(file, nullptr);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, 3, 1, 16, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const png_byte row[] = {0x00, 0x00, 0x12, 0x34, 0xff, 0xff};
  png_write_row(png, row);
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
  const GrayImage wide = read_image(path("w.png"));
  ASSERT_EQ(wide.format, PixelFormat::kGray16);
  const std::uint16_t expected[] = {0, 0x1234, 0xffff};
  EXPECT_EQ(std::memcmp(wide.pixels.data(), expected, 6), 0);
}

// Example failure: a PPM or PNG gives another luma than a frame of the same pixels.
TEST_F(Files, LumaOfEveryColorIsThatOfFrames) {
  constexpr int kSide = 4096;
  constexpr std::size_t kPixels = std::size_t{kSide} * kSide;
  std::vector<std::uint8_t> rgb(3 * kPixels), luma(kPixels), of_row(kPixels);
  for (std::uint32_t i = 0; i < kPixels; ++i) {
    const std::uint32_t r = i & 255, g = i >> 8 & 255, b = i >> 16;
    const std::uint32_t bytes[] = {r, g, b};
    for (std::size_t c = 0; c < 3; ++c) rgb[3 * i + c] = static_cast<std::uint8_t>(bytes[c]);
    luma[i] = static_cast<std::uint8_t>(
        ((r * 19595 / 256) + (g * 38470 / 256) + (b * 7471 / 256) + 128) / 256);
  }
  for (const auto& [format, bytes, red] : {std::tuple{PixelFormat::kRgb, 3, 0},
                                           {PixelFormat::kBgr, 3, 2},
                                           {PixelFormat::kRgbx, 4, 0},
                                           {PixelFormat::kBgrx, 4, 2}}) {
    std::vector<std::uint8_t> row(static_cast<std::size_t>(bytes) * kPixels, 0xA5);
    for (std::size_t i = 0; i < kPixels; ++i) {
      for (int c = 0; c < 3; ++c) {
        row[i * static_cast<std::size_t>(bytes) + static_cast<std::size_t>(std::abs(red - c))] =
            rgb[3 * i + static_cast<std::size_t>(c)];
      }
    }
    luma_of_row(row.data(), format, of_row.data(), static_cast<int>(kPixels));
    EXPECT_TRUE(of_row == luma) << static_cast<int>(format);
  }
  const std::string bytes(reinterpret_cast<const char*>(rgb.data()), rgb.size());
  EXPECT_TRUE(read_image(write("all.ppm", "P6\n4096 4096\n255\n" + bytes)).pixels == luma);
  write_png_rgb(path("all.png"), {kSide, kSide}, rgb.data());
  std::vector<GrayImage> planes;
  EXPECT_TRUE(read_image(path("all.png"), &planes).pixels == luma);

  // (1000 * 19595 + 2000 * 38470 + 60000 * 7471 + 32768) / 65536 and white.
  const GrayImage wide =
      read_image(write("wide.ppm", std::string("P6\n2 1\n65535\n\x03\xe8\x07\xd0\xea\x60", 19) +
                                       std::string(6, '\xff')));
  const std::uint16_t expected[] = {8313, 65535};
  ASSERT_EQ(wide.format, PixelFormat::kGray16);
  EXPECT_EQ(std::memcmp(wide.pixels.data(), expected, sizeof(expected)), 0);
}

// Example failure: u and v are exchanged, unknown flow becomes a number, or a truncated file is
// accepted.
TEST_F(Files, FloFilesRoundTripAndDamageIsRefused) {
  FlowField field({3, 2}, false);
  for (std::size_t i = 0; i < 6; ++i) {
    field.u[i] = static_cast<float>(i) + 0.125f;
    field.v[i] = -static_cast<float>(i);
  }
  field.u[4] = kNan;
  write_flo(path("a.flo"), field);
  EXPECT_EQ(std::filesystem::file_size(path("a.flo")), 12u + 6 * 8);
  const FlowField back = read_flo(path("a.flo"));
  ASSERT_EQ(back.size, field.size);
  for (std::size_t i = 0; i < 6; ++i) {
    if (i == 4) {
      EXPECT_TRUE(std::isnan(back.u[i]) && std::isnan(back.v[i]));
    } else {
      EXPECT_EQ(back.u[i], field.u[i]);
      EXPECT_EQ(back.v[i], field.v[i]);
    }
  }
  const std::string bytes = test::bytes_of(path("a.flo"));
  float first = 0.0f;
  float unknown = 0.0f;
  std::memcpy(&first, bytes.data() + 12, 4);
  std::memcpy(&unknown, bytes.data() + 12 + 4 * 8, 4);
  EXPECT_EQ(bytes.substr(0, 4), "PIEH");
  EXPECT_EQ(first, 0.125f);
  EXPECT_GT(unknown, kUnknownFlow);

  for (const std::size_t length :
       {std::size_t{2}, std::size_t{8}, std::size_t{12}, bytes.size() - 1}) {
    const std::string cut = write("cut.flo", bytes.substr(0, length));
    error_of("cut.flo", [&] { read_flo(cut); });
  }
  const std::string longer = write("long.flo", bytes + "x");
  error_of("long.flo", [&] { read_flo(longer); });
  const std::string other = write("other.flo", "HEIP" + bytes.substr(4));
  EXPECT_NE(error_of("other.flo", [&] { read_flo(other); }).find("PIEH"), std::string::npos);
}

// Example failure: a PFM file, whose rows go from the bottom to the top, is read upside down.
TEST_F(Files, PfmFilesRoundTrip) {
  const std::vector<float> values = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
  write_pfm(path("a.pfm"), {2, 3}, values);
  const FloatPlane plane = read_pfm(path("a.pfm"));
  EXPECT_EQ(plane.size, (ImageSize{2, 3}));
  EXPECT_EQ(plane.values, values);
  const std::string bytes = test::bytes_of(path("a.pfm"));
  float first = 0.0f;
  std::memcpy(&first, bytes.data() + bytes.size() - 24, 4);
  EXPECT_EQ(first, 5.0f);  // the last row is first in the file
  const std::string cut = write("cut.pfm", bytes.substr(0, bytes.size() - 1));
  error_of("cut.pfm", [&] { read_pfm(cut); });
  // The header alone, which is as long as the values should be.
  error_of("head.pfm", [&] { read_pfm(write("head.pfm", "Pf\n1 2\n1")); });
  error_of("color.pfm", [&] { read_pfm(write("color.pfm", "Pfx\n1 1\n1\nabcd")); });
}

// Example failure: numbers of a different width are accepted, a missing number is skipped, or the
// numbers are sorted as text.
TEST_F(Files, NumberedPatternsAreCompleteAndInOrder) {
  const std::string pixel = "P5\n1 1\n255\nx";
  for (const char* name :
       {"f08.pgm", "f09.pgm", "f10.pgm", "f7.pgm", "f011.pgm", "g12.pgm", "f1x.pgm"})
    write(name, pixel);
  const auto source = open_frames({path("f%02d.pgm")});
  EXPECT_EQ(source->first_number(), 8);
  EXPECT_EQ(source->last_number(), 10);
  InputFrame frame;
  std::vector<long> numbers;
  while (source->next(frame)) numbers.push_back(frame.number);
  EXPECT_EQ(numbers, (std::vector<long>{8, 9, 10}));

  write("f12.pgm", pixel);
  EXPECT_NE(error_of("f11.pgm", [&] { open_frames({path("f%02d.pgm")}); }).find("missing"),
            std::string::npos);
  error_of("h%02d.pgm", [&] { open_frames({path("h%02d.pgm")}); });
  error_of("f%s.pgm", [&] { open_frames({path("f%s.pgm")}); });
  error_of("%d_%d.pgm", [&] { open_frames({path("%d_%d.pgm")}); });

  EXPECT_EQ(NumberedName("a%%%03d%%.flo").at(7), "a%007%.flo");
  EXPECT_EQ(NumberedName("%d").at(1234), "1234");
  EXPECT_FALSE(NumberedName("plain.flo").numbered());
}

// Example failure: the number of a folder is expected in the name of the file, or %% stays
// unchanged in a name without a number.
TEST_F(Files, PatternsSupportFoldersAndPercentSigns) {
  const std::string pixel = "P5\n1 1\n255\nx";
  for (const char* folder : {"d7", "d8", "d9", "d10", "d007", "d11", "e1%"})
    std::filesystem::create_directory(path(folder));
  for (const char* name : {"d7/x.pgm", "d8/x.pgm", "d9/x.pgm", "d10/x.pgm", "d007/x.pgm",
                           "e1%/x100%.pgm", "e1%/5%.pgm"})
    write(name, pixel);  // d11 has no such file
  const auto folders = open_frames({path("d%d/x.pgm")});
  EXPECT_EQ(folders->first_number(), 7);
  EXPECT_EQ(folders->last_number(), 10);
  InputFrame frame;
  EXPECT_TRUE(folders->next(frame));
  EXPECT_EQ(open_frames({path("e%d%%/5%%.pgm")})->last_number(), 1);
  EXPECT_EQ(open_frames({path("e1%%/%d%%.pgm")})->first_number(), 5);
  EXPECT_EQ(open_frames({path("e1%%/x100%%.pgm")})->last_number(), 0);
  // A file of exactly this name is preferred.
  write("5%%.pgm", pixel);
  write("5%.pgm", "no image");
  EXPECT_TRUE(open_frames({path("5%%.pgm")})->next(frame));
  error_of("e1%/%d.pgm", [&] { open_frames({path("e1%/%d.pgm")}); });
  error_of("g%d/x.pgm", [&] { open_frames({path("g%d/x.pgm")}); });
  // More digits than a long can hold.
  write("n9223372036854775807.pgm", pixel);
  error_of("n%d.pgm", [&] { open_frames({path("n%d.pgm")}); });
}

// Example failure: the program waits forever for a text, cuts off a text that arrives late, or
// reads an endless text completely.
TEST_F(Files, ReadsTextsFromFilesAndPipes) {
  using std::chrono::milliseconds;
  const auto text_of = [](const std::string& name, std::size_t most) {
    InputText text(name, milliseconds(500));
    return read_text(text, most);
  };
  const std::string whole(10'000, 'x');
  EXPECT_EQ(text_of(write("t.txt", whole), whole.size()), whole);
  EXPECT_THROW(text_of(path("t.txt"), whole.size() - 1), InputError);
  EXPECT_THROW(text_of("/dev/zero", 1 << 20), InputError);
  error_of(path("absent.txt"), [&] { text_of(path("absent.txt"), 1); });
  error_of("is a folder", [&] { text_of(path(""), 1); });

  const std::string fifo = path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_NE(error_of("gave no data", [&] { text_of(fifo, 1); }).find("0.5 s"), std::string::npos);
  // In two parts with a pause between them.
  std::thread writer([&] {
    std::ofstream to(fifo);
    to << "one " << std::flush;
    std::this_thread::sleep_for(milliseconds(100));
    to << "two";
  });
  EXPECT_EQ(text_of(fifo, 100), "one two");
  writer.join();
  std::thread silent([&] { std::ofstream to(fifo); });
  EXPECT_EQ(text_of(fifo, 100), "");
  silent.join();
}

// Example failure: escape codes of a name reach the terminal, a character is cut in two, or plain
// text is changed.
TEST(Printable, EscapesControlCharacters) {
  for (const char* plain : {"", "f%02d.pgm", "gr\u00fc\u00dfe \U0001f600", "a\\x1b", "\u200d"})
    EXPECT_EQ(printable(plain), plain);
  const std::pair<std::string, std::string> cases[] = {
      {"\x1b[31m\n\r\t\x7f", "\\x1b[31m\\x0a\\x0d\\x09\\x7f"},
      {"\xc2\x9b"
       "1m",
       "\\u009b1m"},                          // a control sequence of a terminal in one code
      {"\u202e gpj.exe", "\\u202e gpj.exe"},  // reverses the rest of the line
      {"\xff\xc0\x80\xed\xa0\x80", "\\xff\\xc0\\x80\\xed\\xa0\\x80"},  // not UTF-8
      {"\xe2\x82", "\\xe2\\x82"},
      {"\xef\xbf\xbe", "\\ufffe"},  // not allowed in XML
      {std::string(1, '\0'), "\\x00"}};
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(printable(text), shown);
    EXPECT_EQ(printable(shown), shown);
  }
  EXPECT_EQ(printable(std::string(300, 'x'), 10), "xxxxxxxxxx... (300 bytes in all)");
  EXPECT_EQ(printable("xxxx\u00fc", 5), "xxxx... (6 bytes in all)");

  const nlohmann::json value = "\x7f\u009b\u202e\u00fc\n";
  EXPECT_EQ(json_text(value), "\"\\u007f\\u009b\\u202e\u00fc\\n\"");
  EXPECT_EQ(nlohmann::json::parse(json_text(value)), value);
}

// Example failure: deeply nested JSON overflows the stack, or brackets in strings count.
TEST(JsonText, ChecksTheNestingBeforeItParses) {
  const auto nested = [](int depth) {
    return "{\"a\": " + std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']') + "}";
  };
  EXPECT_TRUE(json_object(nested(kMostJsonDepth - 1)).contains("a"));
  EXPECT_TRUE(json_object("{\"a\": \"[[[[[[[[[[[[[[[[[[[[\\\"[[[[[[\"}").contains("a"));
  EXPECT_THROW(json_object(nested(kMostJsonDepth)), InputError);
  EXPECT_THROW(json_object(nested(1'000'000)), InputError);
  EXPECT_THROW(json_object(std::string(1'000'000, '[')), InputError);
  EXPECT_THROW(json_object("{}" + std::string(kMostJsonBytes, ' ')), InputError);
}

// Example failure: a frame with a different size reaches the operator.
TEST_F(Files, AllFramesHaveOneSizeAndFormat) {
  write("s0.pgm", "P5\n2 1\n255\nxx");
  write("s1.pgm", "P5\n1 2\n255\nxx");
  write("d0.pgm", "P5\n1 1\n255\nx");
  write("d1.pgm", "P5\n1 1\n65535\nxx");
  for (const char* pattern : {"s%d.pgm", "d%d.pgm"}) {
    const auto source = open_frames({path(pattern)});
    InputFrame frame;
    EXPECT_TRUE(source->next(frame));
    error_of(pattern, [&] { source->next(frame); });
  }
}

// Example failure: sums are divided by the wrong count, unknown truth is compared, or the angle is
// that of (u, v) instead of (u, v, 1).
TEST(FlowErrorsTest, EqualsFiguresComputedByHand) {
  FlowField truth({4, 1}, false);
  FlowField result({4, 1}, false);
  truth.u = {0.0f, 1.0f, 0.0f, kNan};
  truth.v = {0.0f, 0.0f, 0.0f, 0.0f};
  result.u = {3.0f, 1.0f, kNan, 5.0f};
  result.v = {4.0f, 0.0f, 0.0f, 5.0f};
  const FlowErrors e = flow_errors(result, truth, {});
  EXPECT_EQ(e.counted, 3);
  EXPECT_EQ(e.compared, 2);
  EXPECT_EQ(e.invalid, 1);
  EXPECT_NEAR(e.density(), 2.0 / 3.0, 1e-12);
  EXPECT_NEAR(e.mean, 2.5, 1e-12);  // 5 and 0
  EXPECT_NEAR(e.median, 2.5, 1e-12);
  EXPECT_NEAR(e.deviation, 2.5, 1e-12);
  EXPECT_NEAR(e.above_half, 0.5, 1e-12);
  EXPECT_NEAR(e.above_three, 0.5, 1e-12);
  const double angle =
      std::acos(1.0 / std::sqrt(26.0)) * 180.0 / std::numbers::pi;  // (3, 4, 1) to (0, 0, 1)
  EXPECT_NEAR(e.angle_mean, angle / 2.0, 1e-6);
}

// Example failure: the mask or the border is ignored, or the least confident pixels are kept.
TEST(FlowErrorsTest, RespectsMaskBorderAndDensity) {
  FlowField truth({4, 4}, false);
  FlowField result({4, 4}, false);
  for (std::size_t i = 0; i < 16; ++i) result.u[i] = static_cast<float>(i);
  ErrorSelection border;
  border.border = 1;
  EXPECT_NEAR(flow_errors(result, truth, border).mean, (5 + 6 + 9 + 10) / 4.0, 1e-12);
  std::vector<std::uint8_t> mask(16, 0);
  mask[3] = mask[7] = 255;
  ErrorSelection masked;
  masked.mask = &mask;
  EXPECT_NEAR(flow_errors(result, truth, masked).mean, 5.0, 1e-12);
  std::vector<float> confidence(16);
  for (std::size_t i = 0; i < 16; ++i) confidence[i] = 100.0f - static_cast<float>(i);
  ErrorSelection dense;
  dense.confidence = &confidence;
  dense.density = 25.0;
  const FlowErrors e = flow_errors(result, truth, dense);
  EXPECT_EQ(e.compared, 4);
  EXPECT_NEAR(e.mean, (0 + 1 + 2 + 3) / 4.0, 1e-12);
}

// Example failure: a support exceeds the available frames, is smaller than necessary, or describes
// another frame than the operator does.
TEST(SupportTest, IsTheLargestThatFits) {
  struct Case {
    FlowMethod method;
    int wanted;
    long number, first, last;
    int expected;  // 0: none
  };
  constexpr FlowMethod kernels = FlowMethod::kKernels;
  constexpr FlowMethod pyramid = FlowMethod::kPyramid;
  const Case cases[] = {
      {kernels, 20, 9, 2, 16, 15}, {kernels, 20, 10, 7, 14, 8},  {kernels, 20, 10, 10, 11, 2},
      {kernels, 20, 10, 9, 11, 3}, {kernels, 20, 50, 0, 99, 20}, {kernels, 15, 50, 0, 99, 15},
      {kernels, 2, 98, 0, 99, 2},  {kernels, 20, 0, 0, 99, 2},   {kernels, 20, 99, 0, 99, 0},
      {kernels, 20, 9, 10, 20, 0}, {kernels, 3, 10, 10, 11, 2},  {kernels, 5, 2, 1, 4, 4},
      {pyramid, 2, 0, 0, 9, 2},    {pyramid, 2, 8, 0, 9, 2},     {pyramid, 2, 9, 0, 9, 0}};
  for (const Case& c : cases) {
    OpticalFlowConfig config = c.method == kernels ? OpticalFlowConfig::with_kernels({32, 24})
                                                   : OpticalFlowConfig::fast({32, 24});
    config.kernels.nt = c.wanted;
    const auto support = choose_support(config, c.number, c.first, c.last);
    EXPECT_EQ(support ? support->frames : 0, c.expected)
        << "frame " << c.number << " of " << c.first << ".." << c.last;
    if (support) {
      EXPECT_GE(c.number - support->before(), c.first);
      EXPECT_LE(c.number + support->after(), c.last);
      EXPECT_EQ(support->before() + support->after() + 1, support->frames);
    }
  }
}

// Example failure: the bandwidth floor of the benchmark is computed for a wrong kernel size.
TEST(Workload, OfThePapersKernelsIs258MegabytesInFloatPlusFrames) {
  const auto bytes = [](const char* storage) {
    const OptionTexts options = {{"method", "kernels"},
                                 {"kernels", "per-pixel"},
                                 {"taps", "15x15x20"},
                                 {"storage", storage}};
    return operator_config("flow", options, {640, 480}, PixelFormat::kGray8).info()->least_bytes;
  };
  const double frame_and_results = 640.0 * 480.0 * (1.0 + 3.0 * 4.0);
  EXPECT_NEAR(bytes("float"), 258.048e6 + frame_and_results, 1.0);
  EXPECT_NEAR(bytes("half"), 129.024e6 + frame_and_results, 1.0);
}

}  // namespace
}  // namespace ocellus::app
