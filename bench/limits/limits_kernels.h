// Loops that reach the machine's limits, with its widest instructions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ocellus::app {

/// Reads `bytes` (a multiple of 4096, aligned to 64) once. Returns their sum, so that the compiler
/// cannot remove the reads.
std::uint64_t read_block(const void* block, std::size_t bytes);

/// Runs `rounds` rounds of independent fused multiply-adds in registers. Stores the number of
/// operations in `flops`.
std::uint64_t multiply_add(std::int64_t rounds, double& flops);

}  // namespace ocellus::app
