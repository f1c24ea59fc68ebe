// Fuzz target: any bytes as a kernel bank file. The reader must not read out of bounds, loop for
// long, or return an invalid tap. Sanitizers detect other faults. With clang this is a libFuzzer
// program. Otherwise replay.cpp runs it over the seeds and over a fixed number of damaged copies.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "fuzz/memory_file.h"
#include "fuzz/model_bytes.h"
#include "optical_flow/kernel_bank_file.h"

namespace {

using namespace ocellus;

void read_as_bank(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile bank(data, size);
  const auto file = std::make_unique<detail::KernelBankFile>();
  if (const auto opened = file->open(bank.path().c_str())) {
    const detail::KernelBankHeader& header = file->header();
    float wx[kMaxKernelTaps], wy[kMaxKernelTaps], wt[kMaxKernelTaps];
    std::uint64_t entries = 0;
    while (file->next(wx, wy, wt)) {
      ++entries;
      const auto usable = [](float tap) { return std::isfinite(tap); };
      if (!std::all_of(wx, wx + header.nx, usable) || !std::all_of(wy, wy + header.ny, usable) ||
          !std::all_of(wt, wt + header.nt, usable))
        std::abort();
    }
    // Only as many entries as the file's bytes can hold.
    if (entries * static_cast<std::uint64_t>(header.entry_floats()) * sizeof(float) > size)
      std::abort();
  } else if (opened.error().text[0] == '\0') {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_as_bank(data, size);
  // The input again with a corrected header, because nearly every other input is refused at its
  // header.
  std::vector<std::uint8_t> mended(data, data + size);
  if (fuzz::mend_header(mended, detail::kKernelBankKind, true))
    read_as_bank(mended.data(), mended.size());
  return 0;
}
