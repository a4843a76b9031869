#include "probes/collect/pages/held_part.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "probes/collect/pages/constants.hpp"
#include "probes/collect/system/page_bytes.hpp"

namespace stallcast::collect {
namespace {

constexpr int k_populate_read = 22;  // MADV_POPULATE_READ, since Linux 5.14

/// Opens a regular file to read, its access time left alone where we may; -1. A device is not even opened.
int open_regular(const std::string& path, struct stat& file) {
  if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return -1;
  constexpr int k_flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  int fd = open(path.c_str(), k_flags | O_NOATIME);
  if (fd < 0 && errno == EPERM) fd = open(path.c_str(), k_flags);
  if (fd < 0) return -1;
  if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) return fd;
  close(fd);
  return -1;
}

/// The part's place in the file as it is now. False if it is another file, or was cut.
bool place_of(const FileStretch& part, const struct stat& file, FileRange& range) {
  const auto size = static_cast<std::uint64_t>(file.st_size);
  if (part.size_bytes != UINT64_MAX && part.size_bytes != size) return false;
  if (part.is_whole()) {
    range = {0, size};
    return true;
  }
  if (part.offset >= size) return false;
  const std::uint64_t first = part.offset / page_bytes() * page_bytes();
  range = {first, std::min(part.bytes + (part.offset - first), size - first)};
  return true;
}

/// Adds the range to `absent` if nothing of it is in memory.
void note_absent_whole(int file, const FileRange& range, std::vector<FileRange>& absent) {
  const auto found = resident_pages(file, range);
  if (!found || found->resident > 0) return;
  const bool goes_on = !absent.empty() && absent.back().offset + absent.back().bytes == range.offset;
  if (goes_on) {
    absent.back().bytes += range.bytes;
  } else {
    absent.push_back(range);
  }
}

/// Adds what of a part is not in memory: its ends lie in pages, and blocks, that others have read.
void note_absent_pages(int file, const FileRange& range, std::vector<FileRange>& absent) {
  auto found = absent_pages(file, range);
  if (!found) return note_absent_whole(file, range, absent);
  absent.insert(absent.end(), found->begin(), found->end());
}

/// Reads the range chunk by chunk, the next one asked for ahead.
/// Storage serves in the order of asking: beside reads of a MiB the page faults of a job would each wait for two of
/// these. `brought`: what was not in memory before.
HoldOutcome read_range(int file, const FileRange& range, const FileStretch& part, HoldBudget& budget,
                       std::vector<FileRange>& brought) {
  static thread_local std::vector<char> buffer(k_held_at_once_bytes);
  // Of parts nothing beside them is to be read ahead, but they themselves at once: the readers of a stream have whole
  // windows under way beside it, and storage serves whoever asked first.
  if (!part.is_whole()) {
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    posix_fadvise(file, static_cast<off_t>(range.offset), static_cast<off_t>(std::min(range.bytes, k_part_ahead_bytes)),
                  POSIX_FADV_WILLNEED);
  }
  const std::uint64_t at_once = part.is_mapped ? k_of_mapped_file_bytes : k_held_at_once_bytes;
  if (part.is_mapped) posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);  // nor by the kernel's own windows
  const std::uint64_t end = range.offset + range.bytes;
  for (std::uint64_t at = range.offset; at < end;) {
    if (budget.stop->load(std::memory_order_relaxed)) return HoldOutcome::stopped;
    const std::uint64_t bytes = std::min(at_once, end - at);
    if (part.is_mapped) note_absent_whole(file, {at, bytes}, brought);
    if (at + bytes < end) {
      const std::uint64_t ahead = std::min(at_once, end - at - bytes);
      posix_fadvise(file, static_cast<off_t>(at + bytes), static_cast<off_t>(ahead), POSIX_FADV_WILLNEED);
    }
    const ssize_t got = pread(file, buffer.data(), bytes, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return HoldOutcome::skipped;
    at += static_cast<std::uint64_t>(got);
    budget.read_bytes.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
  }
  return HoldOutcome::held;
}

/// Reads a byte of each page through the kernel, which says where there is none instead of ending us (SIGBUS).
bool touch_by_call(char* begin, std::uint64_t bytes) {
  constexpr std::size_t k_most = 512;
  char sink[k_most];
  iovec pages[k_most];
  const std::uint64_t end = (bytes + page_bytes() - 1) / page_bytes();
  for (std::uint64_t page = 0; page < end;) {
    const std::size_t count = std::min<std::uint64_t>(k_most, end - page);
    for (std::size_t i = 0; i < count; ++i) pages[i] = {begin + (page + i) * page_bytes(), 1};
    const iovec into{sink, count};
    if (process_vm_readv(getpid(), &into, 1, pages, count, 0) != static_cast<ssize_t>(count)) return false;
    page += count;
  }
  return true;
}

/// Brings the pages of a map in and marks them as used.
bool touch_pages(char* begin, std::uint64_t bytes) {
  while (madvise(begin, bytes, k_populate_read) != 0) {
    if (errno == EINVAL) return touch_by_call(begin, bytes);
    if (errno != EINTR && errno != EAGAIN) return false;
  }
  return true;
}

/// Pages of a map that are not in memory; 0 where the kernel does not tell us the truth.
std::uint64_t gone_pages(char* begin, std::uint64_t bytes) {
  unsigned char pages[k_held_at_once_bytes / 4096];
  const std::uint64_t count = (bytes + page_bytes() - 1) / page_bytes();
  if (mincore(begin, bytes, pages) != 0) return 0;
  return static_cast<std::uint64_t>(
      std::count_if(pages, pages + count, [](unsigned char page) { return (page & 1U) == 0; }));
}

}  // namespace

