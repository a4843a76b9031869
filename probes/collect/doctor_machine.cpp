/// doctor: cores, control groups, clock, counters.
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "core/clock.hpp"
#include "fmt/format.h"
#include "probes/collect/cgroup_limits.hpp"
#include "probes/collect/doctor.hpp"
#include "probes/collect/host_facts.hpp"
#include "probes/collect/mounts.hpp"
#include "probes/collect/perf_event.hpp"
#include "probes/collect/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

/// True if the kernel lets us count this event of our own process, in user space.
bool can_count(std::uint32_t type, std::uint64_t event) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = event;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const long counter = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (counter < 0) return false;
  close(static_cast<int>(counter));
  return true;
}

std::string cgroup_version(const fs::path& root) {
  bool first = false;
  bool second = false;
  for (const Mount& mount : parse_mountinfo(read_text(root / "proc/self/mountinfo").value_or(""))) {
    first = first || mount.type == "cgroup";
    second = second || mount.type == "cgroup2";
  }
  if (first && second) return "versions 1 and 2";
  if (first) return "version 1";
  return second ? "version 2" : "";
}

double clock_reading_ns() {
  constexpr int k_readings = 2000;
  const std::uint64_t begin = monotonic_ns();
  for (int i = 1; i < k_readings; ++i) static_cast<void>(monotonic_ns());
  return static_cast<double>(monotonic_ns() - begin) / k_readings;
}

}  // namespace

DoctorCheck check_cores(const fs::path& root) {
  DoctorCheck check{.id = "cores"};
  const HostFacts facts = read_host_facts(root, {});
  check.seen = fmt::format("{:g} of {} logical CPUs ({} cores) may be used", facts.usable_cpus, facts.logical_cpus,
                           facts.physical_cpus);
  if (facts.usable_cpus_limited_by != "nothing") check.seen += ", limited by " + facts.usable_cpus_limited_by;
  if (facts.usable_cpus < 2.0) {
    check.state = CheckState::limited;
    check.consequence = "workers and training share one core: waiting and computing can hardly be told apart";
    check.hint = "give the job more CPUs (docker: --cpus, slurm: --cpus-per-task)";
  }
  return check;
}

DoctorCheck check_cgroup(const fs::path& root) {
  DoctorCheck check{.id = "cgroup"};
  const std::string version = cgroup_version(root);
  if (version.empty()) {
    check.state = CheckState::limited;
    check.seen = "no control groups are mounted";
    check.consequence = "limits of CPU and memory that hold here are not seen, and no group of ours can set one";
    return check;
  }
  const CgroupLimits limits = read_cgroup_limits(root);
  const std::string cpus = limits.cpus ? fmt::format("a quota of {:.3g} CPUs", *limits.cpus) : "no CPU quota";
  const std::string memory = limits.memory_bytes
                                 ? fmt::format("{:.3g} GB of memory", static_cast<double>(*limits.memory_bytes) / 1e9)
                                 : "no memory limit";
  check.seen = fmt::format("{}: {}, {}", version, cpus, memory);
  return check;
}

DoctorCheck check_clock(const fs::path& root) {
  DoctorCheck check{.id = "clock"};
  const std::string source(trim(
      read_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource").value_or("unknown source")));
  check.seen = fmt::format("{}, about {:.0f} ns a reading", source, clock_reading_ns());
  if (source == "hpet" || source == "acpi_pm" || source == "jiffies") {
    check.state = CheckState::limited;
    check.consequence = "every time stamp is a slow system call: recording costs the job more than usual";
    check.hint = "boot with clocksource=tsc if the machine's is stable";
  }
  return check;
}

DoctorCheck check_perf(const fs::path& root) {
  DoctorCheck check{.id = "perf_events"};
  const auto level = read_text(root / "proc/sys/kernel/perf_event_paranoid");
  const PerfPermission permission = ask_perf();
  const bool hardware = permission.user && can_count(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  const char* samples = permission.kernel ? "yes, the kernel too" : permission.user ? "user space only" : "no";
  check.seen = fmt::format("perf_event_paranoid is {}; samples of CPU time {}, cycles {}",
                           level ? std::string(trim(*level)) : "not readable", samples, hardware ? "yes" : "no");
  if (permission.kernel && hardware) return check;
  check.state = permission.user ? CheckState::limited : CheckState::missing;
  if (!permission.user) {
    const Error refusal = perf_refusal(permission.reason);
    check.consequence = "where CPU time goes is not seen: CPU times come from /proc alone";
    check.hint = refusal.hint;
  } else if (!permission.kernel) {
    check.consequence = "shares of CPU time leave out the kernel; context switches and page faults are not counted";
    check.hint = "sysctl kernel.perf_event_paranoid=1 (root)";
  } else {
    check.consequence = "cycles and cache misses cannot be counted (a virtual machine without them)";
  }
  return check;
}

}  // namespace stallcast::collect
