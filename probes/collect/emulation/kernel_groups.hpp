/// The control groups of one run: made, read, removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "probes/collect/emulation/kernel_plan.hpp"

namespace stallcast::collect {

/// What the kernel says of the groups.
struct GroupReadings {
  std::vector<std::string> controls{};           ///< as they stand: "blkio.throttle.read_bps_device 254:0 20000000"
  bool kept = true;                              ///< each is still as it was set
  bool begun = true;                             ///< false: storage was never limited, and the rest says nothing of it
  std::optional<std::uint64_t> requests{};       ///< reads that the limited disks were asked for, as the kernel counts
  std::optional<std::uint64_t> request_bytes{};  ///< by them
  std::optional<std::uint64_t> throttled_ns{};   ///< that the quota kept processes of the group from running
};

/// Owns the groups of a plan; no process is in them at first. They are removed at the end, as far as nobody lives in
/// them. Movable.
class KernelGroups {
 public:
  /// Makes them and sets their limits. A disk that the kernel does not limit is left out (`disks` of plan()).
  /// environment error, with nothing left behind, where it refuses: no permission, no such control.
  [[nodiscard]] static Result<KernelGroups> make(KernelPlan plan);

  KernelGroups(KernelGroups&& other) noexcept;
  KernelGroups& operator=(KernelGroups&&) = delete;
  KernelGroups(const KernelGroups&) = delete;
  KernelGroups& operator=(const KernelGroups&) = delete;
  ~KernelGroups();

  [[nodiscard]] const KernelPlan& plan() const { return plan_; }

  /// Writes those limits again, or takes them away, that can be taken away (`free` of a control). Whether all could be.
  [[nodiscard]] bool limit_storage(bool limited) const;

  /// Descriptors that a process writes "0" to in order to join; closed on exec.
  [[nodiscard]] const std::vector<int>& joins() const { return joins_; }

 private:
  KernelGroups() = default;
  [[nodiscard]] Status add(const GroupPlan& group);
  [[nodiscard]] Status set(const GroupPlan& group);
  [[nodiscard]] bool limits_disk(const std::string& number) const;
  void drop_disk(const std::string& number);

  KernelPlan plan_{};
  std::vector<std::filesystem::path> made_{};
  std::vector<int> joins_{};
  std::vector<int> locks_{};  ///< on the groups' folders: whoever could lock one knows that its tool is gone
};

/// What the kernel says of the groups in `plan`; absent what it does not count.
[[nodiscard]] GroupReadings read_groups(const KernelPlan& plan);

/// Removes groups in `parent` that were left by runs whose tool is gone, if nobody lives in them. `now_s`: seconds
/// since 1970; what is younger than a minute is left alone, for it may be about to be locked. The number removed.
int sweep_groups(const std::filesystem::path& parent, std::uint64_t now_s);

/// Tries for as long as it takes until all `folders` are gone; for a process that has nothing else to do.
void remove_when_empty(std::vector<std::filesystem::path> folders);

}  // namespace stallcast::collect
