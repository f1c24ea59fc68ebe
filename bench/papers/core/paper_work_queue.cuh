// Work queue of Nere, Franey, Hashmi and Lipasti (2012), section 6.3 (algorithm 1): blocks that are
// resident take tasks from a list in which each task comes behind those that it needs.
//
// A block learns in one of two ways that it may compute its task. In algorithm 1, each task has a
// counter, which those that it needs increment: publish_in_group(). With publish_task(), it reads a
// flag of each of them.
//
// Progress: a block that waits has taken its task later than other blocks took the tasks that it
// waits for, because tasks are taken in the order of the list. The task that comes first among
// those that are not finished waits for nothing, and a block that runs has it. So it ends, and so
// do all others, however few blocks are resident. A block that has not begun holds no task.
#pragma once

#include "kernels/core/block.cuh"

namespace ocellus::paper {

/// On the device. Both arrays keep their values from run to run.
struct WorkQueue {
  unsigned* next;  ///< tasks that have been taken; 0 before a run. The last block makes it 0 again
  unsigned* left;  ///< blocks that have left the run; as `next`
  /// Of each task: runs that have finished it; or of each group of tasks that others wait for
  /// together: its tasks that have been finished in all runs; or of each task, what it needs that
  /// has been finished in all runs.
  unsigned* done;
  int tasks;
};

/// Publishes what the calling thread and, with a barrier before, its block have written.
__device__ inline void publish_task(const WorkQueue& queue, int task, unsigned run) {
  __threadfence();
  *static_cast<volatile unsigned*>(queue.done + task) = run;
}

/// The same for a task of a group, or for one that `group` needs. Calls of several blocks add up.
template <bool kAtomic = true>
__device__ void publish_in_group(const WorkQueue& queue, int group) {
  __threadfence();
  if constexpr (kAtomic) {
    atomicAdd(queue.done + group, 1u);
  } else {
    volatile unsigned* const done = queue.done + group;
    *done = *done + 1u;
  }
}

/// Waits until a task is published; or until a group is, where `run` is the number of its tasks
/// times the runs. One thread calls it; a barrier of the block must follow.
__device__ inline void wait_for_task(const WorkQueue& queue, int task, unsigned run) {
  // Runs are counted modulo 2^32.
  while (static_cast<int>(*static_cast<volatile const unsigned*>(queue.done + task) - run) < 0) {
  }
  __threadfence();
}

/// The body of a kernel. Calls `wait(task)` by one thread, then `compute(task)` by all, which must
/// publish the task.
template <typename Wait, typename Compute>
__device__ void run_tasks(const WorkQueue& queue, const Wait& wait, const Compute& compute) {
  __shared__ int task;
  for (;;) {
    if (threadIdx.x == 0) {
      task = static_cast<int>(atomicAdd(queue.next, 1u));
      if (task < queue.tasks) wait(task);
    }
    __syncthreads();
    const int own = task;
    if (own >= queue.tasks) break;
    compute(own);
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(queue.left, 1u) != gridDim.x - 1) return;
  *queue.next = 0;
  *queue.left = 0;
}

}  // namespace ocellus::paper
