#include "probes/collect/system/cpu_throttling.hpp"

#include <doctest/doctest.h>

#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;

TEST_CASE("version 2: the group on the path that was held back longest") {
  FakeRoot root;
  root.put("proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.put("proc/self/cgroup", "0::/pod/job\n");
  root.put("sys/fs/cgroup/cpu.stat", "usage_usec 9\n");  // the root group counts nothing
  root.put("sys/fs/cgroup/pod/cpu.stat", "usage_usec 9\nnr_periods 80\nnr_throttled 20\nthrottled_usec 1500\n");
  root.put("sys/fs/cgroup/pod/job/cpu.stat", "nr_periods 70\nnr_throttled 1\nthrottled_usec 3\n");
  const CpuThrottlingReader reader(root.path());
  REQUIRE(reader.read().has_value());
  CHECK(reader.read()->periods == 80);
  CHECK(reader.read()->throttled == 20);
  CHECK(reader.read()->time_ns == 1'500'000);
  root.put("sys/fs/cgroup/pod/job/cpu.stat", "nr_periods 90\nnr_throttled 60\nthrottled_usec 7000\n");
  CHECK(reader.read()->throttled == 60);
}

TEST_CASE("version 1 counts in nanoseconds") {
  FakeRoot root;
  root.put("proc/self/mountinfo",
           "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
           "32 25 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  root.put("proc/self/cgroup", "5:memory:/a\n4:cpu,cpuacct:/a\n");
  root.put("sys/fs/cgroup/memory/a/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 99\n");
  root.put("sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 777\n");
  const auto counts = CpuThrottlingReader(root.path()).read();
  REQUIRE(counts.has_value());
  CHECK(counts->throttled == 4);
  CHECK(counts->time_ns == 777);
}

TEST_CASE("nothing counted is nothing, not zero") {
  FakeRoot root;
  CHECK_FALSE(CpuThrottlingReader(root.path()).read().has_value());
  CHECK_FALSE(parse_cpu_stat("usage_usec 5\n").has_value());
  CHECK_FALSE(parse_cpu_stat("throttled_time many\n").has_value());
}

}  // namespace
}  // namespace stallcast::collect
