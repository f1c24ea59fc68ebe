// Planes of numbers, and buffers for frames and results. The buffers have odd strides, odd
// addresses and guard bytes around their contents.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ocellus/cellular_network.h"
#include "ocellus/frame.h"
#include "ocellus/operator.h"
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
    // The library must not read the bytes around the image. 0xff would change every result.
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

/// A plane of floats in memory.
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

/// The same operator when pictures of the frame are asked for in the format of the frames.
inline OperatorInfo in_color(OperatorInfo info) {
  if (info.planes[0].follows_frame) info.planes[0].format = info.format;
  return info;
}

/// The output planes and the record of an operator. The bytes around the planes hold a guard value.
class OutputBuffer {
 public:
  static constexpr float kGuard = 123456.75f;

  explicit OutputBuffer(const OperatorInfo& info, int padding = 3)
      : OutputBuffer(info.planes.data(), info.plane_count, padding) {
    record_info_ = info.record;
    if (record_info_ != nullptr) record_.resize(record_info_->bytes);
  }
  /// Planes of floats of one size.
  OutputBuffer(ImageSize size, int planes, int padding = 3)
      : OutputBuffer(std::vector<PlaneInfo>(static_cast<std::size_t>(planes), {"", size}).data(),
                     planes, padding) {}

  OperatorOutput output() {
    OperatorOutput out;
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      const Guarded& plane = planes_[p];
      out.planes[p] = {planes_[p].bytes.data() + plane.stride,
                       plane.info.size,
                       static_cast<std::ptrdiff_t>(plane.stride),
                       plane.info.format,
                       MemorySpace::kHost,
                       nullptr};
    }
    if (!record_.empty()) out.record = record_.data();
    return out;
  }
  FlowOutput flow(bool confidence = true) {
    const OperatorOutput out = output();
    return {out.planes[0], out.planes[1],
            confidence && planes_.size() > 2 ? out.planes[2] : ImageView{}};
  }
  /// The elements of a plane of any format, as numbers.
  PlaneF plane(int index) const {
    const Guarded& plane = planes_[static_cast<std::size_t>(index)];
    PlaneF values(plane.info.size.width, plane.info.size.height);
    const auto width = static_cast<std::size_t>(values.width);
    for (int y = 0; y < values.height; ++y) {
      const unsigned char* const row =
          plane.bytes.data() + plane.stride * static_cast<std::size_t>(y + 1);
      if (plane.info.format == PixelFormat::kFloat32) {
        std::memcpy(&values.at(0, y), row, width * sizeof(float));
      } else if (plane.info.format == PixelFormat::kGray8) {
        std::copy_n(row, width, &values.at(0, y));
      } else {
        std::uint16_t value = 0;
        for (std::size_t x = 0; x < width; ++x) {
          std::memcpy(&value, row + x * sizeof(value), sizeof(value));
          values.at(static_cast<int>(x), y) = static_cast<float>(value);
        }
      }
    }
    return values;
  }
  int plane_count() const { return static_cast<int>(planes_.size()); }
  /// The fields of the record, bit by bit; empty without a record.
  std::vector<std::uint32_t> record() const {
    std::vector<std::uint32_t> values;
    for (int i = 0; record_info_ != nullptr && i < record_info_->field_count; ++i) {
      const RecordField& field = record_info_->fields[i];
      const std::size_t bytes = field.type == FieldType::kBool ? 1 : sizeof(std::uint32_t);
      for (std::size_t k = 0; k < field.capacity; ++k) {
        values.push_back(0);
        std::memcpy(&values.back(), record_.data() + field.offset + k * bytes, bytes);
      }
    }
    return values;
  }
  /// False when anything but the planes' own elements was written.
  bool surroundings_untouched() const {
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      const Guarded& plane = planes_[p];
      const auto height = static_cast<std::size_t>(plane.info.size.height);
      if (!untouched(p, 0, plane.stride)) return false;
      for (std::size_t y = 1; y <= height; ++y)
        if (!untouched(p, y * plane.stride + plane.row_bytes, (y + 1) * plane.stride)) return false;
      if (!untouched(p, (height + 1) * plane.stride, plane.bytes.size())) return false;
    }
    return true;
  }
  /// True when not one element of the plane was written.
  bool plane_untouched(int index) const {
    const auto p = static_cast<std::size_t>(index);
    return untouched(p, 0, planes_[p].bytes.size());
  }

 private:
  struct Guarded {
    PlaneInfo info;
    std::size_t row_bytes = 0;
    std::size_t stride = 0;
    std::vector<unsigned char> bytes;
  };

  OutputBuffer(const PlaneInfo* planes, int count, int padding) {
    for (int p = 0; p < count; ++p) {
      Guarded plane;
      plane.info = planes[p];
      const auto element = static_cast<std::size_t>(bytes_per_pixel(plane.info.format));
      plane.row_bytes =
          static_cast<std::size_t>(row_bytes(plane.info.format, plane.info.size.width));
      plane.stride = plane.row_bytes + static_cast<std::size_t>(padding) * element;
      plane.bytes.resize(plane.stride * static_cast<std::size_t>(plane.info.size.height + 2));
      for (std::size_t i = 0; i < plane.bytes.size(); ++i) plane.bytes[i] = guard_byte(i);
      planes_.push_back(std::move(plane));
    }
  }
  static unsigned char guard_byte(std::size_t index) {
    constexpr auto kBytes = std::bit_cast<std::array<unsigned char, sizeof(kGuard)>>(kGuard);
    return kBytes[index % sizeof(kGuard)];
  }
  bool untouched(std::size_t plane, std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i)
      if (planes_[plane].bytes[i] != guard_byte(i)) return false;
    return true;
  }

  std::vector<Guarded> planes_;
  const RecordInfo* record_info_ = nullptr;
  std::vector<std::byte> record_;
};

}  // namespace ocellus::test
