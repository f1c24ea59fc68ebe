// Frame: a view of one camera image. It owns nothing.
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

/// A rectangle in pixels; (x, y) is its top left corner. width and height 0 mean "the whole image".
struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  constexpr bool empty() const { return width == 0 && height == 0; }
  friend constexpr bool operator==(const Rect&, const Rect&) = default;
};

/// Largest width and height that any operator takes.
inline constexpr int kMaxImageSide = 16384;

/// The type of a pixel or of a number. Of a pixel it is the brightness: operators scale all formats
/// to the range of 8 bits, so that thresholds and results do not depend on the format.
enum class PixelFormat : std::uint8_t {
  kGray8,    ///< uint8, 0 to 255
  kGray16,   ///< uint16 in the host's byte order; 65535 counts as 255
  kFloat32,  ///< float, taken as it is (255 is white by convention), magnitude below 1e15; NaN and
             ///< infinity are bad pixels
};

/// Bytes of one pixel.
constexpr int bytes_per_pixel(PixelFormat format) {
  return format == PixelFormat::kGray8 ? 1 : format == PixelFormat::kGray16 ? 2 : 4;
}

/// Where the pixels are.
enum class MemorySpace : std::uint8_t {
  kHost,    ///< ordinary memory
  kPinned,  ///< page-locked memory, readable by the host and by the device at full speed
  kCuda,    ///< device memory; the stream of a frame or a result orders its use: see StreamHandle
};

/// An opaque cudaStream_t, so that no CUDA type stands in a public header: the caller's stream of a
/// frame or a result in device memory. It is not looked at for memory of another kind.
///
/// The device waits for all work that the stream has at `submit` before it reads the frame or
/// writes the result. Null is the device's (legacy) default stream, for frames and results alike;
/// CUDA makes that one wait for all blocking streams of the program, so name a stream if you can.
/// Work that goes into a result's stream after `submit` waits on the device for the result, unless
/// the stream is null: the default stream would hold up all other streams of the program. There,
/// begin such work when `wait` has said done, or name the stream (cudaStreamLegacy,
/// cudaStreamPerThread).
using StreamHandle = void*;

/// A plane of pixels or numbers in the caller's memory. It owns nothing.
struct ImageView {
  void* data = nullptr;  ///< first element of the first row; null: there is no plane
  ImageSize size{};
  std::ptrdiff_t stride = 0;  ///< bytes from row to row
  PixelFormat format = PixelFormat::kGray8;
  MemorySpace space = MemorySpace::kHost;
  StreamHandle stream = nullptr;  ///< device memory: the stream that uses the plane

  /// The beginning of a row.
  template <typename T>
  T* row(int y) const noexcept {
    return reinterpret_cast<T*>(static_cast<char*>(data) + y * stride);
  }
};

/// One image, borrowed from `submit` until `wait` says done.
struct Frame {
  const void* data = nullptr;  ///< first pixel of the first row
  ImageSize size;              ///< must be the operator's size
  std::ptrdiff_t stride = 0;   ///< bytes from row to row, at least width x bytes per pixel
  PixelFormat format = PixelFormat::kGray8;
  MemorySpace space = MemorySpace::kHost;
  StreamHandle stream = nullptr;  ///< device memory: the stream that writes it
  std::uint64_t sequence = 0;     ///< the caller's frame number, handed back in FrameInfo
  std::int64_t timestamp_ns = 0;  ///< the caller's clock, handed back in FrameInfo
};

/// Which gray values are black and white, in units of 8-bit gray whatever the format: white of 16
/// bits is 255, too. 0 to 255, `white` at least 1 above `black`; rounded to 16-bit gray, multiples
/// of 1/257. Luma of video is mostly 16 to 235.
struct GrayRange {
  float black = 0.0f;
  float white = 255.0f;

  friend bool operator==(const GrayRange&, const GrayRange&) = default;
};

}  // namespace ocellus
