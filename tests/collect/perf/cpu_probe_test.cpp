/// The probe around real commands, where this kernel allows it.
#include "probes/collect/perf/cpu_probe.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "core/clock.hpp"
#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;
using testing::slurp;

/// True, and says so, where the kernel refuses.
bool refused() {
  const PerfPermission permission = ask_perf();
  if (!permission.user) MESSAGE("skipped: ", perf_refusal(permission.reason).what);
  return !permission.user;
}

/// Runs `script` under the probe to its end.
record::CpuRecording watch_shell(const std::string& script, const std::function<void(CpuProbe&)>& before_end = {}) {
  FakeRoot root;
  CpuProbe probe;
  sigset_t none;
  sigemptyset(&none);
  const Launched launched = probe.launch([&] { return launch({"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, none); });
  REQUIRE(launched.pid > 0);
  int status = 0;
  while (waitpid(launched.pid, &status, WNOHANG) == 0) {
    probe.beat(monotonic_ns());
    if (before_end) before_end(probe);
  }
  const auto issues = probe.finish(root.path(), "the-run");
  for (const DataIssue& issue : issues) CHECK(issue.id == "cpu-samples-lost");
  auto read = record::parse_cpu_recording(slurp(root.path() / record::k_cpu_file));
  REQUIRE(read.ok());
  CHECK(read.value().run_id == "the-run");
  return std::move(read).value();
}

const std::string k_burn = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";

TEST_CASE("samples name the program that computes, and counters count it") {
  if (refused()) return;
  const record::CpuRecording recording = watch_shell(k_burn);
  CHECK(recording.absent.empty());
  REQUIRE(recording.samples.size() > 5);
  const auto in_shell = std::count_if(recording.samples.begin(), recording.samples.end(), [&](const auto& sample) {
    const std::string& library = recording.symbols[sample.symbol].library;
    return library.find("sh") != std::string::npos || library.starts_with("libc");
  });
  const auto in_kernel = std::count_if(recording.samples.begin(), recording.samples.end(), [&](const auto& sample) {
    return recording.symbols[sample.symbol].library == "[kernel]";
  });
  CHECK(in_shell + in_kernel >= 0.9 * static_cast<double>(recording.samples.size()));
  CHECK(in_shell > in_kernel);
  REQUIRE_FALSE(recording.names.empty());
  REQUIRE_FALSE(recording.counters.empty());
  CHECK(recording.counters[0].name == "task_clock_ns");
  REQUIRE_FALSE(recording.readings.empty());
  const double cpu_s = static_cast<double>(recording.readings.back().counts[0].value) * 1e-9;
  const double sampled_s = static_cast<double>(recording.samples.size()) / recording.hz;
  CHECK(sampled_s > 0.7 * cpu_s);
  CHECK(sampled_s < 1.3 * cpu_s);
  CHECK(std::is_sorted(recording.samples.begin(), recording.samples.end(),
                       [](const auto& a, const auto& b) { return a.t_ns < b.t_ns; }));
}

TEST_CASE("what the command starts is watched, too, and the tool is not") {
  if (refused()) return;
  const record::CpuRecording recording = watch_shell("(" + k_burn + ") & (" + k_burn + ") & wait");
  std::vector<std::int32_t> pids;
  for (const auto& sample : recording.samples) pids.push_back(sample.pid);
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  CHECK(pids.size() >= 2);
  CHECK(std::find(pids.begin(), pids.end(), getpid()) == pids.end());
}

TEST_CASE("switched off it takes no samples, and still knows the memory of who comes then") {
  if (refused()) return;
  const std::uint64_t begin = monotonic_ns();
  bool on = true;
  std::uint64_t back_ns = 0;
  // The second program is started while nothing is sampled, and computes on when samples are taken again.
  const record::CpuRecording recording =
      watch_shell("sleep 0.3; sh -c '" + k_burn + ";" + k_burn + ";" + k_burn + "'", [&](CpuProbe& probe) {
        const std::uint64_t now = monotonic_ns();
        const bool wanted = now - begin > 600'000'000ULL;
        if (wanted == on) return;
        on = wanted;
        probe.set_recording(on);
        if (on) back_ns = monotonic_ns();
      });
  if (back_ns == 0) {
    MESSAGE("skipped: the command ended before sampling was switched on again");
    return;
  }
  std::size_t unknown = 0;
  for (const auto& sample : recording.samples) {
    if (recording.symbols[sample.symbol].library == "[unknown]") ++unknown;
  }
  CHECK(unknown <= recording.samples.size() / 10);
}

TEST_CASE("a thousand short processes do no harm") {
  if (refused()) return;
  const record::CpuRecording recording = watch_shell("i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done");
  CHECK(recording.absent.empty());
  CHECK(recording.readings.back().counts[0].value > 0);
}

TEST_CASE("a command that cannot be started leaves no thread behind") {
  CpuProbe probe;
  sigset_t none;
  sigemptyset(&none);
  CHECK(probe.launch([&] { return launch({"/nowhere/to/be/found"}, {}, none); }).exit_code == 127);
}

TEST_CASE("a refusal names the setting") {
  CHECK(perf_refusal(EACCES).what.find("perf_event_paranoid") != std::string::npos);
  CHECK(perf_refusal(EACCES).hint.find("sysctl") != std::string::npos);
}

}  // namespace
}  // namespace stallcast::collect
