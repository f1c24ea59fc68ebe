// The models of the cortical classifier that are part of the library.
#include "ocellus/cortex.h"

// The assembler reads the file: a compiler takes long for an array of millions of numbers.
asm(R"(
    .pushsection .rodata
    .balign 64
kOcellusCortexDigitsBegin:
    .incbin ")" OCELLUS_CORTEX_MODELS R"(/digits.ocellus"
kOcellusCortexDigitsEnd:
    .popsection
)");

extern "C" {
__attribute__((visibility("hidden"))) extern const std::uint8_t kOcellusCortexDigitsBegin[];
__attribute__((visibility("hidden"))) extern const std::uint8_t kOcellusCortexDigitsEnd[];
}

namespace ocellus {

std::span<const std::uint8_t> library_cortex_model(std::string_view name) noexcept {
  if (name == "digits") return {kOcellusCortexDigitsBegin, kOcellusCortexDigitsEnd};
  return {};
}

}  // namespace ocellus
