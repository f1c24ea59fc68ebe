// Fuzz target: any text as a backend. The text is one of the four spellings, or gives an error that
// lists them.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ocellus/engine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ocellus;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const char* read = text.c_str();  // up to the first NUL
  const Expected<BackendSpec> spec = BackendSpec::parse(read);
  if (!spec) {
    if (spec.error().status != Status::kInvalidArgument) std::abort();
    if (std::strstr(spec.error().text, "auto, cpu, cuda or cuda:N") == nullptr) std::abort();
    return 0;
  }
  // An accepted text must equal the printed backend, except for leading zeros of the number.
  if (spec->device < 0 || spec->device >= 1024) std::abort();
  if (std::strcmp(read, "auto") == 0) {
    if (spec->choice != BackendChoice::kAuto) std::abort();
  } else if (std::strcmp(read, "cpu") == 0) {
    if (spec->choice != BackendChoice::kCpu) std::abort();
  } else {
    if (spec->choice != BackendChoice::kCuda) std::abort();
    const bool bare = std::strcmp(read, "cuda") == 0;
    if (!bare && (std::strncmp(read, "cuda:", 5) != 0 || std::atoi(read + 5) != spec->device))
      std::abort();
  }
  return 0;
}
