#include "probes/collect/emulation/kernel_limits.hpp"

#include <fmt/format.h>

#include <sys/sysmacros.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "probes/collect/launch/run_folder.hpp"
#include "probes/collect/system/or_null.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

using Json = nlohmann::ordered_json;

std::string group_name(const std::string& run_id) {
  return "stallcast-" + run_id;
}

/// As the recordings have it.
std::optional<std::uint64_t> st_dev_of(const std::string& device) {
  const auto numbers = split_fields(device, ':');
  const auto major = numbers.size() == 2 ? parse_u64(numbers[0]) : std::nullopt;
  const auto minor = numbers.size() == 2 ? parse_u64(numbers[1]) : std::nullopt;
  if (!major || !minor) return std::nullopt;
  return makedev(static_cast<unsigned>(*major), static_cast<unsigned>(*minor));
}

Json json_of(const BlockDevice& disk) {
  Json systems = Json::array();
  for (const std::string& device : disk.filesystems) {
    if (const auto number = st_dev_of(device)) systems.push_back(*number);
  }
  return {{"disk", disk.number}, {"name", disk.name}, {"st_devs", std::move(systems)}};
}

}  // namespace

Result<KernelLimits> KernelLimits::make(const EmulationOptions& options, const std::string& run_id) {
  const auto plan = plan_kernel_limits("/", options, group_name(run_id));
  if (!plan) return plan.error();
  std::vector<std::filesystem::path> folders;
  for (const GroupPlan& group : plan.value().groups) folders.push_back(group.folder);
  // Posted first: there is no moment in which a group could stay behind.
  auto sentinel = Sentinel::post([&](bool) { remove_when_empty(folders); });
  if (!sentinel) return sentinel.error();
  auto groups = KernelGroups::make(plan.value());
  if (!groups) return groups.error();
  if (!groups.value().limit_storage(false)) {
    return Error{ErrorCode::environment, "the kernel does not let us take a limit of storage away again",
                 "--emulate without --emulate-with kernel needs no privileges"};
  }
  return KernelLimits(std::move(sentinel).value(), std::move(groups).value());
}

/// A limit that cannot be set again shows in read(): it does not stand.
void KernelLimits::begin() {
  if (begun_) return;
  begun_ = true;
  before_ = read_groups(groups_.plan());
  (void)groups_.limit_storage(true);
}

GroupReadings KernelLimits::read() const {
  GroupReadings now = read_groups(groups_.plan());
  if (groups_.plan().disks.empty()) return now;
  if (!begun_) {
    now.begun = false;
    now.controls.clear();
    now.requests = now.request_bytes = std::nullopt;
    return now;
  }
  if (now.requests) *now.requests -= std::min(*now.requests, before_.requests.value_or(0));
  if (now.request_bytes) *now.request_bytes -= std::min(*now.request_bytes, before_.request_bytes.value_or(0));
  return now;
}

Result<std::string> try_kernel_limits(const EmulationOptions& options) {
  const auto plan = plan_kernel_limits("/", options, group_name(new_run_id()));
  if (!plan) return plan.error();
  const auto groups = KernelGroups::make(plan.value());
  if (!groups) return groups.error();
  return words_of(groups.value().plan());
}

std::string to_line(const EmulationOptions& options, const KernelPlan& plan, const GroupReadings* readings) {
  Json settings = Json::object();
  for (const auto& [key, value] : options.items) settings[key] = value;
  Json disks = Json::array();
  for (const BlockDevice& disk : plan.disks) disks.push_back(json_of(disk));
  Json line = {
      {"kind", "emulation"}, {"with", "kernel"}, {"settings", std::move(settings)}, {"disks", std::move(disks)}};
  if (readings != nullptr) {
    line["controls"] = readings->controls;
    line["requests"] = or_null(readings->requests);
    line["request_bytes"] = or_null(readings->request_bytes);
    line["cpu_throttled_ns"] = or_null(readings->throttled_ns);
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<DataIssue> issues_of(const KernelPlan& plan, const GroupReadings& readings) {
  std::vector<DataIssue> issues;
  if (!readings.begun) {
    issues.push_back({"emulation-never-began", Severity::error, 1,
                      "storage is limited from the job's first batch on, and no process of it asked for one",
                      "see why no loader was recorded; a job that is none cannot be limited so"});
    return issues;
  }
  if (!readings.kept) {
    std::string now;
    for (const std::string& control : readings.controls) now += (now.empty() ? "" : ", ") + control;
    issues.push_back({"emulation-limits-changed", Severity::error, 1,
                      "the control groups' limits were not those that were set any more when the command ended: " + now,
                      "something else on this machine manages control groups: see what changed them"});
  }
  if (!plan.disks.empty() && readings.requests && *readings.requests == 0) {
    issues.push_back({"emulation-saw-no-read", Severity::warning, 1,
                      "no read of the job reached a disk, so the storage limits changed nothing",
                      "the data was in memory (evict it, or use --phases cold), or lies elsewhere"});
  }
  return issues;
}

}  // namespace stallcast::collect
