#include "apps/optical_flow/kernel_bank_writer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/model_file.h"
#include "kernel_bank_generated.h"
#include "optical_flow/kernel_bank_file.h"

namespace ocellus::app {
namespace {

static_assert(std::endian::native == std::endian::little, "taps are written as they are in memory");

constexpr std::size_t kMaxBankNote = 255;

void check(const char* name, int value, int low, int high) {
  if (value >= low && value <= high) return;
  throw InputError(std::string(name) + " is " + std::to_string(value) + "; it must be " +
                   std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace

struct KernelBankWriter::Hash {
  XXH64_state_t state;
};

KernelBankWriter::KernelBankWriter(std::string path, KernelBankShape shape)
    : shape_(std::move(shape)), hash_(std::make_unique<Hash>()) {
  check("nx", shape_.nx, 1, kMaxKernelTaps);
  check("ny", shape_.ny, 1, kMaxKernelTaps);
  check("nt", shape_.nt, 1, kMaxKernelTaps);
  check("convolutions", shape_.convolutions, 1, kMaxConvolutions);
  check("terms", shape_.terms, 1, kMaxKernelTerms);
  const bool per_pixel = shape_.form == KernelForm::kPerPixel;
  check("width", shape_.size.width, per_pixel ? 1 : 0, per_pixel ? kMaxImageSide : 0);
  check("height", shape_.size.height, per_pixel ? 1 : 0, per_pixel ? kMaxImageSide : 0);
  if (shape_.note.size() > kMaxBankNote) shape_.note.resize(kMaxBankNote);
  missing_ = entries(shape_);
  entry_.resize(static_cast<std::size_t>(shape_.nx + shape_.ny + shape_.nt));
  XXH64_reset(&hash_->state, 0);

  if (is_special_file(path)) {
    throw InputError(path +
                     ": is a device or a pipe; a kernel bank must be a regular file, because its "
                     "header is written last");
  }
  require_free_space(path, tap_bytes(shape_));
  file_.emplace(std::move(path));
  // The header has its final length. `finish` writes it again with the checksum of the taps.
  const std::vector<unsigned char> bytes = header();
  file_->write(bytes.data(), bytes.size());
}

KernelBankWriter::~KernelBankWriter() = default;

std::uint64_t KernelBankWriter::entries(const KernelBankShape& shape) {
  const bool per_pixel = shape.form == KernelForm::kPerPixel;
  const std::uint64_t pixels = per_pixel ? static_cast<std::uint64_t>(shape.size.width) *
                                               static_cast<std::uint64_t>(shape.size.height)
                                         : 1;
  return pixels * static_cast<std::uint64_t>(shape.convolutions) *
         static_cast<std::uint64_t>(shape.terms);
}

std::uint64_t KernelBankWriter::tap_bytes(const KernelBankShape& shape) {
  const auto taps = static_cast<std::uint64_t>(shape.nx + shape.ny + shape.nt);
  return entries(shape) * taps * sizeof(float);
}

void KernelBankWriter::add(const float* wx, const float* wy, const float* wt) {
  if (missing_ == 0) throw InputError("there are more taps than the bank's sizes need");
  auto at = std::copy(wx, wx + shape_.nx, entry_.begin());
  at = std::copy(wy, wy + shape_.ny, at);
  std::copy(wt, wt + shape_.nt, at);
  for (std::size_t i = 0; i < entry_.size(); ++i) {
    if (std::fabs(entry_[i]) <= detail::kMaxFileTap) continue;  // false for NaN
    throw InputError("tap " + std::to_string(i) + " of kernel " +
                     std::to_string(entries(shape_) - missing_) + " is " +
                     std::to_string(entry_[i]) + "; taps must be finite and at most 1e6");
  }
  XXH64_update(&hash_->state, entry_.data(), entry_.size() * sizeof(float));
  file_->write(entry_.data(), entry_.size() * sizeof(float));
  --missing_;
}

void KernelBankWriter::finish() {
  if (missing_ != 0) {
    throw InputError("the taps of " + std::to_string(missing_) + " kernels are missing, of " +
                     std::to_string(entries(shape_)));
  }
  const std::vector<unsigned char> bytes = header();
  file_->seek_to_start();
  file_->write(bytes.data(), bytes.size());
  file_->commit();
}

std::vector<unsigned char> KernelBankWriter::header() const {
  flatbuffers::FlatBufferBuilder builder(1024);
  const auto note = builder.CreateString(shape_.note);
  const bool per_pixel = shape_.form == KernelForm::kPerPixel;
  const auto table = file::CreateKernelBank(
      builder, per_pixel ? file::KernelBankForm_PerPixel : file::KernelBankForm_Uniform,
      static_cast<std::uint8_t>(shape_.nx), static_cast<std::uint8_t>(shape_.ny),
      static_cast<std::uint8_t>(shape_.nt), static_cast<std::uint8_t>(shape_.convolutions),
      static_cast<std::uint8_t>(shape_.terms), static_cast<std::uint32_t>(shape_.size.width),
      static_cast<std::uint32_t>(shape_.size.height), note);
  builder.Finish(table);
  const std::uint32_t length = builder.GetSize();
  std::vector<unsigned char> bytes(detail::model_arrays_at(length));
  detail::write_model_header(detail::kKernelBankKind, builder.GetBufferPointer(), length,
                             tap_bytes(shape_), XXH64_digest(&hash_->state), bytes.data());
  return bytes;
}

}  // namespace ocellus::app
