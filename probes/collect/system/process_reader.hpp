/// One process as /proc shows it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace stallcast::collect {

/// Fields of /proc/PID/stat that we use. Times of it come in clock ticks (10 ms): good for children, coarse for itself.
struct StatLine {
  std::string name{};
  char state = '?';
  pid_t parent_pid = 0;
  std::uint64_t start_ticks = 0;  ///< with the pid it names a process for good
  std::uint64_t own_cpu_ns = 0;
  std::uint64_t children_cpu_ns = 0;  ///< of the children that it has waited for, and theirs
  std::uint64_t minor_faults = 0;     ///< pages that storage was not needed for: memory anew, or mapped once more
  std::uint64_t major_faults = 0;
  std::uint64_t rss_bytes = 0;
};

/// What /proc/PID/io counts, of the process and of the children that it has waited for.
struct IoCounters {
  std::uint64_t read_bytes = 0;  ///< fetched from storage
  std::uint64_t rchar = 0;       ///< asked for by read calls, from wherever
};

/// What /proc/PID/status says that nothing else does.
struct StatusFacts {
  std::string cpus{};            ///< that it may run on, as the kernel lists them: "0-3,8"
  std::uint64_t swap_bytes = 0;  ///< of its memory, out on swap
};

/// Memory of a process, each page divided by the number of processes that map it. A page that a fork has shared and
/// that somebody then writes to (a reference count will do) becomes the writer's own: this alone shows such growth.
struct ProportionalSet {
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> anonymous_bytes{};  ///< the part that no file backs; newer kernels (5.x) say it
  std::optional<std::uint64_t> swap_bytes{};       ///< what of it lies on swap, which `bytes` leaves out
};

[[nodiscard]] std::optional<StatLine> parse_stat(std::string_view text);
[[nodiscard]] std::optional<IoCounters> parse_io(std::string_view text);
[[nodiscard]] std::optional<StatusFacts> parse_status(std::string_view text);

/// Reads processes under a proc folder; tests give it a made-up one.
class ProcessReader {
 public:
  /// `proc` is the folder that holds PID folders. CPU clocks of the kernel are only asked when it is "/proc".
  explicit ProcessReader(std::filesystem::path proc);

  [[nodiscard]] const std::filesystem::path& proc() const { return proc_; }

  [[nodiscard]] std::optional<StatLine> stat(pid_t pid) const;
  [[nodiscard]] std::optional<IoCounters> io(pid_t pid) const;

  /// Nanoseconds of CPU of all threads, those that ended included. From the process's CPU clock (exact to the ns, one
  /// system call, no permission needed); `fallback` where there is no such clock.
  [[nodiscard]] std::uint64_t cpu_ns(pid_t pid, std::uint64_t fallback) const;

  /// Nanoseconds that the main thread was runnable and did not run.
  [[nodiscard]] std::optional<std::uint64_t> run_delay_ns(pid_t pid) const;

  /// Resident bytes that no file backs: resident minus shared of statm.
  [[nodiscard]] std::optional<std::uint64_t> anonymous_bytes(pid_t pid) const;

  [[nodiscard]] std::optional<StatusFacts> status(pid_t pid) const;

  /// Proportional set. Costly: the kernel walks the page tables.
  [[nodiscard]] std::optional<ProportionalSet> proportional(pid_t pid) const;

  /// Arguments of the command line.
  [[nodiscard]] std::optional<std::string> command_line(pid_t pid) const;

  /// Whether the process's initial environment has a variable of this name; nothing if that is not readable.
  [[nodiscard]] std::optional<bool> has_variable(pid_t pid, std::string_view name) const;

 private:
  [[nodiscard]] std::filesystem::path file(pid_t pid, const char* name) const;
  std::filesystem::path proc_;
  bool real_ = false;
};

}  // namespace stallcast::collect
