// The kernels of PaperNetwork and the plain data that they take. A block has a thread for each
// padded minicolumn of the widest level.
#pragma once

#include "kernels/cortex/network.h"

namespace ocellus::paper {

using cuda::Kernel;
using cuda::LevelArguments;
using cuda::NetworkArguments;

inline constexpr int kMostThreads = kMaxMinicolumns;

/// A level. Blocks: its hypercolumns.
Kernel<LevelArguments> paper_level_kernel() noexcept;
/// The end of a step of paper_level_kernel() and paper_queue_kernel().
Kernel<NetworkArguments> paper_end_kernel() noexcept;

struct PipelineArguments {
  NetworkArguments network;
  std::uint64_t launch;  ///< number of the launch; level l computes the step `launch` - l
  std::uint64_t fed;     ///< steps that have begun
};
/// All levels. Blocks: any number; they take hypercolumns in turn.
Kernel<PipelineArguments> paper_pipeline_kernel() noexcept;

/// All levels. Blocks: any number.
Kernel<NetworkArguments> paper_queue_kernel() noexcept;

}  // namespace ocellus::paper
