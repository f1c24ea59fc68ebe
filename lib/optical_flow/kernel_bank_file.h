// KernelBankFile: reads a kernel bank (*.ocellus). kernel_bank.fbs describes its table and taps.
#pragma once

#include <cstdint>

#include "core/model_file.h"
#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/status.h"

namespace ocellus::detail {

inline constexpr ModelKind kKernelBankKind{"kernels", "kernel bank", 1, 4032};
/// Largest magnitude of a tap in a file. With it no sum over the largest kernel overflows a float.
inline constexpr float kMaxFileTap = 1.0e6f;

struct KernelBankHeader {
  KernelForm form = KernelForm::kUniform;
  int nx = 0;
  int ny = 0;
  int nt = 0;
  int convolutions = 0;
  int terms = 0;
  ImageSize size;               ///< kPerPixel: the image; kUniform: 1x1
  std::uint64_t taps_at = 0;    ///< offset of the taps in the file, a multiple of 64
  std::uint64_t tap_bytes = 0;  ///< up to the end of the file
  char note[256] = {};  ///< where the taps come from; printable ASCII, cut off at the capacity

  /// Floats of one term at one pixel.
  int entry_floats() const { return nx + ny + nt; }
};

/// An open file, read from the first tap to the last. Plain I/O through a buffer of fixed size, so
/// the size of the bank does not matter, and a file that shrinks under the reader is an error and
/// not a signal. Allocates nothing.
class KernelBankFile {
 public:
  KernelBankFile() noexcept = default;
  KernelBankFile(const KernelBankFile&) = delete;
  KernelBankFile& operator=(const KernelBankFile&) = delete;

  /// Opens the file and checks everything but the taps: the container's header and the ranges.
  /// Called once on an object. Errors: InvalidArgument (null or empty path), IoError, CorruptFile.
  Expected<void> open(const char* path) noexcept;

  const KernelBankHeader& header() const noexcept { return header_; }

  /// Whether the bank is the one that `config` describes for images of `size` (which a uniform bank
  /// does not look at). Errors: InvalidArgument, naming the field, the file's value and the
  /// configuration's.
  Expected<void> match(const KernelConfig& config, ImageSize size) const noexcept;

  /// Writes the next nx, ny and nt taps, in the order of KernelCallback. Taps must be finite and at
  /// most kMaxFileTap. The checksum is known only with the last taps, so what was read counts only
  /// when all of it was. After CorruptFile all later calls fail, too. Errors: CorruptFile, IoError,
  /// InvalidArgument (there are no more).
  Expected<void> next(float* wx, float* wy, float* wt) noexcept;

  /// Reads what is left, to check it. Errors: CorruptFile, IoError.
  Expected<void> finish() noexcept;

 private:
  static constexpr int kBufferFloats = 4096;

  Expected<void> fill() noexcept;

  ModelFile file_;
  KernelBankHeader header_;
  std::uint64_t left_ = 0;  // entries (taps of one term at one pixel) not given yet
  int buffered_ = 0;        // entries in the buffer, not given yet
  const float* next_entry_ = nullptr;
  alignas(64) float buffer_[kBufferFloats];
};

/// Checks the table. `bytes` are those before the taps, aligned to 8; `model` has been made of
/// them. Errors: CorruptFile.
Expected<KernelBankHeader> parse_kernel_bank_header(const void* bytes,
                                                    const ModelHeader& model) noexcept;

}  // namespace ocellus::detail
