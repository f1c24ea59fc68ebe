// Planes of numbers, and buffers with odd strides, odd addresses and guard values around them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ocellus/cellular_network.h"
#include "ocellus/frame.h"
#include "ocellus/optical_flow.h"
#include "ocellus/spatio_temporal_filter.h"

namespace ocellus::test {

template <typename T>
struct Plane {
  int width = 0;
  int height = 0;
  std::vector<T> data;

  Plane() = default;
  Plane(int w, int h, T value = T{})
      : width(w),
        height(h),
        data(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), value) {}

  T& at(int x, int y) {
    return data[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                static_cast<std::size_t>(x)];
  }
  const T& at(int x, int y) const {
    return data[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                static_cast<std::size_t>(x)];
  }
  /// The pixel at a position; outside, the nearest pixel inside.
  const T& clamped(int x, int y) const {
    return at(std::clamp(x, 0, width - 1), std::clamp(y, 0, height - 1));
  }
  ImageSize size() const { return {width, height}; }
};

using PlaneD = Plane<double>;
using PlaneF = Plane<float>;

/// The pixels of one camera frame in any format. `padding` pixels follow each row, and `offset`
/// pixels precede the first one.
class FrameBuffer {
 public:
  FrameBuffer(ImageSize size, PixelFormat format, int padding = 0, int offset = 0)
      : size_(size),
        format_(format),
        bytes_(static_cast<std::size_t>(bytes_per_pixel(format))),
        offset_(offset) {
    stride_ = (static_cast<std::size_t>(size.width) + static_cast<std::size_t>(padding)) * bytes_;
    // Memory around the image must not be read. It holds conspicuous values, which show in a
    // result.
    store_.assign(static_cast<std::size_t>(offset) * bytes_ +
                      stride_ * static_cast<std::size_t>(size.height) + 64,
                  0xff);
  }

  /// Fills in gray levels 0 to 255, rounded to the format.
  FrameBuffer& fill(const PlaneD& gray) {
    for (int y = 0; y < size_.height; ++y) {
      for (int x = 0; x < size_.width; ++x) set(x, y, gray.at(x, y));
    }
    return *this;
  }
  void set(int x, int y, double gray) {
    unsigned char* pixel = address(x, y);
    if (format_ == PixelFormat::kGray8) {
      *pixel = static_cast<unsigned char>(std::lround(std::clamp(gray, 0.0, 255.0)));
    } else if (format_ == PixelFormat::kGray16) {
      const auto value =
          static_cast<std::uint16_t>(std::lround(std::clamp(gray * 257.0, 0.0, 65535.0)));
      std::memcpy(pixel, &value, sizeof(value));
    } else {
      const auto value = static_cast<float>(gray);
      std::memcpy(pixel, &value, sizeof(value));
    }
  }
  /// The gray level that an operator must read at a pixel.
  double value(int x, int y) const {
    const unsigned char* pixel = const_cast<FrameBuffer*>(this)->address(x, y);
    if (format_ == PixelFormat::kGray8) return *pixel;
    if (format_ == PixelFormat::kGray16) {
      std::uint16_t value;
      std::memcpy(&value, pixel, sizeof(value));
      return value * (255.0 / 65535.0);
    }
    float value;
    std::memcpy(&value, pixel, sizeof(value));
    return static_cast<double>(value);
  }
  PlaneD values() const {
    PlaneD plane(size_.width, size_.height);
    for (int y = 0; y < size_.height; ++y) {
      for (int x = 0; x < size_.width; ++x) plane.at(x, y) = value(x, y);
    }
    return plane;
  }
  Frame frame(std::uint64_t sequence = 0) const {
    Frame frame;
    frame.data = const_cast<FrameBuffer*>(this)->address(0, 0);
    frame.size = size_;
    frame.stride = static_cast<std::ptrdiff_t>(stride_);
    frame.format = format_;
    frame.sequence = sequence;
    frame.timestamp_ns = static_cast<std::int64_t>(sequence) * 1'000'000 + 7;
    return frame;
  }

 private:
  unsigned char* address(int x, int y) {
    return store_.data() +
           (static_cast<std::size_t>(offset_) + static_cast<std::size_t>(x)) * bytes_ +
           stride_ * static_cast<std::size_t>(y);
  }

  ImageSize size_;
  PixelFormat format_;
  std::size_t bytes_;
  int offset_;
  std::size_t stride_;
  std::vector<unsigned char> store_;
};

/// A view of a plane of floats.
inline ImageView float_plane(void* data, ImageSize size, std::ptrdiff_t stride,
                             MemorySpace space = MemorySpace::kHost,
                             StreamHandle stream = nullptr) {
  return {data, size, stride, PixelFormat::kFloat32, space, stream};
}

/// u, v and confidence in consecutive planes, `plane_bytes` apart.
inline FlowOutput planes_at(void* first, std::size_t plane_bytes, ImageSize size,
                            std::size_t stride, MemorySpace space = MemorySpace::kHost,
                            StreamHandle stream = nullptr) {
  const auto plane = [&](std::size_t index) {
    return float_plane(static_cast<char*>(first) + index * plane_bytes, size,
                       static_cast<std::ptrdiff_t>(stride), space, stream);
  };
  return {plane(0), plane(1), plane(2)};
}

/// Output planes surrounded by guard values.
class OutputBuffer {
 public:
  static constexpr float kGuard = 123456.75f;

  OutputBuffer(ImageSize size, int planes, int padding = 3)
      : size_(size), padding_(padding), planes_(static_cast<std::size_t>(planes)) {
    const std::size_t stride = static_cast<std::size_t>(size.width + padding);
    for (auto& plane : planes_)
      plane.assign(stride * static_cast<std::size_t>(size.height + 2), kGuard);
  }

  OperatorOutput output() {
    OperatorOutput out;
    for (std::size_t p = 0; p < planes_.size(); ++p)
      out.planes[p] = float_plane(begin(static_cast<int>(p)), size_, stride());
    return out;
  }
  FlowOutput flow(bool confidence = true) {
    const OperatorOutput out = output();
    return {out.planes[0], out.planes[1],
            confidence && planes_.size() > 2 ? out.planes[2] : ImageView{}};
  }
  PlaneF plane(int index) const {
    PlaneF plane(size_.width, size_.height);
    for (int y = 0; y < size_.height; ++y) {
      std::memcpy(&plane.at(0, y),
                  const_cast<OutputBuffer*>(this)->begin(index) + y * (size_.width + padding_),
                  static_cast<std::size_t>(size_.width) * sizeof(float));
    }
    return plane;
  }
  int plane_count() const { return static_cast<int>(planes_.size()); }
  /// Returns false if anything but the planes' own pixels was written.
  bool surroundings_untouched() const {
    const int row = size_.width + padding_;
    for (const auto& plane : planes_) {
      for (std::size_t i = 0; i < plane.size(); ++i) {
        const int at = static_cast<int>(i) - row;
        const bool inside = at >= 0 && at / row < size_.height && at % row < size_.width;
        if (!inside && plane[i] != kGuard) return false;
      }
    }
    return true;
  }

 private:
  std::ptrdiff_t stride() const {
    return static_cast<std::ptrdiff_t>(size_.width + padding_) *
           static_cast<std::ptrdiff_t>(sizeof(float));
  }
  float* begin(int plane) {
    return planes_[static_cast<std::size_t>(plane)].data() + size_.width + padding_;
  }

  ImageSize size_;
  int padding_;
  std::vector<std::vector<float>> planes_;
};

}  // namespace ocellus::test
