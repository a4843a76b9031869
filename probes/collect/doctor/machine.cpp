/// doctor: cores, control groups, clock, counters.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "core/clock.hpp"
#include "probes/collect/doctor/constants.hpp"
#include "probes/collect/doctor/doctor.hpp"
#include "probes/collect/emulation/kernel_limits.hpp"
#include "probes/collect/perf/perf_event.hpp"
#include "probes/collect/system/cgroup_limits.hpp"
#include "probes/collect/system/host_facts.hpp"
#include "probes/collect/system/mounts.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

bool has_cycles(bool kernel) {
  PerfCounters counters;
  counters.open(kernel);
  const auto& all = counters.counters();
  return std::any_of(all.begin(), all.end(),
                     [](const auto& counter) { return counter.name == "cycles" && counter.absent.empty(); });
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

/// What control groups would limit of `options`, in words. Groups can be made and taken away again on this machine
/// only.
Result<std::string> limits_possible(const fs::path& root, const EmulationOptions& options) {
  if (root == "/") return try_kernel_limits(options);
  const auto plan = plan_kernel_limits(root, options, "stallcast-doctor");
  if (!plan) return plan.error();
  return words_of(plan.value());
}

double clock_reading_ns() {
  const std::uint64_t begin = monotonic_ns();
  for (int i = 1; i < k_clock_readings; ++i) static_cast<void>(monotonic_ns());
  return static_cast<double>(monotonic_ns() - begin) / k_clock_readings;
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

DoctorCheck check_kernel_limits(const fs::path& root) {
  DoctorCheck check{.id = "kernel_limits"};
  EmulationOptions storage;
  storage.by_kernel = true;
  storage.bandwidth = BytesPerSecond(1e9);
  storage.requests = PerSecond(1e6);
  EmulationOptions cpu;
  cpu.by_kernel = true;
  cpu.cpu_quota = 0.5;
  int possible = 0;
  for (const EmulationOptions& options : {storage, cpu}) {
    const auto can = limits_possible(root, options);
    if (!check.seen.empty()) check.seen += "; ";
    check.seen += can ? can.value() : can.error().what;
    if (can) ++possible;
    if (!can && check.hint.empty()) check.hint = can.error().hint;
  }
  if (possible == 2) return check;
  check.state = possible == 0 ? CheckState::missing : CheckState::limited;
  check.consequence = "--emulate-with kernel can do no more than that here; --emulate alone needs none of it";
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
  const bool hardware = permission.user && has_cycles(permission.kernel);
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
