#include "kernels/host_work.h"
#include "kernels/simt.h"
// Must come after simt.h.
#include "bench/papers/neocognitron/paper_schedules.cu"

namespace ocellus::test {

const int kHostResidentBlocks = 0;

std::function<void()> host_work(const HostLaunch& launch) {
  std::function<void()> work;
  const auto is = [&](auto known) { simt::find_work(known, launch, work); };
  is(paper::kContrastLayerKernel);
  is(paper::kComplexLayerKernel);
  is(paper::kScoreKernel);
  is(paper::kStrengthKernel);
  is(paper::kGatherCellsKernel);
  // With one position in a block. The trials have more, and their results are not used.
  is(paper::kInputTableKernel);
  return work;
}

}  // namespace ocellus::test
