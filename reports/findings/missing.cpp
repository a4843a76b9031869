#include <map>

#include "reports/findings/findings.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

/// Collects what is absent, grouped by reason, in the order of first mention.
class Collector {
 public:
  template <class T>
  void add(const char* what, const Measured<T>& measured) {
    if (!measured) note(what, measured.reason());
  }
  template <class Q>
  void add(const char* what, const Measured<Estimate<Q>>& measured) {
    if (usable(measured) == nullptr)
      note(what, measured ? "came out as a number that is not finite" : measured.reason());
  }
  void note(const char* what, const std::string& reason) {
    const auto [at, is_new] = index_.try_emplace(reason, groups_.size());
    if (is_new) groups_.push_back({{}, reason.empty() || reason == "not measured" ? "no reason was recorded" : reason});
    groups_[at->second].what.emplace_back(what);
  }
  [[nodiscard]] std::vector<Missing> take() { return std::move(groups_); }

 private:
  std::map<std::string, std::size_t> index_{};
  std::vector<Missing> groups_{};
};

void add_rates(const Profile& p, Collector& missing) {
  missing.add("rate as found", p.rates.as_is);
  missing.add("ingestion rate (synthetic)", p.rates.synthetic);
  missing.add("cached rate", p.rates.cached);
  missing.add("cold rate", p.rates.cold);
  missing.add("loader rate (cached)", p.rates.supply_cached);
  missing.add("loader rate (cold)", p.rates.supply_cold);
  missing.add("waiting for data", p.stalls.as_is_wait);
  missing.add("prep stall as found", p.stalls.as_is_prep);
  missing.add("fetch stall as found", p.stalls.as_is_fetch);
  missing.add("prep stall", p.stalls.prep);
  missing.add("fetch stall", p.stalls.fetch);
}

void add_resources(const Resources& r, Collector& missing) {
  missing.add("time of a step", r.step);
  missing.add("compute time of a step", r.compute);
  missing.add("time to make a sample", r.worker_wall);
  missing.add("CPU time per sample in the loader", r.worker_cpu);
  missing.add("time waiting for a core", r.worker_run_delay);
  missing.add("read time per sample", r.read);
  missing.add("read time of resident files", r.read_from_memory);
  missing.add("CPU time per sample of all processes", r.tree_cpu);
  missing.add("cores that the job kept busy", r.job_cpus);
  missing.add("cores that other processes used", r.other_cpus);
  missing.add("share of bytes from storage", r.bytes_from_storage);
  missing.add("storage bandwidth used", r.storage_bandwidth);
  missing.add("memory of a worker", r.worker_memory);
  missing.add("memory of the job", r.anonymous_memory);
  missing.add("memory left for the page cache", r.page_cache_available);
}

void add_job(const Profile& p, Collector& missing) {
  missing.add("batch size", p.job.batch_size);
  missing.add("number of workers", p.job.num_workers);
  missing.add("samples in the data set", p.job.dataset_samples);
  missing.add("files seen", p.dataset.files_seen);
  missing.add("size of the data set", p.dataset.bytes_total);
  missing.add("bytes read per sample", p.dataset.bytes_per_sample);
  missing.add("overhead on throughput", p.overhead.throughput);
  missing.add("overhead on CPU time", p.overhead.cpu);
}

void add_cpu(const Cpu& cpu, Collector& missing) {
  if (cpu.source.empty()) {
    missing.note("where CPU time goes", "it was not sampled, or the tool ended before the job");
    return;
  }
  missing.add("where the workers' CPU time goes", cpu.worker_samples);
  missing.add("where the main process's CPU time goes", cpu.main_samples);
  missing.add("context switches", cpu.counters.context_switches);
  missing.add("cycles", cpu.counters.cycles);
  missing.add("misses of the last-level cache", cpu.counters.llc_misses);
}

/// What no profile of this version holds, and what this run was not asked for.
void add_unasked(const Profile& p, Collector& missing) {
  const std::string no_device = "no accelerator was traced: what happens on it counts as compute";
  const std::string reason = p.gpu.source.empty() ? no_device : p.gpu.busy.reason();
  if (!p.gpu.busy) {
    missing.note("copies to the device", reason);
    missing.note("the device's busy time and gaps", reason);
  }
  if (!p.storage.path.empty()) return;
  missing.note("how the storage responds to more reads in flight",
               "only the job's own reads were seen; `stallcast storage PATH` measures the storage itself");
}

}  // namespace

std::vector<Missing> missing_of(const Profile& p) {
  if (!p.seen_instead.empty()) return {{{"rates, stalls and all that follows from them"}, "no batches were seen"}};
  Collector missing;
  add_rates(p, missing);
  add_resources(p.resources, missing);
  add_job(p, missing);
  add_cpu(p.cpu, missing);
  add_unasked(p, missing);
  return missing.take();
}

}  // namespace stallcast::reports
