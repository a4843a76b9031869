#include "probes/collect/perf/cpu_probe.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <system_error>
#include <utility>

#include "core/clock.hpp"
#include "core/write_file.hpp"
#include "probes/collect/perf/constants.hpp"

namespace stallcast::collect {
namespace {

constexpr std::uint64_t k_period_ns = 1'000'000'000ULL / k_sampling_hz;

std::size_t pages_of_ring(long cpus) {
  return std::clamp(std::bit_floor(k_all_rings_pages / static_cast<std::size_t>(std::max(cpus, 1L))), std::size_t{4},
                    k_most_ring_pages);
}

}  // namespace

CpuProbe::~CpuProbe() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard guard(lock_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

/// On the thread whose children are to be watched.
void CpuProbe::open_all() {
  const PerfPermission permission = ask_perf();
  if (!permission.user) {
    recording_.absent = perf_refusal(permission.reason).what;
    return;
  }
  recording_.kernel = permission.kernel;
  const long cpus = sysconf(_SC_NPROCESSORS_CONF);
  for (int cpu = 0; cpu < cpus; ++cpu) {
    auto ring = PerfRing::open(cpu, k_period_ns, permission.kernel, pages_of_ring(cpus));
    if (!ring) {
      // Some CPUs without the others would be a wrong picture.
      recording_.absent = ring.error().what;
      rings_.clear();
      break;
    }
    if (ring.value()) rings_.push_back(std::move(*ring.value()));
  }
  if (rings_.empty() && recording_.absent.empty()) recording_.absent = "no CPU could be sampled";
  if (!rings_.empty()) recording_.hz = static_cast<double>(k_sampling_hz);
  counters_.open(permission.kernel);
  recording_.counters = counters_.counters();
}

Launched CpuProbe::launch(const std::function<Launched()>& start) {
  started_realtime_ns_ = clock_ns(CLOCK_REALTIME);
  Launched launched;
  const auto run = [&, this] {
    open_all();
    launched = start();
    std::unique_lock guard(lock_);
    launched_ = true;
    changed_.notify_all();
    changed_.wait(guard, [this] { return over_; });
  };
  try {
    thread_ = std::thread(run);
  } catch (const std::system_error& failed) {
    recording_.absent = std::string("no thread could be started to sample from: ") + failed.what();
    return start();
  }
  std::unique_lock guard(lock_);
  changed_.wait(guard, [this] { return launched_; });
  return launched;
}

void CpuProbe::read_counters(std::uint64_t now_ns) {
  if (recording_.counters.empty() || now_ns < next_reading_ns_) return;
  next_reading_ns_ = now_ns + reading_every_ns_;
  recording_.readings.push_back(counters_.read(now_ns));
  if (recording_.readings.size() < k_most_counter_readings) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < recording_.readings.size(); i += 2) {
    std::swap(recording_.readings[kept++], recording_.readings[i]);
  }
  recording_.readings.resize(kept);
  reading_every_ns_ *= 2;
}

void CpuProbe::beat(std::uint64_t now_ns) {
  const auto take = [this](std::span<const std::byte> bytes) {
    auto record = decode_perf_record(bytes);
    if (record) samples_.add(std::move(*record));
  };
  for (PerfRing& ring : rings_) damaged_ += ring.drain(take);
  if (!rings_.empty()) samples_.settle(now_ns - k_late_record_ns);
  read_counters(now_ns);
}

void CpuProbe::set_recording(bool on) {
  if (on == sampling_) return;
  sampling_ = on;
  for (const PerfRing& ring : rings_) ring.sample(on);
}

std::vector<DataIssue> CpuProbe::finish(const std::filesystem::path& folder, const std::string& run_id) {
  next_reading_ns_ = 0;
  beat(monotonic_ns());
  samples_.settle(UINT64_MAX);
  rings_.clear();
  recording_.run_id = run_id;
  samples_.give_names(names_on_this_machine(started_realtime_ns_), recording_);
  recording_.lost += damaged_;
  std::vector<DataIssue> issues;
  if (recording_.lost > 0) {
    issues.push_back({"cpu-samples-lost", Severity::info, static_cast<std::int64_t>(recording_.lost),
                      "records of where CPU time goes did not fit into the kernel's buffer",
                      "a job that starts many processes a second does that"});
  }
  const Status written = write_private_file(folder / record::k_cpu_file, encode_cpu_recording(recording_));
  if (!written.ok()) {
    issues.push_back({"cpu-samples-not-written", Severity::warning, 1, written.error().what, written.error().hint});
  }
  return issues;
}

}  // namespace stallcast::collect
