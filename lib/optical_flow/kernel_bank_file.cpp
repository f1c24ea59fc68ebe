#include "optical_flow/kernel_bank_file.h"

#include <algorithm>
#include <cmath>

#include "kernel_bank_generated.h"

namespace ocellus::detail {
namespace {

Expected<void> check_range(const char* field, long long value, long long low,
                           long long high) noexcept {
  if (value >= low && value <= high) return {};
  return corrupt_file("kernel bank: %s is %lld; it must be %lld to %lld", field, value, low, high);
}

}  // namespace

Expected<KernelBankHeader> parse_kernel_bank_header(const void* bytes,
                                                    const ModelHeader& model) noexcept {
  const auto verified = model_table<file::KernelBank>(kKernelBankKind, bytes, model);
  if (!verified) return tl::unexpected(verified.error());
  const file::KernelBank* const table = *verified;

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
  header.taps_at = model.arrays_at;
  header.tap_bytes = model.array_bytes;

  // At most 2^28 pixels x 32 x 75 floats, which cannot overflow.
  const std::uint64_t expected = static_cast<std::uint64_t>(header.size.width) *
                                 static_cast<std::uint64_t>(header.size.height) *
                                 static_cast<std::uint64_t>(header.convolutions * header.terms) *
                                 static_cast<std::uint64_t>(header.entry_floats()) * sizeof(float);
  if (header.tap_bytes != expected) {
    return corrupt_file("kernel bank: there are %llu bytes of taps; the sizes give %llu",
                        static_cast<unsigned long long>(header.tap_bytes),
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
  if (Expected<void> opened = file_.open(kKernelBankKind, path); !opened) return opened;
  alignas(64) unsigned char bytes[model_arrays_at(kKernelBankKind.max_table_bytes)];
  const Expected<ModelHeader> model = file_.header(bytes, sizeof(bytes));
  if (!model) return tl::unexpected(model.error());
  const Expected<KernelBankHeader> header = parse_kernel_bank_header(bytes, *model);
  if (!header) return tl::unexpected(header.error());
  header_ = *header;
  left_ = header_.tap_bytes / (static_cast<std::uint64_t>(header_.entry_floats()) * sizeof(float));
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
  const std::uint64_t first = header_.tap_bytes - file_.left();
  if (file_.left() != left_ * static_cast<std::uint64_t>(entry) * sizeof(float))
    return corrupt_file("kernel bank: damaged; an earlier call has reported the error");
  if (Expected<void> read = file_.read(buffer_, bytes); !read) return read;
  for (int i = 0; i < count * entry; ++i) {
    const float tap = buffer_[i];
    if (std::fabs(tap) <= kMaxFileTap) continue;  // false for NaN
    // Position of the tap, computed from its index in the whole bank.
    const std::uint64_t index = first / sizeof(float) + static_cast<std::uint64_t>(i);
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
