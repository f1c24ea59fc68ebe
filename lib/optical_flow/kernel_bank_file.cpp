#include "optical_flow/kernel_bank_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "core/failure.h"
#include "kernel_bank_generated.h"
#include "ocellus/kernel_taps.h"

namespace ocellus::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "taps are in files as in memory");

/// The numbers that file and configuration share.
constexpr struct {
  const char* name;
  int KernelBankHeader::*in_file;
  int KernelConfig::*in_config;
  int most;
} kFields[] = {
    {"nx", &KernelBankHeader::nx, &KernelConfig::nx, kMaxKernelTaps},
    {"ny", &KernelBankHeader::ny, &KernelConfig::ny, kMaxKernelTaps},
    {"nt", &KernelBankHeader::nt, &KernelConfig::nt, kMaxKernelTaps},
    {"convolutions", &KernelBankHeader::convolutions, &KernelConfig::convolutions,
     kMaxConvolutions},
    {"terms", &KernelBankHeader::terms, &KernelConfig::terms, kMaxKernelTerms},
};

Expected<void> check_field(const char* name, std::int64_t value, int low, int high) noexcept {
  if (value >= low && value <= high) return {};
  return corrupt_file("kernel bank: %s is %lld; it must be %d to %d", name,
                      static_cast<long long>(value), low, high);
}

/// Checks the ranges. `width` and `height` are those of the table: 0x0 for a uniform bank.
Expected<void> check_bank(const KernelBankHeader& bank, std::int64_t width,
                          std::int64_t height) noexcept {
  for (const auto& field : kFields)
    OCELLUS_TRY(check_field(field.name, bank.*field.in_file, 1, field.most));
  if (bank.form == KernelForm::kFull) OCELLUS_TRY(check_field("terms", bank.terms, 1, 1));
  const bool per_pixel = bank.form != KernelForm::kUniform;
  const int least = per_pixel ? 1 : 0;
  const int most = per_pixel ? kMaxImageSide : 0;
  OCELLUS_TRY(check_field("width", width, least, most));
  return check_field("height", height, least, most);
}

const char* form_name(KernelForm form) noexcept {
  return form == KernelForm::kUniform ? "uniform"
         : form == KernelForm::kFull  ? "full"
                                      : "per pixel";
}

/// A tap that is not finite or too large.
struct BadTap {
  const char* axis;  // null: there is none
  int index;
  double value;
};
BadTap find_bad_tap(const KernelBankHeader& bank, const float* wx, const float* wy,
                    const float* wt) noexcept {
  const bool full = bank.form == KernelForm::kFull;
  const struct {
    const char* name;
    const float* taps;
    int count;
  } axes[] = {{full ? "taps" : "wx", wx, full ? bank.entry_floats() : bank.nx},
              {"wy", wy, full ? 0 : bank.ny},
              {"wt", wt, full ? 0 : bank.nt}};
  for (const auto& axis : axes)
    for (int i = 0; i < axis.count; ++i)
      if (!(std::fabs(axis.taps[i]) <= kMaxFileTap))
        return {axis.name, i, static_cast<double>(axis.taps[i])};
  return {};
}

/// Checks the table. `bytes` are the file up to the taps, aligned to 8 bytes. `model` is the header
/// parsed from them. Errors: CorruptFile.
Expected<KernelBankHeader> parse_kernel_bank_header(const void* bytes,
                                                    const ModelHeader& model) noexcept {
  OCELLUS_TRY_ASSIGN(verified, model_table<file::KernelBank>(kKernelBankKind, bytes, model));
  const file::KernelBank* const table = *verified;

  KernelBankHeader header;
  if (table->form() > file::KernelBankForm_MAX) {
    return corrupt_file(
        "kernel bank: form is %d; it must be 0 (uniform), 1 (per pixel) or 2 (full)",
        table->form());
  }
  header.form = static_cast<KernelForm>(table->form());
  header.nx = table->nx();
  header.ny = table->ny();
  header.nt = table->nt();
  header.convolutions = table->convolutions();
  header.terms = table->terms();
  OCELLUS_TRY(check_bank(header, table->width(), table->height()));
  header.size = {1, 1};
  if (header.form != KernelForm::kUniform)
    header.size = {static_cast<int>(table->width()), static_cast<int>(table->height())};

  // At most 2^28 pixels x 8 x 25^3 floats, which cannot overflow.
  if (model.array_bytes != header.tap_bytes()) {
    return corrupt_file("kernel bank: there are %llu bytes of taps; the sizes give %llu",
                        static_cast<unsigned long long>(model.array_bytes),
                        static_cast<unsigned long long>(header.tap_bytes()));
  }
  if (const flatbuffers::String* note = table->note()) {
    copy_note(header.note, sizeof(header.note), note->c_str(), note->size());
  }
  return header;
}

}  // namespace

