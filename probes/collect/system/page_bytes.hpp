/// The size of this machine's pages.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace stallcast::collect {

/// In bytes.
[[nodiscard]] inline std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace stallcast::collect
