#include "probes/collect/system/cgroup_mounts.hpp"

#include <algorithm>

#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

bool CgroupMount::has_controller(std::string_view controller) const {
  return has_word(super_options, controller);
}

/// A line of mountinfo: "36 25 0:31 /root /point rw,relatime shared:9 - cgroup cgroup rw,cpu".
std::vector<CgroupMount> read_cgroup_mounts(const fs::path& root) {
  std::vector<CgroupMount> mounts;
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

std::optional<std::string> own_cgroup_path(std::string_view cgroup_text, std::string_view controller) {
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

std::vector<fs::path> cgroup_levels(const CgroupMount& mount, const std::string& path) {
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

}  // namespace stallcast::collect
