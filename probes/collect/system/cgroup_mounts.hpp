/// Where the control group hierarchies are mounted, and where this process lies in them. Versions 1 and 2 alike.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallcast::collect {

/// One mounted hierarchy: where it is, and which part of the hierarchy is visible there.
struct CgroupMount {
  std::string root{};             ///< path in the hierarchy of what is mounted; "/" is all of it
  std::filesystem::path point{};  ///< below the `root` folder that was asked for
  bool version2 = false;
  std::string super_options{};  ///< version 1 names its controllers here

  /// Of version 1: whether the hierarchy has this controller.
  [[nodiscard]] bool has_controller(std::string_view controller) const;
};

/// The hierarchies in `root`/proc/self/mountinfo, in its order.
[[nodiscard]] std::vector<CgroupMount> read_cgroup_mounts(const std::filesystem::path& root);

/// Path of this process in the hierarchy of `controller` ("" for version 2), by the text of /proc/self/cgroup.
[[nodiscard]] std::optional<std::string> own_cgroup_path(std::string_view cgroup_text, std::string_view controller);

/// The folders from the mount point down to the process's own group. Where the group lies outside of what is mounted (a
/// container without a cgroup namespace), what is visible is the mount point alone.
[[nodiscard]] std::vector<std::filesystem::path> cgroup_levels(const CgroupMount& mount, const std::string& path);

}  // namespace stallcast::collect
