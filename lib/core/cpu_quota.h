// The limit that control groups set to the CPU time of this process.
#pragma once

namespace ocellus::detail {

/// UsableCpus::quota. `root` precedes the paths of all files that are read, for tests; "": the
/// system's own.
double cpu_quota(const char* root) noexcept;

/// UsableCpus::count.
int whole_cpus(int affinity, double quota) noexcept;

}  // namespace ocellus::detail
