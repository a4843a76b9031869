#include "probes/collect/perf/cpu_samples.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "probes/collect/perf/constants.hpp"
#include "probes/collect/perf/symbols.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

std::string library_of(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

void CpuSamples::settle(std::uint64_t until_ns) {
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const PerfRecord& a, const PerfRecord& b) { return a.time_ns < b.time_ns; });
  const auto end = std::find_if(waiting_.begin(), waiting_.end(),
                                [until_ns](const PerfRecord& record) { return record.time_ns > until_ns; });
  for (auto record = waiting_.begin(); record != end; ++record) take(*record);
  waiting_.erase(waiting_.begin(), end);
}

void CpuSamples::take(const PerfRecord& record) {
  if (record.kind == PerfKind::lost) lost_ += record.count;
  if (record.kind == PerfKind::name && record.pid == record.tid && names_.size() < k_most_process_names) {
    names_[record.pid] = record.text;
  }
  const bool forked = record.kind == PerfKind::fork && record.pid != record.parent_pid;
  if (forked && names_.contains(record.parent_pid) && names_.size() < k_most_process_names) {
    names_[record.pid] = std::string(names_[record.parent_pid]);
  }
  if (record.kind == PerfKind::sample) {
    keep(record);
  } else {
    spaces_.take(record);
  }
}

void CpuSamples::keep(const PerfRecord& record) {
  if (++since_kept_ < keep_one_in_) return;
  since_kept_ = 0;
  const Place place = spaces_.place_of(record);
  samples_.push_back({record.time_ns, place.offset, place.file, record.pid, record.tid});
  if (samples_.size() < most_) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples_.size(); i += 2) samples_[kept++] = samples_[i];
  samples_.resize(kept);
  keep_one_in_ *= 2;
}

void CpuSamples::give_names(const NameLookup& lookup, record::CpuRecording& recording) const {
  std::map<std::uint32_t, std::vector<std::uint64_t>> places;
  for (const Sample& sample : samples_) places[sample.file].push_back(sample.offset);
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> symbol_at;
  for (auto& [file, offsets] : places) {
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    const std::string& path = spaces_.files()[file];
    const std::vector<std::string> names = lookup(path, offsets);
    std::map<std::string, std::uint32_t> numbers;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const std::string name = i < names.size() ? names[i] : std::string();
      const auto [known, is_new] = numbers.try_emplace(name, static_cast<std::uint32_t>(recording.symbols.size()));
      if (is_new) recording.symbols.push_back({library_of(path), name});
      symbol_at[{file, offsets[i]}] = known->second;
    }
  }
  recording.samples.reserve(samples_.size());
  std::unordered_map<pid_t, bool> seen;
  for (const Sample& sample : samples_) {
    recording.samples.push_back({sample.t_ns, sample.pid, sample.tid, symbol_at[{sample.file, sample.offset}]});
    seen[sample.pid] = true;
  }
  for (const auto& [pid, name] : names_) {
    if (seen.contains(pid)) recording.names.push_back({pid, name});
  }
  std::sort(recording.names.begin(), recording.names.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  recording.keep_one_in = keep_one_in_;
  recording.lost = lost_;
}

NameLookup names_on_this_machine(std::uint64_t started_ns) {
  return [started_ns](const std::string& path, const std::vector<std::uint64_t>& offsets) -> std::vector<std::string> {
    if (path == "[kernel]")
      return kernel_names(read_text("/proc/kallsyms", k_most_kallsyms_bytes).value_or(""), offsets);
    struct stat info {};
    if (!path.starts_with('/') || stat(path.c_str(), &info) != 0) return {};
    // What was replaced while the job ran has its functions elsewhere.
    const auto changed_ns = static_cast<std::uint64_t>(info.st_ctim.tv_sec) * 1'000'000'000ULL +
                            static_cast<std::uint64_t>(info.st_ctim.tv_nsec);
    return changed_ns < started_ns ? function_names(path, offsets) : std::vector<std::string>();
  };
}

}  // namespace stallcast::collect
