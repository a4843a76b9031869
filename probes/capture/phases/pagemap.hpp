/// What the page table of this process says of a map: /proc/self/pagemap (the kernel's admin-guide/mm/pagemap.rst).
#pragma once

#include <cstdint>

namespace stallcast::capture {

/// Whether the pages from `begin` to `end` of a private map may hold something that is in no file: what the process
/// wrote to them, in memory or swapped out. True where that cannot be told, and of maps of more than 16 GiB.
bool may_hold_own_pages(std::uint64_t begin, std::uint64_t end);

}  // namespace stallcast::capture
