#include "probes/collect/pages/fresh_page.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/clock.hpp"
#include "probes/collect/pages/constants.hpp"
#include "probes/collect/system/page_bytes.hpp"

namespace stallcast::collect {

std::optional<double> measure_fresh_page() {
  const std::size_t page = page_bytes();
  std::array<std::uint64_t, 9> times{};
  for (std::uint64_t& time : times) {
    const std::uint64_t begin = monotonic_ns();
    void* const map = mmap(nullptr, k_fresh_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return std::nullopt;
    madvise(map, k_fresh_bytes, MADV_NOHUGEPAGE);  // where it cannot be refused, one fault brings many pages
    auto* const bytes = static_cast<volatile char*>(map);
    for (std::size_t at = 0; at < k_fresh_bytes; at += page) bytes[at] = 1;
    munmap(map, k_fresh_bytes);
    time = monotonic_ns() - begin;
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return static_cast<double>(times[times.size() / 2]) * 1e-9 /
         (static_cast<double>(k_fresh_bytes) / static_cast<double>(page));
}

}  // namespace stallcast::collect
