/// Warnings about what the machine gives the job: cores, quota, memory.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/load/tick_span.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/warnings/constants.hpp"
#include "analyzer/warnings/warnings.hpp"
#include "core/cpu_list.hpp"

namespace stallcast::sections {
namespace {

/// Processes that made batches for training, on the machine that the tool watches.
std::set<std::int64_t> workers_of(const Evidence& e) {
  std::set<std::int64_t> workers;
  for (const RankView& rank : e.ranks) {
    for (const Pass* pass : rank.window.passes) workers.insert(pass->worker_pids.begin(), pass->worker_pids.end());
  }
  for (const RankView& rank : e.ranks) workers.erase(rank.consumer->pid);
  return workers;
}

double workers_at_once(const Evidence& e) {
  const double each = static_cast<double>(std::max<std::int64_t>(0, e.profile.job.num_workers.value_or(0)));
  return each * static_cast<double>(e.ranks.size());
}

/// First and last tick in which batches were delivered and which `known` holds for; nothing where there is none.
template <class Known>
std::pair<const Tick*, const Tick*> while_delivering(const RunData& run, Known known) {
  std::pair<const Tick*, const Tick*> span{nullptr, nullptr};
  for (const Tick& tick : run.log.ticks) {
    if (!known(tick) || delivered_at(tick) <= 0.0) continue;
    if (span.first == nullptr) span.first = &tick;
    span.second = &tick;
  }
  return span;
}

double usable_cores(const Evidence& e) {
  return e.run.log.host ? e.run.log.host->usable_cpus : 0.0;
}

/// What the first worker that says so may use of it; 0 if none does.
std::int64_t described_threads(const RunData& run, const char* key) {
  for (const record::ProcessRecording& process : run.processes) {
    for (const record::TextEntry& entry : process.texts) {
      if (entry.kind != record::TextKind::process) continue;
      const auto text = nlohmann::json::parse(entry.json, nullptr, /*allow_exceptions=*/false);
      if (!text.is_object() || text.value("role", nlohmann::json()) != "worker") continue;
      const auto threads = text.find(key);
      if (threads != text.end() && threads->is_number_integer()) return threads->get<std::int64_t>();
    }
  }
  return 0;
}

/// Bytes of one process over time.
struct TrendCourse {
  std::vector<std::uint64_t> t_ns{};
  std::vector<double> bytes{};

  /// `swapped`: what the kernel has put away of it, which is the process's as before.
  void add(std::uint64_t at_ns, std::int64_t resident, std::int64_t swapped) {
    if (resident < 0) return;
    t_ns.push_back(at_ns);
    bytes.push_back(static_cast<double>(resident + std::max<std::int64_t>(0, swapped)));
  }
  [[nodiscard]] bool long_enough() const {
    return bytes.size() >= k_fewest_memory_readings && t_ns.back() - t_ns.front() >= k_shortest_growth_ns;
  }
};

/// Without the first third, in which a new worker takes its buffers; in at most so many means.
TrendCourse settled(const TrendCourse& course) {
  TrendCourse late;
  const std::size_t from = course.bytes.size() / 3;
  const std::size_t count = course.bytes.size() - from;
  const std::size_t parts = std::min(count, k_most_memory_readings);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = from + part * count / parts;
    const std::size_t end = from + (part + 1) * count / parts;
    double sum = 0.0;
    std::uint64_t after_ns = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += course.bytes[i];
      after_ns += course.t_ns[i] - course.t_ns[begin];
    }
    late.t_ns.push_back(course.t_ns[begin] + after_ns / (end - begin));
    late.bytes.push_back(sum / static_cast<double>(end - begin));
  }
  return late;
}

struct Growth {
  double share = 0.0;  ///< of the memory, over the time that was looked at
  double bytes = 0.0;  ///< likewise
  double seconds = 0.0;
};

/// Whether samples are read with read(): pages of mapped files come in by page faults, as memory does.
bool reads_files(const Evidence& e) {
  if (e.profile.dataset.layout == "mapped") return false;
  for (const RankView& rank : e.ranks) {
    for (const SteadyStep& step : rank.window.steps) {
      if (step.delivery != nullptr && step.delivery->made_known && step.delivery->made.io.read_bytes > 0) return true;
    }
  }
  return false;
}

/// How much the memory of a worker certainly grew; nothing where that is not clear.
std::optional<Growth> growth_of(const TrendCourse& whole) {
  const TrendCourse late = settled(whole);
  if (!late.long_enough()) return std::nullopt;
  std::vector<double> seconds;
  for (const std::uint64_t t_ns : late.t_ns) seconds.push_back(static_cast<double>(t_ns - late.t_ns.front()) * 1e-9);
  const Estimate<double> trend = relative_trend(late.bytes, seconds);
  if (!(trend.ci95_low > 0.0)) return std::nullopt;
  double sum = 0.0;
  for (const double bytes : late.bytes) sum += bytes;
  const double mean = sum / static_cast<double>(late.bytes.size());
  return Growth{trend.mean, trend.mean * mean, seconds.back()};
}

}  // namespace

