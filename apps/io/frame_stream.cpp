#include "apps/io/frame_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/common/printable.h"
#include "apps/common/rounding.h"
#include "apps/io/byte_stream.h"
#include "apps/io/color.h"
#include "apps/io/input_file.h"
#include "apps/io/output_file.h"
#include "apps/io/pnm_reader.h"

namespace ocellus::app {
namespace {

constexpr std::string_view kY4mMagic = "YUV4MPEG2";
constexpr std::string_view kFrameMagic = "FRAME";
/// Far longer than any header in use.
constexpr std::size_t kLongestHeader = 4096;

/// The frames of a stream. What derived classes override may throw Stopped.
class StreamFrames : public FrameSource {
 protected:
  explicit StreamFrames(std::unique_ptr<ByteStream> stream)
      : FrameSource(stream->name()), stream_(std::move(stream)) {}

  bool read(InputFrame& frame) final {
    try {
      if (!has_frame()) return false;
      frame.number = number_;
      read_frame(frame);
      ++number_;
      return true;
    } catch (const Stopped&) {
      return false;
    }
  }
  virtual bool has_frame() { return stream_->there(1) > 0; }
  virtual void read_frame(InputFrame& frame) = 0;

  std::unique_ptr<ByteStream> stream_;
  long number_ = 0;
};

class PnmStream : public StreamFrames {
 public:
  PnmStream(std::unique_ptr<ByteStream> stream, bool color)
      : StreamFrames(std::move(stream)), color_(color) {}

 private:
  /// Skips the end of the last line of an image whose numbers are text.
  bool has_frame() override {
    int c = stream_->take();
    while (c >= 0 && std::isspace(c)) c = stream_->take();
    if (c < 0) return false;
    stream_->put_back(c);
    return true;
  }
  void read_frame(InputFrame& frame) override {
    if (!is_pnm(stream_->peek(3)))
      stream_->fail(fmt::format("image {} does not begin as a PNM image does", number_));
    ImageTarget image(color_ ? &frame.color : nullptr);
    PnmReader<ByteStream>(*stream_).read(image);
    frame.image = std::move(image.gray);
    frame.chroma_u.clear();
    frame.chroma_v.clear();
    frame.timestamp_ns = 0;
  }

  bool color_;
};

class Y4mStream : public StreamFrames {
 public:
  Y4mStream(std::unique_ptr<ByteStream> stream, bool color)
      : StreamFrames(std::move(stream)), color_(color) {
    const std::string line = stream_->line(kLongestHeader);
    for_each_tag(line, kY4mMagic, [this](std::string_view tag) { parse(tag); });
    check_side(*stream_, static_cast<std::uint64_t>(std::max(size_.width, 0)),
               static_cast<std::uint64_t>(std::max(size_.height, 0)));
    chroma_ = {(size_.width + across_ - 1) / across_, (size_.height + down_ - 1) / down_};
  }

  double fps() const override {
    return static_cast<double>(rate_.first) / static_cast<double>(rate_.second);
  }

 private:
  static std::optional<std::pair<int, int>> ratio(std::string_view text) {
    std::pair<int, int> made;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, made.first);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, made.second);
    if (second.ec != std::errc() || second.ptr != end || made.first < 0 || made.second < 0)
      return std::nullopt;
    return made;
  }

  /// Calls `visit` with each tag of a header, which begins with its magic.
  template <typename Visit>
  static void for_each_tag(std::string_view header, std::string_view magic, const Visit& visit) {
    header.remove_prefix(magic.size());
    while (!header.empty()) {
      const std::size_t end = std::min(header.find(' '), header.size());
      if (end > 0) visit(header.substr(0, end));
      header.remove_prefix(std::min(end + 1, header.size()));
    }
  }

