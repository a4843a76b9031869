/// The disks under the mounted file systems: what a control group can limit the reads of.
///
/// Worked example. /data is ext4 on partition 259:2 of the disk nvme0n1. The kernel limits whole disks, so what is
/// limited is 259:0, and the file systems that this covers are those with st_dev 259:2 (and 259:1, where /boot lies).
/// A volume of a device mapper or a RAID is a whole disk here: its file system's reads meet it first.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace stallcast::collect {

struct BlockDevice {
  std::string number{};                    ///< of the whole disk, "259:0"
  std::string name{};                      ///< "nvme0n1"; empty if the kernel does not say
  std::vector<std::string> filesystems{};  ///< mounted from it, as mountinfo has them: "259:1", "259:2"
};

/// The disks with a mounted file system, in the order of their first mount. Not among them: file systems without a disk
/// of their own (network, memory, overlay), and those whose device number is none of a disk (btrfs, zfs).
[[nodiscard]] std::vector<BlockDevice> mounted_disks(const std::filesystem::path& root);

}  // namespace stallcast::collect
