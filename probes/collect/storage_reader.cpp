#include "probes/collect/storage_reader.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "core/check.hpp"
#include "core/clock.hpp"
#include "probes/collect/text_file.hpp"

namespace stallcast::collect {
namespace {

constexpr std::uint64_t k_alignment = 4096;
constexpr std::size_t k_most_reads = 100'000;
constexpr std::size_t k_progress_rows = 256;
constexpr std::size_t k_sampled_reads = 512;

struct Entry {
  std::uint64_t end_ns;
  float seconds;
  std::uint32_t bytes;
};

/// What the streams of one window share.
struct Window {
  const std::vector<ReadTask>& tasks;
  const WindowPlan& plan;
  std::uint64_t begin_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t give_up_ns = 0;
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> stop_ns{UINT64_MAX};  ///< the first stream that found nothing to begin
  std::atomic<std::int64_t> failed{0};

  void stop_at(std::uint64_t now_ns) {
    std::uint64_t seen = stop_ns.load();
    while (now_ns < seen && !stop_ns.compare_exchange_weak(seen, now_ns)) {
    }
  }

  /// The moment at which a stream that is free at `now_ns` goes on.
  [[nodiscard]] std::uint64_t after_pause(std::uint64_t now_ns) const {
    const auto pause_ns = static_cast<std::uint64_t>(plan.pause_s * 1e9);
    if (pause_ns == 0) return now_ns;
    const std::uint64_t stretch = (now_ns - begin_ns) / pause_ns;
    return stretch % 2 == 0 ? now_ns : begin_ns + (stretch + 1) * pause_ns;
  }

  /// The next task, or nothing: the time is up, or all are done.
  const ReadTask* take() {
    const std::uint64_t free_ns = monotonic_ns();
    const std::uint64_t now_ns = after_pause(free_ns);
    if (now_ns > free_ns) std::this_thread::sleep_for(std::chrono::nanoseconds(now_ns - free_ns));
    const bool in_time = now_ns < deadline_ns;
    const std::size_t place = in_time ? next.fetch_add(1) : 0;
    const bool cycle = plan.state == record::StorageState::resident;
    if (in_time && place < k_most_reads && (cycle || place < tasks.size())) return &tasks[place % tasks.size()];
    stop_at(now_ns);
    return nullptr;
  }
};

/// A descriptor that is closed again if it was opened here.
class TaskFile {
 public:
  TaskFile(const ReadTask& task, bool direct) : file_(task.file), own_(task.file < 0) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (direct ? O_DIRECT : 0);
    if (own_) file_ = open(task.path, flags);
  }
  TaskFile(const TaskFile&) = delete;
  TaskFile& operator=(const TaskFile&) = delete;
  ~TaskFile() {
    if (own_ && file_ >= 0) close(file_);
  }
  [[nodiscard]] int get() const { return file_; }

 private:
  int file_;
  bool own_;
};

class Stream {
 public:
  Stream(Window& window, char* buffer) : window_(window), buffer_(buffer) {}

  void run() {
    while (const ReadTask* task = window_.take()) {
      const bool in_pieces = window_.plan.read == record::StorageRead::sequential;
      if (!(in_pieces ? read_pieces(*task) : read_at_once(*task))) window_.failed.fetch_add(1);
    }
  }

  [[nodiscard]] const std::vector<Entry>& log() const { return log_; }

 private:
  /// Bytes read; -1 on failure.
  std::int64_t read_piece(int file, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t room = std::min(k_large_block_bytes, bytes);
    const std::uint64_t wanted =
        window_.plan.direct ? (room + k_alignment - 1) / k_alignment * k_alignment : room;  // ends at the end of file
    std::uint64_t got = 0;
    while (got < room) {
      const ssize_t part = pread(file, buffer_ + got, wanted - got, static_cast<off_t>(offset + got));
      if (part < 0 && errno == EINTR) continue;
      if (part < 0) return -1;
      if (part == 0) break;
      got += static_cast<std::uint64_t>(part);
    }
    return static_cast<std::int64_t>(std::min(got, room));
  }

