#include "probes/collect/cgroup_limits.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "probes/collect/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

/// One mounted hierarchy: where it is, and which part of the hierarchy is visible there.
struct Mount {
  std::string root{};
  fs::path point{};
  bool version2 = false;
  std::string super_options{};
};

/// The kernel writes blanks in paths as \040 and the like.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool octal = text[i] == '\\' && i + 3 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '3';
    if (!octal) {
      plain += text[i];
      continue;
    }
    const int value = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
    plain += static_cast<char>(value);
    i += 3;
  }
  return plain;
}

bool has_word(std::string_view list, std::string_view word) {
  const auto words = split_fields(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A line of mountinfo: "36 25 0:31 /root /point rw,relatime shared:9 - cgroup cgroup rw,cpu".
std::vector<Mount> read_mounts(const fs::path& root) {
  std::vector<Mount> mounts;
  const auto text = read_text(root / "proc/self/mountinfo");
  if (!text) return mounts;
  for (const std::string_view line : split_lines(*text)) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto before = split_fields(line.substr(0, dash));
    const auto after = split_fields(line.substr(dash + 3));
    if (before.size() < 5 || after.size() < 2) continue;
    if (after[0] != "cgroup" && after[0] != "cgroup2") continue;
    const std::string point = unescape(before[4]);
    mounts.push_back({unescape(before[3]), root / fs::path(point).relative_path(), after[0] == "cgroup2",
                      std::string(after.back())});
  }
  return mounts;
}

/// Path of this process in the hierarchy of `controller` ("" for version 2).
std::optional<std::string> own_path(std::string_view cgroup_text, std::string_view controller) {
  for (const std::string_view line : split_lines(cgroup_text)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool fits = controller.empty() ? controllers.empty() : has_word(controllers, controller);
    if (fits) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

/// The folders from the process's own group up to the mount point. Where the group lies outside of what is mounted (a
/// container without a cgroup namespace), what is visible is the mount point alone.
std::vector<fs::path> levels(const Mount& mount, const std::string& path) {
  std::string_view inside = path;
  if (mount.root != "/") {
    const bool below = path.compare(0, mount.root.size(), mount.root) == 0 &&
                       (path.size() == mount.root.size() || path[mount.root.size()] == '/');
    inside = below ? inside.substr(mount.root.size()) : std::string_view();
  }
  std::vector<fs::path> folders{mount.point};
  if (inside.find("/..") != std::string_view::npos) return folders;
  for (const std::string_view part : split_fields(inside, '/')) folders.push_back(folders.back() / part);
  return folders;
}

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
  for (const Mount& mount : read_mounts(root)) {
    const bool cpu = mount.version2 || has_word(mount.super_options, "cpu");
    const bool memory = mount.version2 || has_word(mount.super_options, "memory");
    if (!cpu && !memory) continue;
    const auto path = own_path(*groups, mount.version2 ? "" : cpu ? "cpu" : "memory");
    if (!path) continue;
    for (const fs::path& folder : levels(mount, *path)) {
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
