#include "probes/collect/pages/resident_read.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "probes/collect/pages/constants.hpp"

namespace stallcast::collect {
namespace {

bool fill(int file, std::vector<char>& buffer) {
  for (std::size_t piece = 0; piece < k_timed_reads; ++piece) {
    if (write(file, buffer.data(), buffer.size()) != static_cast<ssize_t>(buffer.size())) return false;
  }
  return true;
}

/// Median time of reading `bytes` at the start of each piece; 0 if a read fails.
double median_seconds(int file, std::vector<char>& buffer, std::size_t bytes) {
  std::vector<std::uint64_t> times;
  for (std::size_t piece = 0; piece < k_timed_reads; ++piece) {
    const std::uint64_t begin = monotonic_ns();
    const ssize_t got = pread(file, buffer.data(), bytes, static_cast<off_t>(piece * k_large_read_bytes));
    times.push_back(monotonic_ns() - begin);
    if (got != static_cast<ssize_t>(bytes)) return 0.0;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(*middle) * 1e-9;
}

}  // namespace

std::optional<ResidentReadCost> measure_resident_read(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "resident-read";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return std::nullopt;
  unlink(path.c_str());
  std::vector<char> buffer(k_large_read_bytes, 'x');
  std::optional<ResidentReadCost> cost;
  if (fill(file, buffer)) {
    const double small = median_seconds(file, buffer, k_small_read_bytes);
    const double large = median_seconds(file, buffer, k_large_read_bytes);
    const double per_byte = (large - small) / static_cast<double>(k_large_read_bytes - k_small_read_bytes);
    const double per_call = small - per_byte * static_cast<double>(k_small_read_bytes);
    if (small > 0.0 && per_byte > 0.0) cost = ResidentReadCost{std::max(per_call, 0.0), per_byte};
  }
  close(file);
  return cost;
}

}  // namespace stallcast::collect
