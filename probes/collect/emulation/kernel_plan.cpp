#include "probes/collect/emulation/kernel_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "probes/collect/emulation/constants.hpp"
#include "probes/collect/system/cgroup_mounts.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

constexpr char k_interposer_hint[] = "leave --emulate-with out: the interposer needs neither";

/// Where one controller's group can be made.
struct GroupPlace {
  fs::path parent{};
  bool version2 = false;
  std::vector<std::pair<fs::path, std::string>> enable{};
};

/// What one controller is called in either version.
struct Controller {
  const char* v1 = "";
  const char* v2 = "";
};
constexpr Controller k_storage{"blkio", "io"};
constexpr Controller k_cpu{"cpu", "cpu"};

bool lists(const fs::path& file, std::string_view word) {
  const std::string text = read_text(file).value_or("");
  const auto words = split_fields(trim(text));
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A limit of version 2 that a job outside of this group would be free of; its file's name.
std::optional<std::string> limit_in(const fs::path& group) {
  for (const char* file : {"cpu.max", "memory.max", "memory.high"}) {
    const std::string text = read_text(group / file).value_or("max");
    if (trim(text).substr(0, 3) != "max") return file;
  }
  const std::string io = read_text(group / "io.max").value_or("");
  return trim(io).empty() ? std::nullopt : std::optional<std::string>("io.max");
}

Error no_place(const Controller& controller, const std::string& why, const char* hint) {
  return {ErrorCode::environment, fmt::format("the kernel cannot limit {}: {}", controller.v2, why), hint};
}

/// `levels`: from the mount point down to our own group, which has processes: ours.
Result<GroupPlace> place_v2(const std::vector<fs::path>& levels, const Controller& controller) {
  std::error_code failed;
  GroupPlace place{.parent = {}, .version2 = true, .enable = {}};
  // Only the root of the whole hierarchy may have processes and children with controllers; it has no cgroup.type.
  const bool own_is_root = levels.size() == 1 && !fs::exists(levels[0] / "cgroup.type", failed);
  if (levels.size() == 1 && !own_is_root) {
    return no_place(controller, "this container's processes lie in the uppermost group that it sees",
                    "start stallcast outside of the container, or give it the host's groups (docker: "
                    "--cgroupns=host --privileged)");
  }
  const std::size_t parent = own_is_root ? 0 : levels.size() - 2;
  if (!own_is_root) {
    if (const auto limit = limit_in(levels.back())) {
      return no_place(controller,
                      fmt::format("a group beside {} would be free of its {}", levels.back().string(), *limit),
                      "start stallcast from a group without limits, or leave --emulate-with out");
    }
  }
  place.parent = levels[parent];
  for (std::size_t level = 0; level <= parent; ++level) {
    const fs::path file = levels[level] / "cgroup.subtree_control";
    if (!lists(file, controller.v2)) place.enable.emplace_back(file, fmt::format("+{}", controller.v2));
  }
  return place;
}

Result<GroupPlace> place_of(const fs::path& root, const Controller& controller) {
  const std::string groups = read_text(root / "proc/self/cgroup").value_or("");
  const auto mounts = read_cgroup_mounts(root);
  for (const CgroupMount& mount : mounts) {
    if (mount.version2 || !mount.has_controller(controller.v1)) continue;
    const auto path = own_cgroup_path(groups, controller.v1);
    if (path) return GroupPlace{cgroup_levels(mount, *path).back(), false, {}};
  }
  for (const CgroupMount& mount : mounts) {
    if (!mount.version2 || !lists(mount.point / "cgroup.controllers", controller.v2)) continue;
    const auto path = own_cgroup_path(groups, "");
    if (path) return place_v2(cgroup_levels(mount, *path), controller);
  }
  return no_place(controller,
                  fmt::format("no control groups with '{}' (version 1) or '{}' (version 2) are mounted", controller.v1,
                              controller.v2),
                  "mount them below /sys/fs/cgroup (in a container: docker --privileged), or leave --emulate-with out");
}

/// Both controllers may share one hierarchy, and then one group.
void add_group(const GroupPlace& place, const std::string& name, std::vector<GroupControl> controls, KernelPlan& plan) {
  const fs::path folder = place.parent / name;
  auto group = std::find_if(plan.groups.begin(), plan.groups.end(),
                            [&](const GroupPlan& other) { return other.folder == folder; });
  if (group == plan.groups.end()) group = plan.groups.insert(group, GroupPlan{folder, place.version2, {}, {}});
  group->enable.insert(group->enable.end(), place.enable.begin(), place.enable.end());
  group->controls.insert(group->controls.end(), controls.begin(), controls.end());
}

/// Version 1 does not add up limits of blkio on the way to the root: a group of ours lifts those of the group around
/// it.
Status check_own_limit(const GroupPlace& place, const char* file, const std::string& disk, std::uint64_t asked) {
  const std::string text = read_text(place.parent / file).value_or("");
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_fields(line);
    if (words.size() != 2 || words[0] != disk) continue;
    const auto limit = parse_u64(words[1]);
    if (!limit || *limit >= asked) continue;
    return no_place(k_storage,
                    fmt::format("{} says {} for {} already, which a group of ours would lift",
                                (place.parent / file).string(), *limit, disk),
                    "ask for less than that, or have it taken away");
  }
  return {};
}

