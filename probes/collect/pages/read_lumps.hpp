/// How far apart the batches are for which a worker of a stream reads, and those for which it opens a file. Some
/// readers take a whole shard into memory at once, as pyarrow's do with Parquet, and make many batches of it.
///
/// Worked example. A worker's batches read 20 MB, 0, 0, 0, 20 MB, ..., each time from a file that they open: reads are
/// 4 apart, and so are openings. Of tar every batch reads (1 apart), and one in 25 opens a shard (25).
#pragma once

#include <cstdint>
#include <unordered_map>

#include "probes/collect/pages/recording_follower.hpp"

namespace stallcast::collect {

class ReadLumps {
 public:
  void take(const Followed& followed);

  /// Batches of a worker from one that reads to its next one, at most so far; 0: no worker has read twice.
  [[nodiscard]] std::uint64_t between_reads() const { return between_reads_; }

  /// Likewise of those that open files.
  [[nodiscard]] std::uint64_t between_opens() const { return between_opens_; }

 private:
  struct Worker {
    std::uint64_t largest_bytes = 0;  ///< that one of its batches read
    std::uint64_t since_read = 0;     ///< batches since one that read, itself included; 0: none has
    std::uint64_t since_open = 0;
  };

  std::unordered_map<std::int32_t, Worker> workers_{};  ///< by pid
  std::uint64_t between_reads_ = 0;
  std::uint64_t between_opens_ = 0;
};

}  // namespace stallcast::collect
