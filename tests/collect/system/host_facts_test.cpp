#include "probes/collect/system/host_facts.hpp"

#include <doctest/doctest.h>

#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;

std::string cpuinfo(int logical, int cores) {
  std::string text;
  for (int cpu = 0; cpu < logical; ++cpu) {
    text += "processor\t: " + std::to_string(cpu) +
            "\nmodel name\t: Example CPU @ 2.5GHz\nphysical id\t: 0\ncore id\t\t: " + std::to_string(cpu % cores) +
            "\n\n";
  }
  return text;
}

void put_machine(const FakeRoot& root) {
  root.put("proc/cpuinfo", cpuinfo(8, 4)).put("proc/meminfo", "MemTotal:       16384000 kB\nMemFree: 1 kB\n");
  root.put("proc/sys/kernel/hostname", "node7\n").put("proc/sys/kernel/osrelease", "6.1.0\n");
  root.put("proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n");
}

TEST_CASE("a machine without limits") {
  FakeRoot root;
  put_machine(root);
  const HostFacts facts = read_host_facts(root.path(), {});
  CHECK(facts.name == "node7");
  CHECK(facts.kernel == "6.1.0");
  CHECK(facts.cpu_model == "Example CPU @ 2.5GHz");
  CHECK(facts.logical_cpus == 8);
  CHECK(facts.physical_cpus == 4);
  CHECK(facts.usable_cpus == 8.0);
  CHECK(facts.usable_cpus_limited_by == "nothing");
  CHECK(facts.memory_bytes == 16384000ULL * 1024);
  CHECK_FALSE(facts.memory_limit_bytes.has_value());
  CHECK_FALSE(facts.shm_free_bytes.has_value());
}

TEST_CASE("affinity, then a tighter quota") {
  FakeRoot root;
  put_machine(root);
  root.put("proc/self/status", "Cpus_allowed_list:\t0,2-3\n");
  CHECK(read_host_facts(root.path(), {}).usable_cpus == 3.0);
  CHECK(read_host_facts(root.path(), {}).usable_cpus_limited_by == "affinity");
  root.put("proc/self/mountinfo", "30 25 0:26 / /cg rw - cgroup2 none rw\n").put("proc/self/cgroup", "0::/\n");
  root.put("cg/cpu.max", "450000 100000");
  CHECK(read_host_facts(root.path(), {}).usable_cpus == 3.0);
  root.put("cg/cpu.max", "150000 100000");
  CHECK(read_host_facts(root.path(), {}).usable_cpus == doctest::Approx(1.5));
  CHECK(read_host_facts(root.path(), {}).usable_cpus_limited_by == "cgroup quota");
}

TEST_CASE("a memory limit above the machine's memory is none") {
  FakeRoot root;
  put_machine(root);
  root.put("proc/self/mountinfo", "30 25 0:26 / /cg rw - cgroup2 none rw\n").put("proc/self/cgroup", "0::/\n");
  root.put("cg/memory.max", "99999999999999");
  CHECK_FALSE(read_host_facts(root.path(), {}).memory_limit_bytes.has_value());
  root.put("cg/memory.max", "1000000000");
  CHECK(read_host_facts(root.path(), {}).memory_limit_bytes.value() == 1000000000ULL);
}

TEST_CASE("cores from /sys where cpuinfo does not name them") {
  FakeRoot root;
  root.put("proc/cpuinfo", "processor : 0\nprocessor : 1\nprocessor : 2\nprocessor : 3\n");
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    root.put(folder + "core_id", std::to_string(cpu / 2)).put(folder + "physical_package_id", "0");
  }
  CHECK(read_host_facts(root.path(), {}).physical_cpus == 2);
}

TEST_CASE("only allow-listed variables are taken") {
  FakeRoot root;
  const HostFacts facts = read_host_facts(
      root.path(), {"OMP_NUM_THREADS=4", "SLURM_CPUS_PER_TASK=6", "SLURM_JOB_CPUS_PER_NODE=8(x2)", "AWS_SECRET=hush",
                    "SLURM_JOB_USER=somebody", "RANK=3", "RANKING=1", "novalue", "PATH=/bin"});
  CHECK(facts.environment.size() == 4);
  CHECK(facts.environment.at("OMP_NUM_THREADS") == "4");
  CHECK(facts.environment.at("SLURM_CPUS_PER_TASK") == "6");
  CHECK(facts.environment.at("RANK") == "3");
}

TEST_CASE("the machine of this test has cores and a name") {
  const HostFacts facts = read_host_facts("/", {});
  CHECK(facts.logical_cpus >= 1);
  CHECK(facts.usable_cpus > 0.0);
  CHECK_FALSE(facts.name.empty());
  CHECK(facts.memory_bytes > 0);
}

}  // namespace
}  // namespace stallcast::collect
