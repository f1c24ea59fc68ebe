#include "halftone/template_file.h"

// Inlined, so that the library has no run-time dependency for one function.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/model_file.h"
#include "halftone/stage_check.h"
#include "template_generated.h"

namespace ocellus {
namespace detail {
namespace {

constexpr std::uint64_t kAlignment = 8;

// The numbers in a file are those of the configuration.
constexpr bool same(int file, int config) {
  return file == config;
}
static_assert(same(file::CellInput_frame, static_cast<int>(CellInput::kFrame)));
static_assert(same(file::CellStart_plane, static_cast<int>(CellStart::kPlane)));
static_assert(same(file::CellStart_blue_noise, static_cast<int>(CellStart::kBlueNoise)));
static_assert(same(file::CellStart_error_diffusion, static_cast<int>(CellStart::kErrorDiffusion)));
static_assert(same(file::CellStart_MAX, static_cast<int>(CellStart::kPrevious)));
static_assert(same(file::CellBoundary_MAX, static_cast<int>(CellBoundary::kPeriodic)));
static_assert(same(file::CellUpdate_MAX, static_cast<int>(CellUpdate::kSynchronous)));
static_assert(same(file::CellMove_MAX, static_cast<int>(CellMove::kSwap)));

/// The stage as it stands there; its ranges are checked by `check_cell_stage`.
Expected<CellStage> read_stage(const file::CellStage& table, int number) noexcept {
  CellStage stage;
  stage.weights.radius = table.radius();
  if (table.radius() < 1 || table.radius() > kMaxTemplateRadius) {
    return corrupt_file("template file: stage %d: radius is %d; it must be 1 to %d", number,
                        table.radius(), kMaxTemplateRadius);
  }
  const auto side = static_cast<unsigned>(2 * table.radius() + 1);
  const struct {
    const char* name;
    const flatbuffers::Vector<float>* from;
    std::array<float, kMaxTemplateWeights>* to;
  } weights[] = {{"a", table.a(), &stage.weights.a}, {"b", table.b(), &stage.weights.b}};
  for (const auto& array : weights) {
    const unsigned count = array.from == nullptr ? 0 : array.from->size();
    if (count != side * side) {
      return corrupt_file("template file: stage %d: %s has %u weights; radius %d needs %u", number,
                          array.name, count, table.radius(), side * side);
    }
    std::copy(array.from->begin(), array.from->end(), array.to->begin());
  }
  stage.weights.threshold = table.threshold();
  stage.levels = table.levels();
  stage.xi = table.xi();
  stage.input = static_cast<CellInput>(table.input());
  stage.start = static_cast<CellStart>(table.start());
  stage.start_value = table.start_value();
  stage.seed = table.seed();
  stage.boundary = static_cast<CellBoundary>(table.boundary());
  stage.boundary_value = table.boundary_value();
  stage.update = static_cast<CellUpdate>(table.update());
  stage.move = static_cast<CellMove>(table.move());
  stage.color_spacing = table.color_spacing();
  stage.max_sweeps = static_cast<int>(std::min<std::uint32_t>(table.max_sweeps(), 1u << 30));
  if (stage.start == CellStart::kPlane) {
    return corrupt_file("template file: stage %d: start is plane, which a file cannot hold",
                        number);
  }
  if (const Expected<void> checked = check_cell_stage(stage); !checked)
    return corrupt_file("template file: stage %d: %s", number, checked.error().text);
  return stage;
}

}  // namespace

Expected<CellTemplateFileInfo> parse_cell_template_file(
    const void* bytes, std::uint64_t file_bytes,
    std::array<CellStage, kMaxCellStages>& stages) noexcept {
  const auto* const data = static_cast<const unsigned char*>(bytes);
  const auto printed = static_cast<unsigned long long>(file_bytes);
  if (file_bytes < kModelIdentifierAt + 4)
    return corrupt_file("template file: it has %llu bytes, which is too short", printed);
  if (std::memcmp(data + kModelIdentifierAt, file::CellTemplatesIdentifier(), 4) != 0) {
    if (std::memcmp(data + kModelIdentifierAt, "OCLK", 4) == 0) {
      return corrupt_file(
          "template file: it is a kernel bank of optical flow (OCLK); it must hold templates "
          "(OCLT)");
    }
    return corrupt_file("template file: not one (identifier OCLT is not at byte 8)");
  }
  const std::uint32_t length = read_u32(data);
  const std::uint64_t whole =
      (kModelPrefixBytes + length + kAlignment - 1) / kAlignment * kAlignment + kModelHashBytes;
  if (whole != file_bytes) {
    return corrupt_file("template file: %s: it has %llu bytes, its header says %llu",
                        file_bytes < whole ? "truncated" : "data after its end", printed,
                        static_cast<unsigned long long>(whole));
  }
  if (file_bytes > kMaxCellTemplateFileBytes) {
    return corrupt_file("template file: it has %llu bytes; at most %d are allowed", printed,
                        kMaxCellTemplateFileBytes);
  }

  // The verifier comes before anything of the table is read; after it every access stays inside.
  flatbuffers::Verifier verifier(data, kModelPrefixBytes + length, /*max_depth=*/4,
                                 /*max_tables=*/256);
  if (!file::VerifySizePrefixedCellTemplatesBuffer(verifier))
    return corrupt_file("template file: damaged (it is not a valid table)");
  const file::CellTemplates* const table = file::GetSizePrefixedCellTemplates(data);
  // The version comes before the checksum, so that a file of the future is called that and not
  // damaged.
  if (table->version() != kCellTemplateVersion) {
    return corrupt_file("template file: format version %d; this library reads version %d",
                        table->version(), kCellTemplateVersion);
  }
  if (XXH64(data, whole - kModelHashBytes, 0) != read_u64(data + whole - kModelHashBytes))
    return corrupt_file("template file: damaged (its checksum does not match)");

  CellTemplateFileInfo info;
  const unsigned count = table->stages() == nullptr ? 0 : table->stages()->size();
  if (count < 1 || count > kMaxCellStages) {
    return corrupt_file("template file: it has %u stages; it must have 1 to %d", count,
                        kMaxCellStages);
  }
  std::array<CellStage, kMaxCellStages> read;
  for (unsigned i = 0; i < count; ++i) {
    const Expected<CellStage> stage = read_stage(*table->stages()->Get(i), static_cast<int>(i) + 1);
    if (!stage) return tl::unexpected(stage.error());
    read[i] = *stage;
  }
  // Only what is whole is given.
  std::copy(read.begin(), read.begin() + count, stages.begin());
  info.stages = static_cast<int>(count);
  if (const flatbuffers::String* const note = table->note())
    copy_note(info.note, sizeof(info.note), note->c_str(), note->size());
  return info;
}

}  // namespace detail

Expected<CellTemplateFileInfo> read_cell_template_file(
    const char* path, std::array<CellStage, kMaxCellStages>& stages) noexcept {
  if (path == nullptr || path[0] == '\0') {
    return tl::unexpected(
        make_error(Status::kInvalidArgument, "the path of the template file is empty"));
  }
  detail::ModelFile file;
  if (Expected<void> opened = file.open("template file", path); !opened)
    return tl::unexpected(opened.error());
  alignas(64) unsigned char bytes[detail::kMaxCellTemplateFileBytes];
  // Of a larger file as much as tells what it is.
  const auto wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(file.bytes(), sizeof(bytes)));
  const ssize_t got = file.read(bytes, wanted, 0);
  if (got != static_cast<ssize_t>(wanted)) {
    return tl::unexpected(
        make_error(Status::kIoError, "template file \"%.120s\": %s", path,
                   got < 0 ? strerror(errno) : "became shorter while it was read"));
  }
  Expected<CellTemplateFileInfo> info =
      detail::parse_cell_template_file(bytes, file.bytes(), stages);
  if (!info) {
    // With the path, where there is room for both.
    const Error inner = info.error();
    constexpr std::size_t kKind = sizeof("template file") - 1;
    return tl::unexpected(
        make_error(inner.status, "template file \"%.80s\"%s", path, inner.text + kKind));
  }
  return info;
}

}  // namespace ocellus
