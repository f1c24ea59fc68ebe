// KernelBankWriter: writes a kernel bank file (*.ocellus). lib/optical_flow/kernel_bank.fbs
// describes its table and taps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/io/output_file.h"
#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"

namespace ocellus::app {

/// The reader takes no larger tap.
inline constexpr float kMaxTap = 1.0e6f;

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

/// Nobody sees half a bank: it is an OutputFile. Throws InputError, also when the bank does not fit
/// on the disk.
class KernelBankWriter {
 public:
  KernelBankWriter(std::string path, KernelBankShape shape);
  KernelBankWriter(const KernelBankWriter&) = delete;
  KernelBankWriter& operator=(const KernelBankWriter&) = delete;
  ~KernelBankWriter();  // out of line for Hash

  /// The next nx, ny and nt taps, in the order of KernelCallback.
  void add(const float* wx, const float* wy, const float* wt);

  /// Checks that all taps have come, and puts the file in its place.
  void finish();

  /// Calls of `add` that a shape needs.
  static std::uint64_t entries(const KernelBankShape& shape);
  /// All taps of a shape.
  static std::uint64_t tap_bytes(const KernelBankShape& shape);

 private:
  struct Hash;

  std::vector<unsigned char> header() const;

  KernelBankShape shape_;
  std::uint64_t missing_ = 0;
  std::vector<float> entry_;
  std::unique_ptr<Hash> hash_;
  std::optional<OutputFile> file_;
};

}  // namespace ocellus::app
