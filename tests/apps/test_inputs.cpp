// What a user gives the program by mistake or in an unusual form: turned photos, transparency,
// formats that are not read, sound, outputs that are inputs. And image files other than PNG.
#include <gtest/gtest.h>
// jpeglib.h needs FILE and size_t, so <cstdio> must come first.
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>
#include <png.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "apps/common/input_error.h"
#include "apps/io/frames.h"
#include "apps/io/image_io.h"
#include "program_checks.h"

namespace ocellus::test {
namespace {

namespace fs = std::filesystem;
using app::GrayImage;

class Inputs : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  /// A gray image with different values.
  std::string gray_pgm(const std::string& name, int width = 20, int height = 12) const {
    std::string bytes = "P5\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n";
    for (int i = 0; i < width * height; ++i) bytes += static_cast<char>((i * 37) % 256);
    return write(name, bytes);
  }
  std::string color_ppm(const std::string& name) const {
    std::string bytes = "P6\n20 12\n255\n";
    for (int i = 0; i < 3 * 20 * 12; ++i) bytes += static_cast<char>((i * 53) % 256);
    return write(name, bytes);
  }

  const TemporaryFolder folder_;
};

constexpr int kWidth = 48;
constexpr int kHeight = 32;

/// A JPEG, bright at its first stored pixel, gray at the end of the first stored row, else black.
/// `channels` 4 is CMYK. The segment `more` follows the start.
std::string jpeg_bytes(int channels, const std::string& more) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = kWidth;
  jpeg.image_height = kHeight;
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 95, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(kWidth * channels));
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int value = y >= 8 ? 0 : x < 8 ? 255 : x >= kWidth - 8 ? 128 : 0;
      for (int c = 0; c < channels; ++c)
        row[static_cast<std::size_t>(x * channels + c)] = static_cast<std::uint8_t>(value);
    }
    JSAMPROW line = row.data();
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string result(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  jpeg_destroy_compress(&jpeg);
  return result.substr(0, 2) + more + result.substr(2);
}

/// The segment with Exif data that hold an orientation, in one of the two byte orders.
std::string exif_segment(int orientation, bool big) {
  const auto number = [big](unsigned value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i)
      text += static_cast<char>(value >> (8 * (big ? bytes - 1 - i : i)) & 0xff);
    return text;
  };
  std::string data = std::string("Exif\0\0", 6) + (big ? "MM" : "II") + number(42, 2) +
                     number(8, 4) + number(2, 2);
  data += number(0x010e, 2) + number(2, 2) + number(4, 4) + "abc" + std::string(1, '\0');
  data += number(0x0112, 2) + number(3, 2) + number(1, 4) +
          number(static_cast<unsigned>(orientation), 2) + number(0, 2);
  data += number(0, 4);
  const auto length = static_cast<unsigned>(data.size() + 2);
  return std::string("\xff\xe1") + static_cast<char>(length >> 8) +
         static_cast<char>(length & 0xff) + data;
}

/// A chunk of a PNG with its checksum.
std::string png_chunk(const std::string& type, const std::string& data) {
  const auto number = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
  };
  std::uint32_t sum = 0xffffffffu;
  for (const char byte : type + data) {
    sum ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1u) != 0 ? 0xedb88320u : 0u);
  }
  return number(static_cast<std::uint32_t>(data.size())) + type + data + number(~sum);
}

