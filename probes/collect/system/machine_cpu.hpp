/// What the CPUs that this process may use were given to, by anybody: what is not idle and not the job's is others'.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

namespace stallcast::collect {

/// Cumulative, of all those CPUs together.
struct MachineCpu {
  int cpus = 0;
  std::uint64_t idle_ns = 0;    ///< waiting for storage included; the kernel rounds to clock ticks
  std::uint64_t stolen_ns = 0;  ///< of a virtual machine: its host ran somebody else. Not idle
};

/// What a /proc/stat says of `cpus`; nothing where one of them is missing.
[[nodiscard]] std::optional<MachineCpu> parse_machine_cpu(std::string_view text, const std::set<int>& cpus);

class MachineCpuReader {
 public:
  /// Of the CPUs that this process may use now; `root` is "/" but for tests.
  explicit MachineCpuReader(const std::filesystem::path& root);

  [[nodiscard]] std::optional<MachineCpu> read() const;

 private:
  std::filesystem::path stat_;
  std::set<int> cpus_{};
};

}  // namespace stallcast::collect