  void note(std::uint64_t begin_ns, std::uint64_t bytes) {
    const std::uint64_t end_ns = monotonic_ns();
    log_.push_back({end_ns, static_cast<float>(end_ns - begin_ns) * 1e-9F, static_cast<std::uint32_t>(bytes)});
  }

  /// A whole file or a block is one read.
  bool read_at_once(const ReadTask& task) {
    const TaskFile file(task, window_.plan.direct);
    if (file.get() < 0) return false;
    const std::uint64_t begin_ns = monotonic_ns();
    std::uint64_t done = 0;
    while (done < task.range.bytes) {
      const std::int64_t got = read_piece(file.get(), task.range.offset + done, task.range.bytes - done);
      if (got < 0) return false;
      if (got == 0) break;
      done += static_cast<std::uint64_t>(got);
      if (done < task.range.bytes && monotonic_ns() > window_.give_up_ns) return true;
    }
    if (done > 0) note(begin_ns, done);
    return true;
  }

  /// Each piece of a sequential stretch is a read.
  bool read_pieces(const ReadTask& task) {
    const TaskFile file(task, window_.plan.direct);
    if (file.get() < 0) return false;
    for (std::uint64_t done = 0; done < task.range.bytes && monotonic_ns() < window_.deadline_ns;) {
      const std::uint64_t begin_ns = monotonic_ns();
      const std::int64_t got = read_piece(file.get(), task.range.offset + done, task.range.bytes - done);
      if (got < 0) return false;
      if (got == 0) break;
      note(begin_ns, static_cast<std::uint64_t>(got));
      done += static_cast<std::uint64_t>(got);
    }
    return true;
  }

  Window& window_;
  char* buffer_;
  std::vector<Entry> log_{};
};

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

StorageReader::StorageReader() = default;
StorageReader::~StorageReader() = default;

void StorageReader::FreeBuffer::operator()(char* buffer) const {
  std::free(buffer);  // NOLINT(cppcoreguidelines-no-malloc): of aligned_alloc
}

record::StorageWindow StorageReader::read(const std::vector<ReadTask>& tasks, const WindowPlan& plan,
                                          std::size_t& done) {
  STALLCAST_CHECK(!tasks.empty() && plan.in_flight >= 1 && plan.in_flight <= k_most_in_flight);
  while (buffers_.size() < static_cast<std::size_t>(plan.in_flight)) {
    buffers_.emplace_back(static_cast<char*>(std::aligned_alloc(k_alignment, k_large_block_bytes)));
    STALLCAST_CHECK(buffers_.back() != nullptr);
  }
  record::StorageWindow result;
  result.read = plan.read;
  result.state = plan.state;
  result.in_flight = plan.in_flight;
  result.pause_s = plan.pause_s;
  Window window{tasks, plan};
  std::vector<Stream> streams;
  streams.reserve(buffers_.size());
  for (int i = 0; i < plan.in_flight; ++i) streams.emplace_back(window, buffers_[static_cast<std::size_t>(i)].get());
  const double cpu_before_s = cpu_seconds();
  const double storage_before = storage_bytes_of_process();
  window.begin_ns = monotonic_ns();
  window.deadline_ns = window.begin_ns + static_cast<std::uint64_t>(plan.seconds * 1e9);
  window.give_up_ns = window.begin_ns + static_cast<std::uint64_t>(plan.most_seconds * 1e9);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < streams.size(); ++i) threads.emplace_back([&streams, i] { streams[i].run(); });
    streams.front().run();
  }
  const double storage_after = storage_bytes_of_process();
  result.cpu_s = cpu_seconds() - cpu_before_s;
  if (storage_before >= 0.0 && storage_after >= 0.0) result.evidence.storage_bytes = storage_after - storage_before;
  done = std::min(window.next.load(), tasks.size());
  std::vector<Entry> log;
  for (const Stream& stream : streams) log.insert(log.end(), stream.log().begin(), stream.log().end());
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