/// Example failure: a PNG of a turned camera is computed as it is stored, or only if its
/// orientation precedes the pixels.
TEST_F(Inputs, TheOrientationOfAPngIsApplied) {
  GrayImage stored({5, 3}, PixelFormat::kGray8);
  for (std::size_t i = 0; i < stored.pixels.size(); ++i)
    stored.pixels[i] = static_cast<std::uint8_t>(10 * i);
  app::write_png_gray(path("plain.png"), stored, 8);
  std::ifstream file(path("plain.png"), std::ios::binary);
  const std::string plain((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t end = plain.size() - 12;  // IEND
  for (const int orientation : {1, 3, 6, 8}) {
    for (const std::size_t at : {std::size_t{33}, end}) {  // after IHDR, and after the pixels
      SCOPED_TRACE(std::to_string(orientation) + " at " + std::to_string(at));
      const std::string exif = png_chunk("eXIf", exif_segment(orientation, true).substr(10));
      const GrayImage image =
          app::read_image(write("turned.png", plain.substr(0, at) + exif + plain.substr(at)));
      const bool turned = orientation >= 5;
      ASSERT_EQ(image.size, turned ? (ImageSize{3, 5}) : (ImageSize{5, 3}));
      for (int y = 0; y < 3; ++y) {
        for (int x = 0; x < 5; ++x) {
          // 6: the top row is on the right; 8: on the left, from the bottom.
          const int to_x = orientation == 1   ? x
                           : orientation == 3 ? 4 - x
                           : orientation == 6 ? 2 - y
                                              : y;
          const int to_y = orientation == 1   ? y
                           : orientation == 3 ? 2 - y
                           : orientation == 6 ? x
                                              : 4 - x;
          EXPECT_EQ(image.brightness(to_x, to_y), stored.brightness(x, y)) << x << ", " << y;
        }
      }
    }
  }
}

/// Example failure: pixels that are not square are taken as square without a word, or square ones
/// are reported.
TEST_F(Inputs, PixelsThatAreNotSquareAreTold) {
  GrayImage gray({5, 3}, PixelFormat::kGray8);
  app::write_png_gray(path("plain.png"), gray, 8);
  std::ifstream file(path("plain.png"), std::ios::binary);
  const std::string plain((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto number = [](unsigned value) {
    return std::string{0, 0, static_cast<char>(value >> 8), static_cast<char>(value & 0xff)};
  };
  const auto png = [&](unsigned across, unsigned down, const std::string& more) {
    const std::string density =
        png_chunk("pHYs", number(across) + number(down) + std::string(1, '\1'));
    return plain.substr(0, 33) + density + more + plain.substr(33);
  };
  const auto jpeg = [&](int across, int down) {
    std::string bytes = jpeg_bytes(1, "");
    const std::size_t head = bytes.find("JFIF");
    bytes[head + 8] = static_cast<char>(across >> 8);
    bytes[head + 9] = static_cast<char>(across & 0xff);
    bytes[head + 10] = static_cast<char>(down >> 8);
    bytes[head + 11] = static_cast<char>(down & 0xff);
    return bytes;
  };
  const auto told = [&](const std::string& name, const std::string& bytes) {
    write(name, bytes);
    testing::internal::CaptureStderr();
    app::read_image(path(name));
    return testing::internal::GetCapturedStderr();
  };
  const std::string turned = png_chunk("eXIf", exif_segment(6, false).substr(10));
  EXPECT_NE(
      told("a.png", png(2000, 1000, "")).find("a.png: its pixels are 1 to 2, which is ignored"),
      std::string::npos);
  EXPECT_NE(told("b.png", png(3000, 1000, turned)).find("b.png: its pixels are 3 to 1"),
            std::string::npos);
  EXPECT_NE(told("c.jpg", jpeg(100, 150)).find("c.jpg: its pixels are 3 to 2"), std::string::npos);
  for (const std::string& name : {std::string("d.png"), std::string("e.png"), std::string("f.jpg"),
                                  std::string("g.jpg"), std::string("h.png")}) {
    const std::string bytes = name == "d.png"   ? png(2835, 2835, "")
                              : name == "e.png" ? png(2835, 2834, "")
                              : name == "f.jpg" ? jpeg(72, 72)
                              : name == "g.jpg" ? jpeg(0, 5)
                                                : plain;
    EXPECT_EQ(told(name, bytes), "") << name;
  }
}

/// Example failure: a photo of a turned camera is computed as it is stored. Or it is turned the
/// wrong way, or mirrored. The corners are those of the standard's names, such as "left, bottom".
TEST_F(Inputs, TheOrientationOfAJpegIsApplied) {
  struct Corners {
    bool first_right, first_bottom;  ///< where the first stored pixel is
    bool end_right, end_bottom;      ///< where the end of the first stored row is
  };
  constexpr Corners kCorners[8] = {{false, false, true, false}, {true, false, false, false},
                                   {true, true, false, true},   {false, true, true, true},
                                   {false, false, false, true}, {true, false, true, true},
                                   {true, true, true, false},   {false, true, false, false}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big : {false, true}) {
      for (const int channels : {1, 3}) {
        SCOPED_TRACE(std::to_string(orientation) + (big ? " big" : " little"));
        const std::string file =
            write("o.jpg", jpeg_bytes(channels, exif_segment(orientation, big)));
        std::vector<GrayImage> color;
        const GrayImage image = app::read_image(file, &color);
        const bool turned = orientation >= 5;
        ASSERT_EQ(image.size, (turned ? ImageSize{kHeight, kWidth} : ImageSize{kWidth, kHeight}));
        ASSERT_EQ(color.size(), channels == 3 ? 3u : 0u);
        const auto corner = [&](const GrayImage& of, bool right, bool bottom) {
          return of.brightness(right ? of.size.width - 3 : 2, bottom ? of.size.height - 3 : 2);
        };
        const Corners& c = kCorners[orientation - 1];
        EXPECT_GT(corner(image, c.first_right, c.first_bottom), 240);
        EXPECT_NEAR(corner(image, c.end_right, c.end_bottom), 128, 12);
        for (const GrayImage& plane : color) {
          EXPECT_GT(corner(plane, c.first_right, c.first_bottom), 240);
          EXPECT_NEAR(corner(plane, c.end_right, c.end_bottom), 128, 12);
        }
      }
    }
  }
  // Without such data, and with data that are damaged or name no orientation, the image is as
  // stored.
  for (const std::string& more :
       {std::string(), exif_segment(9, true), exif_segment(6, true).substr(0, 4) + "Exif",
        std::string("\xff\xe1\x00\x0e"
                    "Exif\0\0II\x2a\0\xff\xff",
                    16)}) {
    // The third one is cut off, so what follows is not what the length says.
    if (more.size() == 8) continue;
    EXPECT_EQ(app::read_image(write("n.jpg", jpeg_bytes(1, more))).size,
              (ImageSize{kWidth, kHeight}));
  }
}

/// Example failure: a JPEG for printing counts as damaged.
TEST_F(Inputs, ACmykJpegIsRefusedByItsName) {
  const std::string file = write("print.jpg", jpeg_bytes(4, ""));
  const ChildResult result = run_program({"halftone", file});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("print.jpg: a JPEG in CMYK"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("damaged"), std::string::npos) << result.err;
}

/// Example failure: transparency is dropped without a word, is told for each frame, or is told of
/// an image that has none.
TEST_F(Inputs, TransparencyIsToldOnce) {
  const auto rgba = [&](const std::string& name, std::uint8_t alpha) {
    std::vector<std::uint8_t> pixels(4 * 16 * 16, 255);
    pixels[4 * 37 + 3] = alpha;
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = image.height = 16;
    image.format = PNG_FORMAT_RGBA;
    EXPECT_NE(png_image_write_to_file(&image, path(name).c_str(), 0, pixels.data(), 0, nullptr), 0);
  };
  for (const char* name : {"t0.png", "t1.png"}) rgba(name, 254);
  rgba("opaque.png", 255);
  const ChildResult told = run_program({"halftone", path("t%d.png")});
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_EQ(told.err, "ocellus: " + path("t0.png") + ": its transparency is ignored\n");
  EXPECT_EQ(run_program({"halftone", path("opaque.png")}).err, "");
}

/// Example failure: an image of another format counts as a damaged video, or the message does not
/// say which formats are read.
TEST_F(Inputs, FormatsThatAreNotReadAreNamed) {
  const std::pair<const char*, std::string> files[] = {
      {"BMP", std::string("BM\x36\x30\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", 18)},
      {"TIFF", std::string("II*\0\x08\0\0\0\0\0\0\0\0\0\0\0", 16)},
      {"TIFF", std::string("MM\0*\0\0\0\x08\0\0\0\0\0\0\0\0", 16)},
      {"WebP", std::string("RIFF\x10\0\0\0WEBPVP8 ", 16)},
      {"GIF", std::string("GIF89a\1\0\1\0\0\0\0\x2c\0\0", 16)},
      {"PAM", "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\nx"},
      {"PFM", "Pf\n1 1\n-1.0\nabcd"},
      {"JPEG XL", std::string("\xff\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16)}};
  for (const auto& [format, bytes] : files) {
    const std::string file = write("x.img", bytes);
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"flow", file}, {"halftone", file}, {"compare", "image", file, file}})
      expect_error(command, {"x.img: a " + std::string(format) + " image", "PNG, PGM, PPM, PBM"});
  }
  expect_error({"compare", "image", write("t.txt", "no image"), path("t.txt")},
               {"t.txt: not an image", "PNG, PGM, PPM, PBM and JPEG"});
}

/// Example failure: a device that is no camera gives an error of the driver.
TEST_F(Inputs, ADeviceThatIsNoCameraIsRefused) {
  for (const char* command : {"flow", "halftone"})
    expect_error({command, "/dev/null", "--limit", "2"},
                 {"/dev/null: is a device, but not a camera"});
}

/// Example failure: files that exist are said to be missing because their folder may not be read.
TEST_F(Inputs, AFolderThatMayNotBeReadIsTold) {
  gray_pgm("f0.pgm");
  ASSERT_EQ(chmod(folder_.path().c_str(), 0711), 0);
  const uid_t user = geteuid();
  if (user == 0 && seteuid(65534) != 0) GTEST_SKIP() << "root cannot become another user here";
  if (user != 0) {
    ASSERT_EQ(chmod(folder_.path().c_str(), 0), 0);
  }
  std::string error;
  try {
    app::open_frames({path("f%d.pgm")});
  } catch (const app::InputError& thrown) {
    error = thrown.what();
  }
  ASSERT_EQ(seteuid(user), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0700), 0);
  EXPECT_NE(error.find("Permission denied"), std::string::npos) << error;
  EXPECT_NE(error.find(folder_.path()), std::string::npos) << error;
}

/// Example failure: a command replaces the file that it reads.
// Promises: FILE-005.
TEST_F(Inputs, NoInputIsOverwritten) {
  const std::string in = gray_pgm("in.png");  // a PGM file; the name decides nothing
  fs::create_symlink("in.png", path("link.png"));
  fs::create_directory(path("sub"));
  const std::string before = bytes_of(in);
  const auto expect_kept = [&](const std::string& from, const std::string& to) {
    expect_error({"halftone", from, "-o", to}, {to, "is an input of this command"});
    EXPECT_EQ(bytes_of(in), before);
  };
  expect_kept(in, in);
  expect_kept(in, path("link.png"));
  expect_kept(path("link.png"), in);
  expect_kept(in, path("sub/../in.png"));
  expect_kept(path("in.pn") + "g", path("") + "/in.png");
  EXPECT_TRUE(fs::is_symlink(path("link.png")));
  EXPECT_EQ(files_in(folder_.path(), "in.png"), (std::vector<std::string>{"in.png"}));

  for (const char* name : {"f0.png", "f1.png", "f2.png"}) gray_pgm(name);
  const std::string frame = bytes_of(path("f1.png"));
  expect_error({"cnn", path("f%d.png"), "--template", "edge", "-o", path("f%d.png")},
               {"f0.png", "is an input of this command"});
  for (const char* name : {"f0.png", "f1.png", "f2.png"}) EXPECT_EQ(bytes_of(path(name)), frame);
  // Frames that are not read yet count, too.
  expect_error({"flow", path("f0.png"), path("f1.png"), path("f2.png"), "-o", path("f2.png")},
               {"f2.png", "is an input of this command"});

  const std::string text = write("k.ocellus", "kernels as text");
  expect_error({"kernels", "from-json", text, "-o", text}, {"k.ocellus"});
  EXPECT_EQ(bytes_of(text), "kernels as text");
  const std::string form = write("t.ocellus", bytes_of(path("no such file")) + "# nothing\n");
  expect_error({"template", "make", form, "-o", form}, {"t.ocellus"});
  EXPECT_EQ(bytes_of(form), "# nothing\n");

  // Files that the library reads: options of operators, also in a pipeline and in --config.
  const auto expect_option = [&](const std::string& file, const std::vector<std::string>& command) {
    const std::string kept = bytes_of(file);
    ASSERT_FALSE(kept.empty());
    expect_error(plus(command, {file}), {file, "is an input of this command"});
    EXPECT_TRUE(bytes_of(file) == kept) << file;
  };
  const std::string bank = path("bank.y4m");  // the name decides nothing
  ASSERT_EQ(run_program({"kernels", "make", "-o", path("bank.ocellus")}).exit_code, 0);
  fs::rename(path("bank.ocellus"), bank);
  expect_option(bank,
                {"flow", "test:32x32,frames=30", "--method", "kernels", "--kernels", bank, "-o"});
  const std::string config = write("config.y4m", "{\"kernels\": \"" + bank + "\"}");
  expect_option(bank,
                {"flow", "test:32x32,frames=30", "--method", "kernels", "--config", config, "-o"});
  const std::string filter = path("filter.png");
  const std::string psf = write("psf.ocellus", "0 1 0\n1 2 1\n0 1 0\n");
  expect_option(psf, {"identify", "--psf", psf, "--noise", "0.01", "--support", "3", "-o"});
  ASSERT_EQ(run_program({"identify", "--psf", psf, "--noise", "0.01", "--support", "3", "-o",
                         path("filter.ocellus")})
                .exit_code,
            0);
  fs::rename(path("filter.ocellus"), filter);
  expect_option(filter, {"restore", in, "--filter", filter, "-o"});
  const std::string plot = path("plot.svg");
  fs::copy(filter, plot);
  expect_option(plot, {"latency", "--pipeline", "restore filter=" + plot, "--size", "32x32",
                       "--frames", "3", "--plot"});

  ASSERT_EQ(run_program({"kernels", "make", "--kernels", "full", "--size", "8x8", "--taps", "3x3x2",
                         "-o", path("full.ocellus")})
                .exit_code,
            0);
  const std::string full = path("full.ocellus");
  expect_option(full, {"kernels", "decompose", full, "--rank", "1", "-o"});
  // Outputs that are opened before the first frame.
  const std::string fields = write("fields.txt", "2,2,12,8\n");
  const std::string options = write("options.json", "{\"filter\": \"gaussian-1.5\"}");
  for (const char* output : {"--metrics", "--json-to"}) {
    expect_option(filter, {"restore", in, "--filter", filter, output});
    expect_option(options, {"restore", in, "--config", options, output});
    expect_option(fields, {"digits", in, "--fields", "@" + fields, output});
  }

  // A file that is no input is replaced, as before.
  const std::string other = write("other.png", "old");
  EXPECT_EQ(run_program({"halftone", in, "-o", other}).exit_code, 0);
  EXPECT_EQ(app::read_image(other).size, (ImageSize{20, 12}));
}

/// Example failure: PGM, PPM and PBM files hold other pixels than the PNG file, or a file that
/// cannot hold the result is written.
TEST_F(Inputs, ImagesAreWrittenInEveryFormat) {
  const std::string in = gray_pgm("in.pgm", 21, 13);  // rows of PBM end inside a byte
  for (const char* name : {"o.png", "o.pgm", "o.pbm", "o.ppm"})
    ASSERT_EQ(run_program({"halftone", in, "-o", path(name)}).exit_code, 0) << name;
  const GrayImage png = app::read_image(path("o.png"));
  for (const char* name : {"o.pgm", "o.pbm", "o.ppm"})
    EXPECT_EQ(app::read_image(path(name)).pixels, png.pixels) << name;
  EXPECT_EQ(bytes_of(path("o.pbm")).substr(0, 9), "P4\n21 13\n");
  EXPECT_EQ(bytes_of(path("o.pbm")).size(), 9u + 3 * 13);
  EXPECT_EQ(bytes_of(path("o.pgm")).substr(0, 13), "P5\n21 13\n255\n");

  const std::vector<std::string> restore = {"restore", in, "--filter", "gaussian-1.5", "-o"};
  for (const char* name : {"r.png", "r.pgm"})
    ASSERT_EQ(run_program(plus(restore, {path(name)})).exit_code, 0) << name;
  EXPECT_EQ(app::read_image(path("r.pgm")).pixels, app::read_image(path("r.png")).pixels);
  expect_error(plus(restore, {path("r.pbm")}), {"r.pbm", "two levels"});
  EXPECT_FALSE(fs::exists(path("r.pbm")));

  const std::vector<std::string> color = {"restore", color_ppm("c.ppm"), "--filter", "gaussian-1.5",
                                          "-o"};
  for (const char* name : {"c.png", "d.ppm"})
    ASSERT_EQ(run_program(plus(color, {path(name)})).exit_code, 0) << name;
  std::vector<GrayImage> first, second;
  app::read_image(path("c.png"), &first);
  app::read_image(path("d.ppm"), &second);
  ASSERT_EQ(first.size(), 3u);
  ASSERT_EQ(second.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(first[i].pixels, second[i].pixels);
  expect_error(plus(color, {path("c.pgm")}), {"c.pgm", "color"});
}

/// Example failure: black and white are exchanged, digits without blanks are one number, or the
/// padding of a row counts as pixels.
TEST_F(Inputs, BitmapsAreRead) {
  const std::vector<std::uint8_t> expected = {0, 255, 255, 0, 255, 0, 0, 0, 255, 255};
  for (const std::string& text :
       {std::string("P1\n5 2\n01101\n00011 # tail"),
        std::string("P1 5 2\n# c\n0 1 1 0 1 0 0\n0 1 1"), std::string("P4\n5 2\n\x68\x18", 9)}) {
    GrayImage image = app::read_image(write("b.pbm", text));
    ASSERT_EQ(image.size, (ImageSize{5, 2}));
    for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(255 - value);
    EXPECT_EQ(image.pixels, expected) << text;
  }
  for (const char* text : {"P1\n5 2\n0110100", "P1\n2 1\n02", "P4\n9 2\nabc"})
    EXPECT_THROW(app::read_image(write("b.pbm", text)), app::InputError) << text;
}

/// Example failure: an error does not name the file or the limit that it is about.
TEST_F(Inputs, ErrorsNameTheFileAndTheLimit) {
  const std::string none = path("none.ocellus");
  expect_error({"identify", "--psf", "gaussian:1", "--support", "32", "-o", none},
               {"--support is 32"});
  expect_error({"identify", "--psf", "gaussian:1", "--largest-root", "1", "-o", none},
               {"--largest-root is 1"});
  expect_error({"train", "network", "--images", none, "--seed", "-1", "-o", none},
               {"--seed", "whole number"});
  expect_error({"network", "--images", none}, {"--model is missing"});
  if (has_gstreamer())
    expect_error({"halftone", "test:8x8,frames=2", "-o", path("small.webm")},
                 {"small.webm", "8x8", "16 to 16383"});
  const std::string other = write("other.ocellus", "something else than a kernel bank, at length");
  expect_error({"kernels", "info", other}, {"other.ocellus"});
  const std::string bank = path("bank.ocellus");
  ASSERT_EQ(run_program({"kernels", "make", "-o", bank}).exit_code, 0);
  expect_error({"kernels", "info", path("missing.ocellus")}, {"missing.ocellus\": No such file"});

  const std::string a = gray_pgm("a.pgm", 40, 40);
  std::string shifted = bytes_of(a);
  for (std::size_t i = 20; i < shifted.size(); ++i) shifted[i] = static_cast<char>(shifted[i] ^ 4);
  const std::string b = write("b.pgm", shifted);
  const ChildResult seen = run_program({"compare", "image", a, b, "--min-hvs-psnr", "999"});
  EXPECT_EQ(seen.exit_code, 1);
  EXPECT_NE(seen.out.find("below the limit: --min-hvs-psnr 999"), std::string::npos) << seen.out;
  EXPECT_EQ(seen.out.find("--min-psnr"), std::string::npos) << seen.out;
  const ChildResult all = run_program({"compare", "image", a, b, "--min-psnr", "999"});
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_NE(all.out.find("below the limit: --min-psnr 999"), std::string::npos) << all.out;
  EXPECT_EQ(all.out.find("--min-hvs-psnr"), std::string::npos) << all.out;
}

}  // namespace
}  // namespace ocellus::test
