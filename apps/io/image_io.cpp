#include "apps/io/image_io.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/common/common.h"
#include "apps/common/printable.h"
#include "apps/common/rounding.h"
#include "apps/io/image_target.h"
#include "apps/io/input_file.h"
#include "apps/io/output_file.h"
#include "apps/io/pnm_reader.h"

// jpeglib.h needs FILE and size_t, so <cstdio> must come first.
#include <jpeglib.h>

namespace ocellus::app {
namespace {

bool is_png(std::string_view head) {
  return head.starts_with("\x89PNG\r\n\x1a\n");
}
bool is_jpeg(std::string_view head) {
  return head.starts_with("\xff\xd8\xff");
}
constexpr const char* kReadFormats = "PNG, PGM, PPM, PBM and JPEG";

/// The name of an image format that is not read, or null.
const char* unread_format(std::string_view head) {
  const auto at = [&](std::size_t position, std::string_view text) {
    return head.size() >= position + text.size() && head.substr(position, text.size()) == text;
  };
  // GStreamer's libav plugin does not find the end of a GIF.
  if (at(0, "GIF87a") || at(0, "GIF89a")) return "GIF";
  if (at(0, "P7\n") || at(0, "P7\r\n")) return "PAM";
  if (at(0, "PF\n") || at(0, "Pf\n")) return "PFM";
  if (at(0, "BM") && at(6, std::string_view("\0\0\0\0", 4))) return "BMP";
  if (at(0, std::string_view("II*\0", 4)) || at(0, std::string_view("MM\0*", 4))) return "TIFF";
  if (at(0, "RIFF") && at(8, "WEBP")) return "WebP";
  for (const char* brand : {"heic", "heix", "hevc", "heim", "mif1", "msf1"})
    if (at(4, "ftyp") && at(8, brand)) return "HEIF";
  if (at(4, "ftypavif") || at(4, "ftypavis")) return "AVIF";
  if (at(0, std::string_view("\0\0\0\x0cjP  ", 8)) || at(0, "\xff\x4f\xff\x51")) return "JPEG 2000";
  if (at(0, std::string_view("\0\0\0\x0cJXL ", 8)) || at(0, "\xff\x0a")) return "JPEG XL";
  if (at(0, "qoif")) return "QOI";
  if (at(0, "8BPS")) return "PSD";
  if (at(0, "v/1\x01")) return "OpenEXR";
  if (at(0, "#?RADIANCE")) return "Radiance HDR";
  if (at(0, "\x8aMNG")) return "MNG";
  if (at(0, "%PDF-")) return "PDF";
  return nullptr;
}

/// Width to height of a pixel in the upright image, such as "2 to 1". Empty for square ones, also
/// if only the rounding of the densities makes a difference.
std::string aspect_of(const ImageTarget& image) {
  std::uint32_t width = image.down;
  std::uint32_t height = image.across;
  if (width == 0 || height == 0) return "";
  if (image.orientation >= 5) std::swap(width, height);
  constexpr double kRounding = 0.005;
  if (std::abs(static_cast<double>(width) / height - 1.0) < kRounding) return "";
  const std::uint32_t divisor = std::gcd(width, height);
  return fmt::format("{} to {}", width / divisor, height / divisor);
}

// ---- Exif

/// The orientation in Exif data that begin with the byte order, or 1.
int orientation_of(std::string_view tiff) {
  const bool big = tiff.starts_with("MM");
  const auto number = [&](std::size_t position, std::size_t bytes) -> std::size_t {
    if (position > tiff.size() || bytes > tiff.size() - position) return 0;
    std::size_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      const auto byte = static_cast<unsigned char>(tiff[position + (big ? i : bytes - 1 - i)]);
      value = value << 8 | byte;
    }
    return value;
  };
  if (!big && !tiff.starts_with("II")) return 1;
  constexpr std::size_t kOrientation = 0x0112;
  constexpr std::size_t kShort = 3;
  const std::size_t directory = number(4, 4);
  const std::size_t entries = number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + 12 * i;
    if (number(entry, 2) != kOrientation || number(entry + 2, 2) != kShort) continue;
    const std::size_t value = number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

// ---- PNG

struct PngErrors {
  char message[128] = {};
};

/// State of libpng's calls: the stream, the image and the error text. libpng returns from errors by
/// longjmp, so no object with a destructor may be alive between setjmp and a call.
struct PngJob : PngErrors {
  std::FILE* stream = nullptr;
  png_structp png = nullptr;
  png_infop info = nullptr;
  png_uint_32 width = 0;
  png_uint_32 height = 0;
  bool interlaced = false;
  int depth = 0;
  std::size_t channels = 0;
  std::vector<std::uint8_t> row;
};

void png_fail(png_structp png, png_const_charp message) {
  auto* const errors = static_cast<PngErrors*>(png_get_error_ptr(png));
  std::snprintf(errors->message, sizeof(errors->message), "%s", message);
  png_longjmp(png, 1);
}

void png_warn(png_structp, png_const_charp) {}

void png_take(png_structp png, png_bytep out, size_t size) {
  auto* const job = static_cast<PngJob*>(png_get_io_ptr(png));
  if (std::fread(out, 1, size, job->stream) != size) png_error(png, "the file ends too early");
}

/// Stores one row as it is read. Its pixels go to `first`, first + step, ... of the image.
void png_store_row(const PngJob& job, std::size_t columns, std::size_t first, std::size_t step,
                   ImageTarget& image) {
  const bool alpha = job.channels == 2 || job.channels == 4;
  const std::uint32_t opaque = job.depth == 16 ? 65535 : 255;
  const auto sample = [&job](std::size_t i) -> std::uint32_t {
    return job.depth == 16 ? static_cast<std::uint32_t>(job.row[2 * i]) << 8 | job.row[2 * i + 1]
                           : job.row[i];
  };
  for (std::size_t x = 0; x < columns; ++x) {
    const std::size_t i = x * job.channels;
    if (job.channels >= 3)
      image.set(first + x * step, sample(i), sample(i + 1), sample(i + 2));
    else
      image.set(first + x * step, sample(i));
    if (alpha && sample(i + job.channels - 1) != opaque) image.transparent = true;
  }
}

/// Assembles an interlaced image pass by pass. libpng itself would need memory for all samples.
void png_take_rows(PngJob& job, ImageTarget& image) {
  const int passes = job.interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1;
  for (int pass = 0; pass < passes; ++pass) {
    const std::size_t columns = job.interlaced ? PNG_PASS_COLS(job.width, pass) : job.width;
    const std::size_t rows = job.interlaced ? PNG_PASS_ROWS(job.height, pass) : job.height;
    if (columns == 0) continue;
    for (std::size_t row = 0; row < rows; ++row) {
      png_read_row(job.png, job.row.data(), nullptr);
      const std::size_t y = job.interlaced ? PNG_ROW_FROM_PASS_ROW(row, pass) : row;
      const std::size_t x = job.interlaced ? PNG_PASS_START_COL(pass) : 0;
      const std::size_t step = job.interlaced ? PNG_PASS_COL_OFFSET(pass) : 1;
      png_store_row(job, columns, y * job.width + x, step, image);
    }
  }
}

/// Returns false after an error of libpng. Throws InputError for a header that claims too much.
bool png_read(PngJob& job, const InputFile& file, ImageTarget& image) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_set_read_fn(job.png, &job, png_take);
  // Reads only the chunks that determine the pixels. Other chunks, such as texts and profiles, may
  // be large, and larger when decompressed.
  png_set_keep_unknown_chunks(job.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_chunk_cache_max(job.png, 16);
  png_set_chunk_malloc_max(job.png, 1 << 20);
  png_read_info(job.png, job.info);
  job.width = png_get_image_width(job.png, job.info);
  job.height = png_get_image_height(job.png, job.info);
  job.interlaced = png_get_interlace_type(job.png, job.info) != PNG_INTERLACE_NONE;
  check_side(file, job.width, job.height);
  // Deflate makes at most 258 bytes from two bits.
  constexpr std::uint64_t kMostPacking = 258 * 4;
  check_bytes(file, job.width, job.height,
              std::uint64_t{png_get_rowbytes(job.png, job.info)} * job.height / kMostPacking,
              file.size());
  png_set_expand(job.png);
  png_read_update_info(job.png, job.info);
  job.depth = png_get_bit_depth(job.png, job.info);
  job.channels = png_get_channels(job.png, job.info);
  job.row.resize(std::size_t{job.width} * job.channels * (job.depth == 16 ? 2 : 1));
  image.make({static_cast<int>(job.width), static_cast<int>(job.height)},
             job.depth == 16 ? PixelFormat::kGray16 : PixelFormat::kGray8, job.channels >= 3);
  png_take_rows(job, image);
  png_read_end(job.png, nullptr);
  return true;
}

/// Reads what the chunks eXIf and pHYs tell. They may follow the pixels, so they are looked for
/// first. Damage is left to libpng.
void read_png_chunks(InputFile& file, ImageTarget& image) {
  constexpr int kMostChunks = 1 << 16;
  constexpr std::size_t kMostExif = 1 << 16;
  std::uint64_t position = 8;
  for (int chunk = 0; chunk < kMostChunks && position < file.size(); ++chunk) {
    file.seek(position);
    std::string head(8, '\0');
    if (file.read_some(head.data(), head.size()) != head.size()) break;
    const auto number = [](std::string_view bytes) {
      std::uint32_t value = 0;
      for (const char byte : bytes.substr(0, 4))
        value = value << 8 | static_cast<std::uint8_t>(byte);
      return value;
    };
    const std::uint32_t length = number(head);
    const std::string type = head.substr(4);
    if (type == "IEND") break;
    if (type == "eXIf" || type == "pHYs") {
      std::string data(std::min<std::size_t>(length, kMostExif), '\0');
      data.resize(file.read_some(data.data(), data.size()));
      if (type == "eXIf") {
        image.orientation = orientation_of(data);
      } else if (data.size() == 9) {
        image.across = number(data);
        image.down = number(std::string_view(data).substr(4));
      }
    }
    position += 12 + std::uint64_t{length};
  }
}

void read_png(InputFile& file, ImageTarget& image) {
  read_png_chunks(file, image);
  file.seek(0);
  PngJob job;
  job.stream = file.stream();
  job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<PngErrors*>(&job), png_fail,
                                   png_warn);
  if (job.png == nullptr) throw InputError("libpng could not allocate memory");
  struct Guard {
    PngJob& job;
    ~Guard() { png_destroy_read_struct(&job.png, &job.info, nullptr); }
  } guard{job};
  job.info = png_create_info_struct(job.png);
  if (job.info == nullptr) throw InputError("libpng could not allocate memory");
  if (!png_read(job, file, image))
    file.fail(fmt::format("damaged or truncated PNG: {}", job.message));
}

struct PngWriteJob : PngErrors {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::vector<png_bytep> rows;
};

bool png_write(PngWriteJob& job, std::FILE* file, ImageSize size, int color_type, int bits) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_init_io(job.png, file);
  png_set_IHDR(job.png, job.info, static_cast<png_uint_32>(size.width),
               static_cast<png_uint_32>(size.height), bits, color_type, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (color_type == PNG_COLOR_TYPE_RGB) png_set_sRGB(job.png, job.info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_set_rows(job.png, job.info, job.rows.data());
  png_write_png(job.png, job.info, PNG_TRANSFORM_PACKING, nullptr);
  return true;
}

/// Each sample is a byte. A file with fewer bits keeps the lowest ones.
void write_png(const std::string& path, ImageSize size, int color_type, int bits,
               const std::uint8_t* samples) {
  OutputFile file(path);
  PngWriteJob job;
  const std::ptrdiff_t row = std::ptrdiff_t{color_type == PNG_COLOR_TYPE_RGB ? 3 : 1} * size.width;
  for (int y = 0; y < size.height; ++y)
    job.rows.push_back(const_cast<png_bytep>(samples + row * y));
  job.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<PngErrors*>(&job), png_fail,
                                    png_warn);
  if (job.png == nullptr) throw InputError("libpng could not allocate memory");
  struct Guard {
    PngWriteJob& job;
    ~Guard() { png_destroy_write_struct(&job.png, &job.info); }
  } guard{job};
  job.info = png_create_info_struct(job.png);
  if (job.info == nullptr) throw InputError("libpng could not allocate memory");
  if (!png_write(job, file.stream(), size, color_type, bits)) {
    if (std::ferror(file.stream())) file.fail();
    throw InputError(fmt::format("{}: cannot be written: {}", path, job.message));
  }
  file.commit();
}

// ---- JPEG ----

struct JpegJob {
  jpeg_decompress_struct decompress;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf jump;
  bool rgb = false;
  bool ycc = false;  ///< the color is read as Y, Cb and Cr
  char message[JMSG_LENGTH_MAX] = {};
};

void jpeg_fail(j_common_ptr common) {
  auto* const job = static_cast<JpegJob*>(common->client_data);
  (*common->err->format_message)(common, job->message);
  std::longjmp(job->jump, 1);
}

/// libjpeg fills missing data with gray and only warns. That would falsify a measurement, so a
/// warning is an error here.
void jpeg_warn(j_common_ptr common, int level) {
  if (level < 0) jpeg_fail(common);
}

/// Each scan covers the whole image, and may have only a few bytes.
constexpr int kMostScans = 100;

void jpeg_watch(j_common_ptr common) {
  auto* const job = static_cast<JpegJob*>(common->client_data);
  if (job->decompress.input_scan_number <= kMostScans) return;
  std::snprintf(job->message, sizeof(job->message), "it has more than %d scans", kMostScans);
  std::longjmp(job->jump, 1);
}

bool jpeg_start(JpegJob& job, std::FILE* stream) {
  if (setjmp(job.jump) != 0) return false;
  jpeg_stdio_src(&job.decompress, stream);
  jpeg_read_header(&job.decompress, TRUE);
  // The luma must be the same with and without color. That of libjpeg rounds otherwise.
  job.rgb =
      (job.rgb || job.decompress.jpeg_color_space == JCS_RGB) && job.decompress.num_components == 3;
  job.ycc = job.rgb && job.decompress.jpeg_color_space == JCS_YCbCr;
  job.decompress.out_color_space = job.ycc ? JCS_YCbCr : job.rgb ? JCS_RGB : JCS_GRAYSCALE;
  return true;
}

/// Sets a pixel from the bytes Y, Cb and Cr (JFIF 1.02).
void set_ycc(ImageTarget& image, std::size_t index, const std::uint8_t* ycc) {
  const double y = ycc[0];
  const double cb = ycc[1] - 128.0;
  const double cr = ycc[2] - 128.0;
  image.set(index, ycc[0], nearest_byte(y + 1.402 * cr),
            nearest_byte(y - 0.344136 * cb - 0.714136 * cr), nearest_byte(y + 1.772 * cb));
}

/// `row` has space for three bytes per pixel.
bool jpeg_read_pixels(JpegJob& job, std::uint8_t* row, ImageTarget& image) {
  if (setjmp(job.jump) != 0) return false;
  jpeg_start_decompress(&job.decompress);
  const std::size_t width = job.decompress.output_width;
  while (job.decompress.output_scanline < job.decompress.output_height) {
    const std::size_t first = job.decompress.output_scanline * width;
    const bool direct = !job.rgb && image.orientation == 1;
    JSAMPROW to = direct ? image.gray.pixels.data() + first : row;
    jpeg_read_scanlines(&job.decompress, &to, 1);
    for (std::size_t x = 0; !direct && x < width; ++x) {
      if (job.ycc)
        set_ycc(image, first + x, row + 3 * x);
      else if (job.rgb)
        image.set(first + x, row[3 * x], row[3 * x + 1], row[3 * x + 2]);
      else
        image.set(first + x, row[x]);
    }
  }
  jpeg_finish_decompress(&job.decompress);
  return true;
}

/// The orientation of a JPEG, 1 to 8. Damage is left to libjpeg.
int exif_orientation(InputFile& file) {
  constexpr int kMostSegments = 100;
  constexpr unsigned char kExif = 0xe1;
  constexpr unsigned char kScan = 0xda;
  std::uint64_t position = 2;
  for (int segment = 0; segment < kMostSegments; ++segment) {
    unsigned char head[4] = {};
    if (position >= file.size()) return 1;
    file.seek(position);
    if (file.read_some(head, 4) != 4 || head[0] != 0xff || head[1] == kScan) return 1;
    const unsigned length = head[2] << 8 | head[3];
    if (length < 2) return 1;
    if (head[1] == kExif) {
      std::string data(length - 2, '\0');
      data.resize(file.read_some(data.data(), data.size()));
      constexpr std::string_view kName("Exif\0\0", 6);
      if (data.starts_with(kName)) return orientation_of(std::string_view(data).substr(6));
    }
    position += 2 + length;
  }
  return 1;
}

/// Checks what the header claims against the file's size and the memory limit.
void check_jpeg(const InputFile& file, jpeg_decompress_struct& jpeg) {
  if (jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK) {
    file.fail(
        "a JPEG in CMYK, the colors of a printer, which are not read; convert it to RGB or gray");
  }
  if (jpeg.jpeg_color_space != JCS_GRAYSCALE && jpeg.jpeg_color_space != JCS_RGB &&
      jpeg.jpeg_color_space != JCS_YCbCr) {
    file.fail(fmt::format("a JPEG of {} unknown color components; gray and RGB are read",
                          jpeg.num_components));
  }
  check_side(file, jpeg.image_width, jpeg.image_height);
  std::uint64_t blocks = 0;
  for (int c = 0; c < jpeg.num_components; ++c) {
    const jpeg_component_info& component = jpeg.comp_info[c];
    blocks += std::uint64_t{component.width_in_blocks} * component.height_in_blocks;
  }
  // The shortest Huffman code has one bit. Arithmetic coding has no such bound.
  if (!jpeg.arith_code)
    check_bytes(file, jpeg.image_width, jpeg.image_height, blocks / 8, file.size());
  if (!jpeg_has_multiple_scans(&jpeg)) return;
  constexpr std::uint64_t kMostBytes = std::uint64_t{56} << 20;
  const std::uint64_t bytes = blocks * sizeof(JBLOCK);
  if (bytes <= kMostBytes) return;
  file.fail(fmt::format(
      "a progressive JPEG of {}x{} needs {} of memory beside the image to decode; the limit is {}. "
      "`jpegtran` without options converts it to a baseline JPEG with the same pixels",
      jpeg.image_width, jpeg.image_height, bytes_text(bytes), bytes_text(kMostBytes)));
}

void read_jpeg(InputFile& file, ImageTarget& image) {
  image.orientation = exif_orientation(file);
  file.seek(0);
  JpegJob job;
  job.rgb = image.color != nullptr;
  job.decompress.err = jpeg_std_error(&job.errors);
  job.errors.error_exit = jpeg_fail;
  job.errors.emit_message = jpeg_warn;
  job.decompress.client_data = &job;
  jpeg_create_decompress(&job.decompress);
  job.decompress.client_data = &job;
  job.progress = {};
  job.progress.progress_monitor = jpeg_watch;
  job.decompress.progress = &job.progress;
  struct Guard {
    JpegJob& job;
    ~Guard() { jpeg_destroy_decompress(&job.decompress); }
  } guard{job};
  const auto check = [&](bool good) {
    if (!good) file.fail(fmt::format("damaged or truncated JPEG: {}", job.message));
  };
  check(jpeg_start(job, file.stream()));
  check_jpeg(file, job.decompress);
  if (job.decompress.saw_JFIF_marker != 0) {
    image.across = job.decompress.X_density;
    image.down = job.decompress.Y_density;
  }
  image.make(
      {static_cast<int>(job.decompress.image_width), static_cast<int>(job.decompress.image_height)},
      PixelFormat::kGray8, job.rgb);
  std::vector<std::uint8_t> row(std::size_t{3} * job.decompress.image_width);
  check(jpeg_read_pixels(job, row.data(), image));
}

}  // namespace

