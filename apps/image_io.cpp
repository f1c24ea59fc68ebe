#include "image_io.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "common.h"
#include "output_file.h"

// jpeglib.h needs stdio's FILE and size_t before it.
#include <jpeglib.h>

namespace ocellus::app {
namespace {

constexpr std::uint8_t kPngMagic[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

bool is_png(const std::vector<std::uint8_t>& bytes) {
  return bytes.size() >= sizeof(kPngMagic) &&
         std::equal(std::begin(kPngMagic), std::end(kPngMagic), bytes.begin());
}
bool is_jpeg(const std::vector<std::uint8_t>& bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}
bool is_pnm(const std::vector<std::uint8_t>& bytes) {
  return bytes.size() >= 3 && bytes[0] == 'P' && std::strchr("2356", bytes[1]) != nullptr &&
         bytes[1] != 0 && (std::isspace(bytes[2]) || bytes[2] == '#');
}

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw InputError(fmt::format("{}: {}", path, what));
}

void check_side(const std::string& path, std::uint64_t width, std::uint64_t height) {
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide) {
    damaged(path, fmt::format("the image is {}x{}; width and height must be 1 to {}", width, height,
                              kMaxImageSide));
  }
}

std::uint32_t luma(std::uint32_t r, std::uint32_t g, std::uint32_t b) {
  return (299 * r + 587 * g + 114 * b + 500) / 1000;
}

void store16(GrayImage& image, std::size_t index, std::uint16_t value) {
  std::memcpy(image.pixels.data() + 2 * index, &value, 2);
}

// ---- PNM ----

class PnmReader {
 public:
  PnmReader(const std::string& path, const std::vector<std::uint8_t>& bytes)
      : path_(path), bytes_(bytes) {}

  GrayImage read() {
    const char kind = static_cast<char>(bytes_[1]);
    position_ = 2;
    const std::uint64_t wide_width = header_number("width");
    const std::uint64_t wide_height = header_number("height");
    check_side(path_, wide_width, wide_height);
    const auto width = static_cast<unsigned>(wide_width);
    const auto height = static_cast<unsigned>(wide_height);
    const std::uint64_t largest = header_number("largest value");
    if (largest < 1 || largest > 65535)
      damaged(path_, fmt::format("the largest value is {}; it must be 1 to 65535", largest));
    const auto maximum = static_cast<unsigned>(largest);
    const bool text = kind == '2' || kind == '3';
    const unsigned channels = kind == '3' || kind == '6' ? 3 : 1;
    const bool wide = maximum > 255;
    const unsigned full = wide ? 65535 : 255;
    const std::size_t count = std::size_t{width} * height;
    if (!text) {
      ++position_;  // exactly one white space ends the header
      const std::size_t needed = count * channels * (wide ? 2 : 1);
      const std::size_t there = bytes_.size() - std::min(position_, bytes_.size());
      if (there < needed) {
        damaged(path_,
                fmt::format("truncated: {}x{} pixels need {} bytes after the header, {} are there",
                            width, height, needed, there));
      }
    }
    GrayImage image({static_cast<int>(width), static_cast<int>(height)},
                    wide ? PixelFormat::kGray16 : PixelFormat::kGray8);
    for (std::size_t i = 0; i < count; ++i) {
      unsigned value[3];
      for (unsigned c = 0; c < channels; ++c) {
        const std::uint64_t sample = text ? text_number(i, count) : raw_number(wide);
        if (sample > maximum) {
          damaged(path_, fmt::format("pixel ({}, {}) is {}, above the header's largest value {}",
                                     i % width, i / width, sample, maximum));
        }
        value[c] = static_cast<unsigned>(sample);
        if (maximum != full) value[c] = (value[c] * full + maximum / 2) / maximum;
      }
      const unsigned gray = channels == 3 ? luma(value[0], value[1], value[2]) : value[0];
      if (wide) {
        store16(image, i, static_cast<std::uint16_t>(gray));
      } else {
        image.pixels[i] = static_cast<std::uint8_t>(gray);
      }
    }
    return image;
  }

