#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyzer/profile/dataset_bytes.hpp"
#include "reports/findings/constants.hpp"
#include "reports/findings/derived.hpp"
#include "reports/findings/findings.hpp"
#include "reports/words/cpu_words.hpp"
#include "reports/words/format.hpp"
#include "reports/words/gpu_words.hpp"
#include "reports/words/page_cache_words.hpp"
#include "reports/words/storage_words.hpp"

namespace stallcast::reports {
namespace {

std::string workers_words(const Profile& p, const Derived& d) {
  if (!p.job.num_workers) return "";
  if (*p.job.num_workers == 0) return "none: batches are made in the training process, between its steps";
  std::string text = plural(*p.job.num_workers, "worker");
  if (p.job.ranks_seen > 1) text += " per rank";
  if (p.job.prefetch_factor) text += fmt::format(", prefetch factor {}", *p.job.prefetch_factor);
  if (d.worker_busy) text += fmt::format("; busy {} of the time", percent(*d.worker_busy));
  return text;
}

/// "limited by the kernel: storage_bandwidth=200MB/s; 780 reads at 254:0 vda".
std::string kernel_words(const Emulation& e, std::string text) {
  text = "limited by the kernel: " + text;
  if (e.disks.empty()) return text;
  text += e.requests ? fmt::format("; {} reads at ", count(*e.requests)) : "; on ";
  for (const std::string& disk : e.disks) text += (&disk == &e.disks.front() ? "" : ", ") + disk;
  return text;
}

/// "storage emulated: storage_bandwidth=200MB/s, cache=35%; 410 hits, 780 misses".
std::string emulation_words(const Profile& p) {
  const Emulation& e = p.emulation;
  if (e.settings.empty()) return "";
  std::string text;
  for (const auto& [key, value] : e.settings) text += (text.empty() ? "" : ", ") + key + "=" + value;
  if (e.with == "kernel") return kernel_words(e, std::move(text));
  const bool has_storage = std::any_of(e.settings.begin(), e.settings.end(),
                                       [](const auto& item) { return item.first.starts_with("storage_"); });
  text = (has_storage ? "storage emulated: " : "emulated: ") + text;
  if (has_storage && e.hits && e.misses) text += fmt::format("; {} hits, {} misses", count(*e.hits), count(*e.misses));
  return text;
}

std::string per_sample_words(const Resources& r) {
  std::string text;
  const auto add = [&](const char* what, const MeasuredEstimate<SecondsPerSample>& m) {
    const auto* e = usable(m);
    if (e != nullptr) text += (text.empty() ? "" : ", ") + duration(*e) + " " + what;
  };
  add("reading", r.read);
  add("CPU", r.worker_cpu);
  add("in all", r.worker_wall);
  return text;
}

std::string cores_words(const Profile& p, const Derived& d) {
  if (!d.cores_usable) return "";
  std::string text = cores(*d.cores_usable) + " usable";
  if (p.host.usable_cpus_limited_by != "nothing" && !p.host.usable_cpus_limited_by.empty()) {
    text += fmt::format(" of {} (limited by {})", p.host.logical_cpus, p.host.usable_cpus_limited_by);
  }
  if (d.cores_busy) text += fmt::format("; this job keeps {} busy", cores(*d.cores_busy));
  if (d.run_delay && *d.run_delay >= k_run_delay_from) {
    text += fmt::format("; workers wait for a core {} of their time", percent(*d.run_delay));
  }
  return text;
}

std::string source_words(const Profile& p) {
  const Resources& r = p.resources;
  std::string text;
  if (r.bytes_from_storage) {
    text = *r.bytes_from_storage < k_from_memory_below
               ? "from memory"
               : percent(*r.bytes_from_storage) +
                     (is_over_network(p) ? " of the bytes came over the network" : " of the bytes came from storage");
    if (r.storage_bandwidth && *r.bytes_from_storage >= k_from_memory_below)
      text += ", at " + bandwidth(*r.storage_bandwidth);
  }
  if (p.dataset.bytes_per_sample) {
    text += (text.empty() ? "" : "; ") + bytes(Bytes(p.dataset.bytes_per_sample->value())) + " read per sample";
    if (const auto factor = read_ahead_factor(p.dataset, p.job.dataset_samples)) {
      text += fmt::format(
          "; for one that is not in memory {} come from storage, {:.1f} times its pages: the kernel reads "
          "ahead in large files",
          bytes(Bytes(p.dataset.stored_bytes_per_sample->value())), *factor);
    }
  } else if (p.dataset.stored_bytes_per_sample) {
    text += (text.empty() ? "" : "; ") + bytes(Bytes(p.dataset.stored_bytes_per_sample->value())) +
            " come from storage for a sample that is not in memory, with what the kernel reads around its pages";
  }
  return text;
}

std::string memory_words(const Profile& p) {
  std::string text;
  if (p.dataset.bytes_total) text = "data set about " + bytes(*p.dataset.bytes_total);
  if (p.resources.page_cache_available) {
    text += (text.empty() ? "" : "; ") + bytes(*p.resources.page_cache_available) + " of memory left to hold it";
  }
  return text;
}

/// Said only where it is more than noise: most jobs compute on a device that the workers do not touch.
std::string interference_words(const Profile& p) {
  if (p.job.num_workers && *p.job.num_workers == 0) return "";  // the rest of a difference of two states, and nobody's
  const auto* found = usable(p.stalls.as_is_interference);
  const auto* share = found != nullptr && !speaks_of_cold(p) ? found : usable(p.stalls.interference);
  if (share == nullptr || holds_zero(*share) || share->mean < k_interference_from) return "";
  return "slowed by the loader's own workers, which use the same cores: " + percent(*share) + " of each step";
}

/// "epoch 1: 287 samples/s, 100 % from storage; epochs 2 to 4: 640 samples/s, from memory"; where making differs,
/// "epoch 1: 150 samples/s, 10.2 ms to make a sample; ...".
std::string states_words(const Profile& p) {
  std::string text;
  for (const State& state : p.states) {
    if (usable(state.rate) == nullptr || (!state.from_storage && !state.making)) continue;
    text += text.empty() ? "" : "; ";
    text += state.first_epoch == state.last_epoch ? fmt::format("epoch {}", state.first_epoch)
                                                  : fmt::format("epochs {} to {}", state.first_epoch, state.last_epoch);
    text += ": " + rate(*usable(state.rate)) + ", ";
    text += state.making                                ? duration(Seconds(state.making->value())) + " to make a sample"
            : *state.from_storage < k_from_memory_below ? std::string("from memory")
                                                        : percent(*state.from_storage) + " of the bytes from storage";
  }
  return text.empty() ? text : text + "; \"as found\" is the last";
}

/// The rate as found; where the verdict speaks of another state, the rate of that too.
std::string rate_words(const Profile& p) {
  const auto* rate_now = usable(p.rates.as_is);
  std::string text = rate_now != nullptr ? rate(*rate_now) : "";
  if (!speaks_of_cold(p) || (rate_now != nullptr && rate_now->mean.value() == p.rates.cold->mean.value())) return text;
  if (!text.empty()) text += " as found; ";
  return text + rate(*usable(p.rates.cold)) + " with every byte from storage";
}

}  // namespace

std::string why_title(const Profile& p) {
  return p.seen_instead.empty() ? "Why" : "What was seen instead";
}

std::vector<Fact> why_of(const Profile& p) {
  const Derived d = derive(p);
  std::vector<Fact> facts;
  for (const Sighting& seen : p.seen_instead) facts.push_back({seen.what, seen.words});
  const auto add = [&](const char* label, const std::string& text) {
    if (!text.empty()) facts.push_back({label, text});
  };
  add("hardware", emulation_words(p));
  if (!p.seen_instead.empty()) return facts;
  add("rate", rate_words(p));
  add("states", states_words(p));
  add("workers", workers_words(p, d));
  add("per sample", per_sample_words(p.resources));
  add("worker CPU", cpu_words(p.cpu));
  add("cores", cores_words(p, d));
  add("compute", interference_words(p));
  add("GPU", gpu_words(p.gpu));
  add("reads", source_words(p));
  add("storage", storage_words(p.storage));
  add("memory", memory_words(p));
  add("page cache", page_cache_words(p));
  return facts;
}

}  // namespace stallcast::reports
