#include "neocognitron/builtin_models.h"

// The assembler reads the file: a compiler takes long for an array of millions of numbers.
asm(R"(
    .pushsection .rodata
    .balign 64
ocellus_digits_small_begin:
    .incbin ")" OCELLUS_DIGITS_SMALL R"("
ocellus_digits_small_end:
    .popsection
)");

extern "C" {
__attribute__((visibility("hidden"))) extern const std::uint8_t ocellus_digits_small_begin[];
__attribute__((visibility("hidden"))) extern const std::uint8_t ocellus_digits_small_end[];
}

namespace ocellus::detail {

std::span<const std::uint8_t> builtin_model(std::string_view name) noexcept {
  if (name == "digits-small") return {ocellus_digits_small_begin, ocellus_digits_small_end};
  return {};
}

}  // namespace ocellus::detail
