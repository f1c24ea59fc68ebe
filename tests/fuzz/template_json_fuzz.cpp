// Fuzz target: any text as templates in JSON. It is refused with a short text, or gives stages that
// are the same after they are printed and read again. Sanitizers detect other faults.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "apps/common/json_text.h"
#include "apps/halftone/template_json.h"
#include "fuzz/readers.h"

namespace {

using namespace ocellus;

void expect_same(const app::CellTemplates& a, const app::CellTemplates& b) {
  if (a.stages.size() != b.stages.size()) std::abort();
  for (std::size_t i = 0; i < a.stages.size(); ++i) {
    const CellStage& x = a.stages[i];
    const CellStage& y = b.stages[i];
    // Fields that a stage does not use are not printed.
    const bool same = x.weights.radius == y.weights.radius && x.weights.a == y.weights.a &&
                      x.weights.b == y.weights.b && x.weights.threshold == y.weights.threshold &&
                      x.levels == y.levels && x.xi == y.xi && x.input == y.input &&
                      x.start == y.start && x.boundary == y.boundary && x.update == y.update &&
                      x.move == y.move && x.max_sweeps == y.max_sweeps;
    if (!same) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first byte tells whether all stages are continuous-time templates.
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  fuzz::read_or_refuse([&] {
    app::CellTemplates file;
    try {
      file = app::parse_cell_templates(text, data[0] % 2 == 1);
    } catch (const app::InputError& error) {
      if (std::string(error.what()).size() > 2000) std::abort();
      throw;
    }
    // What is printed must be accepted.
    try {
      expect_same(file,
                  app::parse_cell_templates(app::json_text(app::cell_templates_json(file)), false));
    } catch (const app::InputError&) {
      std::abort();
    }
  });
  return 0;
}