 private:
  /// Skips white space and comments, then reads digits; nothing when there are none. A number that
  /// does not fit is the largest that does.
  std::optional<std::uint64_t> number() {
    while (position_ < bytes_.size() &&
           (std::isspace(bytes_[position_]) || bytes_[position_] == '#')) {
      if (bytes_[position_] == '#') {
        while (position_ < bytes_.size() && bytes_[position_] != '\n') ++position_;
      } else {
        ++position_;
      }
    }
    const std::size_t begin = position_;
    while (position_ < bytes_.size() && std::isdigit(bytes_[position_])) ++position_;
    if (position_ == begin) return std::nullopt;
    const char* const digits = reinterpret_cast<const char*>(bytes_.data());
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits + begin, digits + position_, value);
    return error == std::errc() ? value : std::numeric_limits<std::uint64_t>::max();
  }
  std::uint64_t header_number(const char* what) {
    const auto value = number();
    if (!value) damaged(path_, fmt::format("damaged PGM header: no {}", what));
    return *value;
  }
  std::uint64_t text_number(std::size_t index, std::size_t count) {
    const auto value = number();
    if (!value)
      damaged(path_,
              fmt::format("truncated or damaged: {} of {} pixels can be read", index, count));
    return *value;
  }
  unsigned raw_number(bool wide) {
    if (!wide) return bytes_[position_++];
    position_ += 2;  // big-endian
    return static_cast<unsigned>(bytes_[position_ - 2]) << 8 | bytes_[position_ - 1];
  }

  const std::string& path_;
  const std::vector<std::uint8_t>& bytes_;
  std::size_t position_ = 0;
};

// ---- PNG ----

struct PngErrors {
  char message[128] = {};
};

/// What libpng reads from and where its error text goes. libpng is C: it leaves by longjmp, so
/// nothing with a destructor may be made between setjmp and the end of png_decode.
struct PngJob : PngErrors {
  const std::vector<std::uint8_t>* bytes = nullptr;
  std::size_t position = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  png_uint_32 width = 0;
  png_uint_32 height = 0;
  int depth = 0;
  int channels = 0;
  std::vector<std::uint8_t> samples;
  std::vector<png_bytep> rows;
};

void png_fail(png_structp png, png_const_charp message) {
  auto* const errors = static_cast<PngErrors*>(png_get_error_ptr(png));
  std::snprintf(errors->message, sizeof(errors->message), "%s", message);
  png_longjmp(png, 1);
}

void png_warn(png_structp, png_const_charp) {}

void png_take(png_structp png, png_bytep out, size_t size) {
  auto* const job = static_cast<PngJob*>(png_get_io_ptr(png));
  if (job->bytes->size() - job->position < size) png_error(png, "the file ends too early");
  std::memcpy(out, job->bytes->data() + job->position, size);
  job->position += size;
}

bool png_read_header(PngJob& job) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_set_read_fn(job.png, &job, png_take);
  png_read_info(job.png, job.info);
  job.width = png_get_image_width(job.png, job.info);
  job.height = png_get_image_height(job.png, job.info);
  return true;
}

bool png_prepare(PngJob& job) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_set_expand(job.png);
  png_set_strip_alpha(job.png);
  png_set_interlace_handling(job.png);
  png_read_update_info(job.png, job.info);
  job.depth = png_get_bit_depth(job.png, job.info);
  job.channels = png_get_channels(job.png, job.info);
  return true;
}

bool png_read_pixels(PngJob& job) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_read_image(job.png, job.rows.data());
  png_read_end(job.png, nullptr);
  return true;
}

