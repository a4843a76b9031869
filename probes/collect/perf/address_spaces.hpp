/// What lies where in the memory of the job's processes, followed from the kernel's records in order of time.
///
/// Worked example. A process maps bytes from 0x1000 on of libjpeg.so at 0x7f00'0000'0000, 0x2000 of them. A sample at
/// 0x7f00'0000'0123 lies in libjpeg.so, at byte 0x1123 of the file. Its child has the same mappings until it execs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "probes/collect/perf/perf_record.hpp"

namespace stallcast::collect {

/// Files that are none, by their number.
inline constexpr std::uint32_t k_in_kernel = 0;
inline constexpr std::uint32_t k_in_unknown = 1;  ///< no mapping is known there
inline constexpr std::uint32_t k_in_jit = 2;      ///< no file backs it

struct Place {
  std::uint32_t file = k_in_unknown;  ///< index into AddressSpaces::files()
  std::uint64_t offset = 0;           ///< in the file; in the kernel: the address
};

/// Bounded: what goes beyond (mappings of a process, processes, files) is unknown.
class AddressSpaces {
 public:
  AddressSpaces();

  /// Mappings, names (exec), forks and exits; other kinds change nothing.
  void take(const PerfRecord& record);

  /// Where the sample `record` was taken.
  [[nodiscard]] Place place_of(const PerfRecord& record) const;

  /// Paths as the job saw them; the first three are none (k_in_...).
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

  /// Processes whose mappings are known now.
  [[nodiscard]] std::size_t processes() const { return spaces_.size(); }

 private:
  struct Mapping {
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    std::uint32_t file = k_in_unknown;
  };
  using Space = std::map<std::uint64_t, Mapping>;  ///< by first address

  void map(const PerfRecord& record);
  Space& own(pid_t pid);
  [[nodiscard]] std::uint32_t number_of(const std::string& path);

  std::unordered_map<pid_t, std::shared_ptr<Space>> spaces_{};  ///< shared until one of them changes
  std::deque<pid_t> ended_{};                                   ///< kept for a while: other CPUs' records come later
  std::vector<std::string> files_{};
  std::unordered_map<std::string, std::uint32_t> numbers_{};
};

}  // namespace stallcast::collect
