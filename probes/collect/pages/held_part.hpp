/// Part of a file, read into the page cache and mapped, so that it stays there.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "probes/collect/pages/files_of_samples.hpp"
#include "probes/collect/pages/page_residency.hpp"

namespace stallcast::collect {

/// What all parts of one hold have in common. Shared by the threads that read.
struct HoldBudget {
  std::uint64_t limit_bytes = 0;
  const std::atomic<bool>* stop = nullptr;    ///< true: give up, soon
  std::atomic<std::uint64_t> taken_bytes{0};  ///< by parts that are, or are being, read
  std::atomic<std::uint64_t> read_bytes{0};   ///< in the page cache by now
  std::atomic<bool> may_lock{true};           ///< until the kernel refuses
};

enum class HoldOutcome { held, skipped, stopped, too_much };

/// A mapped part. Neither reading nor touching it can end this process where the file is cut meanwhile.
class HeldPart {
 public:
  HeldPart() = default;
  HeldPart(HeldPart&& other) noexcept;
  HeldPart& operator=(HeldPart&& other) noexcept;
  HeldPart(const HeldPart&) = delete;
  HeldPart& operator=(const HeldPart&) = delete;
  ~HeldPart() { unmap(); }

  /// Reads and maps it. `skipped`: it is gone, unreadable, no regular file, or not the file that the job opened.
  HoldOutcome hold(const FileStretch& part, HoldBudget& budget);

  [[nodiscard]] std::uint64_t bytes() const { return range_.bytes; }
  [[nodiscard]] bool is_locked() const { return locked_; }

  /// Pages of the map that are no longer in memory, brought back and marked as used. False if they cannot be.
  bool keep(const std::atomic<bool>& stop, std::uint64_t& gone_bytes);

  void unmap();

  /// Drops from the page cache what was not there before: all of a whole file, of a part of one its pages, of a
  /// mapped file its pieces. After unmap().
  void drop(const std::string& path) const;

 private:
  bool map(int file, HoldBudget& budget);

  char* begin_ = nullptr;
  std::uint64_t map_bytes_ = 0;
  FileRange range_{};
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool locked_ = false;
  std::vector<FileRange> brought_{};  ///< nothing of these was in memory before
};

}  // namespace stallcast::collect
