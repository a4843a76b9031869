/// Control groups as folders and files: set, refused, read, swept. That the kernel obeys them is tests/cli's to show.
#include "probes/collect/emulation/kernel_groups.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "probes/collect/emulation/kernel_limits.hpp"
#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;
using testing::FakeRoot;

KernelPlan plan_of(const FakeRoot& root, bool version2) {
  KernelPlan plan;
  plan.disks = {{"254:0", "vda", {"254:1"}}};
  if (version2) {
    plan.groups = {
        {root.path() / "g", true, {}, {{"io.max", "254:0 rbps=1000", "254:0"}, {"cpu.max", "150000 100000", ""}}}};
  } else {
    plan.groups = {{root.path() / "io", false, {}, {{"blkio.throttle.read_bps_device", "254:0 1000", "254:0"}}},
                   {root.path() / "cpu", false, {}, {{"cpu.cfs_quota_us", "150000", ""}}}};
  }
  return plan;
}

TEST_CASE("version 1: what the kernel says of the groups") {
  const FakeRoot root;
  root.put("io/blkio.throttle.read_bps_device", "8:0 77\n254:0 1000\n").put("cpu/cpu.cfs_quota_us", "150000\n");
  root.put("io/blkio.throttle.io_service_bytes",
           "8:0 Read 5\n254:0 Read 4096\n254:0 Write 9\n254:0 Total 4105\nTotal 4110\n");
  root.put("io/blkio.throttle.io_serviced", "254:0 Read 3\n254:0 Total 3\n");
  root.put("cpu/cpu.stat", "nr_periods 5\nnr_throttled 2\nthrottled_time 1500000\n");
  const GroupReadings seen = read_groups(plan_of(root, false));
  CHECK(seen.controls ==
        std::vector<std::string>{"blkio.throttle.read_bps_device 254:0 1000", "cpu.cfs_quota_us 150000"});
  CHECK(seen.kept);
  CHECK(seen.request_bytes == 4096U);
  CHECK(seen.requests == 3U);
  CHECK(seen.throttled_ns == 1500000U);
}

TEST_CASE("version 2: what the kernel says of the group") {
  const FakeRoot root;
  root.put("g/io.max", "254:0 rbps=1000 wbps=max riops=max wiops=max\n").put("g/cpu.max", "150000 100000\n");
  root.put("g/io.stat", "8:0 rbytes=1 rios=1\n254:0 rbytes=8192 wbytes=0 rios=2 wios=0 dbytes=0 dios=0\n");
  root.put("g/cpu.stat", "usage_usec 10\nnr_throttled 1\nthrottled_usec 25\n");
  const GroupReadings seen = read_groups(plan_of(root, true));
  CHECK(seen.kept);
  CHECK(seen.request_bytes == 8192U);
  CHECK(seen.requests == 2U);
  CHECK(seen.throttled_ns == 25000U);
}

TEST_CASE("a disk that was not read from is a zero, a counter that is not there is none") {
  const FakeRoot root;
  root.put("g/io.max", "254:0 rbps=1000 wbps=max riops=max wiops=max\n").put("g/io.stat", "\n");
  root.put("g/cpu.max", "max 100000\n");
  GroupReadings seen = read_groups(plan_of(root, true));
  CHECK(seen.requests == 0U);
  CHECK_FALSE(seen.throttled_ns.has_value());
  CHECK_FALSE(seen.kept);  // the quota is not what was set
  std::vector<std::string> ids;
  for (const DataIssue& issue : issues_of(plan_of(root, true), seen)) ids.push_back(issue.id);
  CHECK(ids == std::vector<std::string>{"emulation-limits-changed", "emulation-saw-no-read"});
  fs::remove(root.path() / "g/io.stat");
  seen = read_groups(plan_of(root, true));
  CHECK_FALSE(seen.requests.has_value());
  CHECK_FALSE(seen.request_bytes.has_value());
}

TEST_CASE("a control that the kernel does not have is an error, and nothing stays behind") {
  const FakeRoot root;
  const auto groups = KernelGroups::make(plan_of(root, false));
  REQUIRE_FALSE(groups.ok());
  CHECK(groups.error().code == ErrorCode::environment);
  CHECK(groups.error().what.find("blkio.throttle.read_bps_device") != std::string::npos);
  CHECK(fs::is_empty(root.path()));
  KernelPlan elsewhere = plan_of(root, false);
  elsewhere.groups[0].folder = root.path() / "missing/io";
  CHECK_FALSE(KernelGroups::make(elsewhere).ok());
}

TEST_CASE("groups of dead runs are swept: old ones that nobody holds or lives in") {
  const FakeRoot root;
  const fs::path& parent = root.path();
  const std::uint64_t now = 0x6918a3c2U;
  for (const char* name : {"stallcast-6918a000-0000000000000001", "stallcast-6918a3c0-0000000000000002",
                           "stallcast-6918a000-0000000000000003", "stallcast-bench-io-1", "other"}) {
    fs::create_directory(parent / name);
  }
  root.put("stallcast-6918a000-0000000000000004/child/file", "");  // as one with members: rmdir refuses
  const int held = open((parent / "stallcast-6918a000-0000000000000003").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(flock(held, LOCK_EX | LOCK_NB) == 0);
  CHECK(sweep_groups(parent, now) == 1);
  CHECK_FALSE(fs::exists(parent / "stallcast-6918a000-0000000000000001"));
  CHECK(fs::exists(parent / "stallcast-6918a3c0-0000000000000002"));  // two seconds old
  close(held);
  CHECK(sweep_groups(parent, now) == 1);
  CHECK(fs::exists(parent / "stallcast-6918a000-0000000000000004"));
  CHECK(fs::exists(parent / "stallcast-bench-io-1"));
  CHECK(fs::exists(parent / "other"));
  CHECK(sweep_groups(parent / "missing", now) == 0);
}

TEST_CASE("its line names the disks as the recordings do, and says what is not known") {
  const FakeRoot root;
  EmulationOptions options;
  options.items = {{"storage_bandwidth", "1kB/s"}};
  const auto begun = nlohmann::json::parse(to_line(options, plan_of(root, true), nullptr));
  CHECK(begun["with"] == "kernel");
  CHECK(begun["settings"]["storage_bandwidth"] == "1kB/s");
  CHECK(begun["disks"][0]["st_devs"][0] == 0xfe01);
  CHECK_FALSE(begun.contains("requests"));
  GroupReadings readings;
  readings.requests = 3;
  const auto ended = nlohmann::json::parse(to_line(options, plan_of(root, true), &readings));
  CHECK(ended["requests"] == 3);
  CHECK(ended["cpu_throttled_ns"].is_null());
}

}  // namespace
}  // namespace stallcast::collect