HeldPart::HeldPart(HeldPart&& other) noexcept {
  *this = std::move(other);
}

HeldPart& HeldPart::operator=(HeldPart&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(map_bytes_, other.map_bytes_);
  std::swap(range_, other.range_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  std::swap(locked_, other.locked_);
  std::swap(brought_, other.brought_);
  return *this;
}

bool HeldPart::map(int file, HoldBudget& budget) {
  map_bytes_ = (range_.bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  void* mapped = mmap(nullptr, map_bytes_, PROT_READ, MAP_SHARED, file, static_cast<off_t>(range_.offset));
  if (mapped == MAP_FAILED) return false;
  begin_ = static_cast<char*>(mapped);
  if (budget.may_lock.load(std::memory_order_relaxed)) {
    locked_ = syscall(SYS_mlock, begin_, map_bytes_) == 0;  // sanitizers make libc's do nothing
    if (!locked_) budget.may_lock.store(false, std::memory_order_relaxed);
  }
  return locked_ || touch_pages(begin_, map_bytes_);
}

HoldOutcome HeldPart::hold(const FileStretch& part, HoldBudget& budget) {
  struct stat facts {};
  const int file = open_regular(part.path, facts);
  if (file < 0) return HoldOutcome::skipped;
  FileRange range;
  HoldOutcome outcome = HoldOutcome::skipped;
  if (place_of(part, facts, range)) {
    const std::uint64_t before = budget.taken_bytes.fetch_add(range.bytes, std::memory_order_relaxed);
    outcome = before + range.bytes > budget.limit_bytes ? HoldOutcome::too_much : HoldOutcome::held;
  }
  if (outcome == HoldOutcome::held && range.bytes > 0) {
    range_ = range;
    device_ = facts.st_dev;
    inode_ = facts.st_ino;
    // Of a mapped file the job has some pages at any time: what is absent is asked piece by piece, as it is read.
    if (!part.is_mapped) (part.is_whole() ? note_absent_whole : note_absent_pages)(file, range, brought_);
    outcome = read_range(file, range, part, budget, brought_);
    if (outcome == HoldOutcome::held && !map(file, budget)) outcome = HoldOutcome::skipped;
  }
  close(file);
  return outcome;
}

bool HeldPart::keep(const std::atomic<bool>& stop, std::uint64_t& gone_bytes) {
  if (begin_ == nullptr || locked_) return true;
  for (std::uint64_t at = 0; at < map_bytes_; at += k_held_at_once_bytes) {
    if (stop.load(std::memory_order_relaxed)) return true;
    const std::uint64_t bytes = std::min(k_held_at_once_bytes, map_bytes_ - at);
    gone_bytes += gone_pages(begin_ + at, bytes) * page_bytes();
    if (!touch_pages(begin_ + at, bytes)) return false;
  }
  return true;
}

void HeldPart::unmap() {
  if (begin_ != nullptr) munmap(begin_, map_bytes_);
  begin_ = nullptr;
  locked_ = false;
}

void HeldPart::drop(const std::string& path) const {
  if (brought_.empty()) return;
  struct stat facts {};
  const int file = open_regular(path, facts);
  if (file < 0) return;
  if (facts.st_dev == device_ && facts.st_ino == inode_) {
    for (const FileRange& range : brought_) drop_pages(file, range);
  }
  close(file);
}

}  // namespace stallcast::collect
