/// What the control groups of this process leave it: CPU time per second, and memory. Versions 1 and 2, side by side.
///
/// Worked example (version 2). /proc/self/cgroup says "0::/job/step", the hierarchy is mounted at /sys/fs/cgroup.
/// cpu.max is read in /job/step ("max 100000": no limit), in /job ("150000 100000": 1.5 CPUs) and at the mount point
/// (no such file). A limit anywhere on the path holds, so the answer is the smallest: 1.5 CPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace stallcast::collect {

struct CgroupLimits {
  std::optional<double> cpus{};                 ///< quota / period, the smallest on the path; absent: no quota
  std::optional<std::uint64_t> memory_bytes{};  ///< the smallest hard or high limit on the path; absent: none
};

/// Reads the limits that hold for `root`/proc/self. `root` is "/" but for tests.
[[nodiscard]] CgroupLimits read_cgroup_limits(const std::filesystem::path& root);

}  // namespace stallcast::collect
