#include "probes/collect/pages/recording_follower.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/clock.hpp"
#include "probes/collect/pages/constants.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;
using record::BlockHeader;
using record::RecordHeader;

/// A descriptor for a scope.
class FollowedFile {
 public:
  /// The folder is the run's own, but whatever lies in it must not be waited for.
  explicit FollowedFile(const fs::path& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)) {}
  ~FollowedFile() {
    if (fd_ >= 0) close(fd_);
  }
  FollowedFile(const FollowedFile&) = delete;
  FollowedFile& operator=(const FollowedFile&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

/// Whether `bytes` could be read there.
bool read_part(int file, std::uint64_t offset, void* into, std::size_t bytes) {
  return pread(file, into, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

bool is_recording(const record::FileHeader& header) {
  return std::memcmp(header.magic, record::k_magic, sizeof(record::k_magic)) == 0 &&
         header.version <= record::k_version && header.header_bytes == record::k_header_bytes &&
         header.block_bytes == record::k_block_bytes;
}

bool is_due(std::uint64_t changed_ns, std::uint64_t looked_ns, std::uint64_t now_ns) {
  return now_ns < changed_ns + k_quiet_after_ns || now_ns >= looked_ns + k_quiet_look_every_ns;
}

void take_path(const std::byte* at, const RecordHeader& header, Followed& into) {
  record::PathRecord path{};
  if (header.bytes < sizeof(path)) return;
  std::memcpy(&path, at, sizeof(path));
  const std::size_t length = std::min<std::size_t>(header.aux, header.bytes - sizeof(path));
  into.paths.push_back({path.file_id, path.size_bytes, path.device,
                        std::string(reinterpret_cast<const char*>(at + sizeof(path)), length)});
}

void take_record(const std::byte* at, const RecordHeader& header, std::int32_t pid, Followed& into) {
  switch (static_cast<record::Kind>(header.kind)) {
    case record::Kind::touched: {
      record::TouchedRecord touched{};
      if (header.bytes < sizeof(touched)) return;
      std::memcpy(&touched, at, sizeof(touched));
      into.touched.push_back(touched);
      return;
    }
    case record::Kind::batch: {
      record::BatchRecord batch{};
      if (header.bytes < record::k_least_batch_bytes) return;
      std::memcpy(&batch, at, record::k_least_batch_bytes);
      into.batches.push_back({pid, batch.io.read_bytes, batch.io.opens});
      return;
    }
    case record::Kind::path:
      return take_path(at, header, into);
    case record::Kind::text: {
      if (static_cast<record::TextKind>(header.aux) != record::TextKind::ahead) return;
      const char* text = reinterpret_cast<const char*>(at + sizeof(RecordHeader));
      into.ahead.push_back({pid, std::string(text, strnlen(text, header.bytes - sizeof(RecordHeader)))});
      return;
    }
    default:
      return;
  }
}

/// Hands over the whole records in `bytes` and says how many bytes they take. What is not whole is looked at again.
std::size_t take_records(const std::byte* bytes, std::size_t count, std::int32_t pid, Followed& into) {
  std::size_t at = 0;
  while (at + sizeof(RecordHeader) <= count) {
    RecordHeader header{};
    std::memcpy(&header, bytes + at, sizeof(header));
    if (header.bytes < sizeof(RecordHeader) || header.bytes % 8 != 0 || at + header.bytes > count) break;
    take_record(bytes + at, header, pid, into);
    at += header.bytes;
  }
  return at;
}

}  // namespace

RecordingFollower::RecordingFollower(fs::path run_folder)
    : folder_(std::move(run_folder)), buffer_(record::k_block_bytes) {}

void RecordingFollower::find_recordings() {
  std::error_code failed;
  for (fs::directory_iterator entry(folder_, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().extension() == ".rec") recordings_.try_emplace(entry->path());
  }
}

void RecordingFollower::follow_block(int file, std::uint64_t index, Recording& recording, Followed& into) {
  Block& block = recording.blocks[index];
  if (left_bytes_ == 0 || !is_due(block.changed_ns, block.looked_ns, now_ns_)) return;
  block.looked_ns = now_ns_;
  const std::uint64_t begin = record::k_header_bytes + index * record::k_block_bytes;
  BlockHeader header{};
  if (!read_part(file, begin, static_cast<void*>(&header), sizeof(header))) return;
  const std::uint32_t committed = header.committed.load(std::memory_order_relaxed);
  if (header.magic != record::k_block_magic || committed > record::k_block_bytes || committed <= block.read) return;
  const std::uint32_t added = committed - block.read;
  if (!read_part(file, begin + block.read, buffer_.data(), added)) return;
  const std::size_t taken = take_records(buffer_.data(), added, recording.pid, into);
  left_bytes_ -= std::min<std::uint64_t>(left_bytes_, taken);
  if (taken == 0) return;
  block.read += static_cast<std::uint32_t>(taken);
  block.changed_ns = recording.changed_ns = now_ns_;
}

void RecordingFollower::follow(const fs::path& path, Recording& recording, Followed& into) {
  if (!is_due(recording.changed_ns, recording.looked_ns, now_ns_)) return;
  recording.looked_ns = now_ns_;
  const FollowedFile file(path);
  record::FileHeader header{};
  if (file.fd() < 0 || !read_part(file.fd(), 0, static_cast<void*>(&header), sizeof(header))) return;
  if (!is_recording(header)) return;
  recording.pid = header.pid;
  const std::size_t promised = header.blocks.load(std::memory_order_relaxed);
  if (promised > recording.blocks.size() && promised <= k_most_followed_blocks) {
    recording.blocks.resize(promised, {.changed_ns = now_ns_});
    recording.changed_ns = now_ns_;
  }
  for (std::uint64_t index = 0; index < recording.blocks.size() && left_bytes_ > 0; ++index) {
    follow_block(file.fd(), index, recording, into);
  }
}

Followed RecordingFollower::poll(std::uint64_t most_bytes) {
  Followed found;
  now_ns_ = monotonic_ns();
  left_bytes_ = most_bytes;
  find_recordings();
  for (auto& [path, recording] : recordings_) {
    if (left_bytes_ == 0) break;
    if (recording.looked_ns == 0) recording.changed_ns = now_ns_;
    follow(path, recording, found);
  }
  return found;
}

std::vector<std::int32_t> RecordingFollower::pids() const {
  std::vector<std::int32_t> pids;
  for (const auto& [path, recording] : recordings_) {
    if (recording.pid != 0) pids.push_back(recording.pid);
  }
  return pids;
}

}  // namespace stallcast::collect
