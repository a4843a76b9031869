#include "probes/collect/emulation/kernel_groups.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/clock.hpp"
#include "probes/collect/emulation/constants.hpp"
#include "probes/collect/system/cpu_throttling.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_prefix = "stallcast-";

/// 0, or errno.
int write_control(const fs::path& file, std::string_view text) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const ssize_t written = write(descriptor, text.data(), text.size());
  const int reason = written == static_cast<ssize_t>(text.size()) ? 0 : written < 0 ? errno : EIO;
  close(descriptor);
  return reason;
}

Error refused(const std::string& what, int reason) {
  std::string hint = "--emulate without --emulate-with kernel needs no privileges";
  if (reason == EACCES || reason == EPERM || reason == EROFS) {
    hint = "run stallcast as root (in a container: docker --privileged); " + hint;
  }
  return {ErrorCode::environment, fmt::format("the kernel does not let us {}: {}", what, std::strerror(reason)), hint};
}

/// Whether the text of a control file has a line with all words of `wanted`.
bool still_says(const std::string& text, const std::string& wanted) {
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_fields(line);
    const auto has = [&](std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); };
    const auto expected = split_fields(wanted);
    if (std::all_of(expected.begin(), expected.end(), has)) return true;
  }
  return false;
}

/// Its line for the disk where it limits one, else all of it.
std::string as_it_stands(const std::string& text, const GroupControl& control) {
  if (control.disk.empty()) return fmt::format("{} {}", control.file, trim(text));
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_fields(line);
    if (!words.empty() && words[0] == control.disk) return fmt::format("{} {}", control.file, trim(line));
  }
  return control.file + " nothing";
}

void add(std::optional<std::uint64_t>& sum, std::optional<std::uint64_t> value) {
  if (value) sum = sum.value_or(0) + *value;
}

/// A line "254:0 Read 4096" of version 1.
std::optional<std::uint64_t> reads_v1(const std::string& text, const std::string& disk) {
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_fields(line);
    if (words.size() == 3 && words[0] == disk && words[1] == "Read") return parse_u64(words[2]);
  }
  return std::nullopt;
}

/// The value of `key` ("rbytes=") in the line of `disk` in version 2's io.stat.
std::optional<std::uint64_t> reads_v2(const std::string& text, const std::string& disk, std::string_view key) {
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_fields(line);
    if (words.empty() || words[0] != disk) continue;
    for (const std::string_view word : words) {
      if (word.substr(0, key.size()) == key) return parse_u64(word.substr(key.size()));
    }
  }
  return std::nullopt;
}

/// A disk that was not read from has no line: nothing was read, where the file is there at all.
void read_storage(const GroupPlan& group, const std::vector<BlockDevice>& disks, GroupReadings& out) {
  const auto bytes = read_text(group.folder / (group.version2 ? "io.stat" : "blkio.throttle.io_service_bytes"));
  const auto count = read_text(group.folder / (group.version2 ? "io.stat" : "blkio.throttle.io_serviced"));
  if (!bytes || !count) return;
  out.requests = out.request_bytes = 0;
  for (const BlockDevice& disk : disks) {
    add(out.request_bytes, group.version2 ? reads_v2(*bytes, disk.number, "rbytes=") : reads_v1(*bytes, disk.number));
    add(out.requests, group.version2 ? reads_v2(*count, disk.number, "rios=") : reads_v1(*count, disk.number));
  }
}

void read_cpu(const GroupPlan& group, GroupReadings& out) {
  const auto counts = parse_cpu_stat(read_text(group.folder / "cpu.stat").value_or(""));
  if (counts) out.throttled_ns = counts->time_ns;
}

/// "stallcast-6918a3c2-..." -> the second in which its run began.
std::optional<std::uint64_t> begin_of(const std::string& name) {
  if (name.size() <= k_prefix.size() + 9 || name.compare(0, k_prefix.size(), k_prefix) != 0) return std::nullopt;
  const char* from = name.data() + k_prefix.size();
  std::uint64_t seconds = 0;
  const auto parsed = std::from_chars(from, from + 8, seconds, 16);
  if (parsed.ec != std::errc() || parsed.ptr != from + 8 || *parsed.ptr != '-') return std::nullopt;
  return seconds;
}

}  // namespace

