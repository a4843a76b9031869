#include "probes/collect/storage/reader.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>

#include "core/check.hpp"
#include "core/clock.hpp"
#include "probes/collect/storage/constants.hpp"
#include "probes/collect/storage/window.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

using storage::Entry;
using storage::Window;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Every so manieth of `count`, so that at most `most` are kept and the last one is.
bool is_kept(std::size_t place, std::size_t count, std::size_t most) {
  const std::size_t stride = (count + most - 1) / most;
  return place + 1 == count || place % stride == stride - 1;
}

void summarize(std::vector<Entry>& log, const Window& window, record::StorageWindow& result) {
  std::sort(log.begin(), log.end(), [](const Entry& a, const Entry& b) { return a.end_ns < b.end_ns; });
  const auto since = [&](std::uint64_t at_ns) { return static_cast<double>(at_ns - window.begin_ns) * 1e-9; };
  for (std::size_t place = 0; place < log.size(); ++place) {
    const Entry& entry = log[place];
    result.reads += 1.0;
    result.bytes += static_cast<double>(entry.bytes);
    if (is_kept(place, log.size(), k_progress_rows)) {
      result.progress.push_back({since(entry.end_ns), result.reads, result.bytes});
    }
    if (is_kept(place, log.size(), k_sampled_reads)) {
      result.sampled.push_back(
          {since(entry.end_ns), static_cast<double>(entry.bytes), static_cast<double>(entry.seconds)});
    }
  }
  result.end_s = log.empty() ? 0.0 : since(log.back().end_ns);
  // Not the moment at which a stream came back after the time was up: that is the begin of a throttle's next burst.
  result.stop_s = since(std::clamp(window.stop_ns.load(), window.begin_ns, window.deadline_ns));
  result.failed_reads = window.failed.load();
}

}  // namespace

StorageReader::StorageReader(StorageEngine engine) {
  if (engine == StorageEngine::threads) return;
  queue_ = storage::ReadQueue::make(no_queue_);
}

StorageReader::~StorageReader() = default;

void StorageReader::FreeBuffer::operator()(char* buffer) const {
  std::free(buffer);  // NOLINT(cppcoreguidelines-no-malloc): of aligned_alloc
}

record::StorageWindow StorageReader::read(const std::vector<ReadTask>& tasks, const WindowPlan& plan,
                                          std::size_t& done) {
  STALLCAST_CHECK(!tasks.empty() && plan.in_flight >= 1 && plan.in_flight <= k_most_in_flight);
  while (buffers_.size() < static_cast<std::size_t>(plan.in_flight)) {
    buffers_.emplace_back(static_cast<char*>(std::aligned_alloc(storage::k_alignment, k_large_block_bytes)));
    STALLCAST_CHECK(buffers_.back() != nullptr);
  }
  record::StorageWindow result;
  result.read = plan.read;
  result.state = plan.state;
  result.in_flight = plan.in_flight;
  result.pause_s = plan.pause_s;
  Window window{tasks, plan};
  std::vector<char*> buffers;
  for (int i = 0; i < plan.in_flight; ++i) buffers.push_back(buffers_[static_cast<std::size_t>(i)].get());
  std::vector<Entry> log;
  const double cpu_before_s = cpu_seconds();
  const double storage_before = storage_bytes_of_process();
  window.begin_ns = monotonic_ns();
  window.deadline_ns = window.begin_ns + static_cast<std::uint64_t>(plan.seconds * 1e9);
  window.give_up_ns = window.begin_ns + static_cast<std::uint64_t>(plan.most_seconds * 1e9);
  const bool queued = queue_ != nullptr && plan.pause_s <= 0.0 && plan.state == record::StorageState::cold;
  if (queued) {
    queue_->read(window, buffers, log);
  } else {
    storage::read_by_threads(window, buffers, log);
  }
  const double storage_after = storage_bytes_of_process();
  result.cpu_s = cpu_seconds() - cpu_before_s;
  if (storage_before >= 0.0 && storage_after >= 0.0) result.evidence.storage_bytes = storage_after - storage_before;
  done = std::min(window.next.load(), tasks.size());
  summarize(log, window, result);
  return result;
}

double storage_bytes_of_process() {
  const std::string text = read_text("/proc/self/io").value_or("");
  constexpr std::string_view k_key = "read_bytes:";
  for (const std::string_view line : split_lines(text)) {
    if (line.substr(0, k_key.size()) != k_key) continue;
    const auto bytes = parse_u64(line.substr(k_key.size()));
    if (bytes) return static_cast<double>(*bytes);
  }
  return -1.0;
}

}  // namespace stallcast::collect
