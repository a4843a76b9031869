/// How often a CPU quota of the control groups around this process kept it from running. Versions 1 and 2.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace stallcast::collect {

/// Cumulative, of the group that was held back longest; the kernel counts a period only while the group wants to run.
struct CpuThrottling {
  std::uint64_t periods = 0;    ///< that the quota was given out for
  std::uint64_t throttled = 0;  ///< of them, those in which it was used up
  std::uint64_t time_ns = 0;    ///< summed over CPUs
};

/// What a cpu.stat says; nothing where the group counts no such thing.
[[nodiscard]] std::optional<CpuThrottling> parse_cpu_stat(std::string_view text);

class CpuThrottlingReader {
 public:
  /// Finds the groups on the path of `root`/proc/self; `root` is "/" but for tests. Those that are made later, for the
  /// job alone (`--emulate-with kernel`), are not among them.
  explicit CpuThrottlingReader(const std::filesystem::path& root);

  /// Nothing where no group of the path counts.
  [[nodiscard]] std::optional<CpuThrottling> read() const;

 private:
  std::vector<std::filesystem::path> files_{};
};

}  // namespace stallcast::collect
