#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "core/clock.hpp"
#include "probes/collect/storage/window.hpp"

namespace stallcast::collect::storage {
namespace {

/// A descriptor that is closed again if it was opened here.
class TaskFile {
 public:
  TaskFile(const ReadTask& task, const WindowPlan& plan) : file_(task.file), own_(task.file < 0) {
    if (own_) file_ = open(task.path, open_flags(plan));
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
      if (!run(*task)) window_.failed.fetch_add(1);
    }
  }

  [[nodiscard]] const std::vector<Entry>& log() const { return log_; }

 private:
  bool run(const ReadTask& task) {
    if (window_.plan.read == record::StorageRead::metadata) return look_up(task);
    return window_.plan.read == record::StorageRead::sequential ? read_pieces(task) : read_at_once(task);
  }

  bool look_up(const ReadTask& task) {
    const std::uint64_t begin_ns = monotonic_ns();
    struct stat facts {};
    const int file = open(task.path, open_flags(window_.plan));
    if (file < 0) return false;
    const bool known = fstat(file, &facts) == 0;
    close(file);
    if (known) note(begin_ns, 0);
    return known;
  }

  /// Bytes read; -1 on failure.
  std::int64_t read_piece(int file, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t room = std::min(k_large_block_bytes, bytes);
    const std::uint64_t wanted = asked_bytes(window_.plan, room);
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
    const TaskFile file(task, window_.plan);
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
    const TaskFile file(task, window_.plan);
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

}  // namespace

int open_flags(const WindowPlan& plan) {
  return O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (plan.direct ? O_DIRECT : 0);
}

void read_by_threads(Window& window, std::span<char* const> buffers, std::vector<Entry>& log) {
  std::vector<Stream> streams;
  streams.reserve(buffers.size());
  for (char* buffer : buffers) streams.emplace_back(window, buffer);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < streams.size(); ++i) threads.emplace_back([&streams, i] { streams[i].run(); });
    streams.front().run();
  }
  for (const Stream& stream : streams) log.insert(log.end(), stream.log().begin(), stream.log().end());
}

}  // namespace stallcast::collect::storage
