// The CPUs that a process may use: limits of control groups in a tree of files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/process.h"
#include "ocellus/cpus.h"
#include "ocellus/engine.h"
#include "realtime/interpose.h"
#include "support/files.h"

namespace ocellus {
namespace {

using detail::cpu_quota;
using detail::whole_cpus;

/// The files of /proc and /sys that tell the limits.
class Tree : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file(folder_ / path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void groups(const std::string& text) { write("proc/self/cgroup", text); }
  void mounts(const std::string& text) { write("proc/self/mountinfo", text); }
  double quota() { return cpu_quota(folder_.path().c_str()); }

  test::TemporaryFolder folder_;
};

constexpr const char* kUnified =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

// Fails when the limit of a container with a namespace of its own is not read.
TEST_F(Tree, UnifiedContainer) {
  groups("0::/\n");
  mounts(kUnified);
  EXPECT_EQ(quota(), 0.0);
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0.0);
  write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota(), 2.0);
  write("sys/fs/cgroup/cpu.max", "75000 50000");
  EXPECT_EQ(quota(), 1.5);
}

// Fails when a limit of a group above or below is missed, or when the larger one counts.
TEST_F(Tree, UnifiedNested) {
  groups("0::/user.slice/build.scope/job\n");
  mounts(kUnified);
  const std::string top = "sys/fs/cgroup/user.slice";
  write(top + "/build.scope/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 3.0);
  write(top + "/cpu.max", "400000 100000\n");
  write(top + "/build.scope/job/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 3.0);
  write(top + "/build.scope/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota(), 0.5);
  write(top + "/cpu.max", "25000 100000\n");
  EXPECT_EQ(quota(), 0.25);
  // That of a neighbor does not count.
  write(top + "/other.scope/cpu.max", "1000 100000\n");
  EXPECT_EQ(quota(), 0.25);
}

// Fails when a controller of version 1 is not found among others, or -1 counts as a limit.
TEST_F(Tree, Version1) {
  groups("9:name=systemd:/\n5:cpu,cpuacct:/jobs/7\n4:cpuset:/\n");
  mounts(
      "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 master:2 - cgroup cgroup "
      "rw,cpu,cpuacct\n");
  const std::string cpu = "sys/fs/cgroup/cpu,cpuacct/jobs";
  write(cpu + "/7/cpu.cfs_quota_us", "-1\n");
  write(cpu + "/7/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "1000\n");
  write("sys/fs/cgroup/cpuset/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0.0);
  write(cpu + "/7/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(quota(), 2.5);
  write(cpu + "/cpu.cfs_quota_us", "100000\n");
  write(cpu + "/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 1.0);
}

// Fails when the path of the host's group is looked for in a container that shows its own group as
// the whole hierarchy.
TEST_F(Tree, Version1Container) {
  groups("5:cpu,cpuacct:/docker/1f2e\n");
  mounts("33 31 0:30 /docker/1f2e /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(quota(), 3.0);
  groups("5:cpu,cpuacct:/docker/1f2e/inner\n");
  write("sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "50000\n");
  write("sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(quota(), 1.0);
  // "/docker/1f2e" is no parent of this one.
  groups("5:cpu,cpuacct:/docker/1f2e0\n");
  EXPECT_EQ(quota(), 3.0);
}

// Fails when one of two versions at once is ignored.
TEST_F(Tree, BothVersions) {
  groups("1:cpu:/a\n0::/b\n");
  mounts(
      "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "300000");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
  EXPECT_EQ(quota(), 3.0);
  write("sys/fs/cgroup/unified/b/cpu.max", "200000 100000");
  EXPECT_EQ(quota(), 2.0);
}

// Fails when the limit of one group hides the smaller one above it, no limit is a huge one, or what
// is unknown counts as no limit.
TEST_F(Tree, Memory) {
  const auto limit = [&] { return detail::memory_limit(folder_.path().c_str()); };
  EXPECT_FALSE(limit()) << "there are no files";
  groups("4:cpu,memory:/docker/1f\n0::/a/b\n");
  mounts(std::string(kUnified) +
         "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  EXPECT_FALSE(limit());
  write("sys/fs/cgroup/a/b/memory.max", "nonsense");
  EXPECT_FALSE(limit());
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(limit(), 0u);
  write("sys/fs/cgroup/a/b/memory.max", "max");
  EXPECT_EQ(limit(), 0u);
  write("sys/fs/cgroup/a/memory.max", "1000000");
  write("sys/fs/cgroup/a/b/memory.max", "3000000");
  EXPECT_EQ(limit(), 1'000'000u);
  write("sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "500000\n");
  EXPECT_EQ(limit(), 500'000u);
}

// Fails when an unusual line ends the search, is taken for a limit, or is read out of bounds.
TEST_F(Tree, UnusualFiles) {
  EXPECT_EQ(quota(), 0.0) << "there are no files";
  const std::string longest(10'000, 'x');
  groups("nonsense\n" + longest + "\n::\n0::/a b\n");
  mounts("1 2\n" + longest + " - cgroup2 x x\n\n" +
         "9 1 0:9 /../.. /outside rw - cgroup2 cgroup2 rw\n"
         "30 22 0:26 / /sys/fs\\040x/cgroup rw - cgroup2 cgroup2 rw");
  write("outside/cpu.max", "1000 100000\n");
  write("sys/fs x/cgroup/a b/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota(), 2.0);
  for (const char* bad :
       {"", "\n", "200000\n", "x y\n", "-5 100000\n", "100 0\n", "99999999999999999999 100000\n"}) {
    write("sys/fs x/cgroup/a b/cpu.max", bad);
    EXPECT_EQ(quota(), 0.0) << bad;
  }
  groups("0::/" + std::string(5000, 'a') + "\n");
  EXPECT_EQ(quota(), 0.0);
}

// Fails when more threads would compute than the quota lets run, or none.
TEST(Cpus, WholeOnes) {
  EXPECT_EQ(whole_cpus(64, 0.0), 64);
  EXPECT_EQ(whole_cpus(64, 2.0), 2);
  EXPECT_EQ(whole_cpus(64, 1.99999), 2) << "quotas are rounded to microseconds";
  EXPECT_EQ(whole_cpus(64, 2.9), 2);
  EXPECT_EQ(whole_cpus(64, 0.1), 1);
  EXPECT_EQ(whole_cpus(4, 8.0), 4);
  EXPECT_EQ(whole_cpus(4, 1e300), 4);
  EXPECT_EQ(whole_cpus(0, 0.0), 1);
}

// Fails when the engine counts other CPUs than the function that reports them, or when counting
// allocates.
TEST(Cpus, AreTheDefaultOfAnEngine) {
  UsableCpus cpus = usable_cpus();
  EXPECT_GE(cpus.affinity, 1);
  EXPECT_EQ(cpus.count, whole_cpus(cpus.affinity, cpus.quota));
  EngineConfig config;
  config.backend.choice = BackendChoice::kCpu;
  EXPECT_EQ(Engine::probe(config)->workers, std::min(cpus.count, kMaxWorkers));
  if (!test::interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
  test::arm_interposer();
  cpus = usable_cpus();
  EXPECT_EQ(test::disarm_interposer().allocations, 0u);
}

}  // namespace
}  // namespace ocellus
