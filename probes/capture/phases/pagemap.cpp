#include "probes/capture/phases/pagemap.hpp"

#include <algorithm>
#include <cstddef>

#include "probes/capture/phases/pages.hpp"
#include "probes/capture/phases/system_calls.hpp"

namespace stallcast::capture {
namespace {

constexpr std::uint64_t k_present = 1ULL << 63;
constexpr std::uint64_t k_swapped = 1ULL << 62;
constexpr std::uint64_t k_of_file = 1ULL << 61;  ///< or of memory that is shared
constexpr std::size_t k_entries = 512;           ///< that are read at a time, on the guest's stack
/// Chosen: to look through so much takes tens of milliseconds, and each cold batch looks
constexpr std::uint64_t k_most_bytes = 16ULL << 30;

bool is_own(std::uint64_t entry) {
  return (entry & k_swapped) != 0 || ((entry & k_present) != 0 && (entry & k_of_file) == 0);
}

}  // namespace

bool may_hold_own_pages(std::uint64_t begin, std::uint64_t end) {
  if (end - begin > k_most_bytes) return true;
  const int fd = raw::open_file("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return true;
  std::uint64_t entries[k_entries];
  const std::uint64_t behind = (end + page_bytes() - 1) / page_bytes();
  bool found = false;
  for (std::uint64_t next = begin / page_bytes(); !found && next < behind;) {
    const std::uint64_t asked = std::min<std::uint64_t>(k_entries, behind - next);
    const auto at = static_cast<off_t>(next * sizeof(std::uint64_t));
    const ssize_t bytes = raw::read_at(fd, entries, asked * sizeof(std::uint64_t), at);
    const std::size_t got = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof(std::uint64_t) : 0;
    found = got == 0 || std::any_of(entries, entries + got, is_own);
    next += got;
  }
  raw::close_fd(fd);
  return found;
}

}  // namespace stallcast::capture
