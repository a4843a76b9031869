#include "tests/record/encode_recording.hpp"

#include <algorithm>

namespace stallcast::record {
namespace {

template <std::size_t N>
void set_text(char (&field)[N], const std::string& text) {
  std::memset(field, 0, N);
  std::memcpy(field, text.data(), std::min(text.size(), N - 1));
}

void fill_header(FileHeader& header, const ProcessInfo& info, std::size_t blocks) {
  std::memcpy(header.magic, k_magic, sizeof(k_magic));
  header.version = k_version;
  header.header_bytes = k_header_bytes;
  header.block_bytes = k_block_bytes;
  header.restart = info.restart;
  set_text(header.run_id, info.run_id);
  set_text(header.host, info.host);
  set_text(header.executable, info.executable);
  header.pid = info.pid;
  header.parent_pid = info.parent_pid;
  header.start_monotonic_ns = info.start_monotonic_ns;
  header.start_realtime_ns = info.start_realtime_ns;
  header.is_fork_child = info.is_fork_child ? 1 : 0;
  header.rank = info.rank;
  header.world_size = info.world_size;
  header.elastic = info.elastic ? 1 : 0;
  set_text(header.job, info.job);
  header.blocks = static_cast<std::uint32_t>(blocks);
  header.disabled = info.disabled;
  header.dropped_records = info.dropped_records;
  header.other_read_bytes = info.other_read_bytes;
  header.other_read_ns = info.other_read_ns;
  header.other_reads = info.other_reads;
  header.other_opens = info.other_opens;
  header.stream_read_bytes = info.stream_read_bytes;
  header.stream_read_ns = info.stream_read_ns;
  header.stream_reads = info.stream_reads;
  header.mapped_bytes = info.mapped_bytes;
}

/// `head`, then `text` NUL-padded to a multiple of 8.
template <class Head>
std::vector<std::byte> with_text(Head head, Kind kind, const std::string& text) {
  const std::size_t padded = (text.size() + 7) / 8 * 8;
  std::vector<std::byte> bytes(sizeof(Head) + padded, std::byte{0});
  RecordHeader header{static_cast<std::uint16_t>(kind), static_cast<std::uint16_t>(bytes.size()), 0};
  std::memcpy(&header.aux, reinterpret_cast<const char*>(&head) + offsetof(RecordHeader, aux), sizeof(header.aux));
  std::memcpy(bytes.data(), &head, sizeof(head));
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(Head), text.data(), text.size());
  return bytes;
}

}  // namespace

RecordingEncoder::RecordingEncoder(const ProcessInfo& info) : info_(info) {}

RecordingEncoder::Block& RecordingEncoder::block_for(std::uint32_t thread, std::size_t bytes) {
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    if (block->thread != thread) continue;
    if (block->offset + bytes <= k_block_bytes) return *block;
    break;
  }
  blocks_.push_back({thread, std::vector<std::byte>(k_block_bytes), sizeof(BlockHeader), 0});
  return blocks_.back();
}

void RecordingEncoder::append(std::uint32_t thread, const void* record, std::size_t bytes) {
  Block& block = block_for(thread, bytes);
  std::memcpy(block.bytes.data() + block.offset, record, bytes);
  block.offset += bytes;
}

void RecordingEncoder::add_text(TextKind kind, const std::string& json, std::uint32_t thread) {
  const auto bytes = with_text(RecordHeader{0, 0, static_cast<std::uint32_t>(kind)}, Kind::text, json);
  append(thread, bytes.data(), bytes.size());
}

void RecordingEncoder::add_path(const PathEntry& path, std::uint32_t thread) {
  const PathRecord head{
      {0, 0, static_cast<std::uint32_t>(path.path.size())}, path.file_id, path.size_bytes, path.device};
  const auto bytes = with_text(head, Kind::path, path.path);
  append(thread, bytes.data(), bytes.size());
}

void RecordingEncoder::tear(std::uint32_t thread, std::uint32_t bytes) {
  block_for(thread, bytes).torn = bytes;
}

std::vector<std::byte> RecordingEncoder::bytes() const {
  std::vector<std::byte> file(k_header_bytes, std::byte{0});
  FileHeader header{};
  fill_header(header, info_, blocks_.size());
  std::memcpy(file.data(), static_cast<const void*>(&header), sizeof(header));
  for (const Block& block : blocks_) {
    BlockHeader begin{};
    begin.magic = k_block_magic;
    begin.thread_id = block.thread;
    begin.committed = static_cast<std::uint32_t>(block.offset);
    begin.reserved = static_cast<std::uint32_t>(block.offset) + block.torn;
    const std::size_t at = file.size();
    file.insert(file.end(), block.bytes.begin(), block.bytes.end());
    std::memcpy(file.data() + at, static_cast<const void*>(&begin), sizeof(begin));
  }
  return file;
}

std::vector<std::byte> encode(const ProcessRecording& recording) {
  RecordingEncoder encoder(recording.info);
  for (const TextEntry& text : recording.texts) encoder.add_text(text.kind, text.json);
  for (const PathEntry& path : recording.paths) encoder.add_path(path);
  for (const WaitRecord& wait : recording.waits) encoder.add(wait);
  for (const StepRecord& step : recording.steps) encoder.add(step);
  for (const BatchRecord& batch : recording.batches) encoder.add(batch);
  for (const SampleRecord& sample : recording.samples) encoder.add(sample);
  for (const FileRecord& file : recording.files) encoder.add(file);
  for (const PhaseRecord& phase : recording.phases) encoder.add(phase);
  for (const MappedRecord& mapped : recording.mapped) encoder.add(mapped);
  for (const ReceivedRecord& received : recording.received) encoder.add(received);
  for (const PartRecord& part : recording.parts) encoder.add(part);
  return encoder.bytes();
}

}  // namespace stallcast::record
