#include "probes/collect/system/cpu_throttling.hpp"

#include <string>

#include "probes/collect/system/cgroup_mounts.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace fs = std::filesystem;

std::optional<CpuThrottling> parse_cpu_stat(std::string_view text) {
  CpuThrottling counts;
  bool counted = false;
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_fields(line);
    const auto value = words.size() == 2 ? parse_u64(words[1]) : std::nullopt;
    if (!value) continue;
    if (words[0] == "nr_periods") counts.periods = *value;
    if (words[0] == "nr_throttled") counts.throttled = *value;
    const bool in_ns = words[0] == "throttled_time";
    if (!in_ns && words[0] != "throttled_usec") continue;
    counts.time_ns = in_ns ? *value : *value * 1000;
    counted = true;
  }
  return counted ? std::optional(counts) : std::nullopt;
}

CpuThrottlingReader::CpuThrottlingReader(const fs::path& root) {
  const auto groups = read_text(root / "proc/self/cgroup");
  if (!groups) return;
  for (const CgroupMount& mount : read_cgroup_mounts(root)) {
    if (!mount.version2 && !mount.has_controller("cpu")) continue;
    const auto path = own_cgroup_path(*groups, mount.version2 ? "" : "cpu");
    if (!path) continue;
    for (const fs::path& folder : cgroup_levels(mount, *path)) {
      if (parse_cpu_stat(read_text(folder / "cpu.stat").value_or(""))) files_.push_back(folder / "cpu.stat");
    }
  }
}

std::optional<CpuThrottling> CpuThrottlingReader::read() const {
  std::optional<CpuThrottling> most;
  for (const fs::path& file : files_) {
    const auto counts = parse_cpu_stat(read_text(file).value_or(""));
    if (counts && (!most || counts->time_ns > most->time_ns)) most = counts;
  }
  return most;
}

}  // namespace stallcast::collect
