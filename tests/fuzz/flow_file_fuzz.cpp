// Fuzz target: any bytes as a .flo file and as a PFM file. They are refused with a text, or have
// the same values after they are written and read again. Sanitizers detect other faults.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "apps/io/flow_file.h"
#include "fuzz/memory_file.h"
#include "fuzz/readers.h"

namespace {

using namespace ocellus;

const fuzz::WorkFolder& folder() {
  static const fuzz::WorkFolder kFolder;
  return kFolder;
}

/// Compares bit by bit, so that NaN equals NaN.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file(data, size);
  fuzz::read_or_refuse([&] {
    const app::FlowField field = app::read_flo(file.path());
    app::write_flo(folder() / "x.flo", field);
    const app::FlowField again = app::read_flo(folder() / "x.flo");
    if (again.size != field.size || !same(again.u, field.u) || !same(again.v, field.v))
      std::abort();
  });
  folder().expect_only("x.flo");
  fuzz::read_or_refuse([&] {
    const app::FloatPlane plane = app::read_pfm(file.path());
    app::write_pfm(folder() / "x.pfm", plane.size, plane.values);
    const app::FloatPlane again = app::read_pfm(folder() / "x.pfm");
    if (again.size != plane.size || !same(again.values, plane.values)) std::abort();
  });
  folder().expect_only("x.pfm");
  return 0;
}
