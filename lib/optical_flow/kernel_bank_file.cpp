#include "optical_flow/kernel_bank_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "kernel_bank_generated.h"

namespace ocellus::detail {
namespace {

constexpr std::uint64_t kTapAlignment = 64;
Expected<void> check_range(const char* field, long long value, long long low,
                           long long high) noexcept {
  if (value >= low && value <= high) return {};
  return corrupt_file("kernel bank: %s is %lld; it must be %lld to %lld", field, value, low, high);
}

}  // namespace

Expected<KernelBankHeader> parse_kernel_bank_header(const void* bytes, std::uint64_t available,
                                                    std::uint64_t file_bytes) noexcept {
  const auto* data = static_cast<const unsigned char*>(bytes);
  if (available < kModelIdentifierAt + 4) {
    return corrupt_file("kernel bank: the file has %llu bytes, which is too short for a header",
                        static_cast<unsigned long long>(file_bytes));
  }
  const std::uint32_t length = read_u32(data);
  if (std::memcmp(data + kModelIdentifierAt, file::KernelBankIdentifier(), 4) != 0) {
    const bool swapped = std::memcmp(data + kModelIdentifierAt, "KLCO", 4) == 0;
    return swapped
               ? corrupt_file(
                     "kernel bank: the file is byte-swapped (big-endian); it must be little-endian")
               : corrupt_file("kernel bank: not a kernel bank (identifier OCLK is not at byte 8)");
  }
  const std::uint64_t taps_at = (kModelPrefixBytes + length + kModelHashBytes + kTapAlignment - 1) /
                                kTapAlignment * kTapAlignment;
  if (taps_at > kMaxKernelBankHeaderBytes) {
    if (__builtin_bswap32(length) < kMaxKernelBankHeaderBytes) {
      return corrupt_file(
          "kernel bank: the header's length is byte-swapped (big-endian); it must be "
          "little-endian");
    }
    return corrupt_file("kernel bank: the header claims %u bytes; at most %d are allowed", length,
                        kMaxKernelBankHeaderBytes);
  }
  if (taps_at > available) {
    return corrupt_file(
        "kernel bank: truncated in the header: it needs %llu bytes, the file has %llu",
        static_cast<unsigned long long>(taps_at), static_cast<unsigned long long>(file_bytes));
  }

  // The verifier comes before anything of the table is read; after it every access stays inside.
  flatbuffers::Verifier verifier(data, kModelPrefixBytes + length, /*max_depth=*/4,
                                 /*max_tables=*/4);
  if (!file::VerifySizePrefixedKernelBankBuffer(verifier)) {
    return corrupt_file("kernel bank: the header is damaged (it is not a valid table)");
  }
  const file::KernelBank* table = file::GetSizePrefixedKernelBank(data);
  // The version comes before the checksum, so that a file of the future is called that and not
  // damaged.
  if (table->version() != kKernelBankVersion) {
    return corrupt_file("kernel bank: format version %d; this library reads version %d",
                        table->version(), kKernelBankVersion);
  }
  if (XXH64(data, taps_at - kModelHashBytes, 0) != read_u64(data + taps_at - kModelHashBytes)) {
    return corrupt_file("kernel bank: the header is damaged (its checksum does not match)");
  }
  if (table->tap_order() != file::TapOrder_LittleEndian) {
    return corrupt_file(
        "kernel bank: the taps are not little-endian (tap_order is %d); they must be",
        table->tap_order());
  }

  KernelBankHeader header;
  if (table->form() != file::KernelBankForm_Uniform &&
      table->form() != file::KernelBankForm_PerPixel) {
    return corrupt_file("kernel bank: form is %d; it must be 0 (uniform) or 1 (per pixel)",
                        table->form());
  }
  const bool per_pixel = table->form() == file::KernelBankForm_PerPixel;
  header.form = per_pixel ? KernelForm::kPerPixel : KernelForm::kUniform;
  const struct {
    const char* name;
    long long value;
    long long low;
    long long high;
  } fields[] = {
      {"nx", table->nx(), 1, kMaxKernelTaps},
      {"ny", table->ny(), 1, kMaxKernelTaps},
      {"nt", table->nt(), 1, kMaxKernelTaps},
      {"convolutions", table->convolutions(), 1, kMaxConvolutions},
      {"terms", table->terms(), 1, kMaxKernelTerms},
      {"width", table->width(), per_pixel ? 1 : 0, per_pixel ? kMaxImageSide : 0},
      {"height", table->height(), per_pixel ? 1 : 0, per_pixel ? kMaxImageSide : 0},
  };
  for (const auto& field : fields) {
    if (auto checked = check_range(field.name, field.value, field.low, field.high); !checked) {
      return tl::unexpected(checked.error());
    }
  }
  header.nx = table->nx();
  header.ny = table->ny();
  header.nt = table->nt();
  header.convolutions = table->convolutions();
  header.terms = table->terms();
  header.size = per_pixel
                    ? ImageSize{static_cast<int>(table->width()), static_cast<int>(table->height())}
                    : ImageSize{1, 1};
  header.taps_at = taps_at;
  header.tap_bytes = table->tap_bytes();
  header.tap_hash = table->tap_hash();

  // At most 2^28 pixels x 32 x 75 floats: far from overflow.
  const std::uint64_t expected = static_cast<std::uint64_t>(header.size.width) *
                                 static_cast<std::uint64_t>(header.size.height) *
                                 static_cast<std::uint64_t>(header.convolutions * header.terms) *
                                 static_cast<std::uint64_t>(header.entry_floats()) * sizeof(float);
  if (header.tap_bytes != expected) {
    return corrupt_file("kernel bank: the header claims %llu bytes of taps; its sizes give %llu",
                        static_cast<unsigned long long>(header.tap_bytes),
                        static_cast<unsigned long long>(expected));
  }
  if (file_bytes - taps_at != expected) {
    return corrupt_file(
        "kernel bank: %s: there are %llu bytes of taps, %llu are needed",
        file_bytes - taps_at < expected ? "truncated in the taps" : "data after the taps",
        static_cast<unsigned long long>(file_bytes - taps_at),
        static_cast<unsigned long long>(expected));
  }
  if (const flatbuffers::String* note = table->note()) {
    copy_note(header.note, sizeof(header.note), note->c_str(), note->size());
  }
  return header;
}

Expected<void> KernelBankFile::open(const char* path) noexcept {
  if (path == nullptr || path[0] == '\0') {
    return tl::unexpected(make_error(Status::kInvalidArgument,
                                     "kernels.path is empty; it must name a kernel bank file"));
  }
  if (Expected<void> opened = file_.open("kernel bank", path); !opened) return opened;
  alignas(64) unsigned char bytes[kMaxKernelBankHeaderBytes];
  const std::uint64_t file_bytes = file_.bytes();
  const auto wanted = std::min<std::uint64_t>(file_bytes, sizeof(bytes));
  const ssize_t got = file_.read(bytes, wanted, 0);
  if (got < 0) {
    return tl::unexpected(
        make_error(Status::kIoError, "kernel bank \"%.120s\": %s", path, strerror(errno)));
  }
  if (static_cast<std::uint64_t>(got) != wanted) {
    return corrupt_file("kernel bank: the file became shorter while it was read");
  }
  const Expected<KernelBankHeader> header = parse_kernel_bank_header(bytes, wanted, file_bytes);
  if (!header) return tl::unexpected(header.error());
  header_ = *header;
  at_ = header_.taps_at;
  left_ = header_.tap_bytes / (static_cast<std::uint64_t>(header_.entry_floats()) * sizeof(float));
  XXH64_reset(&hash_, 0);
  return {};
}

Expected<void> KernelBankFile::match(const KernelConfig& config, ImageSize size) const noexcept {
  const auto mismatch = [](const char* field, int in_file, int in_config) noexcept {
    return tl::unexpected(
        make_error(Status::kInvalidArgument,
                   "kernels.%s is %d, but the kernel bank file has %d; set it to the file's value",
                   field, in_config, in_file));
  };
  if (config.form != header_.form) {
    const bool per_pixel = header_.form == KernelForm::kPerPixel;
    return tl::unexpected(
        make_error(Status::kInvalidArgument, "kernels.form is %s, but the kernel bank file is %s",
                   per_pixel ? "uniform" : "per pixel", per_pixel ? "per pixel" : "uniform"));
  }
  if (config.nx != header_.nx) return mismatch("nx", header_.nx, config.nx);
  if (config.ny != header_.ny) return mismatch("ny", header_.ny, config.ny);
  if (config.nt != header_.nt) return mismatch("nt", header_.nt, config.nt);
  if (config.convolutions != header_.convolutions) {
    return mismatch("convolutions", header_.convolutions, config.convolutions);
  }
  if (config.terms != header_.terms) return mismatch("terms", header_.terms, config.terms);
  if (header_.form == KernelForm::kPerPixel && size != header_.size) {
    return tl::unexpected(
        make_error(Status::kInvalidArgument,
                   "the kernel bank file is for images of %dx%d, the operator's size is %dx%d",
                   header_.size.width, header_.size.height, size.width, size.height));
  }
  return {};
}

Expected<void> KernelBankFile::fill() noexcept {
  const int entry = header_.entry_floats();
  const auto count = static_cast<int>(
      std::min<std::uint64_t>(left_, static_cast<std::uint64_t>(kBufferFloats / entry)));
  const std::size_t bytes =
      static_cast<std::size_t>(count) * static_cast<std::size_t>(entry) * sizeof(float);
  const ssize_t got = file_.read(buffer_, bytes, at_);
  if (got < 0) {
    return tl::unexpected(
        make_error(Status::kIoError, "kernel bank: the taps cannot be read: %s", strerror(errno)));
  }
  if (static_cast<std::size_t>(got) != bytes) {
    return corrupt_file("kernel bank: the file became shorter while it was read");
  }
  XXH64_update(&hash_, buffer_, bytes);
  for (int i = 0; i < count * entry; ++i) {
    const float tap = buffer_[i];
    if (std::fabs(tap) <= kMaxFileTap) continue;  // false for NaN
    // Where it stands, from its index in the whole bank.
    const std::uint64_t index =
        (at_ - header_.taps_at) / sizeof(float) + static_cast<std::uint64_t>(i);
    const auto in_entry = static_cast<int>(index % static_cast<std::uint64_t>(entry));
    const std::uint64_t number = index / static_cast<std::uint64_t>(entry);
    const auto terms = static_cast<std::uint64_t>(header_.terms);
    const auto convolutions = static_cast<std::uint64_t>(header_.convolutions);
    const auto width = static_cast<std::uint64_t>(header_.size.width);
    const std::uint64_t pixel = number / terms / convolutions;
    const char axis = in_entry < header_.nx ? 'x' : in_entry < header_.nx + header_.ny ? 'y' : 't';
    const int before = axis == 'x' ? 0 : axis == 'y' ? header_.nx : header_.nx + header_.ny;
    return corrupt_file(
        "kernel bank: w%c[%d] of pixel (%d, %d), convolution %d, term %d is %g; taps must be "
        "finite and at most %g",
        axis, in_entry - before, static_cast<int>(pixel % width), static_cast<int>(pixel / width),
        static_cast<int>(number / terms % convolutions), static_cast<int>(number % terms),
        static_cast<double>(tap), static_cast<double>(kMaxFileTap));
  }
  at_ += bytes;
  if (static_cast<std::uint64_t>(count) == left_ && XXH64_digest(&hash_) != header_.tap_hash) {
    return corrupt_file("kernel bank: the taps are damaged (their checksum does not match)");
  }
  buffered_ = count;
  next_entry_ = buffer_;
  return {};
}

Expected<void> KernelBankFile::next(float* wx, float* wy, float* wt) noexcept {
  if (left_ == 0) {
    return tl::unexpected(
        make_error(Status::kInvalidArgument, "kernel bank: all taps have been read"));
  }
  if (buffered_ == 0) {
    if (Expected<void> filled = fill(); !filled) return filled;
  }
  const float* const from_y = next_entry_ + header_.nx;
  const float* const from_t = from_y + header_.ny;
  std::copy(next_entry_, from_y, wx);
  std::copy(from_y, from_t, wy);
  std::copy(from_t, from_t + header_.nt, wt);
  next_entry_ += header_.entry_floats();
  --buffered_;
  --left_;
  return {};
}

Expected<void> KernelBankFile::finish() noexcept {
  left_ -= static_cast<std::uint64_t>(buffered_);
  buffered_ = 0;
  while (left_ != 0) {
    if (Expected<void> filled = fill(); !filled) return filled;
    left_ -= static_cast<std::uint64_t>(buffered_);
    buffered_ = 0;
  }
  return {};
}

}  // namespace ocellus::detail
