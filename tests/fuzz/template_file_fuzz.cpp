// Fuzz target: any bytes as a template file, and as a chain. The reader must not read out of
// bounds, loop for long, or return a stage that the operator refuses. Sanitizers detect other
// faults. With clang this is a libFuzzer program. Otherwise replay.cpp runs it over the seeds and
// over a fixed number of damaged copies.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "fuzz/model_bytes.h"
#include "halftone/stage_check.h"
#include "halftone/template_file.h"
#include "ocellus/cell_templates.h"

namespace {

using namespace ocellus;

void check(const std::array<CellStage, kMaxCellStages>& stages, int count) {
  if (count < 1 || count > kMaxCellStages) std::abort();
  for (int i = 0; i < count; ++i) {
    if (!detail::check_cell_stage(stages[static_cast<std::size_t>(i)])) std::abort();
  }
}

void read_as_file(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::uint64_t> aligned((bytes.size() + 7) / 8);
  if (!bytes.empty()) std::memcpy(aligned.data(), bytes.data(), bytes.size());
  std::array<CellStage, kMaxCellStages> stages;
  const auto model = detail::parse_model_header(detail::kCellTemplateKind, aligned.data(),
                                                bytes.size(), bytes.size());
  const auto info = model ? detail::parse_cell_template_file(aligned.data(), *model, stages)
                          : tl::unexpected(model.error());
  if (info) {
    check(stages, info->stages);
  } else if (info.error().text[0] == '\0') {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 2 * detail::kMaxCellTemplateFileBytes) return 0;
  std::vector<std::uint8_t> bytes(data, data + size);
  read_as_file(bytes);
  // The input again with a corrected header, because nearly every other input is refused at its
  // header.
  if (fuzz::mend_header(bytes, detail::kCellTemplateKind, false)) read_as_file(bytes);
  // A chain can open files. Inputs that name a file are left out.
  const std::string_view chain(reinterpret_cast<const char*>(data), size);
  if (chain.find(".ocellus") == std::string_view::npos) {
    std::array<CellStage, kMaxCellStages> stages;
    const auto count = parse_cell_chain(chain, stages);
    if (count) {
      check(stages, *count);
    } else if (count.error().text[0] == '\0') {
      std::abort();
    }
  }
  return 0;
}
