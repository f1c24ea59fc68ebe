// The kernels of PaperDeviceNetwork and the plain data that they take. A block has a thread for
// each padded minicolumn of the widest level.
#pragma once

#include "kernels/cortical_network/network.h"

namespace ocellus::paper {

using cuda::Kernel;
using cuda::OfLevel;

/// How a hypercolumn of the work queue knows that those below have been computed.
enum class QueueSync : std::uint8_t {
  kFlags,      ///< it reads a flag of each of them
  kCounters,   ///< algorithm 1: it has a counter, which they increment
  kNoSpin,     ///< section 8.3: kCounters without waiting, with wrong results
  kNoAtomics,  ///< the same with increments that are not atomic
  /// kFlags with feedback: section 10. A step that does not learn queues each hypercolumn again,
  /// twice in a round. The equations are those of CorticalNetwork.
  kFeedback,
};

/// Where a thread keeps what it knows of its minicolumn (section 8.4).
enum class ColumnMemory : std::uint8_t { kRegisters, kShared };

/// Bytes of a thread with kShared, an argument of the launch.
inline constexpr std::size_t kSharedBytes = 2 * sizeof(std::int64_t) + 2 * sizeof(std::int32_t);

/// Of the work queue; 0 before the first step.
struct QueueCounts {
  unsigned next;
  unsigned left;
  unsigned run;  ///< evaluations of each hypercolumn in the steps that have ended
};

struct PaperArguments : cuda::NetworkBase {
  /// Striped: [hypercolumn][input][padded minicolumn].
  std::uint16_t* weights;
  std::int32_t* omega;  ///< of each padded minicolumn
  /// Launches of a pipeline write to `winners` and to this array in turn.
  std::int32_t* other_winners;
  QueueCounts* queue;
  /// Of each hypercolumn: evaluations that the work queue has finished; with counters, those of all
  /// hypercolumns below.
  unsigned* done;
  std::int32_t* hypotheses;  ///< of the feedback, of each hypercolumn
  // Of steps that do not learn, with kFeedback.
  std::int32_t feedback_rounds;
  std::int32_t feedback_tolerance;
  /// Of the first weight of each level.
  std::array<std::int64_t, kMaxCorticalLevels> striped_at;

  void layout(const detail::NetworkPlan& plan, detail::LayoutBuilder& device) noexcept;
};
static_assert(sizeof(PaperArguments) <= 4000, "kernel arguments have 4 KB");

inline constexpr int kMostThreads = kMaxMinicolumns;

/// Weights, and the state before the first step. Blocks of kNetworkThreads: hypercolumns of all
/// levels.
extern const Kernel<PaperArguments> kPaperStartKernel;
/// A level. Blocks: its hypercolumns.
extern const Kernel<OfLevel<PaperArguments>> kPaperLevelKernel;
/// Takes the arguments of kPaperLevelKernel and does nothing.
extern const Kernel<OfLevel<PaperArguments>> kPaperEmptyKernel;
/// The end of a step of paper_queue_kernel().
extern const Kernel<PaperArguments> kPaperEndKernel;

struct PipelineArguments {
  PaperArguments network;
  std::uint64_t launch;  ///< number of the launch; level l computes the step `launch` - l
  std::uint64_t fed;     ///< steps that have begun
};
/// All levels. Blocks: any number; they take hypercolumns in turn.
Kernel<PipelineArguments> paper_pipeline_kernel(ColumnMemory memory) noexcept;

/// All levels. Blocks: any number. kShared is there for kCounters only.
Kernel<PaperArguments> paper_queue_kernel(QueueSync sync, ColumnMemory memory) noexcept;

}  // namespace ocellus::paper