Result<KernelGroups> KernelGroups::make(KernelPlan plan) {
  KernelGroups groups;
  groups.plan_ = std::move(plan);
  const std::vector<GroupPlan> planned = groups.plan_.groups;
  for (const GroupPlan& group : planned) {
    sweep_groups(group.folder.parent_path(), clock_ns(CLOCK_REALTIME) / 1'000'000'000ULL);
    STALLCAST_RETURN_IF_ERROR(groups.add(group));
    STALLCAST_RETURN_IF_ERROR(groups.set(group));
  }
  return groups;
}

Status KernelGroups::add(const GroupPlan& group) {
  for (const auto& [file, text] : group.enable) {
    const int reason = write_control(file, text);
    if (reason != 0) return refused(fmt::format("write {} to {}", text, file.string()), reason);
  }
  if (mkdir(group.folder.c_str(), 0755) != 0) {
    return refused("make the control group " + group.folder.string(), errno);
  }
  made_.push_back(group.folder);
  const int lock = open(group.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock >= 0) locks_.push_back(lock);
  if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) {
    return refused("lock the control group " + group.folder.string(), errno);
  }
  return {};
}

Status KernelGroups::set(const GroupPlan& group) {
  for (const GroupControl& control : group.controls) {
    if (!control.disk.empty() && !limits_disk(control.disk)) continue;  // dropped by the control before it
    const int reason = write_control(group.folder / control.file, control.text);
    if (reason == 0) continue;
    if (reason == ENODEV && !control.disk.empty() && plan_.disks.size() > 1) {
      drop_disk(control.disk);
      continue;
    }
    return refused(fmt::format("write {} to {}", control.text, (group.folder / control.file).string()), reason);
  }
  const int join = open((group.folder / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  if (join < 0) return refused("open " + (group.folder / "cgroup.procs").string(), errno);
  joins_.push_back(join);
  return {};
}

bool KernelGroups::limit_storage(bool limited) const {
  bool all = true;
  for (const GroupPlan& group : plan_.groups) {
    for (const GroupControl& control : group.controls) {
      if (control.free.empty()) continue;
      all = write_control(group.folder / control.file, limited ? control.text : control.free) == 0 && all;
    }
  }
  return all;
}

bool KernelGroups::limits_disk(const std::string& number) const {
  return std::any_of(plan_.disks.begin(), plan_.disks.end(),
                     [&](const BlockDevice& disk) { return disk.number == number; });
}

void KernelGroups::drop_disk(const std::string& number) {
  auto& disks = plan_.disks;
  disks.erase(
      std::remove_if(disks.begin(), disks.end(), [&](const BlockDevice& disk) { return disk.number == number; }),
      disks.end());
  for (GroupPlan& group : plan_.groups) {
    auto& controls = group.controls;
    controls.erase(std::remove_if(controls.begin(), controls.end(),
                                  [&](const GroupControl& control) { return control.disk == number; }),
                   controls.end());
  }
}

KernelGroups::KernelGroups(KernelGroups&& other) noexcept
    : plan_(std::move(other.plan_)),
      made_(std::exchange(other.made_, {})),
      joins_(std::exchange(other.joins_, {})),
      locks_(std::exchange(other.locks_, {})) {}

KernelGroups::~KernelGroups() {
  for (const int join : joins_) close(join);
  for (int removal = 0; removal < k_removals; ++removal) {
    const bool all = std::all_of(made_.begin(), made_.end(),
                                 [](const fs::path& folder) { return rmdir(folder.c_str()) == 0 || errno == ENOENT; });
    if (all) break;
    usleep(k_removal_us);
  }
  for (const int lock : locks_) close(lock);
}

GroupReadings read_groups(const KernelPlan& plan) {
  GroupReadings out;
  for (const GroupPlan& group : plan.groups) {
    bool storage = false;
    bool cpu = false;
    for (const GroupControl& control : group.controls) {
      const std::string text = read_text(group.folder / control.file).value_or("");
      out.controls.push_back(as_it_stands(text, control));
      out.kept = out.kept && still_says(text, control.text);
      storage = storage || !control.disk.empty();
      cpu = cpu || control.disk.empty();
    }
    if (storage) read_storage(group, plan.disks, out);
    if (cpu) read_cpu(group, out);
  }
  return out;
}

int sweep_groups(const fs::path& parent, std::uint64_t now_s) {
  int removed = 0;
  std::error_code failed;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(parent, failed)) {
    const auto begin = begin_of(entry.path().filename().string());
    if (begin && *begin + k_young_group_s < now_s) found.push_back(entry.path());
  }
  for (const fs::path& folder : found) {
    const int lock = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0) continue;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0 && rmdir(folder.c_str()) == 0) ++removed;
    close(lock);
  }
  return removed;
}

void remove_when_empty(std::vector<fs::path> folders) {
  useconds_t wait_us = k_removal_us;
  while (true) {
    const auto is_gone = [](const fs::path& folder) {
      return rmdir(folder.c_str()) == 0 || (errno != EBUSY && errno != ENOTEMPTY && errno != EINTR);
    };
    folders.erase(std::remove_if(folders.begin(), folders.end(), is_gone), folders.end());
    if (folders.empty()) return;
    usleep(wait_us);
    wait_us = std::min(2 * wait_us, k_longest_wait_us);
  }
}

}  // namespace stallcast::collect