GrayImage::GrayImage(ImageSize image_size, PixelFormat pixel_format)
    : size(image_size), format(pixel_format) {
  pixels.resize(pixels_of(size) * static_cast<std::size_t>(bytes_per_pixel(format)));
}

float GrayImage::brightness(int x, int y) const {
  const std::size_t index = static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                            static_cast<std::size_t>(x);
  if (format == PixelFormat::kGray8) return pixels[index];
  if (format == PixelFormat::kFloat32) {
    float value = 0.0f;
    std::memcpy(&value, pixels.data() + sizeof(float) * index, sizeof(float));
    return value;
  }
  std::uint16_t value = 0;
  std::memcpy(&value, pixels.data() + 2 * index, 2);
  return static_cast<float>(value) / 257.0f;
}

Frame GrayImage::view(std::uint64_t sequence, std::int64_t timestamp_ns) const {
  Frame frame;
  frame.data = pixels.data();
  frame.size = size;
  frame.stride = stride();
  frame.format = format;
  frame.sequence = sequence;
  frame.timestamp_ns = timestamp_ns;
  return frame;
}

std::string file_extension(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

bool is_image_file(const std::string& path) {
  const std::string head = first_bytes(path, kHeadBytes);
  if (is_png(head) || is_jpeg(head) || is_pnm(head)) return true;
  const std::string extension = file_extension(path);
  return extension == ".png" || extension == ".pgm" || extension == ".ppm" || extension == ".pnm" ||
         extension == ".pbm" || extension == ".jpg" || extension == ".jpeg";
}

std::string unread_image(std::string_view head) {
  const char* const format = unread_format(head);
  if (format == nullptr) return "";
  return fmt::format(
      "a {} image, which is not read; the formats are {}. Convert it to PNG, or to a video such as "
      ".webm if it moves",
      format, kReadFormats);
}

GrayImage read_image(const std::string& path, std::vector<GrayImage>* color) {
  InputFile file(path);
  ImageTarget image(color);
  std::string head(kHeadBytes, '\0');
  head.resize(file.read_some(head.data(), head.size()));
  file.seek(0);
  if (is_png(head))
    read_png(file, image);
  else if (is_jpeg(head))
    read_jpeg(file, image);
  else if (is_pnm(head))
    PnmReader<InputFile>(file).read(image);
  else if (const std::string other = unread_image(head); !other.empty())
    file.fail(other);
  else
    file.fail(
        fmt::format("not an image that is read: its first bytes are none of {}", kReadFormats));
  if (image.transparent) tell_once(path, "its transparency is ignored");
  if (const std::string aspect = aspect_of(image); !aspect.empty()) {
    tell_once(path,
              fmt::format("its pixels are {}, which is ignored: they count as square", aspect));
  }
  return std::move(image.gray);
}

std::vector<std::uint8_t> read_mask(const std::string& path, const std::string& of,
                                    ImageSize size) {
  const GrayImage image = read_image(path);
  check_same_size(path, image.size, of, size);
  std::vector<std::uint8_t> mask;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) mask.push_back(image.brightness(x, y) >= 128.0f ? 1 : 0);
  }
  return mask;
}