Status add_storage_v1(const GroupPlace& place, const std::string& disk, const char* file, std::uint64_t rate,
                      std::vector<GroupControl>& controls) {
  STALLCAST_RETURN_IF_ERROR(check_own_limit(place, file, disk, rate));
  controls.push_back({file, fmt::format("{} {}", disk, rate), disk, disk + " 0"});
  return {};
}

std::uint64_t whole(double rate) {
  return static_cast<std::uint64_t>(std::llround(rate));
}

Status plan_storage(const fs::path& root, const EmulationOptions& options, const std::string& name, KernelPlan& plan) {
  const auto place = place_of(root, k_storage);
  if (!place) return place.error();
  plan.disks = mounted_disks(root);
  if (plan.disks.empty()) {
    return no_place(k_storage, "no file system of a local disk is mounted here (network, memory and overlay have none)",
                    k_interposer_hint);
  }
  std::vector<GroupControl> controls;
  for (const BlockDevice& disk : plan.disks) {
    if (place.value().version2) {
      std::string text = disk.number;
      if (options.bandwidth) text += fmt::format(" rbps={}", whole(options.bandwidth->value()));
      if (options.requests) text += fmt::format(" riops={}", whole(options.requests->value()));
      controls.push_back({"io.max", std::move(text), disk.number, disk.number + " rbps=max riops=max"});
      continue;
    }
    if (options.bandwidth) {
      STALLCAST_RETURN_IF_ERROR(add_storage_v1(place.value(), disk.number, "blkio.throttle.read_bps_device",
                                               whole(options.bandwidth->value()), controls));
    }
    if (options.requests) {
      STALLCAST_RETURN_IF_ERROR(add_storage_v1(place.value(), disk.number, "blkio.throttle.read_iops_device",
                                               whole(options.requests->value()), controls));
    }
  }
  add_group(place.value(), name, std::move(controls), plan);
  return {};
}

Status plan_cpu(const fs::path& root, double cpus, const std::string& name, KernelPlan& plan) {
  const auto place = place_of(root, k_cpu);
  if (!place) return place.error();
  const auto quota = std::llround(cpus * static_cast<double>(k_quota_period_us));
  std::vector<GroupControl> controls;
  if (place.value().version2) {
    controls.push_back({"cpu.max", fmt::format("{} {}", quota, k_quota_period_us), {}, {}});
  } else {
    controls.push_back({"cpu.cfs_period_us", std::to_string(k_quota_period_us), {}, {}});
    controls.push_back({"cpu.cfs_quota_us", std::to_string(quota), {}, {}});
  }
  add_group(place.value(), name, std::move(controls), plan);
  return {};
}

}  // namespace

Result<KernelPlan> plan_kernel_limits(const fs::path& root, const EmulationOptions& options, const std::string& name) {
  KernelPlan plan;
  if (options.bandwidth || options.requests) {
    STALLCAST_RETURN_IF_ERROR(plan_storage(root, options, name, plan));
  }
  if (options.cpu_quota) STALLCAST_RETURN_IF_ERROR(plan_cpu(root, *options.cpu_quota, name, plan));
  return plan;
}

std::string words_of(const KernelPlan& plan) {
  std::string text;
  for (const GroupPlan& group : plan.groups) {
    text += fmt::format("{}version {}:", text.empty() ? "" : "; ", group.version2 ? 2 : 1);
    const bool storage = std::any_of(group.controls.begin(), group.controls.end(),
                                     [](const GroupControl& control) { return !control.disk.empty(); });
    const bool cpu = std::any_of(group.controls.begin(), group.controls.end(),
                                 [](const GroupControl& control) { return control.disk.empty(); });
    for (const BlockDevice& disk : plan.disks) {
      if (!storage) break;
      text += fmt::format("{} {} ({})", &disk == &plan.disks.front() ? " reads of" : ",", disk.name, disk.number);
    }
    if (cpu) text += storage ? ", a CPU quota" : " a CPU quota";
  }
  return text;
}

}  // namespace stallcast::collect