GrayImage read_png(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  PngJob job;
  job.bytes = &bytes;
  job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<PngErrors*>(&job), png_fail,
                                   png_warn);
  if (job.png == nullptr) throw InputError("libpng gave no memory");
  struct Guard {
    PngJob& job;
    ~Guard() { png_destroy_read_struct(&job.png, &job.info, nullptr); }
  } guard{job};
  job.info = png_create_info_struct(job.png);
  if (job.info == nullptr) throw InputError("libpng gave no memory");
  const auto check = [&](bool good) {
    if (!good) damaged(path, fmt::format("damaged or truncated PNG: {}", job.message));
  };
  check(png_read_header(job));
  check_side(path, job.width, job.height);
  check(png_prepare(job));
  const std::size_t row_bytes =
      std::size_t{job.width} * static_cast<std::size_t>(job.channels) * (job.depth == 16 ? 2 : 1);
  job.samples.resize(row_bytes * job.height);
  job.rows.resize(job.height);
  for (std::size_t y = 0; y < job.height; ++y) job.rows[y] = job.samples.data() + y * row_bytes;
  check(png_read_pixels(job));

  const bool wide = job.depth == 16;
  GrayImage image({static_cast<int>(job.width), static_cast<int>(job.height)},
                  wide ? PixelFormat::kGray16 : PixelFormat::kGray8);
  const std::size_t count = std::size_t{job.width} * job.height;
  const std::size_t channels = static_cast<std::size_t>(job.channels);
  const auto sample = [&](std::size_t i) -> std::uint32_t {
    return wide ? static_cast<std::uint32_t>(job.samples[2 * i]) << 8 | job.samples[2 * i + 1]
                : job.samples[i];
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t gray = channels >= 3 ? luma(sample(i * channels), sample(i * channels + 1),
                                                    sample(i * channels + 2))
                                             : sample(i * channels);
    if (wide) {
      store16(image, i, static_cast<std::uint16_t>(gray));
    } else {
      image.pixels[i] = static_cast<std::uint8_t>(gray);
    }
  }
  return image;
}

struct PngWriteJob : PngErrors {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::vector<png_bytep> rows;
};

bool png_write(PngWriteJob& job, std::FILE* file, ImageSize size, int bits) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_init_io(job.png, file);
  png_set_IHDR(job.png, job.info, static_cast<png_uint_32>(size.width),
               static_cast<png_uint_32>(size.height), bits, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_rows(job.png, job.info, job.rows.data());
  png_write_png(job.png, job.info, PNG_TRANSFORM_IDENTITY, nullptr);
  return true;
}

// ---- JPEG ----

struct JpegJob {
  jpeg_decompress_struct decompress;
  jpeg_error_mgr errors;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
};

void jpeg_fail(j_common_ptr common) {
  auto* const job = static_cast<JpegJob*>(common->client_data);
  (*common->err->format_message)(common, job->message);
  std::longjmp(job->jump, 1);
}

/// libjpeg fills what is missing with gray and only warns; a measurement must not run on that.
void jpeg_warn(j_common_ptr common, int level) {
  if (level < 0) jpeg_fail(common);
}

bool jpeg_start(JpegJob& job, const std::vector<std::uint8_t>& bytes) {
  if (setjmp(job.jump) != 0) return false;
  jpeg_mem_src(&job.decompress, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&job.decompress, TRUE);
  job.decompress.out_color_space = JCS_GRAYSCALE;
  return true;
}

bool jpeg_read_pixels(JpegJob& job, std::uint8_t* pixels) {
  if (setjmp(job.jump) != 0) return false;
  jpeg_start_decompress(&job.decompress);
  while (job.decompress.output_scanline < job.decompress.output_height) {
    JSAMPROW row = pixels + static_cast<std::size_t>(job.decompress.output_scanline) *
                                job.decompress.output_width;
    jpeg_read_scanlines(&job.decompress, &row, 1);
  }
  jpeg_finish_decompress(&job.decompress);
  return true;
}

GrayImage read_jpeg(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  JpegJob job;
  job.decompress.err = jpeg_std_error(&job.errors);
  job.errors.error_exit = jpeg_fail;
  job.errors.emit_message = jpeg_warn;
  job.decompress.client_data = &job;
  jpeg_create_decompress(&job.decompress);
  job.decompress.client_data = &job;
  struct Guard {
    JpegJob& job;
    ~Guard() { jpeg_destroy_decompress(&job.decompress); }
  } guard{job};
  const auto check = [&](bool good) {
    if (!good) damaged(path, fmt::format("damaged or truncated JPEG: {}", job.message));
  };
  check(jpeg_start(job, bytes));
  check_side(path, job.decompress.image_width, job.decompress.image_height);
  GrayImage image(
      {static_cast<int>(job.decompress.image_width), static_cast<int>(job.decompress.image_height)},
      PixelFormat::kGray8);
  check(jpeg_read_pixels(job, image.pixels.data()));
  return image;
}

}  // namespace