void write_png_rgb(const std::string& path, ImageSize size, const std::uint8_t* rgb) {
  write_png(path, size, PNG_COLOR_TYPE_RGB, 8, rgb);
}

namespace {

/// One bit per pixel, which is 1 where the pixel is black. Rows begin with the highest bit of a
/// byte.
std::vector<std::uint8_t> packed_bits(const GrayImage& image) {
  const auto width = static_cast<std::size_t>(image.size.width);
  const std::size_t row_bytes = (width + 7) / 8;
  std::vector<std::uint8_t> bits(row_bytes * static_cast<std::size_t>(image.size.height), 0);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const std::size_t x = i % width;
    if (image.pixels[i] < 128)
      bits[i / width * row_bytes + x / 8] |= static_cast<std::uint8_t>(0x80u >> (x % 8));
  }
  return bits;
}

void write_pnm(const std::string& path, const char* kind, ImageSize size,
               const std::uint8_t* samples, std::size_t count) {
  OutputFile file(path);
  const bool bitmap = std::string_view(kind) == "P4";
  const std::string header =
      fmt::format("{}\n{} {}\n{}", kind, size.width, size.height, bitmap ? "" : "255\n");
  file.write(header.data(), header.size());
  file.write(samples, count);
  file.commit();
}

}  // namespace

