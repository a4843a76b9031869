/// The emulated storage of a run: one mapped file, `emulation` in the run folder, shared by every process of the job.
///
/// Two clocks hold the time up to which bytes and requests are spoken for, one table says what the emulated cache
/// holds, counters say what became of it. Fixed-width atomics, no mutex: whoever is killed half-way costs one file's
/// accuracy.
///
/// Worked example, 20 MB/s and a burst of 100 ms. A file of 2 MB that is not cached moves the clock of bytes by 100 ms:
/// from an idle clock its reader goes on at once (the burst covers it), the next reader of 2 MB waits for 100 ms, the
/// one after it for 200 ms. An idle second gives no more than the burst back. This is how the kernel's own throttle
/// (cgroup io.max, blkio.throttle) treats readers: a ceiling for all of them, not a cost of each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stallcast::record {

inline constexpr char k_emulation_file[] = "emulation";
inline constexpr char k_emulation_magic[8] = {'S', 'T', 'A', 'L', 'L', 'E', 'M', 'U'};
inline constexpr std::uint32_t k_emulation_abi = 1;

/// Files above this are cached and fetched range by range.
inline constexpr std::uint64_t k_whole_unit_bytes = 8ULL << 20;
inline constexpr std::uint64_t k_range_unit_bytes = 128 * 1024;
/// What the kernel's throttle lets through at once: one of its slices.
inline constexpr std::uint64_t k_emulated_burst_ns = 100'000'000;

enum class EmulatedPolicy : std::uint32_t { none = 0, minio = 1, lru = 2, random = 3 };

/// Written before the command starts, never after.
struct EmulationSettings {
  double ns_per_byte;        ///< 0: no limit
  double ns_per_request;     ///< 0: no limit
  std::uint64_t latency_ns;  ///< of each read that has to wait for storage
  double cache_share;        ///< of the distinct bytes seen so far; negative: cache_bytes counts
  std::uint64_t cache_bytes;
  std::uint64_t read_ahead_bytes;  ///< of the page cache; 0: as it is for the device that a file really lies on
  double first_hit_share;  ///< of the units seen for the first time, so many count as cached (a cache that was warm)
  EmulatedPolicy policy;
  std::uint32_t most_units;     ///< 0: there is no table
  std::uint32_t index_entries;  ///< a power of two
  std::uint32_t log_entries;    ///< a power of two
};

/// A unit is a file, or a range of a large one; decided once for each time that a descriptor comes to it.
struct EmulationCounters {
  std::atomic<std::uint64_t> hits;
  std::atomic<std::uint64_t> misses;
  std::atomic<std::uint64_t> hit_bytes;  ///< read by the job
  std::atomic<std::uint64_t> miss_bytes;
  std::atomic<std::uint64_t> staged_hits;  ///< by the phase, not by the policy; likewise below
  std::atomic<std::uint64_t> cold_misses;
  std::atomic<std::uint64_t> requests;  ///< to the emulated storage
  std::atomic<std::uint64_t> request_bytes;
  std::atomic<std::uint64_t> waited_ns;    ///< that the emulated storage takes for reads that missed, or has them wait
  std::atomic<std::uint64_t> late_reads;   ///< whose real read was not done by then
  std::atomic<std::uint64_t> late_ns;      ///< and by how much
  std::atomic<std::uint64_t> stored_hits;  ///< reads that hit, and waited for the real storage all the same
  std::atomic<std::uint64_t> stored_hit_ns;     ///< and for how long
  std::atomic<std::uint64_t> hit_read_ns;       ///< of all reads that hit
  std::atomic<std::uint64_t> mapped_files;      ///< data files mapped: what is read through maps is not delayed
  std::atomic<std::uint64_t> mapped_bytes;      ///<
  std::atomic<std::uint64_t> untracked_misses;  ///< units beyond the table: never cached (MinIO: by chance)
};

/// Of a file or range. `state`: MinIO 0 undecided, 1 cached, 2 not; random 0, 1; LRU (place in the log << 1) | cached.
struct EmulatedUnit {
  std::atomic<std::uint64_t> key;  ///< 0: a place that lost a race and stays empty
  std::atomic<std::uint64_t> state;
  std::atomic<std::uint64_t> bytes;
};

/// Followed by the index, the units and the log: see emulation_parts().
struct EmulationBlock {
  char magic[8];
  std::uint32_t abi;
  std::uint32_t unused;
  EmulationSettings settings;
  alignas(64) std::atomic<std::uint64_t> bytes_clock_ns;     ///< CLOCK_MONOTONIC
  alignas(64) std::atomic<std::uint64_t> requests_clock_ns;  ///< CLOCK_MONOTONIC
  alignas(64) std::atomic<std::int64_t> cached_bytes;        ///< may be below zero for an instant
  std::atomic<std::uint64_t> seen_bytes;                     ///< of distinct units
  std::atomic<std::uint64_t> seen_units;
  std::atomic<std::uint64_t> draws;  ///< of random victims
  std::atomic<std::uint32_t> units;  ///< handed out
  alignas(64) std::atomic<std::uint64_t> log_head;
  alignas(64) std::atomic<std::uint64_t> log_tail;
  alignas(64) EmulationCounters counters;
};

/// The arrays behind the block. An index entry is 0 or the number of a unit plus 1; a log entry is the number of a
/// unit, and the low half of its place in the log.
struct EmulationParts {
  std::atomic<std::uint32_t>* index;
  EmulatedUnit* units;
  std::atomic<std::uint64_t>* log;
};

[[nodiscard]] inline EmulationParts emulation_parts(EmulationBlock& block) {
  char* at = reinterpret_cast<char*>(&block + 1);
  auto* index = reinterpret_cast<std::atomic<std::uint32_t>*>(at);
  at += sizeof(*index) * block.settings.index_entries;
  auto* units = reinterpret_cast<EmulatedUnit*>(at);
  at += sizeof(*units) * block.settings.most_units;
  return {index, units, reinterpret_cast<std::atomic<std::uint64_t>*>(at)};
}

/// Of the whole file.
[[nodiscard]] inline std::uint64_t emulation_bytes(const EmulationSettings& settings) {
  return sizeof(EmulationBlock) + sizeof(std::uint32_t) * settings.index_entries +
         sizeof(EmulatedUnit) * settings.most_units + sizeof(std::uint64_t) * settings.log_entries;
}

/// Whether the emulated cache holds the unit `key` of `bytes` bytes, which is read now, and what that changes in it.
/// Uncounted in hits and misses. Any number of processes may ask at once.
bool emulated_hit(EmulationBlock& block, std::uint64_t key, std::uint64_t bytes);

/// When `requests` requests for `bytes` bytes, made at `now_ns`, are through: now_ns or later, latency not included.
std::uint64_t emulated_due(EmulationBlock& block, std::uint64_t now_ns, std::uint64_t bytes, std::uint64_t requests);

/// What they take of storage that has nothing else to do. The burst lets them pass sooner; real storage that is no
/// slower than this is fast enough for the limits.
[[nodiscard]] inline std::uint64_t emulated_cost(const EmulationSettings& settings, std::uint64_t bytes,
                                                 std::uint64_t requests) {
  const double bytes_ns = settings.ns_per_byte * static_cast<double>(bytes);
  const double requests_ns = settings.ns_per_request * static_cast<double>(requests);
  return static_cast<std::uint64_t>(bytes_ns > requests_ns ? bytes_ns : requests_ns);
}

}  // namespace stallcast::record
