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

struct KernelBankShape {
  KernelForm form = KernelForm::kUniform;
  int nx = 0;
  int ny = 0;
  int nt = 0;
  int convolutions = 0;
  int terms = 0;
  ImageSize size;    ///< kPerPixel: the image; kUniform: 0x0
  std::string note;  ///< the source of the taps; printable ASCII, at most 255 characters
};

/// Writes through an OutputFile, so that no reader sees half a bank. Throws InputError, also if the
/// bank does not fit on the disk.
class KernelBankWriter {
 public:
  KernelBankWriter(std::string path, KernelBankShape shape);
  KernelBankWriter(const KernelBankWriter&) = delete;
  KernelBankWriter& operator=(const KernelBankWriter&) = delete;
  ~KernelBankWriter();  // defined in the .cpp file, where Hash is complete

  /// Adds the next nx, ny and nt taps, in the order of KernelCallback.
  void add(const float* wx, const float* wy, const float* wt);

  /// Checks that all taps have been added, and moves the file to its target.
  void finish();

  /// The number of calls of `add` for a shape.
  static std::uint64_t entries(const KernelBankShape& shape);
  /// The size of all taps of a shape, in bytes.
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
