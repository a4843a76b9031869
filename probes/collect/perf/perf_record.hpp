/// Records of the kernel's perf ring buffers, decoded. Layouts: perf_event_open(2), "MMAP layout".
///
/// Every event of ours samples IP, TID and TIME and sets sample_id_all, so that each record that is no sample ends with
/// {pid, tid, time}.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace stallcast::collect {

enum class PerfKind {
  sample,
  mapping,  ///< memory that can be executed
  name,     ///< of a thread; with `exec` its memory is new
  fork,     ///< of a process or of a thread
  exit,     ///< of a thread
  lost,     ///< records that did not fit
};

struct PerfRecord {
  PerfKind kind = PerfKind::sample;
  pid_t pid = 0;
  pid_t tid = 0;
  pid_t parent_pid = 0;       ///< fork
  std::uint64_t time_ns = 0;  ///< on the clock that the event was opened with
  std::uint64_t address = 0;  ///< sample: of the instruction; mapping: first
  std::uint64_t length = 0;   ///< mapping
  std::uint64_t offset = 0;   ///< mapping: of its first byte in the file
  std::uint64_t count = 0;    ///< lost
  bool kernel = false;        ///< sample: taken in the kernel
  bool exec = false;          ///< name
  std::string text{};         ///< mapping: path; name: the name
};

/// One record, its header included; nothing for kinds that we do not use and for what is too short for its kind.
[[nodiscard]] std::optional<PerfRecord> decode_perf_record(std::span<const std::byte> record);

/// What of a ring was read.
struct RingRead {
  std::uint64_t tail = 0;  ///< where reading goes on
  bool damaged = false;    ///< a record that cannot be: the rest was skipped
};

/// Hands every whole record between `tail` and `head` (both ever growing) of the ring `data` (a power of two) to
/// `take`; those that wrap around come in one piece.
[[nodiscard]] RingRead read_ring(std::span<const std::byte> data, std::uint64_t tail, std::uint64_t head,
                                 const std::function<void(std::span<const std::byte>)>& take);

}  // namespace stallcast::collect
