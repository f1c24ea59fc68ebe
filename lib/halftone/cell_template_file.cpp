#include "halftone/cell_template_file.h"

// Inlined, so that the library has no run-time dependency for one function.
#define XXH_INLINE_ALL
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "cell_template_generated.h"
#include "halftone/cell_stage_check.h"

namespace ocellus {
namespace detail {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read as they are");

constexpr std::uint64_t kHashBytes = sizeof(std::uint64_t);
constexpr std::uint64_t kPrefixBytes = sizeof(std::uint32_t);
constexpr std::uint64_t kIdentifierAt = 8;
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

__attribute__((format(printf, 1, 2))) tl::unexpected<Error> corrupt(const char* format,
                                                                    ...) noexcept {
  Error error;
  error.status = Status::kCorruptFile;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error.text, sizeof(error.text), format, arguments);
  va_end(arguments);
  return tl::unexpected(error);
}

/// The stage as it stands there; its ranges are checked by `check_cell_stage`.
Expected<CellStage> read_stage(const file::CellStage& table, int number) noexcept {
  CellStage stage;
  stage.weights.radius = table.radius();
  if (table.radius() < 1 || table.radius() > kMaxTemplateRadius) {
    return corrupt("template file: stage %d: radius is %d; it must be 1 to %d", number,
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
      return corrupt("template file: stage %d: %s has %u weights; radius %d needs %u", number,
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
  stage.colour_spacing = table.colour_spacing();
  stage.max_sweeps = static_cast<int>(std::min<std::uint32_t>(table.max_sweeps(), 1u << 30));
  if (stage.start == CellStart::kPlane) {
    return corrupt("template file: stage %d: start is plane, which a file cannot hold", number);
  }
  if (const Expected<void> checked = check_cell_stage(stage); !checked)
    return corrupt("template file: stage %d: %s", number, checked.error().text);
  return stage;
}

}  // namespace

Expected<CellTemplateFileInfo> parse_cell_template_file(
    const void* bytes, std::uint64_t file_bytes,
    std::array<CellStage, kMaxCellStages>& stages) noexcept {
  const auto* const data = static_cast<const unsigned char*>(bytes);
  const auto printed = static_cast<unsigned long long>(file_bytes);
  if (file_bytes < kIdentifierAt + 4)
    return corrupt("template file: it has %llu bytes, which is too short", printed);
  if (std::memcmp(data + kIdentifierAt, file::CellTemplatesIdentifier(), 4) != 0) {
    if (std::memcmp(data + kIdentifierAt, "OCLK", 4) == 0) {
      return corrupt(
          "template file: it is a kernel bank of optical flow (OCLK); it must hold templates "
          "(OCLT)");
    }
    return corrupt("template file: not one (identifier OCLT is not at byte 8)");
  }
  std::uint32_t length = 0;
  std::memcpy(&length, data, sizeof(length));
  const std::uint64_t whole =
      (kPrefixBytes + length + kAlignment - 1) / kAlignment * kAlignment + kHashBytes;
  if (whole != file_bytes) {
    return corrupt("template file: %s: it has %llu bytes, its header says %llu",
                   file_bytes < whole ? "truncated" : "data after its end", printed,
                   static_cast<unsigned long long>(whole));
  }
  if (file_bytes > kMaxCellTemplateFileBytes) {
    return corrupt("template file: it has %llu bytes; at most %d are allowed", printed,
                   kMaxCellTemplateFileBytes);
  }

  // The verifier comes before anything of the table is read; after it every access stays inside.
  flatbuffers::Verifier verifier(data, kPrefixBytes + length, /*max_depth=*/4,
                                 /*max_tables=*/256);
  if (!file::VerifySizePrefixedCellTemplatesBuffer(verifier))
    return corrupt("template file: damaged (it is not a valid table)");
  const file::CellTemplates* const table = file::GetSizePrefixedCellTemplates(data);
  // The version comes before the checksum, so that a file of the future is called that and not
  // damaged.
  if (table->version() != kCellTemplateVersion) {
    return corrupt("template file: format version %d; this library reads version %d",
                   table->version(), kCellTemplateVersion);
  }
  std::uint64_t hash = 0;
  std::memcpy(&hash, data + whole - kHashBytes, sizeof(hash));
  if (XXH64(data, whole - kHashBytes, 0) != hash)
    return corrupt("template file: damaged (its checksum does not match)");

  CellTemplateFileInfo info;
  const unsigned count = table->stages() == nullptr ? 0 : table->stages()->size();
  if (count < 1 || count > kMaxCellStages) {
    return corrupt("template file: it has %u stages; it must have 1 to %d", count, kMaxCellStages);
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
  if (const flatbuffers::String* const note = table->note()) {
    const std::size_t characters = std::min<std::size_t>(note->size(), sizeof(info.note) - 1);
    for (std::size_t i = 0; i < characters; ++i) {
      const char c = note->c_str()[i];
      info.note[i] = c >= ' ' && c <= '~' ? c : '?';  // it will be printed on somebody's terminal
    }
  }
  return info;
}

}  // namespace detail

Expected<CellTemplateFileInfo> read_cell_template_file(
    const char* path, std::array<CellStage, kMaxCellStages>& stages) noexcept {
  if (path == nullptr || path[0] == '\0') {
    return tl::unexpected(
        make_error(Status::kInvalidArgument, "the path of the template file is empty"));
  }
  const auto failed = [path](const char* what) noexcept {
    return tl::unexpected(make_error(Status::kIoError, "template file \"%.120s\": %s", path, what));
  };
  // Non-blocking, because opening a FIFO would otherwise wait for a writer.
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return failed(strerror(errno));
  const struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) return failed(strerror(errno));
  if (!S_ISREG(status.st_mode)) return failed("is not a regular file");

  alignas(64) unsigned char bytes[detail::kMaxCellTemplateFileBytes];
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  // Of a larger file as much as tells what it is.
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(file_bytes, sizeof(bytes)));
  std::size_t have = 0;
  while (have < wanted) {
    const ssize_t got = ::read(descriptor, bytes + have, wanted - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(strerror(errno));
    if (got == 0) return failed("became shorter while it was read");
    have += static_cast<std::size_t>(got);
  }
  Expected<CellTemplateFileInfo> info = detail::parse_cell_template_file(bytes, file_bytes, stages);
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
