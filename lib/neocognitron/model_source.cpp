#include "neocognitron/model_source.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

#include "core/failure.h"

namespace ocellus {
namespace detail {

// From the build.
std::span<const std::uint8_t> digits_model() noexcept;
std::span<const std::uint8_t> digits_small_model() noexcept;

}  // namespace detail

std::span<const std::uint8_t> library_model(std::string_view name) noexcept {
  if (name == "digits-small") return detail::digits_small_model();
  if (name == "digits") return detail::digits_model();
  return {};
}

namespace detail {
namespace {

tl::unexpected<Error> no_memory_for_model() noexcept {
  return tl::unexpected(
      make_error(Status::kOutOfMemory, "the system gave no memory to read the model"));
}

/// The first bytes of a file, up to its arrays.
using TableBytes =
    std::array<std::uint64_t, model_arrays_at(kNeocognitronKind.max_table_bytes) / 8>;

Expected<void> read_table(const char* name, NeocognitronTable& table, ModelHeader& header,
                          ModelFile& file) noexcept {
  const auto parse = [&](const void* bytes, const Expected<ModelHeader>& parsed) -> Expected<void> {
    if (!parsed) return tl::unexpected(parsed.error());
    header = *parsed;
    return parse_neocognitron_table(bytes, header, table);
  };
  if (const auto own = library_model(name); !own.empty()) {
    return parse(own.data(),
                 parse_model_header(kNeocognitronKind, own.data(), own.size(), own.size()));
  }
  OCELLUS_TRY(file.open(kNeocognitronKind, name));
  const std::unique_ptr<TableBytes> bytes(new (std::nothrow) TableBytes);
  if (bytes == nullptr) return tl::unexpected(no_memory_for_model());
  const Expected<void> parsed = parse(bytes.get(), file.header(bytes.get(), sizeof(*bytes)));
  if (!parsed) return with_path(kNeocognitronKind, name, parsed.error());
  return {};
}

}  // namespace

Expected<void> read_model_plan(const char* name, ModelPlan& plan) noexcept {
  if (name[0] == '\0') {
    return invalid_argument(
        "model is empty; it must be %s, or the path of a model file (*.ocellus)", kLibraryModels);
  }
  ModelFile file;
  ModelHeader header;
  if (!plan.name.assign(name)) {
    return invalid_argument("model has %zu characters; at most %zu are allowed", std::strlen(name),
                            plan.name.capacity());
  }
  OCELLUS_TRY(read_table(name, plan.table, header, file));
  plan.array_hash = header.array_hash;
  return {};
}

Expected<void> verify_model_file(const ModelPlan& plan) noexcept {
  const char* const name = plan.name.c_str();
  if (!library_model(name).empty()) return {};
  const std::unique_ptr<NeocognitronTable> table(new (std::nothrow) NeocognitronTable);
  if (table == nullptr) return tl::unexpected(no_memory_for_model());
  ModelFile file;
  ModelHeader header;
  OCELLUS_TRY(read_table(name, *table, header, file));
  if (const Expected<void> verified = file.verify_arrays(); !verified)
    return with_path(kNeocognitronKind, name, verified.error());
  return {};
}

Expected<void> ModelArrays::read_arrays(const ModelPlan& plan) noexcept {
  const char* const name = plan.name.c_str();
  places_ = arrays_of(plan.table);
  const std::unique_ptr<NeocognitronTable> table(new (std::nothrow) NeocognitronTable);
  if (table == nullptr) return tl::unexpected(no_memory_for_model());
  ModelFile file;
  ModelHeader header;
  OCELLUS_TRY(read_table(name, *table, header, file));
  if (header.array_hash != plan.array_hash || header.array_bytes != places_.bytes) {
    return with_path(
        kNeocognitronKind, name,
        make_error(Status::kCorruptFile, "neocognitron model: it changed while it was read"));
  }
  if (const auto own = library_model(name); !own.empty()) {
    data_ = own.data() + header.arrays_at;
  } else {
    memory_.reset(static_cast<std::uint8_t*>(std::malloc(places_.bytes)));
    if (memory_ == nullptr) return tl::unexpected(no_memory_for_model());
    data_ = memory_.get();
    if (const Expected<void> read = file.read(memory_.get(), places_.bytes); !read)
      return with_path(kNeocognitronKind, name, read.error());
  }
  if (const Expected<void> checked = check_arrays(plan.table, data_); !checked)
    return with_path(kNeocognitronKind, name, checked.error());
  return {};
}

}  // namespace detail
}  // namespace ocellus
