// Loops that reach the machine's limits, with the widest instructions it has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ocellus::app {

/// Reads `bytes` (a multiple of 4096, aligned to 64) once; returns a sum of them, so that the
/// reading cannot be left out.
std::uint64_t read_block(const void* block, std::size_t bytes);

/// `rounds` rounds of independent fused multiply-adds in registers; `flops` says how many
/// operations they are.
std::uint64_t multiply_add(std::int64_t rounds, double& flops);

}  // namespace ocellus::app
