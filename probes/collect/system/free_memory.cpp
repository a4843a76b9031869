#include "probes/collect/system/free_memory.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "probes/collect/system/cgroup_mounts.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

/// What the files of the two versions are called.
struct MemoryFiles {
  const char* hard_limit;
  const char* soft_limit;  ///< nullptr: none at which the kernel would reclaim
  const char* usage;
  const char* inactive;  ///< lines of memory.stat
  const char* active;
};
constexpr MemoryFiles k_files_v1{"memory.limit_in_bytes", nullptr, "memory.usage_in_bytes", "total_inactive_file",
                                 "total_active_file"};
constexpr MemoryFiles k_files_v2{"memory.max", "memory.high", "memory.current", "inactive_file", "active_file"};

std::optional<std::uint64_t> number_in(const fs::path& file) {
  return parse_u64(read_text(file).value_or(""));
}

/// The number behind `name` in lines of "name number"; 0 if there is none.
std::uint64_t number_of(std::string_view text, std::string_view name) {
  for (const std::string_view line : split_lines(text)) {
    const auto fields = split_fields(line);
    if (fields.size() >= 2 && fields[0] == name) return parse_u64(fields[1]).value_or(0);
  }
  return 0;
}

std::optional<std::uint64_t> free_in_group(const fs::path& folder, const MemoryFiles& names) {
  const auto usage = number_in(folder / names.usage);
  auto limit = number_in(folder / names.hard_limit);
  if (names.soft_limit != nullptr) {
    const auto soft = number_in(folder / names.soft_limit);
    if (soft && (!limit || *soft < *limit)) limit = soft;
  }
  if (!usage || !limit) return std::nullopt;
  const std::string stat = read_text(folder / "memory.stat").value_or("");
  const std::uint64_t cache = number_of(stat, names.inactive) + number_of(stat, names.active);
  const std::uint64_t kept = *usage - std::min(*usage, cache);
  return *limit - std::min(*limit, kept);
}

}  // namespace

std::optional<std::uint64_t> read_free_memory(const fs::path& root) {
  const std::uint64_t available_kib = number_of(read_text(root / "proc/meminfo").value_or(""), "MemAvailable:");
  if (available_kib == 0) return std::nullopt;
  std::uint64_t free = available_kib * 1024;
  const auto groups = read_text(root / "proc/self/cgroup");
  if (!groups) return free;
  for (const CgroupMount& mount : read_cgroup_mounts(root)) {
    if (!mount.version2 && !mount.has_controller("memory")) continue;
    const auto path = own_cgroup_path(*groups, mount.version2 ? "" : "memory");
    if (!path) continue;
    for (const fs::path& folder : cgroup_levels(mount, *path)) {
      const auto group = free_in_group(folder, mount.version2 ? k_files_v2 : k_files_v1);
      if (group) free = std::min(free, *group);
    }
  }
  return free;
}

}  // namespace stallcast::collect
