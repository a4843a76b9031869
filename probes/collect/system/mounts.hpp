/// Which file system a path lies on, by /proc/self/mountinfo.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallcast::collect {

struct Mount {
  std::string point{};   ///< where it is mounted
  std::string type{};    ///< "ext4", "nfs4", "fuse.sshfs", ...
  std::string source{};  ///< "/dev/vda", "server:/export", ...
  std::string device{};  ///< "254:0"
};

/// The mounts in the text of a mountinfo file, in its order; lines that are not understood are left out. The octal
/// escapes of the kernel (\040 for a space) are undone.
[[nodiscard]] std::vector<Mount> parse_mountinfo(std::string_view text);

/// The mount that `path` (absolute, resolved) lies on: the longest mount point that is a prefix of whole names, and
/// among equals the last one, which hides the others.
[[nodiscard]] std::optional<Mount> mount_of(const std::vector<Mount>& mounts, std::string_view path);

}  // namespace stallcast::collect
