// Frame: a view of one camera image. It does not own the memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ocellus {

/// Width and height in pixels.
struct ImageSize {
  int width = 0;
  int height = 0;

  friend constexpr bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// A rectangle in pixels; (x, y) is its top left corner. Width and height 0 mean the whole image.
struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  constexpr bool empty() const { return width == 0 && height == 0; }
  friend constexpr bool operator==(const Rect&, const Rect&) = default;
};

/// Largest width and height that any operator accepts.
inline constexpr int kMaxImageSide = 16384;

/// The type of a pixel or of an element of a plane. Operators scale pixels of all formats to the
/// range of 8 bits, so thresholds and results do not depend on the format.
///
/// The formats from kYuy2 on are those of cameras. An operator computes from the luma of such a
/// frame (`ocellus/luma.h`). A plane that is a picture of the frame may have the same format
/// (PlaneInfo::follows_frame). The Y plane of a planar format such as I420 or NV12 is a kGray8
/// frame.
enum class PixelFormat : std::uint8_t {
  kGray8,   ///< uint8, 0 to 255
  kGray16,  ///< uint16 in the host's byte order; 65535 corresponds to 255
  /// Float, not scaled (255 is white by convention), magnitude below 1e15; NaN and infinity are bad
  /// pixels.
  kFloat32,
  kYuy2,  ///< YUV 4:2:2, two pixels in the bytes Y U Y V; an odd width ends with all four bytes
  kUyvy,  ///< the same in the bytes U Y V Y
  kBgr,   ///< the bytes B G R, as in OpenCV
  kRgb,   ///< the bytes R G B
  kBgrx,  ///< the bytes B G R and one that is not used; also BGRA, whose alpha has no effect
  kRgbx,  ///< the bytes R G B and one that is not used; also RGBA
};
/// Number of formats.
inline constexpr int kPixelFormats = static_cast<int>(PixelFormat::kRgbx) + 1;

/// Whether the format is one of a camera's pixels with color.
constexpr bool has_color(PixelFormat format) {
  return format >= PixelFormat::kYuy2 && static_cast<int>(format) < kPixelFormats;
}

/// The color of a picture of a frame that has color.
enum class PictureColor : std::uint8_t {
  kNeutral,  ///< the picture is gray
  kKept,     ///< Cb and Cr are those of the frame, where the range of the pixels allows it
};

/// The format of a frame's luma: what operators compute from.
constexpr PixelFormat luma_format(PixelFormat format) {
  return has_color(format) ? PixelFormat::kGray8 : format;
}

/// Bytes of one pixel. Two pixels of kYuy2 and kUyvy share four bytes.
constexpr int bytes_per_pixel(PixelFormat format) {
  switch (format) {
    case PixelFormat::kGray8:
      return 1;
    case PixelFormat::kGray16:
    case PixelFormat::kYuy2:
    case PixelFormat::kUyvy:
      return 2;
    case PixelFormat::kBgr:
    case PixelFormat::kRgb:
      return 3;
    case PixelFormat::kFloat32:
    case PixelFormat::kBgrx:
    case PixelFormat::kRgbx:
      break;
  }
  return 4;
}

/// Bytes of a row of `width` pixels without padding.
constexpr std::ptrdiff_t row_bytes(PixelFormat format, int width) {
  const bool pairs = format == PixelFormat::kYuy2 || format == PixelFormat::kUyvy;
  return static_cast<std::ptrdiff_t>(pairs ? width + width % 2 : width) * bytes_per_pixel(format);
}

/// The kind of memory that holds the pixels.
enum class MemorySpace : std::uint8_t {
  kHost,    ///< ordinary memory
  kPinned,  ///< page-locked memory, accessible to the host and to the device at full speed
  kCuda,    ///< device memory; the stream of a frame or a result orders its use, see StreamHandle
};

/// An opaque cudaStream_t: the caller's stream for a frame or a result in device memory. It is
/// ignored for other kinds of memory. Being opaque, it keeps CUDA types out of the public headers.
///
/// At `submit`, the device begins to wait for all work that is in the stream. Only then does it
/// read the frame or write the result. Null is the device's (legacy) default stream, for frames and
/// results alike. CUDA makes the default stream wait for all blocking streams of the program, so
/// name a stream if possible.
///
/// Work that is put into a result's stream after `submit` waits on the device for the result. The
/// null stream is the exception, because the wait would hold up all other streams of the program.
/// With the null stream, start such work after `wait` has reported the frame as done, or name the
/// stream (cudaStreamLegacy, cudaStreamPerThread).
using StreamHandle = void*;

/// A plane of pixels or numbers in the caller's memory. It does not own the memory.
struct ImageView {
  void* data = nullptr;  ///< first element of the first row; null: no plane
  ImageSize size{};
  std::ptrdiff_t stride = 0;  ///< bytes from row to row
  PixelFormat format = PixelFormat::kGray8;
  MemorySpace space = MemorySpace::kHost;
  StreamHandle stream = nullptr;  ///< device memory: the stream that uses the plane

  /// Pointer to the first element of row y.
  template <typename T>
  T* row(int y) const noexcept {
    return reinterpret_cast<T*>(static_cast<char*>(data) + y * stride);
  }
};

/// One input image. The operator uses it from `submit` until `wait` reports the frame as done.
struct Frame {
  const void* data = nullptr;  ///< first pixel of the first row
  ImageSize size{};            ///< must be the operator's size
  std::ptrdiff_t stride = 0;   ///< bytes from row to row, at least row_bytes(format, width)
  PixelFormat format = PixelFormat::kGray8;
  MemorySpace space = MemorySpace::kHost;
  StreamHandle stream = nullptr;  ///< device memory: the stream that writes the pixels
  std::uint64_t sequence = 0;     ///< the caller's frame number, returned in FrameInfo
  /// Time of the frame on the caller's clock, returned in FrameInfo.
  std::int64_t timestamp_ns = 0;
};

/// The gray values of black and white, in units of 8-bit gray for every format: 16-bit white is
/// 255, too. Both are 0 to 255, and `white` is at least 1 above `black`. They are rounded to 16-bit
/// gray, multiples of 1/257. Video luma mostly has the range 16 to 235.
struct GrayRange {
  float black = 0.0f;
  float white = 255.0f;

  friend bool operator==(const GrayRange&, const GrayRange&) = default;
};

}  // namespace ocellus
