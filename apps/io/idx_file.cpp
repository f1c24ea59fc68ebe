#include "apps/io/idx_file.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>

#include "apps/common/printable.h"
#include "apps/io/input_file.h"
#include "ocellus/neocognitron_model.h"

namespace ocellus::app {
namespace {

constexpr std::uint32_t kLabelsMagic = 0x0801;  // unsigned bytes, 1 dimension
constexpr std::uint32_t kImagesMagic = 0x0803;  // unsigned bytes, 3 dimensions

/// The bytes of a file, decompressed if it is a gzip file.
class IdxStream {
 public:
  explicit IdxStream(const std::string& path) : file_(path) {
    std::array<std::uint8_t, 2> first{};
    const std::size_t got = file_.read_some(first.data(), first.size());
    compressed_ = got == first.size() && first[0] == 0x1f && first[1] == 0x8b;
    if (!compressed_ && path.ends_with(".gz"))
      fail("the name ends in .gz, but the file is not a gzip file");
    file_.seek(0);
    if (!compressed_) return;
    // gzclose closes its descriptor, so it gets one of its own. Both share the position.
    const int descriptor = dup(fileno(file_.stream()));
    if (descriptor < 0) fail(std::strerror(errno));
    if (lseek(descriptor, 0, SEEK_SET) != 0) fail(std::strerror(errno));
    gzip_.reset(gzdopen(descriptor, "rb"));
    if (!gzip_) {
      close(descriptor);
      fail("there is no memory to decompress it");
    }
  }

  /// Reads up to `count` bytes, fewer only at the end.
  std::size_t read_some(std::uint8_t* to, std::size_t count) {
    if (!compressed_) return file_.read_some(to, count);
    std::size_t have = 0;
    while (have < count) {
      constexpr std::size_t kMost = std::size_t{1} << 30;
      const int got =
          gzread(gzip_.get(), to + have, static_cast<unsigned>(std::min(count - have, kMost)));
      if (got < 0) damaged();
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    // The error of an incomplete gzip file comes without -1.
    int error = Z_OK;
    gzerror(gzip_.get(), &error);
    if (have < count && error != Z_OK) damaged();
    return have;
  }

  /// Reads a number of the header, which is big-endian.
  std::uint32_t number() {
    std::array<std::uint8_t, 4> bytes{};
    if (read_some(bytes.data(), bytes.size()) < bytes.size()) fail("truncated in its header");
    std::uint32_t value = 0;
    for (const std::uint8_t byte : bytes) value = value << 8 | byte;
    return value;
  }

  /// Reads `count` bytes, after which the file must end. `what` names the bytes in the error.
  std::vector<std::uint8_t> rest(std::uint64_t count, const std::string& what) {
    // The header of a plain file is checked against its size. A gzip file does not tell its size,
    // so the memory grows with what has been read.
    if (!compressed_ && file_.left() < count) truncated(what, count, file_.left());
    constexpr std::uint64_t kPart = std::uint64_t{16} << 20;
    std::vector<std::uint8_t> bytes;
    while (bytes.size() < count) {
      const std::size_t before = bytes.size();
      const std::uint64_t part = compressed_ ? std::min(kPart, count - before) : count - before;
      if (compressed_ && bytes.capacity() < before + part)
        bytes.reserve(std::min<std::uint64_t>(count, std::max<std::uint64_t>(2 * before, part)));
      bytes.resize(before + part);
      const std::size_t got = read_some(bytes.data() + before, part);
      if (got < part) truncated(what, count, before + got);
    }
    std::uint8_t next = 0;
    if (read_some(&next, 1) != 0)
      fail(fmt::format("damaged: more bytes follow the {} that its header announces", what));
    return bytes;
  }

  [[noreturn]] void fail(const std::string& what) const { file_.fail(what); }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };

  [[noreturn]] void damaged() {
    int error = Z_OK;
    std::string text = gzerror(gzip_.get(), &error);
    // zlib puts its own name of the file before the reason.
    if (const std::size_t colon = text.find(": "); colon != std::string::npos)
      text.erase(0, colon + 2);
    if (error == Z_ERRNO) fail(std::strerror(errno));
    if (error == Z_BUF_ERROR) fail("truncated: the gzip file ends too early");
    fail(fmt::format("damaged: the gzip file cannot be decompressed ({})", printable(text, 80)));
  }
  [[noreturn]] void truncated(const std::string& what, std::uint64_t count,
                              std::uint64_t there) const {
    fail(fmt::format("truncated: its header announces {} in {} bytes, {} follow", what, count,
                     there));
  }