Expected<void> KernelBankFile::open(const char* path) noexcept {
  if (path == nullptr || path[0] == '\0')
    return invalid_argument("kernels.path is empty; it must name a kernel bank file");
  OCELLUS_TRY(file_.open(kKernelBankKind, path));
  alignas(64) unsigned char bytes[model_arrays_at(kKernelBankKind.max_table_bytes)];
  OCELLUS_TRY_ASSIGN(model, file_.header(bytes, sizeof(bytes)));
  OCELLUS_TRY_ASSIGN(header, parse_kernel_bank_header(bytes, *model));
  header_ = *header;
  left_ = header_.entries();
  return {};
}

Expected<void> KernelBankFile::match(const KernelConfig& config, ImageSize size) const noexcept {
  if (config.form != header_.form) {
    return invalid_argument("kernels.form is %s, but the kernel bank file is %s",
                            form_name(config.form), form_name(header_.form));
  }
  for (const auto& field : kFields) {
    if (header_.*field.in_file == config.*field.in_config) continue;
    return invalid_argument(
        "kernels.%s is %d, but the kernel bank file has %d; set it to the file's value", field.name,
        config.*field.in_config, header_.*field.in_file);
  }
  if (header_.form != KernelForm::kUniform && size != header_.size) {
    return invalid_argument(
        "the kernel bank file is for images of %dx%d, the operator's size is %dx%d",
        header_.size.width, header_.size.height, size.width, size.height);
  }
  return {};
}

Expected<void> KernelBankFile::fill() noexcept {
  const int entry = header_.entry_floats();
  const auto count = static_cast<int>(
      std::min<std::uint64_t>(left_, static_cast<std::uint64_t>(kBufferFloats / entry)));
  const std::size_t bytes =
      static_cast<std::size_t>(count) * static_cast<std::size_t>(entry) * sizeof(float);
  if (file_.left() != left_ * static_cast<std::uint64_t>(entry) * sizeof(float))
    return corrupt_file("kernel bank: damaged; an earlier call has reported the error");
  OCELLUS_TRY(file_.read(buffer_, bytes));
  buffered_ = count;
  next_entry_ = buffer_;
  return {};
}

Expected<const float*> KernelBankFile::next_term() noexcept {
  if (left_ == 0) return invalid_argument("kernel bank: all taps have been read");
  if (buffered_ == 0) OCELLUS_TRY(fill());
  const float* const taps = next_entry_;
  if (const BadTap bad =
          find_bad_tap(header_, taps, taps + header_.nx, taps + header_.nx + header_.ny);
      bad.axis != nullptr) {
    buffered_ = 0;  // all further calls find that entries are missing
    const std::uint64_t number = header_.entries() - left_;
    const auto terms = static_cast<std::uint64_t>(header_.terms);
    const auto convolutions = static_cast<std::uint64_t>(header_.convolutions);
    const auto width = static_cast<std::uint64_t>(header_.size.width);
    const std::uint64_t pixel = number / terms / convolutions;
    return corrupt_file(
        "kernel bank: %s[%d] of pixel (%d, %d), convolution %d, term %d is %g; taps must be "
        "finite and at most %g",
        bad.axis, bad.index, static_cast<int>(pixel % width), static_cast<int>(pixel / width),
        static_cast<int>(number / terms % convolutions), static_cast<int>(number % terms),
        bad.value, static_cast<double>(kMaxFileTap));
  }
  next_entry_ += header_.entry_floats();
  --buffered_;
  --left_;
  return taps;
}

