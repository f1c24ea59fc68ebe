#include "neocognitron/builtin_models.h"

// The assembler reads the file: a compiler takes long for an array of millions of numbers.
asm(R"(
    .pushsection .rodata
    .balign 64
kOcellusDigitsSmallBegin:
    .incbin ")" OCELLUS_DIGITS_SMALL R"("
kOcellusDigitsSmallEnd:
    .popsection
)");

extern "C" {
__attribute__((visibility("hidden"))) extern const std::uint8_t kOcellusDigitsSmallBegin[];
__attribute__((visibility("hidden"))) extern const std::uint8_t kOcellusDigitsSmallEnd[];
}

namespace ocellus::detail {

std::span<const std::uint8_t> builtin_model(std::string_view name) noexcept {
  if (name == "digits-small") return {kOcellusDigitsSmallBegin, kOcellusDigitsSmallEnd};
  return {};
}

}  // namespace ocellus::detail
