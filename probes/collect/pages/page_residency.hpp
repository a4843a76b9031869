/// The page cache of one file, seen from outside the job: what of it is resident, and how to drop that.
///
/// mincore(2) tells the truth to a file's owner or writer only, and everybody else that all is resident; cachestat(2)
/// tells every reader of older kernels, but an overlay answers it for itself. The first that can be believed is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace stallcast::collect {

/// A stretch of a file.
struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct PageCount {
  std::int64_t resident = 0;
  std::int64_t all = 0;
};

/// Resident pages of the range, which must lie within the file; nothing if nobody may ask about this file here.
[[nodiscard]] std::optional<PageCount> resident_pages(int file, const FileRange& range);

/// Stretches of the range, which must lie within the file, of which no page is in memory; nothing if nobody may ask
/// about this file, or may only by pieces and sees none of it.
[[nodiscard]] std::optional<std::vector<FileRange>> absent_pages(int file, const FileRange& range);

/// Drops the range's pages from memory. Dirty, mapped and locked ones stay.
void drop_pages(int file, const FileRange& range);

}  // namespace stallcast::collect
