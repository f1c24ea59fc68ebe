// What the fuzz targets of configurations share: numbers from the input, and checks of errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "ocellus/status.h"

namespace ocellus::fuzz {

/// Numbers from the input; 0 at its end.
class Numbers {
 public:
  Numbers(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  int byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  /// Mostly the value of one byte, sometimes any int.
  int integer() {
    const int kind = byte();
    if (kind < 250) return kind - 3;
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint32_t>(byte());
    return static_cast<int>(value);
  }
  float real() {
    const int kind = byte();
    if (kind < 200) return static_cast<float>(kind - 20) / 16.0f;
    const auto bits =
        static_cast<std::uint32_t>(integer()) << 16 | static_cast<std::uint32_t>(byte());
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  template <typename Enum>
  Enum choice() {
    const int value = byte();
    return static_cast<Enum>(value < 240 ? value % 3 : value);
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

inline void check(const Error& error) {
  if (error.status == Status::kOk || error.text[0] == '\0') std::abort();
}

}  // namespace ocellus::fuzz