void write_image_gray(const std::string& path, const GrayImage& image, int bits) {
  const std::string extension = file_extension(path);
  if (extension == ".pgm" || is_standard_stream(path)) {
    write_pnm(path, "P5", image.size, image.pixels.data(), image.pixels.size());
  } else if (extension == ".ppm") {
    std::vector<std::uint8_t> rgb;
    rgb.reserve(3 * image.pixels.size());
    for (const std::uint8_t value : image.pixels) rgb.insert(rgb.end(), 3, value);
    write_image_rgb(path, image.size, rgb.data());
  } else if (extension == ".pbm") {
    if (bits != 1) {
      throw InputError(fmt::format(
          "{}: a PBM file has two levels, and this result has more; use .pgm or .png", path));
    }
    const std::vector<std::uint8_t> packed = packed_bits(image);
    write_pnm(path, "P4", image.size, packed.data(), packed.size());
  } else {
    write_png_gray(path, image, bits);
  }
}

void write_image_rgb(const std::string& path, ImageSize size, const std::uint8_t* rgb) {
  const std::string extension = file_extension(path);
  if (extension == ".pgm" || extension == ".pbm") {
    throw InputError(
        fmt::format("{}: the result has color, which a {} file cannot hold; use .png or .ppm", path,
                    extension == ".pgm" ? "PGM" : "PBM"));
  }
  if (extension != ".ppm" && !is_standard_stream(path)) return write_png_rgb(path, size, rgb);
  write_pnm(path, "P6", size, rgb, std::size_t{3} * pixels_of(size));
}

void write_png_gray(const std::string& path, const GrayImage& image, int bits) {
  // A display of 4 or 16 grays takes 2 or 4 bits for a pixel.
  const auto has_steps = [&](int step) {
    return std::all_of(image.pixels.begin(), image.pixels.end(),
                       [step](std::uint8_t value) { return value % step == 0; });
  };
  if ((bits == 2 && !has_steps(85)) || (bits == 4 && !has_steps(17))) bits = 8;
  if (bits == 8) return write_png(path, image.size, PNG_COLOR_TYPE_GRAY, bits, image.pixels.data());
  std::vector<std::uint8_t> levels = image.pixels;
  const int step = bits == 1 ? 128 : 255 / ((1 << bits) - 1);
  for (std::uint8_t& value : levels) value = static_cast<std::uint8_t>(value / step);
  write_png(path, image.size, PNG_COLOR_TYPE_GRAY, bits, levels.data());
}

}  // namespace ocellus::app