  InputFile file_;
  bool compressed_ = false;
  std::unique_ptr<gzFile_s, Close> gzip_;
};

/// The type of the numbers in an IDX file, or null.
const char* type_name(std::uint32_t magic) {
  switch (magic >> 8) {
    case 0x08:
      return "unsigned bytes";
    case 0x09:
      return "signed bytes";
    case 0x0b:
      return "numbers of 16 bits";
    case 0x0c:
      return "numbers of 32 bits";
    case 0x0d:
    case 0x0e:
      return "floating-point numbers";
    default:
      return nullptr;
  }
}

void check_magic(IdxStream& file, std::uint32_t wanted, const char* what) {
  const std::uint32_t magic = file.number();
  if (magic == wanted) return;
  std::string why;
  const char* const type = type_name(magic);
  if (magic == kLabelsMagic) {
    why = "; it holds labels";
  } else if (magic == kImagesMagic) {
    why = "; it holds images";
  } else if (type != nullptr && magic >> 8 != 0x08 && wanted == kLabelsMagic) {
    why =
        fmt::format("; it holds {}, but labels must be unsigned bytes (at most 256 classes)", type);
  } else if (type != nullptr) {
    why = fmt::format("; it holds {} in {} dimensions", type, magic & 0xff);
  }
  file.fail(fmt::format("the magic number is {:#010x}; it must be {:#010x} for {}{}", magic, wanted,
                        what, why));
}

}  // namespace

IdxImages read_idx_images(const std::string& path) {
  IdxStream file(path);
  check_magic(file, kImagesMagic, "images (idx3 of unsigned bytes)");
  const std::uint32_t count = file.number();
  const std::uint32_t height = file.number();
  const std::uint32_t width = file.number();
  constexpr std::uint32_t kMostSide = 16384;
  if (width < 1 || height < 1 || width > kMostSide || height > kMostSide) {
    file.fail(fmt::format("its header announces images of {}x{}; width and height must be 1 to {}",
                          width, height, kMostSide));
  }
  const std::uint64_t pixels = std::uint64_t{count} * height * width;
  const std::string what = fmt::format("{} images of {}x{}", count, width, height);
  if (count == 0) file.fail("its header announces no images");
  if (pixels > kMostIdxPixels) {
    file.fail(fmt::format("its header announces {}; at most {} pixels are allowed", what,
                          kMostIdxPixels));
  }
  IdxImages images;
  images.width = static_cast<int>(width);
  images.height = static_cast<int>(height);
  images.count = count;
  images.pixels = file.rest(pixels, what);
  return images;
}

std::vector<std::uint8_t> read_idx_labels(const std::string& path) {
  IdxStream file(path);
  check_magic(file, kLabelsMagic, "labels (idx1 of unsigned bytes)");
  const std::uint32_t count = file.number();
  if (count == 0) file.fail("its header announces no labels");
  return file.rest(count, fmt::format("{} labels", count));
}

LabeledIdx read_labeled_idx(const std::string& images, const std::string& labels) {
  LabeledIdx both{read_idx_images(images), read_idx_labels(labels)};
  if (both.images.count != both.labels.size()) {
    throw InputError(fmt::format("{} has {} images and {} has {} labels; both must be equal",
                                 images, both.images.count, labels, both.labels.size()));
  }
  return both;
}

bool has_dark_ink(const IdxImages& images) {
  std::array<std::uint64_t, 256> all{};
  for (const std::uint8_t pixel : images.pixels) ++all[pixel];
  const std::uint64_t ignored = images.pixels.size() / 100;
  const auto level = [&](bool from_above) {
    std::uint64_t seen = 0;
    for (int i = 0; i < 256; ++i) {
      const int gray = from_above ? 255 - i : i;
      seen += all[static_cast<std::size_t>(gray)];
      if (seen > ignored) return gray;
    }
    return from_above ? 0 : 255;
  };
  const double middle = 0.5 * (level(false) + level(true));
  std::uint64_t sum = 0;
  std::uint64_t count = 0;
  const auto width = static_cast<std::size_t>(images.width);
  const auto height = static_cast<std::size_t>(images.height);
  for (std::size_t i = 0; i < images.count; ++i) {
    const std::uint8_t* const image = images.pixels.data() + i * width * height;
    for (std::size_t y = 0; y < height; ++y) {
      const bool whole = y == 0 || y == height - 1;
      const std::size_t step = whole || width == 1 ? 1 : width - 1;
      for (std::size_t x = 0; x < width; x += step) {
        sum += image[y * width + x];
        ++count;
      }
    }
  }
  return count > 0 && static_cast<double>(sum) > middle * static_cast<double>(count);
}

bool make_ink_bright(IdxImages& images, InkColor ink) {
  const bool invert = ink == InkColor::kDark || (ink == InkColor::kAuto && has_dark_ink(images));
  if (invert)
    for (std::uint8_t& pixel : images.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
  return invert;
}

std::vector<std::string> read_class_names(const std::string& path) {
  InputText input(path);
  constexpr std::size_t kMostBytes = std::size_t{64} << 10;
  std::string text;
  try {
    text = read_text(input, kMostBytes);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", input.name(), error.what()));
  }
  std::vector<std::string> names;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto fail = [&](const std::string& what) {
      throw InputError(fmt::format("{}: line {}: {}", input.name(), number, what));
    };
    std::istringstream words(line);
    std::vector<std::string> found;
    for (std::string word; words >> word;) found.push_back(word);
    if (found.empty()) continue;
    if (found.size() > 2)
      fail(
          fmt::format("it has {} words; it must have a name, or a label and a name", found.size()));
    if (found.size() == 2 && found[0] != std::to_string(names.size())) {
      fail(fmt::format("its label is {}; it must be {}, because labels begin at 0 and ascend",
                       printable(found[0], kMostOfValue), names.size()));
    }
    const std::string& name = found.back();
    if (const auto same = std::find(names.begin(), names.end(), name); same != names.end()) {
      fail(fmt::format("the name {} is also that of label {}", printable(name, kMostOfValue),
                       same - names.begin()));
    }
    if (names.size() == kMaxCharacterClasses)
      fail(fmt::format("there are more than {} names", kMaxCharacterClasses));
    names.push_back(name);
  }
  if (names.empty()) throw InputError(fmt::format("{}: it has no names", input.name()));
  return names;
}

}  // namespace ocellus::app
