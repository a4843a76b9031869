#include "probes/collect/system/cgroup_limits.hpp"

#include <string>
#include <vector>

#include "probes/collect/system/cgroup_mounts.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

template <class T>
void lower(std::optional<T>& limit, std::optional<T> candidate) {
  if (candidate && (!limit || *candidate < *limit)) limit = candidate;
}

/// "150000 100000" -> 1.5; "max 100000" -> nothing.
std::optional<double> quota_v2(const fs::path& folder) {
  const auto text = read_text(folder / "cpu.max");
  if (!text) return std::nullopt;
  const auto fields = split_fields(trim(*text));
  if (fields.size() != 2) return std::nullopt;
  const auto quota = parse_u64(fields[0]);
  const auto period = parse_u64(fields[1]);
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

/// A quota of -1 (none) does not parse as a natural number.
std::optional<double> quota_v1(const fs::path& folder) {
  const auto quota = parse_u64(read_text(folder / "cpu.cfs_quota_us").value_or(""));
  const auto period = parse_u64(read_text(folder / "cpu.cfs_period_us").value_or(""));
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

/// "max", and version 1's "as much as a 64-bit page count holds", mean no limit.
std::optional<std::uint64_t> bytes_in(const fs::path& file) {
  constexpr std::uint64_t k_unlimited_v1 = 1ULL << 60U;
  const auto bytes = parse_u64(read_text(file).value_or(""));
  if (!bytes || *bytes >= k_unlimited_v1) return std::nullopt;
  return bytes;
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  const auto groups = read_text(root / "proc/self/cgroup");
  if (!groups) return limits;
  for (const CgroupMount& mount : read_cgroup_mounts(root)) {
    const bool cpu = mount.version2 || mount.has_controller("cpu");
    const bool memory = mount.version2 || mount.has_controller("memory");
    if (!cpu && !memory) continue;
    const auto path = own_cgroup_path(*groups, mount.version2 ? "" : cpu ? "cpu" : "memory");
    if (!path) continue;
    for (const fs::path& folder : cgroup_levels(mount, *path)) {
      if (cpu) lower(limits.cpus, mount.version2 ? quota_v2(folder) : quota_v1(folder));
      if (!memory) continue;
      // Beyond memory.high the kernel reclaims, so the page cache ends there just as at the hard limit.
      lower(limits.memory_bytes, bytes_in(folder / (mount.version2 ? "memory.max" : "memory.limit_in_bytes")));
      if (mount.version2) lower(limits.memory_bytes, bytes_in(folder / "memory.high"));
    }
  }
  return limits;
}

}  // namespace stallcast::collect
