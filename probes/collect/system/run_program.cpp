#include "probes/collect/system/run_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/clock.hpp"
#include "probes/collect/system/constants.hpp"
#include "probes/collect/system/exec_pointers.hpp"

namespace stallcast::collect {
namespace {

constexpr std::uint64_t k_ns_per_s = 1'000'000'000ULL;

/// -1: not started.
pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& environment, int output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // so that it can be ended with all that it started
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, command[0].c_str(), &files, &attributes, exec_pointers(command).data(),
                                  exec_pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return failed == 0 ? pid : -1;
}

/// Until the writers are gone; false once the time is over.
bool read_all(int from, std::uint64_t deadline_ns, std::string& output) {
  std::array<char, 4096> buffer{};
  while (true) {
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline_ns) return false;
    pollfd waiting{from, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>((deadline_ns - now) / 1'000'000U) + 1) <= 0) continue;
    const ssize_t bytes = read(from, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return true;
    const auto room = k_most_output_bytes - output.size();
    output.append(buffer.data(), std::min(static_cast<std::size_t>(bytes), room));
  }
}

}  // namespace

std::optional<ProgramResult> run_program(const std::vector<std::string>& command,
                                         const std::vector<std::string>& environment, int most_seconds) {
  std::array<int, 2> line{};
  if (pipe2(line.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t pid = start(command, environment, line[1]);
  close(line[1]);
  ProgramResult result;
  bool in_time = false;
  if (pid > 0) {
    const std::uint64_t deadline_ns = monotonic_ns() + static_cast<std::uint64_t>(most_seconds) * k_ns_per_s;
    in_time = read_all(line[0], deadline_ns, result.output);
    if (!in_time) kill(-pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  close(line[0]);
  return in_time ? std::optional<ProgramResult>(std::move(result)) : std::nullopt;
}

}  // namespace stallcast::collect
