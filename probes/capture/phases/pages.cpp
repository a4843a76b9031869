#include "probes/capture/phases/pages.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <atomic>

#include "probes/capture/paths.hpp"
#include "probes/capture/phases/system_calls.hpp"

namespace stallcast::capture {
namespace {

constexpr long k_cachestat = 451;  // the same on every architecture since Linux 6.5
constexpr std::int64_t k_no_answer = -1;
constexpr std::uint64_t k_map_bytes = 16ULL << 20;  // asked about with one mincore()
constexpr std::uint64_t k_most_mapped = 256ULL << 20;
constexpr std::uint64_t k_smallest_page = 4096;

/// Who is to be asked about the files of a device.
enum class Means : std::uint64_t { undecided = 0, cachestat = 1, mincore = 2, nobody = 3 };
constexpr std::uint64_t k_means_bits = 2;
constexpr std::size_t k_devices = 64;
constexpr std::uint32_t k_most_trials = 16;

// Outlive a fork: what is true of a device is true in the child. Direct-mapped; a collision only asks anew.
constinit std::atomic<std::uint64_t> g_means[k_devices] = {};
constinit std::atomic<std::uint32_t> g_trials{0};

std::atomic<std::uint64_t>& means_slot(std::uint64_t device) {
  return g_means[(device ^ (device >> 8)) % k_devices];
}

Means means_of(std::uint64_t device) {
  const std::uint64_t slot = means_slot(device).load(std::memory_order_relaxed);
  return slot >> k_means_bits == device ? static_cast<Means>(slot & ((1U << k_means_bits) - 1)) : Means::undecided;
}

void decide(std::uint64_t device, Means means) {
  means_slot(device).store(device << k_means_bits | static_cast<std::uint64_t>(means), std::memory_order_relaxed);
}

std::int64_t as_bytes(std::uint64_t pages, const Range& range) {
  return static_cast<std::int64_t>(std::min(pages * page_bytes(), range.bytes));
}

std::int64_t ask_cachestat(int fd, const Range& range) {
  std::uint64_t answer[5] = {};  // cached, dirty, writeback, evicted, recently evicted: all in pages
  if (::syscall(k_cachestat, fd, &range, answer, 0) != 0) return k_no_answer;
  return as_bytes(answer[0], range);
}

/// As the kernel's own check before it lets mincore() tell the truth.
bool mincore_is_true(int fd, const struct stat& file) {
  if (static_cast<uid_t>(::syscall(SYS_geteuid)) == file.st_uid) return true;
  constexpr long k_faccessat2 = 439;
  if (::syscall(k_faccessat2, fd, "", W_OK, AT_EACCESS | AT_EMPTY_PATH) == 0) return true;
  if (errno != ENOSYS) return false;
  char link[k_fd_link_bytes];
  return ::syscall(SYS_faccessat, AT_FDCWD, fd_link(fd, link), W_OK) == 0;
}

/// Resident pages of a mapped stretch.
std::int64_t count_in_core(void* mapped, std::uint64_t bytes) {
  unsigned char pages[k_map_bytes / k_smallest_page];
  if (raw::in_core(mapped, bytes, pages) != 0) return k_no_answer;
  const std::uint64_t asked = (bytes + page_bytes() - 1) / page_bytes();
  std::int64_t resident = 0;
  for (std::uint64_t i = 0; i < asked; ++i) resident += pages[i] & 1;
  return resident;
}

std::int64_t ask_mincore(int fd, const struct stat& file, const Range& range) {
  if (range.bytes > k_most_mapped || !mincore_is_true(fd, file)) return k_no_answer;
  const std::uint64_t first = range.offset / page_bytes() * page_bytes();
  const std::uint64_t end = range.offset + range.bytes;
  std::uint64_t resident = 0;
  for (std::uint64_t at = first; at < end; at += k_map_bytes) {
    const std::uint64_t bytes = std::min(k_map_bytes, end - at);
    void* mapped = raw::map(bytes, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(at));
    if (mapped == nullptr) return k_no_answer;
    const std::int64_t pages = count_in_core(mapped, bytes);
    raw::unmap(mapped, bytes);
    if (pages < 0) return k_no_answer;
    resident += static_cast<std::uint64_t>(pages);
  }
  return as_bytes(resident, range);
}

/// Brings one page in, through a descriptor of our own so that the guest's keeps its position and its readahead.
int open_and_read_a_page(int fd, const Range& page) {
  char link[k_fd_link_bytes];
  const int own = raw::open_file(fd_link(fd, link), O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
  if (own < 0) return -1;
  raw::advise_file(own, 0, 0, POSIX_FADV_RANDOM);
  char byte = 0;
  if (raw::read_at(own, &byte, 1, static_cast<off_t>(page.offset)) == 1) return own;
  raw::close_fd(own);
  return -1;
}

/// Nobody has seen a resident page: one is read, and whoever then sees it is right. It is dropped again.
Means try_out(int fd, const struct stat& file, std::uint64_t offset) {
  if (g_trials.fetch_add(1, std::memory_order_relaxed) >= k_most_trials) return Means::undecided;
  const Range page{offset / page_bytes() * page_bytes(), page_bytes()};
  const bool none_in_core = ask_mincore(fd, file, page) == 0;
  const bool none_cached = ask_cachestat(fd, page) == 0;
  const int own = open_and_read_a_page(fd, page);
  if (own < 0) return Means::undecided;
  Means means = none_in_core ? Means::nobody : Means::undecided;
  if (none_cached && ask_cachestat(own, page) > 0) {
    means = Means::cachestat;
  } else if (none_in_core && ask_mincore(own, file, page) > 0) {
    means = Means::mincore;
  }
  if (means == Means::cachestat || means == Means::mincore) drop_pages(own, page);
  raw::close_fd(own);
  return means;
}

/// Settles who is right about this device, if this file and range can show it.
Means find_means(int fd, const struct stat& file, const Range& range) {
  Means means = Means::undecided;
  if (ask_cachestat(fd, range) > 0) {
    means = Means::cachestat;
  } else if (ask_mincore(fd, file, range) > 0) {
    means = Means::mincore;
  } else {
    means = try_out(fd, file, range.offset);
  }
  if (means != Means::undecided) decide(file.st_dev, means);
  return means;
}

}  // namespace

std::uint64_t page_bytes() {
  static const std::uint64_t bytes = getauxval(AT_PAGESZ);
  return bytes;
}

Resident resident_in(int fd, const struct stat& file, const Range& range) {
  if (range.bytes == 0) return {.known = true, .bytes = 0};
  Means means = means_of(file.st_dev);
  if (means == Means::undecided) means = find_means(fd, file, range);
  std::int64_t bytes = k_no_answer;
  if (means == Means::cachestat) bytes = ask_cachestat(fd, range);
  // A kernel that keeps cachestat() for the owner refuses file by file.
  if (means == Means::mincore) bytes = ask_mincore(fd, file, range);
  return {.known = bytes >= 0, .bytes = bytes >= 0 ? static_cast<std::uint64_t>(bytes) : 0};
}

void drop_pages(int fd, const Range& range) {
  const std::uint64_t first = range.offset / page_bytes() * page_bytes();
  const std::uint64_t end = (range.offset + range.bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  raw::advise_file(fd, first, end - first, POSIX_FADV_DONTNEED);
}

}  // namespace stallcast::capture