std::string oversubscribed(const Evidence& e, double threshold) {
  const double cores = usable_cores(e);
  const double wanted = workers_at_once(e) * static_cast<double>(e.profile.job.threads_per_worker.value_or(1));
  if (cores <= 0.0 || wanted <= threshold * cores) return {};
  return fixed(wanted, 0) + " worker threads share " + fixed(cores, 1) + " usable cores";
}

std::string opencv_threads(const Evidence& e, double threshold) {
  const double cores = usable_cores(e);
  const auto each = static_cast<double>(described_threads(e.run, "opencv_threads"));
  if (cores <= 0.0 || each <= 1.0 || each * workers_at_once(e) <= threshold * cores) return {};
  return "each of " + fixed(workers_at_once(e), 0) + " workers may use " + fixed(each, 0) + " OpenCV threads, on " +
         fixed(cores, 1) + " usable cores";
}

std::string cores_limited(const Evidence& e, double threshold) {
  if (!e.run.log.host || e.profile.job.num_workers.value_or(-1) < 0) return {};
  const Host& host = *e.run.log.host;
  const std::string& by = host.usable_cpus_limited_by;
  if (by == "nothing" || by.empty() || host.usable_cpus >= threshold * host.logical_cpus) return {};
  return "the job may use " + fixed(host.usable_cpus, 1) + " of " + std::to_string(host.logical_cpus) +
         " cores (limited by " + by + ")";
}

std::string workers_pinned(const Evidence& e, double threshold) {
  const std::set<std::int64_t> workers = workers_of(e);
  if (workers.empty() || !e.run.log.host) return {};
  std::set<int> cores;
  std::size_t seen = 0;
  for (const Tick& tick : e.run.log.ticks) {
    for (const ProcessTick& process : tick.processes) {
      const auto own = workers.count(process.pid) != 0 ? parse_cpu_list(process.cpus) : std::nullopt;
      if (!own || own->empty()) continue;
      cores.insert(own->begin(), own->end());
      ++seen;
    }
  }
  const double at_once = workers_at_once(e);
  const double could = std::min(at_once, std::floor(usable_cores(e)));
  const auto count = static_cast<double>(cores.size());
  const bool one_core = count <= threshold && e.run.log.host->logical_cpus > 1;
  if (seen == 0 || (!one_core && count >= could)) return {};
  return fixed(at_once, 0) + (at_once == 1.0 ? " worker" : " workers") + " may run on " + fixed(count, 0) + " of " +
         std::to_string(e.run.log.host->logical_cpus) + " cores alone (affinity)";
}

std::string cpu_throttled(const Evidence& e, double threshold) {
  const auto [first, last] =
      while_delivering(e.run, [](const Tick& tick) { return tick.quota_periods >= 0 && tick.quota_throttled >= 0; });
  if (first == nullptr) return {};
  const std::int64_t periods = last->quota_periods - first->quota_periods;
  const auto throttled = static_cast<double>(last->quota_throttled - first->quota_throttled);
  if (periods < k_fewest_quota_periods || throttled < threshold * static_cast<double>(periods)) return {};
  const auto stopped_s = static_cast<double>(last->quota_throttled_ns - first->quota_throttled_ns) * 1e-9;
  return "the control group's CPU quota was used up in " + fixed(100.0 * throttled / static_cast<double>(periods), 0) +
         " % of its periods; threads that could have run stood still for " + fixed(stopped_s, 1) + " s in all";
}

std::string cpu_stolen(const Evidence& e, double threshold) {
  const auto [first, last] =
      while_delivering(e.run, [](const Tick& tick) { return tick.machine_cpus > 0 && tick.machine_stolen_ns >= 0; });
  if (first == nullptr || first == last) return {};
  const auto stolen = static_cast<double>(last->machine_stolen_ns - first->machine_stolen_ns);
  const double share = stolen / static_cast<double>(last->t_ns - first->t_ns) / static_cast<double>(last->machine_cpus);
  if (!(share >= threshold)) return {};
  return "the host of this virtual machine gave " + fixed(100.0 * share, 0) + " % of its cores' time to others";
}

