#include "kernels/simt.h"
// Must come after simt.h.
#include "bench/papers/cortical_network/paper_network.cu"
#include "kernels/host_work.h"

namespace ocellus::test {

// Of 4 multiprocessors: fewer blocks than hypercolumns.
const int kHostResidentBlocks = 2;

std::function<void()> host_work(const HostLaunch& launch) {
  std::function<void()> work;
  const auto is = [&](auto known) { simt::find_work(known, launch, work); };
  is(paper::kPaperStartKernel);
  is(paper::kPaperLevelKernel);
  is(paper::kPaperEmptyKernel);
  is(paper::kPaperEndKernel);
  for (const auto memory : {paper::ColumnMemory::kRegisters, paper::ColumnMemory::kShared})
    is(paper::paper_pipeline_kernel(memory));
  is(paper::paper_queue_kernel(paper::QueueSync::kCounters, paper::ColumnMemory::kShared));
  for (const auto sync :
       {paper::QueueSync::kFlags, paper::QueueSync::kCounters, paper::QueueSync::kNoSpin,
        paper::QueueSync::kNoAtomics, paper::QueueSync::kFeedback})
    is(paper::paper_queue_kernel(sync, paper::ColumnMemory::kRegisters));
  return work;
}

}  // namespace ocellus::test
