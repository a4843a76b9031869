#include "probes/collect/system/mounts.hpp"

#include <algorithm>

#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

bool is_octal(char letter) {
  return letter >= '0' && letter <= '7';
}

std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool escape = text[at] == '\\' && at + 3 < text.size() && text[at + 1] <= '3' && is_octal(text[at + 1]) &&
                        is_octal(text[at + 2]) && is_octal(text[at + 3]);
    if (!escape) {
      plain += text[at];
      continue;
    }
    plain += static_cast<char>((text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 + (text[at + 3] - '0'));
    at += 3;
  }
  return plain;
}

bool lies_below(std::string_view path, std::string_view point) {
  if (point == "/") return true;
  return path.substr(0, point.size()) == point && (path.size() == point.size() || path[point.size()] == '/');
}

}  // namespace

std::vector<Mount> parse_mountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split_lines(text)) {
    const auto fields = split_fields(line);
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 3) continue;
    mounts.push_back({unescaped(fields[4]), unescaped(dash[1]), unescaped(dash[2]), std::string(fields[2])});
  }
  return mounts;
}

std::optional<Mount> mount_of(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    if (!lies_below(path, mount.point)) continue;
    if (best == nullptr || mount.point.size() >= best->point.size()) best = &mount;
  }
  return best == nullptr ? std::nullopt : std::optional<Mount>(*best);
}

}  // namespace stallcast::collect
