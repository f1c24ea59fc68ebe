// The models that are part of the library.
#include "ocellus/neocognitron_model.h"

// The assembler reads the files: a compiler takes long for an array of millions of numbers.
asm(R"(
    .pushsection .rodata
    .balign 64
kOcellusDigitsSmallBegin:
    .incbin ")" OCELLUS_MODELS R"(/digits-small.ocellus"
kOcellusDigitsSmallEnd:
    .balign 64
kOcellusDigitsBegin:
    .incbin ")" OCELLUS_MODELS R"(/digits.ocellus"
kOcellusDigitsEnd:
    .popsection
)");

extern "C" {
__attribute__((visibility("hidden"))) extern const std::uint8_t kOcellusDigitsSmallBegin[];
__attribute__((visibility("hidden"))) extern const std::uint8_t kOcellusDigitsSmallEnd[];
__attribute__((visibility("hidden"))) extern const std::uint8_t kOcellusDigitsBegin[];
__attribute__((visibility("hidden"))) extern const std::uint8_t kOcellusDigitsEnd[];
}

namespace ocellus {

std::span<const std::uint8_t> library_model(std::string_view name) noexcept {
  if (name == "digits-small") return {kOcellusDigitsSmallBegin, kOcellusDigitsSmallEnd};
  if (name == "digits") return {kOcellusDigitsBegin, kOcellusDigitsEnd};
  return {};
}

}  // namespace ocellus
