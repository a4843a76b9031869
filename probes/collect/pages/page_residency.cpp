#include "probes/collect/pages/page_residency.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "probes/collect/pages/constants.hpp"
#include "probes/collect/system/page_bytes.hpp"

namespace stallcast::collect {
namespace {

/// The kernel's own condition for a true answer.
bool mincore_is_true(int file) {
  struct stat facts {};
  if (fstat(file, &facts) != 0) return false;
  if (facts.st_uid == geteuid()) return true;
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  return faccessat(AT_FDCWD, link.c_str(), W_OK, AT_EACCESS) == 0;
}

/// Calls `take` with what mincore() says of the pages from `at` on, piece by piece. False where it says nothing.
template <class Take>
bool ask_mincore(int file, std::uint64_t first, std::uint64_t end, Take take) {
  std::vector<unsigned char> pages;
  for (std::uint64_t at = first; at < end; at += k_mincore_bytes) {
    const std::uint64_t bytes = std::min(k_mincore_bytes, end - at);
    void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, static_cast<off_t>(at));
    if (mapped == MAP_FAILED) return false;
    pages.assign((bytes + page_bytes() - 1) / page_bytes(), 0);
    const bool told = mincore(mapped, bytes, pages.data()) == 0;
    munmap(mapped, bytes);
    if (!told) return false;
    take(at, pages);
  }
  return true;
}

bool is_resident(unsigned char page) {
  return (page & 1U) != 0;
}

std::optional<PageCount> count_by_mincore(int file, std::uint64_t first, std::uint64_t end) {
  PageCount count;
  const bool told = ask_mincore(file, first, end, [&](std::uint64_t, const std::vector<unsigned char>& pages) {
    count.all += static_cast<std::int64_t>(pages.size());
    count.resident += std::count_if(pages.begin(), pages.end(), is_resident);
  });
  return told ? std::optional(count) : std::nullopt;
}

/// An answer of 0 proves nothing (an overlay counts its own pages, which it has none of); any other does.
std::optional<PageCount> ask_cachestat(int file, std::uint64_t first, std::uint64_t end) {
  constexpr long k_cachestat = 451;  // the same on every architecture since Linux 6.5
  const FileRange range{first, end - first};
  std::uint64_t answer[5] = {};  // cached, dirty, writeback, evicted, recently evicted: all in pages
  if (syscall(k_cachestat, file, &range, answer, 0U) != 0) return std::nullopt;
  if (answer[0] == 0) return std::nullopt;
  const std::uint64_t all = (end - first + page_bytes() - 1) / page_bytes();
  return PageCount{static_cast<std::int64_t>(std::min(answer[0], all)), static_cast<std::int64_t>(all)};
}

/// Piece by piece, where some of the range is there: who sees that is also right about what is not.
std::optional<std::vector<FileRange>> absent_by_cachestat(int file, std::uint64_t begin, std::uint64_t end) {
  if (!ask_cachestat(file, begin, end)) return std::nullopt;
  std::vector<FileRange> absent;
  for (std::uint64_t at = begin; at < end; at += k_piece_bytes) {
    const std::uint64_t until = std::min(at + k_piece_bytes, end);
    if (!ask_cachestat(file, at, until)) absent.push_back({at, until - at});
  }
  return absent;
}

}  // namespace

std::optional<PageCount> resident_pages(int file, const FileRange& range) {
  if (range.bytes == 0) return PageCount{};
  const std::uint64_t first = range.offset / page_bytes() * page_bytes();
  const std::uint64_t end = range.offset + range.bytes;
  if (mincore_is_true(file)) return count_by_mincore(file, first, end);
  return ask_cachestat(file, first, end);
}

std::optional<std::vector<FileRange>> absent_pages(int file, const FileRange& range) {
  std::vector<FileRange> absent;
  const std::uint64_t begin = range.offset / page_bytes() * page_bytes();
  const std::uint64_t end = range.offset + range.bytes;
  if (!mincore_is_true(file)) return absent_by_cachestat(file, begin, end);
  const bool told = ask_mincore(file, begin, end, [&](std::uint64_t at, const std::vector<unsigned char>& pages) {
    for (const unsigned char page : pages) {
      const std::uint64_t bytes = std::min(page_bytes(), end - at);
      const bool goes_on = !absent.empty() && absent.back().offset + absent.back().bytes == at;
      if (!is_resident(page) && goes_on) absent.back().bytes += bytes;
      if (!is_resident(page) && !goes_on) absent.push_back({at, bytes});
      at += bytes;
    }
  });
  return told ? std::optional(std::move(absent)) : std::nullopt;
}

void drop_pages(int file, const FileRange& range) {
  const std::uint64_t first = range.offset / page_bytes() * page_bytes();
  const std::uint64_t end = (range.offset + range.bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  posix_fadvise(file, static_cast<off_t>(first), static_cast<off_t>(end - first), POSIX_FADV_DONTNEED);
}

}  // namespace stallcast::collect
