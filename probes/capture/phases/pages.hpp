/// The page cache of one file: what of it is resident, and how to drop that.
///
/// cachestat(2) answers in a microsecond, but an overlay answers for itself and not for the file below, and a kernel
/// may keep it for the file's owner. mincore(2) is right about both, tells everybody but a file's owner or writer that
/// all is resident, and costs a map. Which of the two is right is found out once per device: by an answer that can only
/// be right, else by reading one page and asking again.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace stallcast::capture {

struct Range {
  std::uint64_t offset;
  std::uint64_t bytes;
};

struct Resident {
  bool known;
  std::uint64_t bytes;  ///< at most those of the range
};

/// How much of the range is in the page cache. Not known: nobody may ask here, or nothing is cached here.
Resident resident_in(int fd, const struct stat& file, const Range& range);

/// Drops the range's pages from the page cache. Dirty and mapped ones stay.
void drop_pages(int fd, const Range& range);

/// Bytes of a page.
std::uint64_t page_bytes();

}  // namespace stallcast::capture
