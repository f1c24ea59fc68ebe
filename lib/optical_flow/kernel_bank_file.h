// KernelBankFile and KernelBankWriter: read and write a kernel bank (*.ocellus). kernel_bank.fbs
// describes its table and taps.
#pragma once

#include <cstdint>

#include "core/model_file.h"
#include "core/model_writer.h"
#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/status.h"

namespace ocellus::detail {

inline constexpr ModelKind kKernelBankKind{"kernels", "kernel bank", 1, 4032};
/// Largest magnitude of a tap in a file. It ensures that no sum over the largest kernel overflows a
/// float.
inline constexpr float kMaxFileTap = 1.0e6f;

struct KernelBankHeader {
  KernelForm form = KernelForm::kUniform;
  int nx = 0;
  int ny = 0;
  int nt = 0;
  int convolutions = 0;
  int terms = 0;
  ImageSize size;       ///< kPerPixel, kFull: size of the image; kUniform: 1x1
  char note[256] = {};  ///< origin of the taps; printable ASCII, truncated at the capacity

  /// Floats of one term at one pixel.
  int entry_floats() const { return taps_of_term(form, nx, ny, nt); }
  /// Number of entries: the terms of all convolutions at all pixels.
  std::uint64_t entries() const {
    return static_cast<std::uint64_t>(size.width) * static_cast<std::uint64_t>(size.height) *
           static_cast<std::uint64_t>(convolutions) * static_cast<std::uint64_t>(terms);
  }
  /// Bytes of all taps.
  std::uint64_t tap_bytes() const {
    return entries() * static_cast<std::uint64_t>(entry_floats()) * sizeof(float);
  }
};

/// An open kernel bank file, read from the first tap to the last. Plain I/O through a buffer of
/// fixed size allows banks of any size, and makes a file that becomes shorter an error and not a
/// signal. Does not allocate.
class KernelBankFile {
 public:
  KernelBankFile() noexcept = default;
  KernelBankFile(const KernelBankFile&) = delete;
  KernelBankFile& operator=(const KernelBankFile&) = delete;

  /// Opens the file and checks everything except the taps: the header of the container and the
  /// ranges. Called once for each object. Errors: InvalidArgument (null or empty path), IoError,
  /// CorruptFile.
  Expected<void> open(const char* path) noexcept;

  const KernelBankHeader& header() const noexcept { return header_; }

  /// Checks that the bank is the one that `config` describes for images of `size`. Uniform banks
  /// fit every size. Errors: InvalidArgument; the text names the field, the file's value and the
  /// configuration's value.
  Expected<void> match(const KernelConfig& config, ImageSize size) const noexcept;

  /// Writes the taps of the next term, as a KernelCallback does and in the order of KernelCallback.
  /// Taps must be finite and at most kMaxFileTap. The checksum is verified with the last taps, so
  /// do not use the taps before all were read. After CorruptFile all further calls fail. Errors:
  /// CorruptFile, IoError, InvalidArgument (no taps are left).
  Expected<void> next(float* wx, float* wy, float* wt) noexcept;

  /// Reads the remaining taps to check them. Errors: CorruptFile, IoError.
  Expected<void> finish() noexcept;

 private:
  static constexpr int kBufferFloats = 16384;
  static_assert(kBufferFloats >= kMaxKernelTaps * kMaxKernelTaps * kMaxKernelTaps);

  Expected<void> fill() noexcept;
  Expected<const float*> next_term() noexcept;

  ModelFile file_;
  KernelBankHeader header_;
  // Entries (taps of one term at one pixel) that `next` has not returned yet.
  std::uint64_t left_ = 0;
  int buffered_ = 0;  // number of these entries that are in the buffer
  const float* next_entry_ = nullptr;
  alignas(64) float buffer_[kBufferFloats];
};

/// Writes a kernel bank of any size piece by piece. Call `open`, then `add` for each entry, then
/// `finish`. Before that, and after an error, the target is unchanged. Does not allocate.
class KernelBankWriter {
 public:
  KernelBankWriter() noexcept = default;
  KernelBankWriter(const KernelBankWriter&) = delete;
  KernelBankWriter& operator=(const KernelBankWriter&) = delete;

  /// `path` must outlive the object. Errors: InvalidArgument (a value out of range), those of
  /// ModelWriter::open.
  Expected<void> open(const char* path, const KernelBankHeader& bank) noexcept;

  /// Adds the taps of the next term, as a KernelCallback writes them and in the order of
  /// KernelCallback. Errors: InvalidArgument (a tap that is not finite or above kMaxFileTap, more
  /// taps than the bank has), IoError.
  Expected<void> add(const float* wx, const float* wy, const float* wt) noexcept;

  /// Errors: InvalidArgument (taps are missing), IoError.
  Expected<void> finish() noexcept;

 private:
  KernelBankHeader bank_;
  std::uint64_t missing_ = 0;  // entries
  ModelWriter file_;
};

/// The error for memory that only the reading of kernels needs.
tl::unexpected<Error> no_memory_for_kernels() noexcept;

}  // namespace ocellus::detail
