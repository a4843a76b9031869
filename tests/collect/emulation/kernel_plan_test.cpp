/// Which groups and which lines the kernel would be given, on made-up machines.
#include "probes/collect/emulation/kernel_plan.hpp"

#include <doctest/doctest.h>

#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;
using testing::FakeRoot;

constexpr char k_disk_mounts[] =
    "27 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n"
    "28 27 259:1 / /boot rw - ext4 /dev/nvme0n1p1 rw\n"
    "29 27 8:16 / /data rw - xfs /dev/sdb rw\n"
    "30 27 0:40 / /home rw - nfs4 server:/home rw\n"
    "31 27 0:41 / /dev/shm rw - tmpfs tmpfs rw\n";
constexpr char k_v1[] =
    "32 27 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 27 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
    "34 27 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
constexpr char k_v2[] = "32 27 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

/// /sys as the kernel lays it out: devices, and links to them by number.
void put_disks(const FakeRoot& root) {
  const std::string nvme = "sys/devices/pci/nvme0n1";
  root.put(nvme + "/dev", "259:0\n").put("sys/devices/sdb/dev", "8:16\n");
  root.put(nvme + "/nvme0n1p1/dev", "259:1\n").put(nvme + "/nvme0n1p1/partition", "1\n");
  root.put(nvme + "/nvme0n1p2/dev", "259:2\n").put(nvme + "/nvme0n1p2/partition", "2\n");
  root.put("sys/dev/block/README", "");
  const fs::path links = root.path() / "sys/dev/block";
  fs::create_directory_symlink("../../devices/pci/nvme0n1/nvme0n1p1", links / "259:1");
  fs::create_directory_symlink("../../devices/pci/nvme0n1/nvme0n1p2", links / "259:2");
  fs::create_directory_symlink("../../devices/sdb", links / "8:16");
}

EmulationOptions wanted(bool storage, bool cpu) {
  EmulationOptions options;
  options.by_kernel = true;
  if (storage) options.bandwidth = BytesPerSecond(20e6);
  if (storage) options.requests = PerSecond(500.0);
  if (cpu) options.cpu_quota = 1.5;
  return options;
}

