/// Reads one recording back: whatever was committed, and a count of what was not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "probes/record/layout.hpp"

namespace stallcast::record {

/// The header page as plain values.
struct ProcessInfo {
  std::string run_id{};
  std::string host{};
  std::string executable{};
  std::uint32_t restart = 0;
  std::int32_t pid = 0;
  std::int32_t parent_pid = 0;
  std::uint64_t start_monotonic_ns = 0;
  std::uint64_t start_realtime_ns = 0;
  bool is_fork_child = false;
  std::uint32_t rank = UINT32_MAX;
  std::uint32_t world_size = 0;  ///< 0: not known
  bool elastic = false;
  std::string job{};           ///< "NAME=value"; empty: the launcher names none
  std::uint32_t disabled = 0;  ///< DisableReason
  std::uint64_t dropped_records = 0;
  std::uint64_t other_read_bytes = 0;
  std::uint64_t other_read_ns = 0;
  std::uint64_t other_reads = 0;
  std::uint64_t other_opens = 0;
  std::uint64_t stream_read_bytes = 0;
  std::uint64_t stream_read_ns = 0;
  std::uint64_t stream_reads = 0;
  std::uint64_t mapped_bytes = 0;
};

struct TextEntry {
  TextKind kind = TextKind::process;
  std::string json{};
};

struct PathEntry {
  std::uint64_t file_id = 0;
  std::uint64_t size_bytes = UINT64_MAX;  ///< UINT64_MAX: not known
  std::uint64_t device = 0;
  std::string path{};
};

/// All records of one process. Within a thread records keep their order; between threads they do not.
struct ProcessRecording {
  ProcessInfo info{};
  std::vector<TextEntry> texts{};
  std::vector<WaitRecord> waits{};
  std::vector<StepRecord> steps{};
  std::vector<BatchRecord> batches{};
  std::vector<SampleRecord> samples{};
  std::vector<FileRecord> files{};
  std::vector<PathEntry> paths{};
  std::vector<PhaseRecord> phases{};
  std::vector<MappedRecord> mapped{};
  std::vector<ReceivedRecord> received{};
  std::vector<PartRecord> parts{};
  std::int64_t torn_tails = 0;     ///< blocks whose last record was begun and not finished
  std::int64_t broken_blocks = 0;  ///< blocks that are not what the header promises; skipped
  std::int64_t unknown_records = 0;
  std::uint64_t file_bytes = 0;
};

/// Parses the bytes of a recording. bad_input if it is none, or is of a newer version (named in the message).
[[nodiscard]] Result<ProcessRecording> parse_recording(const std::vector<std::byte>& bytes);

/// As parse_recording, of a file.
[[nodiscard]] Result<ProcessRecording> read_recording(const std::filesystem::path& path);

}  // namespace stallcast::record
