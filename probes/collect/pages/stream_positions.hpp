/// Where the readers of a stream are in their files: what they will read next, nobody else knows. The kernel tells it
/// of every open file (/proc/PID/fdinfo), and nothing in the job notices.
///
/// Worked example. A worker has 0007.tar open at 31 MB, and went on by 24 MB while the job took 40 batches. The files
/// of the next 20 batches are 12 MB of that file from there on; with 10 MB left of it, they are not known.
///
/// Seen are files that are read by read(): of maps, and of reads at a given place (pread), the position stands still.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "probes/collect/pages/files_of_samples.hpp"

namespace stallcast::collect {

/// A process in one file, as it was looked at last.
struct StreamReader {
  std::int32_t pid = 0;
  std::string path{};
  std::uint64_t position = 0;
  std::uint64_t size_bytes = 0;

  [[nodiscard]] std::uint64_t left_bytes() const { return size_bytes > position ? size_bytes - position : 0; }
};

class StreamPositions {
 public:
  explicit StreamPositions(std::filesystem::path proc = "/proc") : proc_(std::move(proc)) {}

  /// Looks at those of `pids` that are there, in those of `files` that they have open.
  void look(const std::vector<std::int32_t>& pids, const std::unordered_map<std::string, std::uint64_t>& files);

  /// Those that have gone on since they were first seen, or begun at the file's begin.
  [[nodiscard]] std::vector<StreamReader> readers() const;

  /// By how much all of them have gone on since the first look.
  [[nodiscard]] std::uint64_t passed_bytes() const { return passed_bytes_; }

 private:
  struct Place {
    std::uint64_t position = 0;
    std::uint64_t size_bytes = 0;
    bool moves = false;
  };

  std::filesystem::path proc_;
  std::map<std::pair<std::int32_t, std::string>, Place> places_{};
  std::uint64_t passed_bytes_ = 0;
  bool has_looked_ = false;
};

/// What lies from `skipped` to `bytes` bytes before a reader, in parts that are held and dropped each by itself: what
/// the kernel has read ahead already lies in the first ones.
[[nodiscard]] std::vector<FileStretch> next_parts(const StreamReader& reader, std::uint64_t skipped,
                                                  std::uint64_t bytes);

}  // namespace stallcast::collect
