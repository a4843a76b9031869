#include "reports/findings/facts.hpp"

#include <fmt/format.h>

#include "reports/words/format.hpp"
#include "reports/words/gpu_words.hpp"
#include "reports/words/storage_words.hpp"

namespace stallcast::reports {
namespace {

class List {
 public:
  void add(const char* label, std::string text) {
    if (!text.empty()) facts_.push_back({label, std::move(text)});
  }
  template <class T, class Words>
  void add(const char* label, const Measured<T>& value, Words words) {
    facts_.push_back({label, value ? words(*value) : not_measured(value.reason())});
  }
  [[nodiscard]] std::vector<Fact> take() { return std::move(facts_); }

 private:
  std::vector<Fact> facts_{};
};

std::string yes_no(bool value) {
  return value ? "yes" : "no";
}

std::string host_words(const Host& host) {
  std::string text = host.name;
  if (!host.kernel.empty()) text += ", kernel " + host.kernel;
  if (host.hosts_seen > 1) text += fmt::format(" (and {} more)", plural(host.hosts_seen - 1, "host"));
  return text;
}

std::string cpu_words(const Host& host) {
  std::string text =
      fmt::format("{} logical, {} physical, {} usable", host.logical_cpus, host.physical_cpus, cores(host.usable_cpus));
  if (host.usable_cpus_limited_by != "nothing") text += " (limited by " + host.usable_cpus_limited_by + ")";
  return host.cpu_model.empty() ? text : text + ": " + host.cpu_model;
}

std::string framework_words(const Job& job) {
  std::string text = job.framework;
  if (!job.framework_version.empty()) text += " " + job.framework_version;
  if (!job.python_version.empty()) text += ", Python " + job.python_version;
  return text;
}

std::string loader_words(const Job& job) {
  std::string text = job.loader_kind;
  if (!job.dataset_type.empty()) text += " over " + job.dataset_type;
  if (!job.multiprocessing_context.empty()) text += ", workers by " + job.multiprocessing_context;
  return text;
}

/// Empty where no DistributedDataParallel was seen.
std::string exchange_words(const Exchange& seen) {
  if (seen.backend.empty()) return "";
  std::string text =
      seen.bytes ? bytes(*seen.bytes) + " of gradients in " + plural(seen.buckets, "bucket") + " by " + seen.backend
                 : "gradients by " + seen.backend;
  if (!seen.hook.empty()) text += " (" + seen.hook + ")";
  if (!seen.time || !seen.exposed) return text + ": " + not_measured(seen.time.reason());
  text += fmt::format(": {} in a step, {} of it after the backward pass", duration(seen.time->mean),
                      duration(seen.exposed->mean));
  if (seen.waiting) text += fmt::format("; ranks wait {} for the last", duration(seen.waiting->mean));
  return text;
}

}  // namespace

std::vector<Fact> dataset_facts(const Profile& p) {
  const Dataset& d = p.dataset;
  List list;
  list.add("samples", p.job.dataset_samples, [](std::int64_t n) { return count(n); });
  list.add("files seen", d.files_seen, [](std::int64_t n) { return count(n); });
  list.add("size of those", d.bytes_seen, [](Bytes b) { return bytes(b); });
  list.add("whole data set", d.bytes_total, [](Bytes b) { return "about " + bytes(b); });
  list.add("read per sample", d.bytes_per_sample, [](BytesPerSample b) { return bytes(Bytes(b.value())); });
  list.add("of these files", d.small_files,
           [](Fraction share) { return percent(share) + " are smaller than 128 KiB: a request each"; });
  list.add("layout", d.format.empty() ? d.layout : d.layout + " (" + d.format + ")");
  list.add("file system", d.filesystem);
  list.add("storage", storage_words(p.storage));
  list.add("for example", d.example_path);
  return list.take();
}

std::vector<Fact> environment_facts(const Profile& p) {
  List list;
  list.add("machine", host_words(p.host));
  list.add("CPUs", cpu_words(p.host));
  list.add("GPU", gpu_device_words(p.gpu));
  list.add("memory", bytes(p.host.memory));
  list.add("memory limit", p.host.memory_limit ? bytes(*p.host.memory_limit) : p.host.memory_limit.reason());
  list.add("/dev/shm free", p.host.shm_free, [](Bytes b) { return bytes(b); });
  list.add("framework", framework_words(p.job));
  list.add("loader", loader_words(p.job));
  list.add("workers", p.job.num_workers, [](std::int64_t n) { return count(n); });
  list.add("prefetch factor", p.job.prefetch_factor, [](std::int64_t n) { return count(n); });
  list.add("batch size", p.job.batch_size, [](std::int64_t n) { return count(n); });
  list.add("pin_memory", p.job.pin_memory, yes_no);
  list.add("persistent workers", p.job.persistent_workers, yes_no);
  list.add("ranks", fmt::format("{} seen of {}", p.job.ranks_seen, p.job.ranks_expected));
  list.add("exchanged", exchange_words(p.exchange));
  return list.take();
}

}  // namespace stallcast::reports
