#include "probes/collect/launch.hpp"

#include <spawn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stallcast::collect {
namespace {

/// The argument arrays of exec: pointers into strings that outlive the call, closed by a null.
std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

int spawn(pid_t& pid, const std::vector<std::string>& command, const std::vector<std::string>& environment,
          const sigset_t& mask, bool output_to_stderr) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (output_to_stderr) posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  const int failed = posix_spawnp(&pid, command[0].c_str(), &files, &attributes, pointers(command).data(),
                                  pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

}  // namespace

Launched launch(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                const sigset_t& mask, bool output_to_stderr) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
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
