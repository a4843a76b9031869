#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

TEST_CASE("files on disks that the kernel did not limit are told, as far as the kernel was to limit any") {
  JobSpec spec = fetch_bound();
  spec.samples = true;
  spec.batches = 20;
  RunData run = make_run(spec);
  CHECK(issue_of(analyze_run(run), "emulation-disk-not-limited") == nullptr);
  run.log.emulation.with = "kernel";
  CHECK(analyze_run(run).emulation.limited_files.reason() == "no storage is limited");
  run.log.emulation.disks = {"254:0 vda"};
  CHECK(analyze_run(run).emulation.limited_files.reason() == "no file system was seen on the disks that are limited");
  run.log.limited_devices = {7, 9};
  CHECK(analyze_run(run).emulation.limited_files.value_or(0.0) == 1.0);
  std::size_t number = 0;
  for (auto& process : run.processes) {
    for (auto& path : process.paths) path.device = ++number % 4 == 0 ? 40 : 7;
  }
  run.log.filesystems = {{7, "ext4"}, {40, "nfs4"}};
  const Profile profile = analyze_run(run);
  CHECK(profile.emulation.limited_files.value_or(0.0) == doctest::Approx(0.75));
  const DataIssue* told = issue_of(profile, "emulation-disk-not-limited");
  REQUIRE(told != nullptr);
  CHECK(told->count == 20 * 32 / 4);
  CHECK(told->detail.find("160 on nfs4") != std::string::npos);
}
