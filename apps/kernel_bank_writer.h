// KernelBankWriter: writes a kernel bank file (*.ocl). The layout stands in
// lib/optical_flow/kernel_bank.fbs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"

namespace ocellus::app {

/// What was wrong with the kernels, or with the file that they go to.
class KernelBankError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct KernelBankShape {
  KernelForm form = KernelForm::kUniform;
  int nx = 0;
  int ny = 0;
  int nt = 0;
  int convolutions = 0;
  int terms = 0;
  ImageSize size;    ///< kPerPixel: the image; kUniform: 0x0
  std::string note;  ///< where the taps come from; printable ASCII, at most 255 characters
};

/// Writes beside the target and renames in `finish`, so that nobody sees half a bank; without
/// `finish` nothing is left. Throws KernelBankError.
class KernelBankWriter {
 public:
  KernelBankWriter(std::string path, KernelBankShape shape);
  KernelBankWriter(const KernelBankWriter&) = delete;
  KernelBankWriter& operator=(const KernelBankWriter&) = delete;
  ~KernelBankWriter();

  /// The next nx, ny and nt taps, in the order of KernelCallback.
  void add(const float* wx, const float* wy, const float* wt);

  /// Checks that all taps have come, and puts the file in its place.
  void finish();

  /// Calls of `add` that a shape needs.
  static std::uint64_t entries(const KernelBankShape& shape);

 private:
  struct Hash;

  std::vector<unsigned char> header() const;
  void write(const void* bytes, std::size_t count);
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  std::string part_path_;
  KernelBankShape shape_;
  std::uint64_t missing_ = 0;
  std::vector<float> entry_;
  std::unique_ptr<Hash> hash_;
  std::FILE* file_ = nullptr;
};

}  // namespace ocellus::app