GrayImage::GrayImage(ImageSize image_size, PixelFormat pixel_format)
    : size(image_size), format(pixel_format) {
  pixels.resize(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) *
                static_cast<std::size_t>(bytes_per_pixel(format)));
}

float GrayImage::brightness(int x, int y) const {
  const std::size_t index = static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                            static_cast<std::size_t>(x);
  if (format == PixelFormat::kGray8) return pixels[index];
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

std::vector<std::uint8_t> read_file(const std::string& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    throw InputError(fmt::format(
        "{}: is a folder; name a file, or a numbered pattern such as {}/f%02d.pgm", path, path));
  }
  // A device may never end, and a pipe's end is not known beforehand.
  if (is_special_file(path)) {
    throw InputError(
        fmt::format("{}: is a device or a pipe; write its data to a file and name that", path));
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw InputError(fmt::format("{}: {}", path, std::strerror(errno)));
  const std::streamoff size = file.tellg();
  if (size == 0) throw InputError(fmt::format("{}: the file is empty", path));
  constexpr std::streamoff kLargest = std::streamoff{4} << 30;
  if (size < 0 || size > kLargest)
    throw InputError(fmt::format("{}: has {}; images and fields have at most {}", path,
                                 bytes_text(static_cast<std::uint64_t>(size)),
                                 bytes_text(static_cast<std::uint64_t>(kLargest))));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), size))
    throw InputError(fmt::format("{}: {}", path, std::strerror(errno)));
  return bytes;
}

bool is_image_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint8_t> head(16);
  file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  if (is_png(head) || is_jpeg(head) || is_pnm(head)) return true;
  const std::string extension = file_extension(path);
  return extension == ".png" || extension == ".pgm" || extension == ".ppm" || extension == ".pnm" ||
         extension == ".jpg" || extension == ".jpeg";
}

GrayImage read_image(const std::string& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  if (is_png(bytes)) return read_png(path, bytes);
  if (is_jpeg(bytes)) return read_jpeg(path, bytes);
  if (is_pnm(bytes)) return PnmReader(path, bytes).read();
  throw InputError(fmt::format(
      "{}: not a PNG, PGM, PPM or JPEG image (its first bytes are of none of them)", path));
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
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(size.width);
  image.height = static_cast<png_uint_32>(size.height);
  image.format = PNG_FORMAT_RGB;
  OutputFile file(path);
  if (png_image_write_to_stdio(&image, file.stream(), 0, rgb, 0, nullptr) == 0) {
    if (std::ferror(file.stream())) file.fail();
    throw InputError(fmt::format("{}: cannot be written: {}", path, image.message));
  }
  file.commit();
}

void write_png_gray(const std::string& path, const GrayImage& image, int bits) {
  const std::size_t width = static_cast<std::size_t>(image.size.width);
  const std::size_t row_bytes = bits == 1 ? (width + 7) / 8 : width;
  std::vector<std::uint8_t> samples = image.pixels;
  if (bits == 1) {
    samples.assign(row_bytes * static_cast<std::size_t>(image.size.height), 0);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
      const std::size_t x = i % width;
      if (image.pixels[i] >= 128)
        samples[i / width * row_bytes + x / 8] |= static_cast<std::uint8_t>(0x80u >> (x % 8));
    }
  }
  OutputFile file(path);
  PngWriteJob job;
  for (std::size_t at = 0; at < samples.size(); at += row_bytes)
    job.rows.push_back(samples.data() + at);
  job.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<PngErrors*>(&job), png_fail,
                                    png_warn);
  if (job.png == nullptr) throw InputError("libpng gave no memory");
  struct Guard {
    PngWriteJob& job;
    ~Guard() { png_destroy_write_struct(&job.png, &job.info); }
  } guard{job};
  job.info = png_create_info_struct(job.png);
  if (job.info == nullptr) throw InputError("libpng gave no memory");
  if (!png_write(job, file.stream(), image.size, bits)) {
    if (std::ferror(file.stream())) file.fail();
    throw InputError(fmt::format("{}: cannot be written: {}", path, job.message));
  }
  file.commit();
}

}  // namespace ocellus::app
