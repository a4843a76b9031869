#include "probes/collect/doctor/doctor.hpp"

#include <doctest/doctest.h>

#include "probes/collect/system/run_program.hpp"
#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;

TEST_CASE("jobs can be profiled unless something required is missing") {
  const DoctorCheck fine{.id = "a", .required = true};
  const DoctorCheck absent{.id = "b", .state = CheckState::missing};
  const DoctorCheck limited{.id = "c", .state = CheckState::limited, .required = true};
  const DoctorCheck fatal{.id = "d", .state = CheckState::missing, .required = true};
  CHECK(can_profile({fine, absent, limited}));
  CHECK_FALSE(can_profile({fine, fatal}));
}

TEST_CASE("a GPU by its devices, not by its driver alone") {
  FakeRoot root;
  CHECK(check_gpu(root.path()).state == CheckState::missing);
  root.put("proc/driver/nvidia/version",
           "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat\nGCC version: 12\n");
  CHECK(check_gpu(root.path()).state == CheckState::limited);
  root.put("dev/nvidiactl", "").put("dev/nvidia-uvm", "");
  CHECK(check_gpu(root.path()).state == CheckState::limited);
  root.put("dev/nvidia0", "").put("dev/nvidia11", "");
  const DoctorCheck check = check_gpu(root.path());
  CHECK(check.state == CheckState::ok);
  CHECK(check.seen == "2 NVIDIA devices, driver 535.104.05");
}

TEST_CASE("an AMD device is seen, and what of it is not measured is said") {
  FakeRoot root;
  root.put("dev/kfd", "");
  const DoctorCheck check = check_gpu(root.path());
  CHECK(check.state == CheckState::limited);
  CHECK(check.seen.find("AMD") != std::string::npos);
  CHECK_FALSE(check.consequence.empty());
}

TEST_CASE("CUPTI in a toolkit, or in the environment of a Python") {
  FakeRoot root;
  root.put("usr/local/cuda-12.2/extras/CUPTI/lib64/libcupti.so.12", "");
  const DoctorCheck toolkit = check_cupti(root.path(), "");
  CHECK(toolkit.state == CheckState::ok);
  CHECK(toolkit.seen.ends_with("libcupti.so.12"));
  FakeRoot environment;
  environment.put("bin/python", "#!/bin/sh\n")
      .put("lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12", "");
  std::filesystem::permissions(environment.path() / "bin/python", std::filesystem::perms::owner_all);
  FakeRoot nothing;
  const DoctorCheck wheel = check_cupti(nothing.path(), (environment.path() / "bin").string());
  CHECK(wheel.state == CheckState::ok);
  CHECK(wheel.seen.find("site-packages") != std::string::npos);
}

TEST_CASE("control groups: none, and their limits") {
  FakeRoot root;
  CHECK(check_cgroup(root.path()).state == CheckState::limited);
  root.put("proc/self/mountinfo", "30 25 0:26 / /cg rw - cgroup2 none rw\n").put("proc/self/cgroup", "0::/\n");
  CHECK(check_cgroup(root.path()).seen == "version 2: no CPU quota, no memory limit");
  root.put("cg/cpu.max", "150000 100000").put("cg/memory.max", "4000000000");
  const DoctorCheck check = check_cgroup(root.path());
  CHECK(check.state == CheckState::ok);
  CHECK(check.seen == "version 2: a quota of 1.5 CPUs, 4 GB of memory");
}

TEST_CASE("one core is too few to tell workers from training") {
  FakeRoot root;
  root.put("proc/cpuinfo", "processor\t: 0\ncore id\t: 0\n\nprocessor\t: 1\ncore id\t: 1\n");
  CHECK(check_cores(root.path()).state == CheckState::ok);
  root.put("proc/self/status", "Cpus_allowed_list:\t1\n");
  const DoctorCheck check = check_cores(root.path());
  CHECK(check.state == CheckState::limited);
  CHECK(check.seen.find("affinity") != std::string::npos);
}

TEST_CASE("a clock that is a system call each time") {
  FakeRoot root;
  root.put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  CHECK(check_clock(root.path()).state == CheckState::limited);
  root.put("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  CHECK(check_clock(root.path()).state == CheckState::ok);
}

TEST_CASE("/proc/PID/io that is hidden") {
  FakeRoot root;
  CHECK(check_proc_io(root.path()).state == CheckState::missing);
  CHECK(check_proc_io("/").state == CheckState::ok);
}

TEST_CASE("a folder that takes no file of ours") {
  FakeRoot root;
  const DoctorCheck check = check_page_cache("/", root.path() / "absent");
  CHECK(check.state == CheckState::limited);
  CHECK_FALSE(check.hint.empty());
}

TEST_CASE("a program's output and end; one that does not end is ended") {
  const auto said = run_program({"sh", "-c", "echo out; echo err >&2; exit 3"}, {});
  REQUIRE(said.has_value());
  CHECK(said->exit_code == 3);
  CHECK(said->output == "out\nerr\n");
  CHECK(run_program({"sh", "-c", "kill -9 $$"}, {})->exit_code == 137);
  CHECK_FALSE(run_program({"/nonexistent/program"}, {}).has_value());
  CHECK_FALSE(run_program({"sleep", "1000"}, {}, 1).has_value());
  CHECK(run_program({"sh", "-c", "yes | head -c 1000000"}, {"PATH=/usr/bin:/bin"})->output.size() == 65536);
}

}  // namespace
}  // namespace stallcast::collect
