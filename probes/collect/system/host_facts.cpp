#include "probes/collect/system/host_facts.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "core/cpu_list.hpp"
#include "probes/collect/system/cgroup_limits.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

/// The value of "key : value" lines as in /proc/cpuinfo and /proc/self/status.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  if (line.substr(0, key.size()) != key) return std::nullopt;
  const std::string_view rest = trim(line.substr(key.size()));
  if (rest.empty() || rest.front() != ':') return std::nullopt;
  return trim(rest.substr(1));
}

std::string first_line(const fs::path& path) {
  return std::string(trim(read_text(path).value_or("")));
}

/// cpuinfo names package and core of each logical CPU on x86; other machines say it in /sys.
int physical_from_sys(const fs::path& root, int logical) {
  std::set<std::pair<std::string, std::string>> cores;
  for (int cpu = 0; cpu < logical; ++cpu) {
    const fs::path topology = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
    const auto core = read_text(topology / "core_id");
    if (core) cores.emplace(first_line(topology / "physical_package_id"), std::string(trim(*core)));
  }
  return cores.empty() ? logical : static_cast<int>(cores.size());
}

void read_cpus(const fs::path& root, HostFacts& facts) {
  const std::string text = read_text(root / "proc/cpuinfo", 16U << 20U).value_or("");
  std::set<std::pair<std::string, std::string>> cores;
  std::string package;
  for (const std::string_view line : split_lines(text)) {
    if (value_of(line, "processor")) ++facts.logical_cpus;
    if (const auto model = value_of(line, "model name"); model && facts.cpu_model.empty()) facts.cpu_model = *model;
    if (const auto id = value_of(line, "physical id")) package = *id;
    if (const auto core = value_of(line, "core id")) cores.emplace(package, std::string(*core));
  }
  facts.physical_cpus = cores.empty() ? physical_from_sys(root, facts.logical_cpus) : static_cast<int>(cores.size());
}

void limit_cpus(const fs::path& root, const std::optional<double>& quota, HostFacts& facts) {
  facts.usable_cpus = facts.logical_cpus;
  const auto allowed = static_cast<int>(allowed_cpus(root).size());
  if (allowed > 0 && (allowed < facts.logical_cpus || facts.logical_cpus == 0)) {
    facts.usable_cpus = allowed;
    facts.usable_cpus_limited_by = "affinity";
  }
  if (quota) limit_by_quota(*quota, facts);
}

std::uint64_t total_memory(const fs::path& root) {
  const std::string text = read_text(root / "proc/meminfo").value_or("");
  for (const std::string_view line : split_lines(text)) {
    const auto value = value_of(line, "MemTotal");
    if (!value) continue;
    const auto kib = parse_u64(split_fields(*value).empty() ? "" : split_fields(*value).front());
    return kib.value_or(0) * 1024;
  }
  return 0;
}

}  // namespace

std::optional<std::uint64_t> free_bytes(const fs::path& folder) {
  struct statvfs space {};
  if (statvfs(folder.c_str(), &space) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
}

void limit_by_quota(double quota, HostFacts& facts) {
  if (quota >= facts.usable_cpus) return;
  facts.usable_cpus = quota;
  facts.usable_cpus_limited_by = "cgroup quota";
}

bool is_recordable_variable(std::string_view name) {
  static constexpr std::array<std::string_view, 22> k_names = {"OMP_NUM_THREADS",
                                                               "MKL_NUM_THREADS",
                                                               "OPENBLAS_NUM_THREADS",
                                                               "NUMEXPR_NUM_THREADS",
                                                               "CUDA_VISIBLE_DEVICES",
                                                               "WORLD_SIZE",
                                                               "RANK",
                                                               "LOCAL_RANK",
                                                               "LOCAL_WORLD_SIZE",
                                                               "NODE_RANK",
                                                               "GROUP_RANK",
                                                               "OMP_PROC_BIND",
                                                               "OMP_PLACES",
                                                               "GOMP_CPU_AFFINITY",
                                                               "KMP_AFFINITY",
                                                               "OPENCV_FOR_THREADS_NUM",
                                                               "SLURM_NTASKS",
                                                               "SLURM_NNODES",
                                                               "SLURM_NTASKS_PER_NODE",
                                                               "SLURM_PROCID",
                                                               "SLURM_LOCALID",
                                                               "TORCHELASTIC_RESTART_COUNT"};
  if (std::find(k_names.begin(), k_names.end(), name) != k_names.end()) return true;
  return name.substr(0, 6) == "SLURM_" && name.find("CPUS") != std::string_view::npos;
}

std::set<int> allowed_cpus(const fs::path& root) {
  const std::string status = read_text(root / "proc/self/status").value_or("");
  for (const std::string_view line : split_lines(status)) {
    if (const auto list = value_of(line, "Cpus_allowed_list")) return parse_cpu_list(*list).value_or(std::set<int>{});
  }
  return {};
}

HostFacts read_host_facts(const fs::path& root, const std::vector<std::string>& environment) {
  HostFacts facts;
  facts.name = first_line(root / "proc/sys/kernel/hostname");
  facts.kernel = first_line(root / "proc/sys/kernel/osrelease");
  read_cpus(root, facts);
  const CgroupLimits limits = read_cgroup_limits(root);
  limit_cpus(root, limits.cpus, facts);
  facts.memory_bytes = total_memory(root);
  if (limits.memory_bytes && *limits.memory_bytes < facts.memory_bytes) facts.memory_limit_bytes = limits.memory_bytes;
  facts.shm_free_bytes = free_bytes(root / "dev/shm");
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = entry.substr(0, equals);
    if (is_recordable_variable(name)) facts.environment[name] = entry.substr(equals + 1);
  }
  return facts;
}

}  // namespace stallcast::collect
