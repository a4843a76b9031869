/// What the CPU probe (probes/collect/perf/cpu_probe) saw of a run: samples of where the job's CPU time went, and
/// counters over the tree of its processes. One file beside the recordings; addresses were made names when the run
/// ended, so that it can be read on another machine.
///
/// Worked example. At 97 Hz a process that computes for 2 s leaves about 194 samples, each {time, process, thread,
/// symbol}; 110 of them name {libjpeg.so.62, ""}: 57 % of its CPU time went into libjpeg. Which samples count for what
/// (workers, phases) is the analyzer's business.
///
///   | "STALLCPU" | version | facts | counters | readings | names | symbols | samples 20 bytes each |   little-endian
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace stallcast::record {

inline constexpr char k_cpu_file[] = "cpu_samples";

/// Where an address lies.
struct CpuSymbol {
  std::string
      library{};  ///< file name without its folder; "[kernel]", "[jit]" (memory that no file backs), "[unknown]"
  std::string function{};  ///< demangled; empty: the file is gone, or names none there
};

struct CpuSample {
  std::uint64_t t_ns = 0;  ///< CLOCK_MONOTONIC
  std::int32_t pid = 0;
  std::int32_t tid = 0;
  std::uint32_t symbol = 0;  ///< index into CpuRecording::symbols
};

/// One counter at one instant, summed over all processes of the job so far.
struct CpuCount {
  std::uint64_t value = 0;
  std::uint64_t enabled_ns = 0;  ///< that it was asked for,
  std::uint64_t running_ns = 0;  ///< and that the hardware had room for it: less where counters take turns
};

struct CpuReading {
  std::uint64_t t_ns = 0;          ///< CLOCK_MONOTONIC
  std::vector<CpuCount> counts{};  ///< as CpuRecording::counters
};

/// A counter that was opened, or why it was not.
struct CpuCounter {
  std::string name{};    ///< task_clock_ns | context_switches | migrations | minor_faults | major_faults | cycles | ...
  std::string absent{};  ///< reason; empty: it counts
};

/// The name that a process last gave itself (/proc/PID/comm).
struct CpuProcessName {
  std::int32_t pid = 0;
  std::string name{};
};

struct CpuRecording {
  std::string run_id{};
  std::string absent{};           ///< why there are no samples; empty where there may be some
  double hz = 0.0;                ///< of each thread's own CPU time
  bool kernel = false;            ///< time in the kernel is sampled, too
  std::uint64_t lost = 0;         ///< records that did not fit into the kernel's buffer
  std::uint32_t keep_one_in = 1;  ///< of the samples taken, to stay within bounds
  std::vector<CpuCounter> counters{};
  std::vector<CpuReading> readings{};  ///< in order of time
  std::vector<CpuProcessName> names{};
  std::vector<CpuSymbol> symbols{};
  std::vector<CpuSample> samples{};  ///< in order of time
};

/// The content of the file.
[[nodiscard]] std::string encode_cpu_recording(const CpuRecording& recording);

/// The inverse; bad_input where it is no such file, is cut off, or of a newer version (named in the message).
[[nodiscard]] Result<CpuRecording> parse_cpu_recording(std::string_view bytes);

}  // namespace stallcast::record
