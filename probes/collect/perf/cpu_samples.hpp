/// Samples of a run while it lasts: taken from decoded records, kept within bounds, given names at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "probes/collect/perf/address_spaces.hpp"
#include "probes/collect/perf/perf_record.hpp"
#include "probes/record/cpu_recording.hpp"

namespace stallcast::collect {

/// Names for places of one file: ascending offsets in, names (empty: none) out.
using NameLookup =
    std::function<std::vector<std::string>(const std::string& path, const std::vector<std::uint64_t>& offsets)>;

class CpuSamples {
 public:
  static constexpr std::size_t k_most_samples = 1'000'000;

  /// `most`: samples kept. Where there are more, every second of those so far is dropped, and half as many kept from
  /// then on: what is left stands for all of the run alike.
  explicit CpuSamples(std::size_t most = k_most_samples) : most_(most) {}

  /// The ring of one CPU is read before that of another: what came in meanwhile waits for its turn.
  void add(PerfRecord record) { waiting_.push_back(std::move(record)); }

  /// Works through what is no younger than `until_ns`, in order of time.
  void settle(std::uint64_t until_ns);

  /// Samples, their symbols and the names of processes, after everything was settled.
  void give_names(const NameLookup& lookup, record::CpuRecording& recording) const;

  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::size_t size() const { return samples_.size(); }

 private:
  struct Sample {
    std::uint64_t t_ns;
    std::uint64_t offset;
    std::uint32_t file;
    pid_t pid;
    pid_t tid;
  };

  void take(const PerfRecord& record);
  void keep(const PerfRecord& record);

  std::size_t most_;
  std::vector<PerfRecord> waiting_{};
  AddressSpaces spaces_{};
  std::vector<Sample> samples_{};
  std::uint32_t keep_one_in_ = 1;
  std::uint32_t since_kept_ = 0;
  std::uint64_t lost_ = 0;
  std::unordered_map<pid_t, std::string> names_{};
};

/// Names as they can be had on this machine after the run: of the kernel from /proc/kallsyms, of files as they are now
/// unless they changed after `started_ns` (CLOCK_REALTIME).
[[nodiscard]] NameLookup names_on_this_machine(std::uint64_t started_ns);

}  // namespace stallcast::collect
