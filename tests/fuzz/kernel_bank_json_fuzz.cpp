// Fuzz target: any text as a kernel bank in JSON. It is refused with a short text and
// leaves no file, or makes a bank that the library can read to its end. Sanitizers detect other
// faults.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "apps/optical_flow/kernel_bank_json.h"
#include "fuzz/readers.h"
#include "optical_flow/kernel_bank_file.h"

namespace {

using namespace ocellus;

void convert(const std::string& text) {
  static const fuzz::WorkFolder kFolder;
  const std::string bank = kFolder / "x.ocellus";
  fuzz::read_or_refuse([&] {
    std::istringstream stream(text);
    try {
      app::kernel_bank_from_json(stream, bank);
    } catch (const app::InputError& error) {
      if (std::string(error.what()).size() > 2000) std::abort();
      if (std::filesystem::exists(bank)) std::abort();
      throw;
    }
    const auto file = std::make_unique<detail::KernelBankFile>();
    if (!file->open(bank.c_str())) std::abort();
    if (!file->finish()) std::abort();
  });
  kFolder.expect_only("x.ocellus");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  convert({reinterpret_cast<const char*>(data), size});
  return 0;
}