std::vector<std::string> lines_of(const GroupPlan& group) {
  std::vector<std::string> lines;
  for (const GroupControl& control : group.controls) lines.push_back(control.file + " " + control.text);
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("the disks are whole ones, each once, and not what has no disk") {
  const FakeRoot root;
  put_disks(root);
  root.put("proc/self/mountinfo", k_disk_mounts);
  const auto disks = mounted_disks(root.path());
  REQUIRE(disks.size() == 2);
  CHECK(disks[0].number == "259:0");
  CHECK(disks[0].name == "nvme0n1");
  CHECK(disks[0].filesystems == Lines{"259:2", "259:1"});
  CHECK(disks[1].number == "8:16");
  CHECK(disks[1].filesystems == Lines{"8:16"});
}

TEST_CASE("version 1: a group in each controller's hierarchy, below our own") {
  const FakeRoot root;
  put_disks(root);
  root.put("proc/self/mountinfo", std::string(k_disk_mounts) + k_v1);
  root.put("proc/self/cgroup", "7:blkio:/\n4:cpu,cpuacct:/batch/job\n0::/\n");
  const auto plan = plan_kernel_limits(root.path(), wanted(true, true), "stallcast-x");
  REQUIRE(plan.ok());
  REQUIRE(plan.value().groups.size() == 2);
  const GroupPlan& storage = plan.value().groups[0];
  CHECK(storage.folder == root.path() / "sys/fs/cgroup/blkio/stallcast-x");
  CHECK_FALSE(storage.version2);
  CHECK(lines_of(storage) ==
        Lines{"blkio.throttle.read_bps_device 259:0 20000000", "blkio.throttle.read_iops_device 259:0 500",
              "blkio.throttle.read_bps_device 8:16 20000000", "blkio.throttle.read_iops_device 8:16 500"});
  const GroupPlan& cpu = plan.value().groups[1];
  CHECK(cpu.folder == root.path() / "sys/fs/cgroup/cpu,cpuacct/batch/job/stallcast-x");
  CHECK(lines_of(cpu) == Lines{"cpu.cfs_period_us 100000", "cpu.cfs_quota_us 150000"});
  CHECK(words_of(plan.value()) == "version 1: reads of nvme0n1 (259:0), sdb (8:16); version 1: a CPU quota");
}

TEST_CASE("version 1: a lower limit of our own group is not lifted by one of ours") {
  const FakeRoot root;
  put_disks(root);
  root.put("proc/self/mountinfo", std::string(k_disk_mounts) + k_v1).put("proc/self/cgroup", "7:blkio:/jail\n");
  root.put("sys/fs/cgroup/blkio/jail/blkio.throttle.read_bps_device", "8:16 10000000\n");
  const auto tight = plan_kernel_limits(root.path(), wanted(true, false), "stallcast-x");
  REQUIRE_FALSE(tight.ok());
  CHECK(tight.error().code == ErrorCode::environment);
  CHECK(tight.error().what.find("10000000") != std::string::npos);
  root.put("sys/fs/cgroup/blkio/jail/blkio.throttle.read_bps_device", "8:16 30000000\n");
  CHECK(plan_kernel_limits(root.path(), wanted(true, false), "stallcast-x").ok());
}

TEST_CASE("version 2: one group beside our own, with what its ancestors must hand on") {
  const FakeRoot root;
  put_disks(root);
  root.put("proc/self/mountinfo", std::string(k_disk_mounts) + k_v2).put("proc/self/cgroup", "0::/user/session\n");
  root.put("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n");
  root.put("sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n");
  root.put("sys/fs/cgroup/user/cgroup.subtree_control", "memory\n");
  const auto plan = plan_kernel_limits(root.path(), wanted(true, true), "stallcast-x");
  REQUIRE(plan.ok());
  REQUIRE(plan.value().groups.size() == 1);
  const GroupPlan& group = plan.value().groups[0];
  CHECK(group.folder == root.path() / "sys/fs/cgroup/user/stallcast-x");
  CHECK(group.version2);
  CHECK(lines_of(group) ==
        Lines{"io.max 259:0 rbps=20000000 riops=500", "io.max 8:16 rbps=20000000 riops=500", "cpu.max 150000 100000"});
  const fs::path top = root.path() / "sys/fs/cgroup/cgroup.subtree_control";
  const fs::path user = root.path() / "sys/fs/cgroup/user/cgroup.subtree_control";
  CHECK(group.enable == std::vector<std::pair<fs::path, std::string>>{{top, "+io"}, {user, "+io"}, {user, "+cpu"}});
}

TEST_CASE("version 2: below the root itself, where our own group is the root of all") {
  const FakeRoot root;
  put_disks(root);
  root.put("proc/self/mountinfo", std::string(k_disk_mounts) + k_v2).put("proc/self/cgroup", "0::/\n");
  root.put("sys/fs/cgroup/cgroup.controllers", "io cpu\n").put("sys/fs/cgroup/cgroup.subtree_control", "\n");
  const auto plan = plan_kernel_limits(root.path(), wanted(true, false), "stallcast-x");
  REQUIRE(plan.ok());
  CHECK(plan.value().groups[0].folder == root.path() / "sys/fs/cgroup/stallcast-x");
  // The same view from a container: its uppermost group is not the root, and has its processes.
  root.put("sys/fs/cgroup/cgroup.type", "domain\n");
  const auto inside = plan_kernel_limits(root.path(), wanted(true, false), "stallcast-x");
  REQUIRE_FALSE(inside.ok());
  CHECK(inside.error().code == ErrorCode::environment);
  CHECK(inside.error().what.find("container") != std::string::npos);
}

TEST_CASE("version 2: the job is not freed of a limit of our own group") {
  const FakeRoot root;
  put_disks(root);
  root.put("proc/self/mountinfo", std::string(k_disk_mounts) + k_v2).put("proc/self/cgroup", "0::/user/session\n");
  root.put("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
  root.put("sys/fs/cgroup/user/session/memory.max", "1073741824\n")
      .put("sys/fs/cgroup/user/session/cpu.max", "max 100000\n");
  const auto plan = plan_kernel_limits(root.path(), wanted(false, true), "stallcast-x");
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().what.find("memory.max") != std::string::npos);
  root.put("sys/fs/cgroup/user/session/memory.max", "max\n");
  CHECK(plan_kernel_limits(root.path(), wanted(false, true), "stallcast-x").ok());
}

TEST_CASE("what is not there is said, with what would help") {
  const FakeRoot root;
  put_disks(root);
  root.put("proc/self/mountinfo", k_disk_mounts).put("proc/self/cgroup", "0::/\n");
  const auto none = plan_kernel_limits(root.path(), wanted(true, false), "stallcast-x");
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::environment);
  CHECK(none.error().what.find("'blkio'") != std::string::npos);
  CHECK_FALSE(none.error().hint.empty());
  root.put("proc/self/mountinfo", std::string("30 27 0:40 / / rw - nfs4 server:/ rw\n") + k_v1);
  root.put("proc/self/cgroup", "7:blkio:/\n");
  const auto network = plan_kernel_limits(root.path(), wanted(true, false), "stallcast-x");
  REQUIRE_FALSE(network.ok());
  CHECK(network.error().what.find("no file system of a local disk") != std::string::npos);
}

}  // namespace
}  // namespace stallcast::collect
