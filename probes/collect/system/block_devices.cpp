#include "probes/collect/system/block_devices.hpp"

#include <algorithm>

#include "probes/collect/system/mounts.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

/// The whole disk that the block device `number` is, or is a partition of. Empty number: it is no block device.
BlockDevice disk_of(const fs::path& root, const std::string& number) {
  std::error_code failed;
  fs::path folder = fs::canonical(root / "sys/dev/block" / number, failed);
  if (failed) return {};
  if (fs::exists(folder / "partition", failed)) folder = folder.parent_path();
  const std::string disk(trim(read_text(folder / "dev").value_or("")));
  return {disk, folder.filename().string(), {}};
}

}  // namespace

std::vector<BlockDevice> mounted_disks(const fs::path& root) {
  std::vector<BlockDevice> disks;
  for (const Mount& mount : parse_mountinfo(read_text(root / "proc/self/mountinfo", 16U << 20U).value_or(""))) {
    if (mount.device.rfind("0:", 0) == 0) continue;
    BlockDevice disk = disk_of(root, mount.device);
    if (disk.number.empty()) continue;
    const auto same = [&](const BlockDevice& other) { return other.number == disk.number; };
    auto found = std::find_if(disks.begin(), disks.end(), same);
    if (found == disks.end()) found = disks.insert(disks.end(), std::move(disk));
    auto& systems = found->filesystems;
    if (std::find(systems.begin(), systems.end(), mount.device) == systems.end()) systems.push_back(mount.device);
  }
  return disks;
}

}  // namespace stallcast::collect