std::string shm_nearly_full(const Evidence& e, double threshold) {
  std::uint64_t until_ns = UINT64_MAX;  // from then on batches that we hold back lie there
  for (const Consumer& consumer : e.run.consumers) until_ns = std::min(until_ns, consumer.phases_begin_ns);
  std::int64_t before = -1;
  std::int64_t least = -1;
  for (const Tick& tick : e.run.log.ticks) {
    if (tick.shm_free_bytes < 0 || tick.t_ns >= until_ns) continue;
    if (before < 0) before = least = tick.shm_free_bytes;
    least = std::min(least, tick.shm_free_bytes);
  }
  const auto used = static_cast<double>(before - least);
  if (before <= 0 || used < threshold * static_cast<double>(before)) return {};
  return "of " + data_size(static_cast<double>(before)) + " that /dev/shm had free at the start, " + data_size(used) +
         " were in use at once: batches under way lie there";
}

std::string swapping(const Evidence& e, double threshold) {
  double most = 0.0;
  double share = 0.0;
  for (const Tick& tick : e.run.log.ticks) {
    double swapped = 0.0;
    double all = 0.0;
    for (const ProcessTick& process : tick.processes) {
      swapped += static_cast<double>(std::max<std::int64_t>(0, process.swap_bytes));
      all += static_cast<double>(std::max<std::int64_t>(0, process.swap_bytes) +
                                 std::max<std::int64_t>(0, process.rss_bytes));
    }
    if (swapped <= most || all <= 0.0) continue;
    most = swapped;
    share = swapped / all;
  }
  if (share < threshold) return {};
  return data_size(most) + " of the job's memory (" + fixed(100.0 * share, 0) + " %) lay on swap";
}

/// glibc gives the top of its heap back to the kernel when enough of it is free, and large blocks at once: a job that
/// takes and frees the same buffers for each sample or step then has their pages cleared and mapped each time. A batch
/// of a worker lies in fresh shared memory in any case.
std::string memory_anew(const Evidence& e, double threshold) {
  constexpr double k_page = 4096.0;
  const double page_s = e.run.log.fresh_page_s;
  const TickSpan span = delivering_span(e.run);
  if (!(page_s > 0.0) || !span.known() || !e.profile.job.prepared || !reads_files(e)) return {};
  std::set<std::int64_t> ours = workers_of(e);
  for (const RankView& rank : e.ranks) ours.insert(rank.consumer->pid);
  double faults = 0.0;
  double cpu_s = 0.0;
  for (const ProcessTick& last : span.last->processes) {
    const auto& before = span.first->processes;
    const auto first = std::find_if(before.begin(), before.end(), [&](const auto& one) { return one.pid == last.pid; });
    if (ours.count(last.pid) == 0 || first == before.end()) continue;
    if (first->minor_faults < 0 || first->cpu_ns < 0 || last.cpu_ns <= first->cpu_ns) continue;
    const double grown = static_cast<double>(last.rss_bytes - first->rss_bytes) / k_page;  // taken and kept
    faults += static_cast<double>(last.minor_faults - first->minor_faults) - std::max(0.0, grown);
    cpu_s += static_cast<double>(last.cpu_ns - first->cpu_ns) * 1e-9;
  }
  const double anew = faults - e.profile.job.prepared->value() * span.samples / k_page;
  const double share = anew * page_s / cpu_s;
  if (!(cpu_s > 0.0) || !(share >= threshold)) return {};
  return "the job returns memory to the kernel and requests it again for every sample (shared-memory batches not "
         "counted): " +
         fixed(anew / span.samples, 0) + " page faults of " + fixed(1e6 * page_s, 1) + " us each (measured here), " +
         fixed(100.0 * share, 0) + " % of the job's CPU time";
}

std::string memory_growth(const Evidence& e, double threshold) {
  std::map<std::int64_t, TrendCourse> proportional;  // by pid
  std::map<std::int64_t, TrendCourse> anonymous;
  const std::set<std::int64_t> workers = workers_of(e);
  for (const Tick& tick : e.run.log.ticks) {
    for (const ProcessTick& process : tick.processes) {
      if (workers.count(process.pid) == 0) continue;
      proportional[process.pid].add(tick.t_ns, process.pss_anon_bytes, process.pss_swap_bytes);
      anonymous[process.pid].add(tick.t_ns, process.anon_bytes, process.swap_bytes);
    }
  }
  double bytes = 0.0;
  double per_second = 0.0;
  int growing = 0;
  for (const std::int64_t pid : workers) {
    const TrendCourse late = settled(proportional[pid]);
    const auto growth = growth_of(late.long_enough() ? proportional[pid] : anonymous[pid]);
    if (!growth || growth->share < threshold) continue;
    bytes += growth->bytes;
    per_second += growth->bytes / growth->seconds;
    ++growing;
  }
  if (bytes < k_least_growth_bytes) return {};
  return "the memory of " + std::to_string(growing) + (growing == 1 ? " worker" : " workers") + " grew by " +
         data_size(60.0 * per_second) + " a minute";
}

}  // namespace stallcast::sections