Expected<void> KernelBankFile::next(float* wx, float* wy, float* wt) noexcept {
  OCELLUS_TRY_ASSIGN(taps, next_term());
  if (header_.form == KernelForm::kFull) {
    std::copy_n(*taps, header_.entry_floats(), wx);
    return {};
  }
  std::copy_n(*taps, header_.nx, wx);
  std::copy_n(*taps + header_.nx, header_.ny, wy);
  std::copy_n(*taps + header_.nx + header_.ny, header_.nt, wt);
  return {};
}

Expected<void> KernelBankFile::finish() noexcept {
  while (left_ > 0) OCELLUS_TRY(next_term());
  return {};
}

Expected<void> KernelBankWriter::open(const char* path, const KernelBankHeader& bank) noexcept {
  bank_ = bank;
  const bool uniform = bank.form == KernelForm::kUniform;
  const ImageSize size = uniform && bank.size == ImageSize{1, 1} ? ImageSize{} : bank.size;
  if (const Expected<void> checked = check_bank(bank, size.width, size.height); !checked)
    return invalid_argument("%s", checked.error().text);
  ModelTable table;
  const auto note = table.builder.CreateString(bank.note);
  table.builder.Finish(file::CreateKernelBank(
      table.builder, static_cast<file::KernelBankForm>(bank.form),
      static_cast<std::uint8_t>(bank.nx), static_cast<std::uint8_t>(bank.ny),
      static_cast<std::uint8_t>(bank.nt), static_cast<std::uint8_t>(bank.convolutions),
      static_cast<std::uint8_t>(bank.terms), static_cast<std::uint32_t>(size.width),
      static_cast<std::uint32_t>(size.height), note));
  missing_ = bank_.entries();
  return file_.open(kKernelBankKind, path, table.builder.GetBufferPointer(),
                    table.builder.GetSize());
}

Expected<void> KernelBankWriter::add(const float* wx, const float* wy, const float* wt) noexcept {
  if (missing_ == 0)
    return invalid_argument("kernel bank: there are more taps than the bank's sizes need");
  if (const BadTap bad = find_bad_tap(bank_, wx, wy, wt); bad.axis != nullptr) {
    return invalid_argument(
        "kernel bank: %s[%d] of kernel %llu is %g; taps must be finite and at most %g", bad.axis,
        bad.index, static_cast<unsigned long long>(bank_.entries() - missing_), bad.value,
        static_cast<double>(kMaxFileTap));
  }
  const auto write = [this](const float* taps, int count) {
    return file_.write(taps, static_cast<std::size_t>(count) * sizeof(float));
  };
  if (bank_.form == KernelForm::kFull) {
    OCELLUS_TRY(write(wx, bank_.entry_floats()));
  } else {
    OCELLUS_TRY(write(wx, bank_.nx));
    OCELLUS_TRY(write(wy, bank_.ny));
    OCELLUS_TRY(write(wt, bank_.nt));
  }
  --missing_;
  return {};
}

tl::unexpected<Error> no_memory_for_kernels() noexcept {
  return tl::unexpected(
      make_error(Status::kOutOfMemory, "the system gave no memory to read the kernels"));
}

Expected<void> KernelBankWriter::finish() noexcept {
  if (missing_ != 0) {
    return invalid_argument("kernel bank: the taps of %llu kernels are missing, of %llu",
                            static_cast<unsigned long long>(missing_),
                            static_cast<unsigned long long>(bank_.entries()));
  }
  return file_.finish();
}

}  // namespace ocellus::detail

namespace ocellus {

Expected<KernelFileInfo> read_kernel_file_info(const char* path) noexcept {
  const std::unique_ptr<detail::KernelBankFile> file(new (std::nothrow) detail::KernelBankFile);
  if (!file) return detail::no_memory_for_kernels();
  OCELLUS_TRY(file->open(path));
  const detail::KernelBankHeader& header = file->header();
  KernelFileInfo info;
  info.kernels.form = header.form;
  info.kernels.origin = KernelOrigin::kFile;
  for (const auto& field : detail::kFields) info.kernels.*field.in_config = header.*field.in_file;
  if (header.form != KernelForm::kUniform) info.size = header.size;
  info.tap_bytes = header.tap_bytes();
  std::memcpy(info.note, header.note, sizeof(info.note));
  return info;
}

}  // namespace ocellus
