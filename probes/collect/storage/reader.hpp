/// Reads of one kind, so many at once, for so long: one window of a storage probe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "probes/collect/pages/page_residency.hpp"
#include "probes/record/storage_recording.hpp"

namespace stallcast::collect {

inline constexpr std::uint64_t k_small_block_bytes = 4096;
inline constexpr std::uint64_t k_large_block_bytes = 1ULL << 20U;
inline constexpr int k_most_in_flight = 32;

/// Something to read: a whole file (opened for it), a block of an open file, or a stretch read from front to back; or a
/// file to be opened and no more.
struct ReadTask {
  const char* path = nullptr;  ///< must outlive the window
  int file = -1;               ///< open descriptor; -1: opened, and closed, as part of the read
  FileRange range{};
};

/// What a window reads and how.
struct WindowPlan {
  record::StorageRead read = record::StorageRead::whole_file;
  record::StorageState state = record::StorageState::cold;
  int in_flight = 1;           ///< at most k_most_in_flight
  double seconds = 0.25;       ///< nothing is begun after that
  double most_seconds = 1.25;  ///< a file that is not at its end after that is given up, uncounted
  bool direct = false;         ///< past the page cache (O_DIRECT)
  double pause_s = 0.0;        ///< nothing is begun in every second stretch of this length; 0: no pauses
};

namespace storage {
class ReadQueue;
}

/// Who keeps the reads in flight.
enum class StorageEngine {
  threads,   ///< one for each, as the workers of a loader
  io_uring,  ///< cold reads by a queue of the kernel's where it gives one, else threads
};

/// The streams of a probe: a buffer for each read in flight, and what keeps it in flight.
class StorageReader {
 public:
  explicit StorageReader(StorageEngine engine);
  ~StorageReader();
  StorageReader(const StorageReader&) = delete;
  StorageReader& operator=(const StorageReader&) = delete;

  /// Reads `tasks` in their order, each once; resident ones again and again. Ends when the time is up or nothing is
  /// left. Fills everything of the window but its place in the probe and what was checked before it; `done` tells how
  /// many of the tasks were begun. A read that fails is counted and left out.
  record::StorageWindow read(const std::vector<ReadTask>& tasks, const WindowPlan& plan, std::size_t& done);

  /// "io_uring" or "threads": what cold reads are kept in flight by.
  [[nodiscard]] const char* engine() const { return queue_ != nullptr ? "io_uring" : "threads"; }
  /// Why there is no io_uring although it was asked for.
  [[nodiscard]] const std::string& no_queue_reason() const { return no_queue_; }

 private:
  struct FreeBuffer {
    void operator()(char* buffer) const;
  };
  std::unique_ptr<storage::ReadQueue> queue_{};
  std::string no_queue_{};
  std::vector<std::unique_ptr<char, FreeBuffer>> buffers_{};
};

/// Bytes that the kernel fetched from storage for this process so far (/proc/self/io read_bytes); -1 if it does not
/// count them.
[[nodiscard]] double storage_bytes_of_process();

}  // namespace stallcast::collect
