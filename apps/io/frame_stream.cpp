#include "apps/io/frame_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/common/input_guard.h"
#include "apps/common/interrupt.h"
#include "apps/common/printable.h"
#include "apps/common/rounding.h"
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

// ---- bytes

/// Bytes from a file, a pipe or standard input, in order.
/// Memory grows with the bytes that have come, whatever a header claims. All calls throw InputError
/// that names the stream, and Stopped.
class ByteStream {
 public:
  /// `path`: a file, or "-" for standard input. `timeout_s`: how long it may give no data.
  ByteStream(const std::string& path, double timeout_s);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// The path, or "standard input".
  const std::string& name() const { return name_; }

  /// The next byte, or EOF.
  int take() { return there(1) > 0 ? static_cast<unsigned char>(bytes_[at_++]) : -1; }
  /// The byte that was taken last.
  void put_back(int) { --at_; }
  /// Waits until `most` bytes are there or the stream ends. Returns how many are there, which may
  /// be more.
  std::uint64_t there(std::uint64_t most);
  /// The next `count` bytes, fewer at the end; valid until the next call.
  std::string_view peek(std::size_t count);
  void skip(std::size_t count) { at_ += count; }
  /// Takes a line of at most `most` bytes without its end. Throws InputError if it is longer or the
  /// stream ends in it.
  std::string line(std::size_t most);

  [[noreturn]] void fail(const std::string& what) const;

 private:
  bool fill(std::size_t count);
  void wait() const;

  std::string name_;
  int descriptor_ = -1;
  double timeout_s_;
  std::string bytes_;
  std::size_t at_ = 0;  ///< of the next byte in `bytes_`
  bool ended_ = false;
};

constexpr std::size_t kPiece = std::size_t{1} << 20;

ByteStream::ByteStream(const std::string& path, double timeout_s)
    : name_(is_standard_stream(path) ? "standard input" : path), timeout_s_(timeout_s) {
  if (is_standard_stream(path)) {
    descriptor_ = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  } else {
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    note_input(path);
  }
  if (descriptor_ < 0) fail(std::strerror(errno));
}

ByteStream::~ByteStream() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::uint64_t ByteStream::there(std::uint64_t most) {
  while (!ended_ && bytes_.size() - at_ < most) {
    const std::uint64_t missing = most - (bytes_.size() - at_);
    if (!fill(static_cast<std::size_t>(std::min<std::uint64_t>(missing, kPiece)))) ended_ = true;
  }
  return bytes_.size() - at_;
}

std::string_view ByteStream::peek(std::size_t count) {
  there(count);
  return std::string_view(bytes_).substr(at_, count);
}

std::string ByteStream::line(std::size_t most) {
  std::string text;
  for (;;) {
    const int c = take();
    if (c == '\n') return text;
    if (c < 0) fail(fmt::format("truncated: it ends in the header \"{}\"", text));
    text += static_cast<char>(c);
    if (text.size() > most) fail(fmt::format("damaged: a header has more than {} bytes", most));
  }
}

/// Appends at least one byte. Returns false at the end.
bool ByteStream::fill(std::size_t count) {
  // What was taken is dropped when it is most of the memory, so that each byte moves once at most.
  if (at_ > bytes_.size() / 2) {
    bytes_.erase(0, at_);
    at_ = 0;
  }
  const std::size_t before = bytes_.size();
  // At least a page, although fewer bytes may be asked for.
  bytes_.resize(before + std::max<std::size_t>(count, 4096));
  for (;;) {
    wait();
    const ssize_t got = read(descriptor_, bytes_.data() + before, bytes_.size() - before);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) fail(std::strerror(errno));
    bytes_.resize(before + static_cast<std::size_t>(got));
    return got > 0;
  }
}

void ByteStream::wait() const {
  using Clock = std::chrono::steady_clock;
  constexpr int kStepMs = 50;  // after which a signal is noticed
  const Clock::time_point begin = Clock::now();
  for (;;) {
    if (stop_signal() != 0) throw Stopped();
    pollfd ready = {descriptor_, POLLIN, 0};
    if (poll(&ready, 1, kStepMs) > 0) return;
    if (std::chrono::duration<double>(Clock::now() - begin).count() > timeout_s_) {
      fail(fmt::format("no data came within {:g} s; --source-timeout sets this time", timeout_s_));
    }
  }
}

void ByteStream::fail(const std::string& what) const {
  throw InputError(fmt::format("{}: {}", name_, what));
}

// ---- frames

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
  }

  bool color_;
};

class Y4mStream : public StreamFrames {
 public:
  Y4mStream(std::unique_ptr<ByteStream> stream, bool color)
      : StreamFrames(std::move(stream)), color_(color) {
    const std::string line = stream_->line(kLongestHeader);
    for_each_tag(line, kY4mMagic, [this](std::string_view tag) { parse(tag); });
    app::check_side(*stream_, static_cast<std::uint64_t>(std::max(size_.width, 0)),
                    static_cast<std::uint64_t>(std::max(size_.height, 0)));
    chroma_ = {(size_.width + across_ - 1) / across_, (size_.height + down_ - 1) / down_};
  }

  double fps() const override {
    return static_cast<double>(rate_.first) / static_cast<double>(rate_.second);
  }

 private:
  static std::optional<std::pair<int, int>> ratio(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto first = number_of<int>(text.substr(0, colon));
    const auto second = number_of<int>(text.substr(colon + 1));
    if (first.value_or(-1) < 0 || second.value_or(-1) < 0) return std::nullopt;
    return std::pair(*first, *second);
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
      const std::optional<int> number = number_of<int>(value);
      if (!number) bad("a number of pixels");
      to = *number;
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
    if (color_ && has_chroma_) {
      half(u_, frame.chroma_u);
      half(v_, frame.chroma_v);
    }
    frame.range = range_;
    frame.timed = true;
    frame.timestamp_ns = nearest_nanoseconds(static_cast<double>(number_) / fps());
    frame.running_ns = frame.timestamp_ns;
  }

  void take_plane(ImageSize size, std::vector<std::uint8_t>& to) {
    const auto bytes = pixels_of(size);
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
    bytes_ = pixels_of(size) + 2 * pixels_of(half_of(size));
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
