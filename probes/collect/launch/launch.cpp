#include "probes/collect/launch/launch.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "probes/collect/system/exec_pointers.hpp"

namespace stallcast::collect {
namespace {

/// The argument arrays of exec: pointers into strings that outlive the call, closed by a null.
int spawn(pid_t& pid, const std::vector<std::string>& command, const std::vector<std::string>& environment,
          const sigset_t& mask, bool output_to_stderr) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (output_to_stderr) posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  const int failed = posix_spawnp(&pid, command[0].c_str(), &files, &attributes, exec_pointers(command).data(),
                                  exec_pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

/// Why a child did not become the command; goes through a pipe that the exec closes.
struct ChildFailure {
  bool joining = false;  ///< else executing
  int reason = 0;        ///< errno
};

/// In the child, between fork and exec: nothing here allocates.
[[noreturn]] void become(char* const* arguments, char* const* environment, const sigset_t& mask, bool output_to_stderr,
                         std::span<const int> groups, int line) {
  ChildFailure failure;
  for (const int group : groups) failure.joining = failure.joining || write(group, "0", 1) != 1;
  if (!failure.joining) {
    if (output_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    execvpe(arguments[0], arguments, environment);
  }
  failure.reason = errno;
  static_cast<void>(!write(line, &failure, sizeof failure));
  _exit(k_exit_wrapper_failed);
}

/// As spawn, for a command that joins control groups: only a process can move itself without the tool going with it.
Launched fork_joined(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                     const sigset_t& mask, bool output_to_stderr, std::span<const int> groups) {
  Launched result;
  const std::vector<char*> arguments = exec_pointers(command);
  const std::vector<char*> variables = exec_pointers(environment);
  int line[2];
  ChildFailure failure;
  const bool piped = pipe2(line, O_CLOEXEC) == 0;
  if (piped) result.pid = fork();
  if (result.pid == 0) become(arguments.data(), variables.data(), mask, output_to_stderr, groups, line[1]);
  if (result.pid < 0) failure.reason = errno;
  const bool begun = result.pid > 0;
  if (piped) close(line[1]);
  ssize_t got = 0;
  while (result.pid > 0 && (got = read(line[0], &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  if (piped) close(line[0]);
  if (got == 0 && failure.reason == 0) return result;
  if (result.pid > 0) waitpid(result.pid, nullptr, 0);
  result.pid = -1;
  result.reason = std::strerror(failure.reason);
  result.exit_code = failure.reason == ENOENT ? k_exit_not_found : k_exit_not_executable;
  if (failure.joining || !begun) result.exit_code = k_exit_wrapper_failed;
  if (failure.joining) result.reason = "it could not join its control groups: " + result.reason;
  if (!begun) result.reason = "no process could be started for it: " + result.reason;
  return result;
}

}  // namespace

Launched launch(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                const sigset_t& mask, bool output_to_stderr, std::span<const int> groups) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (!groups.empty()) return fork_joined(command, environment, mask, output_to_stderr, groups);
  Launched result;
  int failed = spawn(result.pid, command, environment, mask, output_to_stderr);
  if (failed == ENOEXEC) {
    // A script without "#!": execvp hands it to the shell, and so do we.
    std::vector<std::string> shell{"/bin/sh"};
    shell.insert(shell.end(), command.begin(), command.end());
    failed = spawn(result.pid, shell, environment, mask, output_to_stderr);
  }
  if (failed == 0) return result;
  result.pid = -1;
  result.exit_code = failed == ENOENT ? k_exit_not_found : k_exit_not_executable;
  result.reason = std::strerror(failed);
  return result;
}

}  // namespace stallcast::collect
