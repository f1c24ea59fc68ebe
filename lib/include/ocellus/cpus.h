// UsableCpus: how many CPUs the system gives to this process.
#pragma once

#pragma GCC visibility push(default)  // exported by a shared library

namespace ocellus {

/// How many CPUs the system gives to this process.
struct UsableCpus {
  int affinity = 1;  ///< CPUs in the affinity mask
  /// CPU time that the control groups of the process may take in a unit of time, the least of all
  /// levels: 1.5 is one and a half CPUs. From `cpu.max` (cgroup v2) and `cpu.cfs_quota_us` (v1),
  /// which containers set (`--cpus=1.5`). 0: no limit.
  double quota = 0.0;
  /// Threads that can compute all the time: the whole CPUs of `quota`, at most `affinity`, at least
  /// 1. The system stops the threads of a process that takes more than its quota.
  int count = 1;
};

/// Asks the system now. Reads files in /proc and /sys. Does not allocate. What cannot be read does
/// not limit.
UsableCpus usable_cpus() noexcept;

}  // namespace ocellus

#pragma GCC visibility pop
