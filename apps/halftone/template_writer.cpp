#include "apps/halftone/template_writer.h"

#include <algorithm>
#include <array>

#include "apps/io/output_file.h"
#include "cell_templates_generated.h"
#include "core/model_file.h"
#include "halftone/template_file.h"
#include "ocellus/cell_templates.h"

namespace ocellus::app {
namespace {

constexpr std::size_t kMaxTemplateNote = 255;

std::vector<unsigned char> bytes_of(const CellTemplateFile& file) {
  flatbuffers::FlatBufferBuilder builder(16384);
  std::vector<flatbuffers::Offset<file::CellStage>> stages;
  for (const CellStage& stage : file.stages) {
    // The library reports a radius that is out of range.
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
    stages.push_back(table.Finish());
  }
  const auto note = builder.CreateString(file.note.substr(0, kMaxTemplateNote));
  const auto all = builder.CreateVector(stages);
  builder.Finish(file::CreateCellTemplates(builder, all, note));
  const std::uint32_t length = builder.GetSize();
  std::vector<unsigned char> bytes(detail::model_arrays_at(length));
  const std::uint64_t no_arrays = XXH64(bytes.data(), 0, 0);
  detail::write_model_header(detail::kCellTemplateKind, builder.GetBufferPointer(), length, 0,
                             no_arrays, bytes.data());
  return bytes;
}

}  // namespace

void write_template_file(const std::string& path, const CellTemplateFile& file) {
  if (is_special_file(path)) {
    throw InputError(path +
                     ": is a device or a pipe; a template file must be a regular file, because it "
                     "is read back before it replaces the target");
  }
  for (const CellStage& stage : file.stages) {
    if (stage.start == CellStart::kPlane || stage.threshold_plane != nullptr)
      throw InputError(path + ": a template file cannot hold planes");
  }
  const std::vector<unsigned char> bytes = bytes_of(file);
  OutputFile output(path);
  output.write(bytes.data(), bytes.size());
  if (std::fflush(output.stream()) != 0) output.fail();
  std::array<CellStage, kMaxCellStages> read;
  if (const auto checked = read_cell_template_file(output.part_path(), read); !checked) {
    // The error text begins with the name of the temporary file; the reason follows.
    const std::string text = checked.error().text;
    const std::size_t what = text.find("\": ");
    throw InputError(path + ": " + (what == std::string::npos ? text : text.substr(what + 3)));
  }
  output.commit();
}

}  // namespace ocellus::app