  void parse(std::string_view tag) {
    const std::string_view value = tag.substr(1);
    const auto bad = [&](const char* what) {
      stream_->fail(fmt::format("damaged Y4M header: \"{}\" is not {}", tag, what));
    };
    const auto side = [&](int& to) {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), to);
      if (error != std::errc() || end != value.data() + value.size()) bad("a number of pixels");
    };
    switch (tag[0]) {
      case 'W':
        return side(size_.width);
      case 'H':
        return side(size_.height);
      case 'F': {
        const auto rate = ratio(value);
        if (!rate) bad("a frame rate such as F30:1");
        // 0:0 is an unknown rate.
        if (rate->first > 0 && rate->second > 0) rate_ = *rate;
        return;
      }
      case 'A': {
        const auto aspect = ratio(value);
        if (!aspect) bad("the aspect of a pixel, such as A1:1");
        if (aspect->first != aspect->second && aspect->first > 0 && aspect->second > 0) {
          tell(fmt::format(
              "ocellus: {}: its pixels are {} to {}, which is ignored: they count as square\n",
              printable(name()), aspect->first, aspect->second));
        }
        return;
      }
      case 'C':
        return parse_chroma(value);
      case 'I':
        // Progressive, unknown, mixed, and top or bottom field first. Of mixed video, the header of
        // each frame tells.
        if (value != "p" && value != "?" && value != "m" && value != "t" && value != "b")
          bad("one of Ip, It, Ib, Im and I?");
        interlaced_ = value == "t" || value == "b";
        return;
      case 'X':
        if (value == "COLORRANGE=FULL") range_ = GrayRange{};
        return;
      default:  // comments
        return;
    }
  }

  void parse_chroma(std::string_view kind) {
    has_chroma_ = kind != "mono";
    if (kind == "420" || kind == "420jpeg" || kind == "420paldv" || kind == "420mpeg2") {
      across_ = down_ = 2;
    } else if (kind == "422") {
      across_ = 2, down_ = 1;
    } else if (kind == "444") {
      across_ = down_ = 1;
    } else if (has_chroma_) {
      stream_->fail(fmt::format(
          "its format is C{}; those that are read have 8 bits: C420, C422, C444 and Cmono", kind));
    }
  }

  void read_frame(InputFrame& frame) override {
    const std::string header = stream_->line(kLongestHeader);
    if (!header.starts_with(kFrameMagic) ||
        (header.size() > kFrameMagic.size() && header[kFrameMagic.size()] != ' '))
      stream_->fail(fmt::format("damaged: frame {} does not begin with FRAME", number_));
    // In mixed video, the second letter tells whether the fields are of different times: Iti.
    frame.interlaced = interlaced_;
    for_each_tag(header, kFrameMagic, [&frame](std::string_view tag) {
      if (tag[0] == 'I' && tag.size() > 2 && tag[2] == 'i') frame.interlaced = true;
    });
    frame.image.size = size_;
    frame.image.format = PixelFormat::kGray8;
    take_plane(size_, frame.image.pixels);
    if (has_chroma_) {
      take_plane(chroma_, u_);
      take_plane(chroma_, v_);
    }
    frame.color.clear();
    frame.chroma_u.clear();
    frame.chroma_v.clear();
    if (color_ && has_chroma_) {
      half(u_, frame.chroma_u);
      half(v_, frame.chroma_v);
    }
    frame.range = range_;
    frame.timed = true;
    frame.timestamp_ns = nearest_nanoseconds(static_cast<double>(number_) / fps());
  }

  void take_plane(ImageSize size, std::vector<std::uint8_t>& to) {
    const auto bytes = static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
    const std::string_view plane = stream_->peek(bytes);
    if (plane.size() < bytes) {
      stream_->fail(
          fmt::format("truncated: frame {} is {} bytes short", number_, bytes - plane.size()));
    }
    to.assign(plane.begin(), plane.end());
    stream_->skip(bytes);
  }

  /// Chroma of half the size.
  void half(const std::vector<std::uint8_t>& full, std::vector<std::uint8_t>& to) const {
    if (across_ == 2 && down_ == 2) {
      to = full;
      return;
    }
    make_half(
        size_,
        [&](int x, int y) {
          const int row = y / down_ * chroma_.width;
          return static_cast<float>(full[static_cast<std::size_t>(row + x / across_)]);
        },
        to);
  }

  bool color_;
  ImageSize size_;
  ImageSize chroma_;
  int across_ = 2;  // pixels of luma for one of chroma
  int down_ = 2;
  bool has_chroma_ = true;
  bool interlaced_ = false;  // all frames
  std::pair<int, int> rate_{25, 1};
  GrayRange range_{16.0f, 235.0f};
  std::vector<std::uint8_t> u_;
  std::vector<std::uint8_t> v_;
};

/// The frame rate as a fraction: that of NTSC where it is one, else thousandths.
std::pair<long, long> fraction(double fps) {
  const double ntsc = fps * 1.001;
  if (std::fabs(ntsc - std::round(ntsc)) < 1e-3 && std::fabs(fps - std::round(fps)) > 1e-3)
    return {std::lround(ntsc) * 1000, 1001};
  const long thousandths = std::max(1L, std::lround(fps * 1000.0));
  const long divisor = std::gcd(thousandths, 1000L);
  return {thousandths / divisor, 1000 / divisor};
}

class Y4mWriter : public VideoWriter {
 public:
  Y4mWriter(const std::string& path, ImageSize size, double fps) : file_(path) {
    const std::size_t luma =
        static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
    const std::size_t chroma = static_cast<std::size_t>((size.width + 1) / 2) *
                               static_cast<std::size_t>((size.height + 1) / 2);
    bytes_ = luma + 2 * chroma;
    const auto [rate, per] = fraction(fps);
    put(fmt::format("{} W{} H{} F{}:{} Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\n", kY4mMagic,
                    size.width, size.height, rate, per));
  }

  void write(const std::uint8_t* i420, std::optional<std::int64_t>) override {
    put(fmt::format("{}\n", kFrameMagic));
    file_.write(i420, bytes_);
    file_.flush();
  }
  void finish() override { file_.commit(); }

 private:
  void put(const std::string& text) { file_.write(text.data(), text.size()); }

  OutputFile file_;
  std::size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<FrameSource> open_frame_stream(const std::string& path,
                                               const SourceOptions& options) {
  auto stream = std::make_unique<ByteStream>(path, options.timeout_s);
  const std::string name = stream->name();
  try {
    const std::string head(stream->peek(kY4mMagic.size()));
    if (head == kY4mMagic) return std::make_unique<Y4mStream>(std::move(stream), options.color);
    if (is_pnm(head)) return std::make_unique<PnmStream>(std::move(stream), options.color);
    const std::string other = unread_image(stream->peek(kHeadBytes));
    stream->fail(head.empty() ? "contains no frame"
                 : !other.empty()
                     ? other
                     : "begins neither as Y4M (YUV4MPEG2) nor as a PNM image (P1 to P6)");
  } catch (const Stopped&) {
    throw InputError(fmt::format("{}: a signal ended the wait for its first frame", name));
  }
}

bool is_y4m_file(const std::string& path) {
  return first_bytes(path, kY4mMagic.size()) == kY4mMagic;
}

std::unique_ptr<VideoWriter> make_y4m_writer(const std::string& path, ImageSize size, double fps) {
  return std::make_unique<Y4mWriter>(path, size, fps);
}

}  // namespace ocellus::app
