#include "probes/collect/guardian.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "probes/record/control.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

constexpr int k_kill_rounds = 25;  ///< processes may be born while we kill
constexpr useconds_t k_round_us = 200'000;

/// Kills until nobody of the run is left, then deletes what it leaves. Runs in the guardian alone.
void clear_up(const fs::path& run_folder, const std::vector<fs::path>& folders) {
  for (int round = 0; round < k_kill_rounds; ++round) {
    const std::vector<pid_t> left = processes_with("/", record::k_env_run_dir, run_folder.string());
    if (left.empty()) break;
    for (const pid_t pid : left) {
      if (pid != getpid()) kill(pid, SIGKILL);
    }
    usleep(k_round_us);
  }
  std::error_code failed;
  for (const fs::path& folder : folders) fs::remove_all(folder, failed);
}

[[noreturn]] void stand_guard(int line, const fs::path& run_folder, const std::vector<fs::path>& folders) {
  setsid();  // what the terminal sends to the job is not for us
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);  // a reader of the job's output must not wait for us
  char word = 0;
  ssize_t got = 0;
  do {
    got = read(line, &word, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 0) clear_up(run_folder, folders);
  _exit(0);
}

}  // namespace

std::vector<pid_t> processes_with(const fs::path& root, const std::string& name, const std::string& value) {
  std::vector<pid_t> found;
  const std::string wanted = name + "=" + value;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(root / "proc", failed)) {
    const std::string text = entry.path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) continue;
    std::ifstream environment(entry.path() / "environ", std::ios::binary);
    std::string variable;
    while (std::getline(environment, variable, '\0')) {
      if (variable != wanted) continue;
      found.push_back(pid);
      break;
    }
  }
  return found;
}

Result<Guardian> Guardian::post(const fs::path& run_folder, const std::vector<fs::path>& folders) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{ErrorCode::environment, std::string("cannot open a pair of sockets: ") + std::strerror(errno),
                 "see ulimit -n"};
  }
  const pid_t pid = fork();
  if (pid < 0) {
    const int reason = errno;
    close(ends[0]);
    close(ends[1]);
    return Error{ErrorCode::environment, std::string("cannot fork: ") + std::strerror(reason), "see ulimit -u"};
  }
  if (pid == 0) {
    // Born of a process that is gone at once: no child of the tool, which counts its descendants as the job's.
    if (fork() != 0) _exit(0);
    close(ends[1]);
    stand_guard(ends[0], run_folder, folders);
  }
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  return Guardian(ends[1]);
}

Guardian::Guardian(Guardian&& other) noexcept : line_(std::exchange(other.line_, -1)) {}

Guardian::~Guardian() {
  if (line_ < 0) return;
  const char word = 'x';
  send(line_, &word, 1, MSG_NOSIGNAL);  // a guardian that is gone already cannot be told, and need not be
  close(line_);
}

}  // namespace stallcast::collect
