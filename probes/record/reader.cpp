#include "probes/record/reader.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <type_traits>

namespace stallcast::record {
namespace {

Error bad(const std::string& what) {
  return Error{ErrorCode::bad_input, what, "was the file copied whole, and written by stallcast?"};
}

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return std::string(field, strnlen(field, N));
}

/// Copies the record at `at` into a T: the recording's alignment is not the buffer's. Of one that has `least` bytes at
/// least, what it lacks is 0.
template <class T>
bool take(const std::byte* at, std::size_t bytes, std::vector<T>& into, std::size_t least = sizeof(T)) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes < least) return false;
  T value{};
  std::memcpy(&value, at, std::min(bytes, sizeof(T)));
  into.push_back(value);
  return true;
}

bool take_text(const std::byte* at, const RecordHeader& header, std::vector<TextEntry>& into) {
  const char* text = reinterpret_cast<const char*>(at + sizeof(RecordHeader));
  const std::size_t room = header.bytes - sizeof(RecordHeader);
  into.push_back({static_cast<TextKind>(header.aux), std::string(text, strnlen(text, room))});
  return true;
}

bool take_path(const std::byte* at, const RecordHeader& header, std::vector<PathEntry>& into) {
  if (header.bytes < sizeof(PathRecord)) return false;
  PathRecord record;
  std::memcpy(&record, at, sizeof(record));
  const std::size_t room = header.bytes - sizeof(PathRecord);
  const char* text = reinterpret_cast<const char*>(at + sizeof(PathRecord));
  into.push_back({record.file_id, record.size_bytes, record.device,
                  std::string(text, std::min<std::size_t>(record.header.aux, room))});
  return true;
}

/// False if the record is shorter than its kind needs.
bool take_record(const std::byte* at, const RecordHeader& header, ProcessRecording& into) {
  switch (static_cast<Kind>(header.kind)) {
    case Kind::text:
      return take_text(at, header, into.texts);
    case Kind::wait:
      return take(at, header.bytes, into.waits);
    case Kind::step:
      return take(at, header.bytes, into.steps);
    case Kind::batch:
      return take(at, header.bytes, into.batches, k_least_batch_bytes);
    case Kind::sample:
      return take(at, header.bytes, into.samples);
    case Kind::file:
      return take(at, header.bytes, into.files);
    case Kind::path:
      return take_path(at, header, into.paths);
    case Kind::phase:
      return take(at, header.bytes, into.phases, k_least_phase_bytes);
    case Kind::mapped:
      return take(at, header.bytes, into.mapped);
    case Kind::received:
      return take(at, header.bytes, into.received);
    case Kind::part:
      return take(at, header.bytes, into.parts);
    case Kind::touched:  // the schedule's, not the analyzer's
    case Kind::thread:   // who wrote does not matter to the records themselves
      return true;
  }
  ++into.unknown_records;  // a kind of a later minor version: its size is known, so it can be skipped
  return true;
}

/// `there`: of the block's `block_bytes`, how many the file still has.
void take_block(const std::byte* block, std::size_t there, std::size_t block_bytes, ProcessRecording& into) {
  BlockHeader header;
  std::memcpy(static_cast<void*>(&header), block, sizeof(header));
  std::size_t committed = header.committed.load();
  if (header.magic != k_block_magic || committed > block_bytes || committed < sizeof(BlockHeader)) {
    // A block that was allocated but not begun is all zero: nothing was lost with it.
    if (header.magic != 0) ++into.broken_blocks;
    return;
  }
  if (header.reserved.load() > committed) ++into.torn_tails;
  if (committed > there) {  // a file that was cut: what lies before the cut is whole
    ++into.broken_blocks;
    committed = there;
  }
  std::size_t offset = sizeof(BlockHeader);
  while (offset + sizeof(RecordHeader) <= committed) {
    RecordHeader record;
    std::memcpy(&record, block + offset, sizeof(record));
    const bool whole =
        record.bytes >= sizeof(RecordHeader) && record.bytes % 8 == 0 && offset + record.bytes <= committed;
    if (!whole && committed == there && there < block_bytes) return;  // the record at the cut
    if (!whole || !take_record(block + offset, record, into)) {
      ++into.broken_blocks;
      return;
    }
    offset += record.bytes;
  }
}

void take_totals(const FileHeader& header, ProcessInfo& info) {
  info.disabled = header.disabled.load();
  info.dropped_records = header.dropped_records.load();
  info.other_read_bytes = header.other_read_bytes.load();
  info.other_read_ns = header.other_read_ns.load();
  info.other_reads = header.other_reads.load();
  info.other_opens = header.other_opens.load();
  info.stream_read_bytes = header.stream_read_bytes.load();
  info.stream_read_ns = header.stream_read_ns.load();
  info.stream_reads = header.stream_reads.load();
  info.mapped_bytes = header.mapped_bytes.load();
}

ProcessInfo info_of(const FileHeader& header) {
  ProcessInfo info;
  info.run_id = text_of(header.run_id);
  info.host = text_of(header.host);
  info.executable = text_of(header.executable);
  info.restart = header.restart;
  info.pid = header.pid;
  info.parent_pid = header.parent_pid;
  info.start_monotonic_ns = header.start_monotonic_ns;
  info.start_realtime_ns = header.start_realtime_ns;
  info.is_fork_child = header.is_fork_child != 0;
  info.rank = header.rank;
  info.world_size = header.world_size;
  info.elastic = header.elastic != 0;
  info.job = text_of(header.job);
  take_totals(header, info);
  return info;
}

}  // namespace

Result<ProcessRecording> parse_recording(const std::vector<std::byte>& bytes) {
  if (bytes.size() < sizeof(FileHeader)) return bad("shorter than a recording's header");
  FileHeader header;
  std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, k_magic, sizeof(k_magic)) != 0) return bad("not a stallcast recording");
  if (header.version > k_version) {
    return Error{ErrorCode::bad_input,
                 "a recording of version " + std::to_string(header.version) + "; this stallcast reads up to version " +
                     std::to_string(k_version),
                 "analyse it with the stallcast that recorded it, or a newer one"};
  }
  if (header.header_bytes < sizeof(FileHeader) || header.block_bytes < sizeof(BlockHeader) ||
      header.block_bytes > (1U << 30)) {
    return bad("a recording with an impossible header");
  }
  ProcessRecording recording;
  recording.info = info_of(header);
  recording.file_bytes = bytes.size();
  const std::uint64_t promised = header.blocks.load();
  for (std::uint64_t index = 0; index < promised; ++index) {
    const std::uint64_t begin = header.header_bytes + index * header.block_bytes;
    if (begin + sizeof(BlockHeader) > bytes.size()) {
      recording.broken_blocks += static_cast<std::int64_t>(promised - index);
      break;
    }
    const std::uint64_t there = std::min<std::uint64_t>(header.block_bytes, bytes.size() - begin);
    take_block(bytes.data() + begin, there, header.block_bytes, recording);
  }
  return recording;
}

Result<ProcessRecording> read_recording(const std::filesystem::path& path) {
  const Error unreadable{ErrorCode::bad_input, "cannot read " + path.string(), "check that it exists and is readable"};
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return unreadable;  // a folder opens, too, and has no end
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return unreadable;
  const auto size = static_cast<std::streamsize>(file.tellg());
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), size)) return bad("cannot read all of " + path.string());
  auto parsed = parse_recording(bytes);
  if (!parsed.ok()) {
    Error error = parsed.error();
    error.what = path.filename().string() + ": " + error.what;
    return error;
  }
  return parsed;
}

}  // namespace stallcast::record
