/// Which control groups would give a run its limits, and what would be written into them: worked out, nothing touched.
///
/// Worked example (version 1). storage_bandwidth=20MB/s, cpus=1.5; this process lies in blkio:/ and cpu:/batch. Two
/// groups: blkio/stallcast-ID with blkio.throttle.read_bps_device "254:0 20000000", and cpu/batch/stallcast-ID with
/// cpu.cfs_quota_us "150000" for each 100000 us.
///
/// In version 2 a group that gives controllers to its children has no processes of its own, and ours has one. The group
/// is therefore made beside our own (below the nearest ancestor that can have it), unless that would free the job of a
/// limit of our own group.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "probes/collect/emulation/emulation.hpp"
#include "probes/collect/system/block_devices.hpp"

namespace stallcast::collect {

/// One line for one control file of a group. Limits of storage hold from the first batch on (see KernelLimits).
struct GroupControl {
  std::string file{};  ///< "io.max"
  std::string text{};  ///< "254:0 rbps=20000000"
  std::string disk{};  ///< that it limits; empty for other limits
  std::string free{};  ///< the line that takes the limit away again; empty where it never is
};

struct GroupPlan {
  std::filesystem::path folder{};
  bool version2 = false;
  /// Files to be written before the folder is made: which controllers its ancestors hand on. They stay so.
  std::vector<std::pair<std::filesystem::path, std::string>> enable{};
  std::vector<GroupControl> controls{};
};

struct KernelPlan {
  std::vector<GroupPlan> groups{};
  std::vector<BlockDevice> disks{};  ///< whose reads are limited; empty where storage is as it is
};

/// The groups, named `name`, that limit what `options` ask for on the machine below `root`. environment error, with
/// what would help, where no control group can do it.
[[nodiscard]] Result<KernelPlan> plan_kernel_limits(const std::filesystem::path& root, const EmulationOptions& options,
                                                    const std::string& name);

/// "version 1: reads of vda (254:0); version 1: a CPU quota".
[[nodiscard]] std::string words_of(const KernelPlan& plan);

}  // namespace stallcast::collect
