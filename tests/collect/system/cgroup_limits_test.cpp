#include "probes/collect/system/cgroup_limits.hpp"

#include <doctest/doctest.h>

#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;

constexpr char k_mounts_v2[] =
    "25 1 0:23 / /sys rw - sysfs sysfs rw\n30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr char k_mounts_v1[] =
    "31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "32 25 0:28 / /sys/fs/cgroup/memory rw shared:11 - cgroup cgroup rw,memory\n";

TEST_CASE("version 2: the smallest limit on the path holds") {
  FakeRoot root;
  root.put("proc/self/mountinfo", k_mounts_v2).put("proc/self/cgroup", "0::/job/step\n");
  root.put("sys/fs/cgroup/job/step/cpu.max", "max 100000\n").put("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  root.put("sys/fs/cgroup/job/step/memory.max", "8589934592\n").put("sys/fs/cgroup/job/memory.max", "max\n");
  const CgroupLimits limits = read_cgroup_limits(root.path());
  CHECK(limits.cpus.value() == doctest::Approx(1.5));
  CHECK(limits.memory_bytes.value() == 8589934592ULL);
}

TEST_CASE("version 2: memory.high bounds the page cache as memory.max does") {
  FakeRoot root;
  root.put("proc/self/mountinfo", k_mounts_v2).put("proc/self/cgroup", "0::/job\n");
  root.put("sys/fs/cgroup/job/memory.max", "4000000000\n").put("sys/fs/cgroup/job/memory.high", "3000000000\n");
  CHECK(read_cgroup_limits(root.path()).memory_bytes.value() == 3000000000ULL);
}

TEST_CASE("version 2: a sub-core quota is a fraction") {
  FakeRoot root;
  root.put("proc/self/mountinfo", k_mounts_v2).put("proc/self/cgroup", "0::/\n");
  root.put("sys/fs/cgroup/cpu.max", "25000 50000");
  CHECK(read_cgroup_limits(root.path()).cpus.value() == doctest::Approx(0.5));
}

TEST_CASE("version 1: quota and memory from their own hierarchies, parents included") {
  FakeRoot root;
  root.put("proc/self/mountinfo", k_mounts_v1);
  root.put("proc/self/cgroup", "5:memory:/slurm/job7\n4:cpu,cpuacct:/slurm/job7/step0\n0::/elsewhere\n");
  root.put("sys/fs/cgroup/cpu,cpuacct/slurm/job7/step0/cpu.cfs_quota_us", "-1\n");
  root.put("sys/fs/cgroup/cpu,cpuacct/slurm/job7/step0/cpu.cfs_period_us", "100000\n");
  root.put("sys/fs/cgroup/cpu,cpuacct/slurm/job7/cpu.cfs_quota_us", "250000\n");
  root.put("sys/fs/cgroup/cpu,cpuacct/slurm/job7/cpu.cfs_period_us", "100000\n");
  root.put("sys/fs/cgroup/memory/slurm/job7/memory.limit_in_bytes", "9223372036854771712\n");
  root.put("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "1073741824\n");
  const CgroupLimits limits = read_cgroup_limits(root.path());
  CHECK(limits.cpus.value() == doctest::Approx(2.5));
  CHECK(limits.memory_bytes.value() == 1073741824ULL);
}

TEST_CASE("a container sees its own group at the mount point, whatever its path says") {
  FakeRoot root;
  root.put("proc/self/mountinfo",
           "30 25 0:26 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
           "31 25 0:27 /docker/abc /sys/fs/cgroup/mem\\040ory rw - cgroup cgroup rw,memory\n");
  root.put("proc/self/cgroup", "2:cpu:/docker/abc\n3:memory:/docker/abcdef\n");
  root.put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000").put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  root.put("sys/fs/cgroup/mem ory/memory.limit_in_bytes", "123456789");
  const CgroupLimits limits = read_cgroup_limits(root.path());
  CHECK(limits.cpus.value() == doctest::Approx(2.0));
  CHECK(limits.memory_bytes.value() == 123456789ULL);
}

TEST_CASE("no limits, no files, no sense: absent, not zero") {
  FakeRoot root;
  CHECK_FALSE(read_cgroup_limits(root.path()).cpus.has_value());
  root.put("proc/self/mountinfo", std::string(k_mounts_v2) + "garbage\n- -\n").put("proc/self/cgroup", "0::/a\nx\n");
  root.put("sys/fs/cgroup/a/cpu.max", "0 0").put("sys/fs/cgroup/a/memory.max", "lots");
  CHECK_FALSE(read_cgroup_limits(root.path()).cpus.has_value());
  CHECK_FALSE(read_cgroup_limits(root.path()).memory_bytes.has_value());
}

}  // namespace
}  // namespace stallcast::collect
