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
    // wx, wy and wt, or all taps of a full kernel.
    std::vector<float> taps(static_cast<std::size_t>(header.entry_floats()));
    const bool full = header.form == KernelForm::kFull;
    float* const wy = full ? nullptr : taps.data() + header.nx;
    float* const wt = full ? nullptr : wy + header.ny;
    std::uint64_t entries = 0;
    while (file->next(taps.data(), wy, wt)) {
      ++entries;
      if (!std::all_of(taps.begin(), taps.end(), [](float tap) { return std::isfinite(tap); }))
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
