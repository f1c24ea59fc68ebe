#include "kernel_bank_writer.h"

#define XXH_INLINE_ALL
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernel_bank_generated.h"

namespace ocellus::app {
namespace {

static_assert(std::endian::native == std::endian::little, "taps are written as they are in memory");

constexpr int kVersion = 1;
constexpr std::size_t kTapAlignment = 64;
constexpr std::size_t kHashBytes = 8;
constexpr std::size_t kMaxNote = 255;
constexpr float kMaxTap = 1.0e6f;  // the reader takes no larger one

void check(const char* name, int value, int low, int high) {
  if (value >= low && value <= high) return;
  throw KernelBankError(std::string(name) + " is " + std::to_string(value) + "; it must be " +
                        std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace

struct KernelBankWriter::Hash {
  XXH64_state_t state;
};

KernelBankWriter::KernelBankWriter(std::string path, KernelBankShape shape)
    : path_(std::move(path)), shape_(std::move(shape)), hash_(std::make_unique<Hash>()) {
  check("nx", shape_.nx, 1, kMaxKernelTaps);
  check("ny", shape_.ny, 1, kMaxKernelTaps);
  check("nt", shape_.nt, 1, kMaxKernelTaps);
  check("convolutions", shape_.convolutions, 1, kMaxConvolutions);
  check("terms", shape_.terms, 1, kMaxKernelTerms);
  const bool per_pixel = shape_.form == KernelForm::kPerPixel;
  check("width", shape_.size.width, per_pixel ? 1 : 0, per_pixel ? kMaxImageSide : 0);
  check("height", shape_.size.height, per_pixel ? 1 : 0, per_pixel ? kMaxImageSide : 0);
  if (shape_.note.size() > kMaxNote) shape_.note.resize(kMaxNote);
  missing_ = entries(shape_);
  entry_.resize(static_cast<std::size_t>(shape_.nx + shape_.ny + shape_.nt));
  XXH64_reset(&hash_->state, 0);

  part_path_ = path_ + ".part";
  file_ = std::fopen(part_path_.c_str(), "wb");
  if (file_ == nullptr) fail("cannot be written");
  // The header has its final length already; its hashes come with `finish`.
  try {
    const std::vector<unsigned char> bytes = header();
    write(bytes.data(), bytes.size());
  } catch (...) {
    std::fclose(file_);
    std::remove(part_path_.c_str());
    throw;
  }
}

KernelBankWriter::~KernelBankWriter() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(part_path_.c_str());
}

std::uint64_t KernelBankWriter::entries(const KernelBankShape& shape) {
  const bool per_pixel = shape.form == KernelForm::kPerPixel;
  const std::uint64_t pixels = per_pixel ? static_cast<std::uint64_t>(shape.size.width) *
                                               static_cast<std::uint64_t>(shape.size.height)
                                         : 1;
  return pixels * static_cast<std::uint64_t>(shape.convolutions) *
         static_cast<std::uint64_t>(shape.terms);
}

void KernelBankWriter::add(const float* wx, const float* wy, const float* wt) {
  if (missing_ == 0) throw KernelBankError("more taps than the bank's sizes need");
  auto at = std::copy(wx, wx + shape_.nx, entry_.begin());
  at = std::copy(wy, wy + shape_.ny, at);
  std::copy(wt, wt + shape_.nt, at);
  for (std::size_t i = 0; i < entry_.size(); ++i) {
    if (std::fabs(entry_[i]) <= kMaxTap) continue;  // false for NaN
    throw KernelBankError("tap " + std::to_string(i) + " of kernel " +
                          std::to_string(entries(shape_) - missing_) + " is " +
                          std::to_string(entry_[i]) + "; taps must be finite and at most 1e6");
  }
  XXH64_update(&hash_->state, entry_.data(), entry_.size() * sizeof(float));
  write(entry_.data(), entry_.size() * sizeof(float));
  --missing_;
}

void KernelBankWriter::finish() {
  if (missing_ != 0) {
    throw KernelBankError("taps of " + std::to_string(missing_) + " kernels are missing, of " +
                          std::to_string(entries(shape_)));
  }
  const std::vector<unsigned char> bytes = header();
  if (std::fseek(file_, 0, SEEK_SET) != 0) fail("cannot be written");
  write(bytes.data(), bytes.size());
  // A rename must not overtake the data.
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) fail("cannot be written");
  std::FILE* file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0 || std::rename(part_path_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    std::remove(part_path_.c_str());
    errno = reason;
    fail("cannot be written");
  }
}

std::vector<unsigned char> KernelBankWriter::header() const {
  flatbuffers::FlatBufferBuilder builder(1024);
  // Fields of value 0 are written too, so that the length does not depend on the hash.
  builder.ForceDefaults(true);
  const auto note = builder.CreateString(shape_.note);
  const bool per_pixel = shape_.form == KernelForm::kPerPixel;
  const auto table = file::CreateKernelBank(
      builder, kVersion, per_pixel ? file::KernelBankForm_PerPixel : file::KernelBankForm_Uniform,
      static_cast<std::uint8_t>(shape_.nx), static_cast<std::uint8_t>(shape_.ny),
      static_cast<std::uint8_t>(shape_.nt), static_cast<std::uint8_t>(shape_.convolutions),
      static_cast<std::uint8_t>(shape_.terms), file::TapOrder_LittleEndian,
      static_cast<std::uint32_t>(shape_.size.width), static_cast<std::uint32_t>(shape_.size.height),
      entries(shape_) * entry_.size() * sizeof(float), XXH64_digest(&hash_->state), note);
  file::FinishSizePrefixedKernelBankBuffer(builder, table);
  const std::size_t length = builder.GetSize();
  std::vector<unsigned char> bytes((length + kHashBytes + kTapAlignment - 1) / kTapAlignment *
                                   kTapAlignment);
  std::copy(builder.GetBufferPointer(), builder.GetBufferPointer() + length, bytes.begin());
  const std::uint64_t hash = XXH64(bytes.data(), bytes.size() - kHashBytes, 0);
  std::memcpy(bytes.data() + bytes.size() - kHashBytes, &hash, kHashBytes);
  return bytes;
}

void KernelBankWriter::write(const void* bytes, std::size_t count) {
  if (std::fwrite(bytes, 1, count, file_) != count) fail("cannot be written");
}

void KernelBankWriter::fail(const std::string& what) const {
  throw KernelBankError("\"" + path_ + "\" " + what + ": " + std::strerror(errno));
}

}  // namespace ocellus::app
