#include "halftone/template_file.h"

#include <algorithm>
#include <cstring>

#include "cell_templates_generated.h"
#include "core/failure.h"
#include "core/model_writer.h"
#include "halftone/stage_check.h"

namespace ocellus {
namespace detail {
namespace {

// The values of enumerators in a file are those of the configuration.
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

Expected<CellStage> read_stage(const file::CellStage& table, int number) noexcept {
  if (table.radius() < 1 || table.radius() > kMaxTemplateRadius) {
    return corrupt_file("template file: stage %d: radius is %d; it must be 1 to %d", number,
                        table.radius(), kMaxTemplateRadius);
  }
  const auto side = static_cast<unsigned>(2 * table.radius() + 1);
  const auto check = [&](const char* name, const flatbuffers::Vector<float>* weights) {
    const unsigned count = weights == nullptr ? 0 : weights->size();
    if (count == side * side) return Expected<void>();
    return Expected<void>(
        corrupt_file("template file: stage %d: %s has %u weights; radius %d needs %u", number, name,
                     count, table.radius(), side * side));
  };
  OCELLUS_TRY(check("a", table.a()));
  OCELLUS_TRY(check("b", table.b()));
  const CellStage stage = stage_of(table);
  if (stage.start == CellStart::kPlane) {
    return corrupt_file("template file: stage %d: start is plane, which a file cannot hold",
                        number);
  }
  if (const Expected<void> checked = check_cell_stage(stage); !checked)
    return corrupt_file("template file: stage %d: %s", number, checked.error().text);
  return stage;
}

flatbuffers::Offset<file::CellStage> write_stage(flatbuffers::FlatBufferBuilder& builder,
                                                 const CellStage& stage) noexcept {
  // The reader reports a radius that is out of range.
  const int side = 2 * std::clamp(stage.weights.radius, 0, kMaxTemplateRadius) + 1;
  const auto weights = static_cast<std::size_t>(side * side);
  const auto a = builder.CreateVector(stage.weights.a.data(), weights);
  const auto b = builder.CreateVector(stage.weights.b.data(), weights);
  file::CellStageBuilder table(builder);
  table.add_radius(static_cast<std::uint8_t>(stage.weights.radius));
  table.add_a(a);
  table.add_b(b);
  table.add_threshold(stage.weights.threshold);
  table.add_levels(static_cast<std::uint16_t>(stage.levels));
  table.add_xi(stage.xi);
  table.add_input(static_cast<file::CellInput>(stage.input));
  table.add_start(static_cast<file::CellStart>(stage.start));
  table.add_start_value(stage.start_value);
  table.add_seed(stage.seed);
  table.add_boundary(static_cast<file::CellBoundary>(stage.boundary));
  table.add_boundary_value(stage.boundary_value);
  table.add_update(static_cast<file::CellUpdate>(stage.update));
  table.add_move(static_cast<file::CellMove>(stage.move));
  table.add_color_spacing(static_cast<std::uint8_t>(stage.color_spacing));
  table.add_max_sweeps(static_cast<std::uint32_t>(stage.max_sweeps));
  table.add_group_stages(static_cast<std::uint8_t>(stage.group_stages));
  table.add_max_passes(static_cast<std::uint32_t>(stage.max_passes));
  return table.Finish();
}

}  // namespace

CellStage stage_of(const file::CellStage& table) noexcept {
  CellStage stage;
  stage.weights.radius = table.radius();
  if (table.a() != nullptr)
    std::copy(table.a()->begin(), table.a()->end(), stage.weights.a.begin());
  if (table.b() != nullptr)
    std::copy(table.b()->begin(), table.b()->end(), stage.weights.b.begin());
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
  stage.group_stages = table.group_stages();
  stage.max_passes = static_cast<int>(std::min<std::uint32_t>(table.max_passes(), 1u << 30));
  return stage;
}

Expected<CellTemplateFileInfo> parse_cell_template_file(
    const void* bytes, const ModelHeader& model,
    std::array<CellStage, kMaxCellStages>& stages) noexcept {
  if (model.array_bytes != 0) {
    return corrupt_file("template file: it has %llu bytes of arrays; it must have none",
                        static_cast<unsigned long long>(model.array_bytes));
  }
  OCELLUS_TRY_ASSIGN(verified, model_table<file::CellTemplates>(kCellTemplateKind, bytes, model));
  const file::CellTemplates* const table = *verified;

  CellTemplateFileInfo info;
  const unsigned count = table->stages() == nullptr ? 0 : table->stages()->size();
  if (count < 1 || count > kMaxCellStages) {
    return corrupt_file("template file: it has %u stages; it must have 1 to %d", count,
                        kMaxCellStages);
  }
  std::array<CellStage, kMaxCellStages> read;
  for (unsigned i = 0; i < count; ++i) {
    OCELLUS_TRY_ASSIGN(stage, read_stage(*table->stages()->Get(i), static_cast<int>(i) + 1));
    read[i] = *stage;
  }
  if (const Expected<void> checked = check_cell_groups(read.data(), static_cast<int>(count));
      !checked)
    return corrupt_file("template file: %s", checked.error().text);
  // Write the stages only after all of them were read.
  std::copy(read.begin(), read.begin() + count, stages.begin());
  info.stages = static_cast<int>(count);
  if (const flatbuffers::String* const note = table->note())
    copy_note(info.note, sizeof(info.note), note->c_str(), note->size());
  return info;
}

Expected<void> encode_cell_templates(std::span<const CellStage> stages, std::string_view note,
                                     CellTemplateFileBytes& file) noexcept {
  if (stages.empty() || stages.size() > kMaxCellStages) {
    return invalid_argument("template file: it has %zu stages; it must have 1 to %d", stages.size(),
                            kMaxCellStages);
  }
  ModelTable table;
  std::array<flatbuffers::Offset<file::CellStage>, kMaxCellStages> offsets;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].start == CellStart::kPlane || stages[i].threshold_plane != nullptr)
      return invalid_argument("template file: stage %zu has a plane, which a file cannot hold",
                              i + 1);
    // The file has narrower numbers.
    if (const Expected<void> checked = check_cell_stage(stages[i]); !checked)
      return invalid_argument("template file: stage %zu: %s", i + 1, checked.error().text);
    offsets[i] = write_stage(table.builder, stages[i]);
  }
  OCELLUS_TRY(check_cell_groups(stages.data(), static_cast<int>(stages.size())));
  note = note.substr(0, sizeof(CellTemplateFileInfo::note) - 1);
  const auto note_at = table.builder.CreateString(note.data(), note.size());
  const auto all = table.builder.CreateVector(offsets.data(), stages.size());
  table.builder.Finish(file::CreateCellTemplates(table.builder, all, note_at));
  const std::uint32_t length = table.builder.GetSize();
  file.count = model_arrays_at(length);
  write_model_header(kCellTemplateKind, table.builder.GetBufferPointer(), length, 0,
                     XXH64(file.bytes, 0, 0), file.bytes);
  // So no reader meets a file that it refuses.
  std::array<CellStage, kMaxCellStages> read;
  const Expected<ModelHeader> header =
      parse_model_header(kCellTemplateKind, file.bytes, file.count, file.count);
  const Expected<CellTemplateFileInfo> parsed =
      header ? parse_cell_template_file(file.bytes, *header, read) : tl::unexpected(header.error());
  if (!parsed) return invalid_argument("%s", parsed.error().text);
  return {};
}

}  // namespace detail

Expected<CellTemplateFileInfo> read_cell_template_file(
    const char* path, std::array<CellStage, kMaxCellStages>& stages) noexcept {
  if (path == nullptr || path[0] == '\0') {
    return tl::unexpected(
        make_error(Status::kInvalidArgument, "the path of the template file is empty"));
  }
  detail::ModelFile file;
  OCELLUS_TRY(file.open(detail::kCellTemplateKind, path));
  alignas(64) unsigned char bytes[detail::kMaxCellTemplateFileBytes];
  const Expected<detail::ModelHeader> model = file.header(bytes, sizeof(bytes));
  const Expected<CellTemplateFileInfo> info =
      model ? detail::parse_cell_template_file(bytes, *model, stages)
            : tl::unexpected(model.error());
  if (!info) return detail::with_path(detail::kCellTemplateKind, path, info.error());
  return info;
}

}  // namespace ocellus
