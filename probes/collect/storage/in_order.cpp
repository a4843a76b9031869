#include "probes/collect/storage/in_order.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "core/clock.hpp"
#include "probes/collect/storage/constants.hpp"
#include "probes/collect/system/read_ahead.hpp"

namespace stallcast::collect {
namespace {

/// When each of a file's blocks had come, in seconds since the first was asked for.
std::vector<double> read_blocks(int file, std::uint64_t bytes, std::uint64_t give_up_ns) {
  std::vector<double> came_s;
  std::vector<char> block(k_in_order_block_bytes);
  const std::uint64_t begin_ns = monotonic_ns();
  // As buffered readers of shards begin: the first window follows from what is asked for first, and the others from it.
  if (pread(file, block.data(), k_in_order_first_bytes, 0) <= 0) return {};
  for (std::uint64_t at = k_in_order_first_bytes; at < bytes; at += block.size()) {
    if (pread(file, block.data(), block.size(), static_cast<off_t>(at)) <= 0) return {};
    const std::uint64_t now_ns = monotonic_ns();
    if (now_ns > give_up_ns) return {};
    came_s.push_back(static_cast<double>(now_ns - begin_ns) * 1e-9);
  }
  return came_s;
}

/// The most that came at once, in bytes. Not counted are what came first, which storage may have saved up, and last.
double most_at_once(const std::vector<double>& came_s) {
  std::vector<double> took_s;
  for (std::size_t i = 1; i < came_s.size(); ++i) took_s.push_back(came_s[i] - came_s[i - 1]);
  if (took_s.empty()) return -1.0;
  const auto middle = took_s.begin() + static_cast<std::ptrdiff_t>(took_s.size() / 2);
  std::nth_element(took_s.begin(), middle, took_s.end());
  if (*middle * static_cast<double>(took_s.size()) > k_evenly_share * came_s.back()) {
    return static_cast<double>(k_in_order_block_bytes);
  }
  const double waited_s = std::max(k_waited_times * *middle, k_least_waited_s);
  std::vector<std::size_t> waits;
  for (std::size_t i = 1; i < came_s.size(); ++i) {
    if (came_s[i] - came_s[i - 1] > waited_s) waits.push_back(i);
  }
  std::size_t most = 0;
  for (std::size_t i = 1; i < waits.size(); ++i) most = std::max(most, waits[i] - waits[i - 1]);
  return most > 0 ? static_cast<double>(most * k_in_order_block_bytes) : -1.0;
}

}  // namespace

void take_file_in_order(const std::vector<double>& came_s, record::StorageInOrder& seen) {
  if (came_s.empty()) return;
  seen.at_once_bytes = std::max(seen.at_once_bytes, most_at_once(came_s));
  seen.reason.clear();
  if (seen.at_once_bytes > 0.0) return;
  seen.reason = "no file that was read in order waited for storage twice: what comes at once lies between two waits";
}

record::StorageInOrder read_in_order(StoragePool& pool, double most_s) {
  record::StorageInOrder seen;
  const std::uint64_t give_up_ns = monotonic_ns() + static_cast<std::uint64_t>(most_s * 1e9);
  if (pool.direct()) {
    seen.reason = "nobody here may ask what of the files is in memory";
    return seen;
  }
  seen.reason = "no file of 4 to 16 MiB was read from its begin to its end in time";
  int files = 0;
  for (const ReadTask& task : pool.tasks(record::StorageRead::sequential, record::StorageState::cold)) {
    if (files == k_files_in_order || monotonic_ns() > give_up_ns) break;
    const int file = open(task.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) continue;
    struct stat facts {};
    const bool known = fstat(file, &facts) == 0;
    if (known && seen.window_bytes < 0.0) {
      if (const auto window = read_ahead_bytes(facts.st_dev)) seen.window_bytes = static_cast<double>(*window);
    }
    const bool whole = known && task.range.offset == 0 && task.range.bytes == static_cast<std::uint64_t>(facts.st_size);
    const auto pages = resident_pages(file, task.range);
    if (whole && pages && pages->resident == 0) {
      ++files;
      take_file_in_order(read_blocks(file, task.range.bytes, give_up_ns), seen);
      drop_pages(file, task.range);
    }
    close(file);
  }
  return seen;
}

}  // namespace stallcast::collect
