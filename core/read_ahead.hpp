/// How far Linux reads ahead of a reader that goes through a file in order (mm/readahead.c): windows that grow up to
/// the device's read_ahead_kb; the next is asked for when the reader comes to the begin of the one before it.
///
/// Worked example. Of a device that reads 8 MiB ahead, a reader that asks for 16 KiB first gets windows of 64 and
/// 256 KiB, 1, 2, 4, 8 and 8 MiB ...
#pragma once

#include <cstdint>

namespace stallcast {

/// get_init_ra_size() of the kernel: the first window of a reader that asks for `bytes`.
constexpr std::uint64_t first_window(std::uint64_t bytes, std::uint64_t most) {
  constexpr std::uint64_t k_page_bytes = 4096;
  std::uint64_t window = k_page_bytes;
  while (window < bytes) window *= 2;
  if (window <= most / 32) return window * 4;
  return window <= most / 4 ? window * 2 : most;
}

/// get_next_ra_size(), likewise.
constexpr std::uint64_t next_window(std::uint64_t before, std::uint64_t most) {
  if (before < most / 16) return before * 4;
  return before <= most / 2 ? before * 2 : most;
}

}  // namespace stallcast
