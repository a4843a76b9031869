/// The machine as the job may use it: cores by affinity and quota, memory by control group, allow-listed environment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stallcast::collect {

struct HostFacts {
  std::string name{};
  std::string kernel{};
  std::string cpu_model{};
  int logical_cpus = 0;   ///< online
  int physical_cpus = 0;  ///< distinct cores; logical_cpus where the machine does not say
  double usable_cpus = 0.0;
  std::string usable_cpus_limited_by = "nothing";  ///< nothing | affinity | cgroup quota
  std::uint64_t memory_bytes = 0;
  std::optional<std::uint64_t> memory_limit_bytes{};  ///< control group limit where it is below the machine's memory
  std::optional<std::uint64_t> shm_free_bytes{};      ///< of /dev/shm
  std::map<std::string, std::string> environment{};   ///< allow-listed variables only
};

/// Reads /proc, /sys and /dev/shm under `root` ("/" but for tests) and takes the allow-listed variables out of
/// `environment` ("NAME=value" entries).
[[nodiscard]] HostFacts read_host_facts(const std::filesystem::path& root, const std::vector<std::string>& environment);

/// CPUs that this process may run on; none where the kernel does not say.
[[nodiscard]] std::set<int> allowed_cpus(const std::filesystem::path& root);

/// What an unprivileged process may still write below `folder`; nothing if it cannot be asked.
[[nodiscard]] std::optional<std::uint64_t> free_bytes(const std::filesystem::path& folder);

/// As if a control group of ours had this quota (CPU seconds a second), where it is the lower limit.
void limit_by_quota(double quota, HostFacts& facts);

/// True for variables that say how much of the machine a job may use, or which rank it is; nothing else is recorded.
[[nodiscard]] bool is_recordable_variable(std::string_view name);

}  // namespace stallcast::collect
