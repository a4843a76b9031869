/// Reads what the job's processes record while they do: what samples read, and what comes next.
///
/// A recording only grows (record/layout.hpp): blocks are added, and in each block `committed` moves on. So the
/// follower remembers how far it has read each block, and a look at a recording in which nothing happened is two small
/// reads:
///
///   block 0: read 40,000 of 40,000        nothing new
///   block 1: read 12,480 of 12,560        one record of 80 bytes is handed over
///   block 2: new                          from its first record on
///
/// Nothing is mapped, locked or written: the processes never notice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "probes/record/layout.hpp"
#include "probes/record/reader.hpp"

namespace stallcast::collect {

/// A text of kind `ahead`.
struct AheadText {
  std::int32_t pid = 0;  ///< as the process that wrote it sees itself
  std::string json{};
};

/// A batch that was made.
struct FollowedBatch {
  std::int32_t pid = 0;  ///< of its maker, as that sees itself
  std::uint64_t read_bytes = 0;
  std::uint32_t opens = 0;
};

/// What was newly recorded. Of one thread in its order; between threads in none.
struct Followed {
  std::vector<record::TouchedRecord> touched{};
  std::vector<record::PathEntry> paths{};
  std::vector<AheadText> ahead{};
  std::vector<FollowedBatch> batches{};

  [[nodiscard]] bool empty() const { return touched.empty() && paths.empty() && ahead.empty() && batches.empty(); }
};

/// Follows all recordings of one run folder, those that appear later included. One thread's.
class RecordingFollower {
 public:
  explicit RecordingFollower(std::filesystem::path run_folder);

  /// What was committed since the last call, at most about `most_bytes` of recordings at once: the rest comes with the
  /// next call. Recordings that are gone, cut or not a recording (yet) give what can be read of them, which may be
  /// nothing. Where nothing has been added for 10 s it looks once a second.
  [[nodiscard]] Followed poll(std::uint64_t most_bytes = 8ULL << 20U);

  /// The processes that recordings are of, as these see themselves.
  [[nodiscard]] std::vector<std::int32_t> pids() const;

 private:
  struct Block {
    std::uint32_t read = sizeof(record::BlockHeader);
    std::uint64_t changed_ns = 0;
    std::uint64_t looked_ns = 0;
  };
  struct Recording {
    std::int32_t pid = 0;  ///< 0: its header was not complete yet
    std::vector<Block> blocks{};
    std::uint64_t changed_ns = 0;
    std::uint64_t looked_ns = 0;
  };

  void find_recordings();
  void follow(const std::filesystem::path& path, Recording& recording, Followed& into);
  void follow_block(int file, std::uint64_t index, Recording& recording, Followed& into);

  std::filesystem::path folder_;
  std::map<std::filesystem::path, Recording> recordings_{};
  std::vector<std::byte> buffer_{};
  std::uint64_t now_ns_ = 0;
  std::uint64_t left_bytes_ = 0;  ///< that this call may still read
};

}  // namespace stallcast::collect
