#include "probes/collect/emulation/sentinel.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace stallcast::collect {
namespace {

/// The tool's files are not ours: a line of another sentinel that we held open would never close.
void close_all_but(int line) {
  std::vector<int> open_files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", failed)) {
    const std::string name = entry.path().filename().string();
    int file = -1;
    std::from_chars(name.data(), name.data() + name.size(), file);
    if (file > STDERR_FILENO && file != line) open_files.push_back(file);
  }
  for (const int file : open_files) close(file);
}

[[noreturn]] void stand_guard(int line, const std::function<void(bool)>& then) {
  setsid();  // what the terminal sends to the job is not for us
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  close_all_but(line);
  static_cast<void>(!chdir("/"));  // it may live long, and the folder's disk may be wanted for something else
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);  // a reader of the job's output must not wait for us
  char word = 0;
  ssize_t got = 0;
  do {
    got = read(line, &word, 1);
  } while (got < 0 && errno == EINTR);
  then(got > 0);
  _exit(0);
}

}  // namespace

Result<Sentinel> Sentinel::post(const std::function<void(bool told)>& then) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{ErrorCode::environment, std::string("cannot open a pair of sockets: ") + std::strerror(errno),
                 "see ulimit -n"};
  }
  // Launching the command makes the tool the parent of orphans; this one is to be no child of it.
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  const pid_t pid = fork();
  if (pid < 0) {
    const int reason = errno;
    close(ends[0]);
    close(ends[1]);
    return Error{ErrorCode::environment, std::string("cannot fork: ") + std::strerror(reason), "see ulimit -u"};
  }
  if (pid == 0) {
    // Born of a process that is gone at once: the tool counts its descendants as the job's.
    if (fork() != 0) _exit(0);
    close(ends[1]);
    stand_guard(ends[0], then);
  }
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  return Sentinel(ends[1]);
}

Sentinel::Sentinel(Sentinel&& other) noexcept : line_(std::exchange(other.line_, -1)) {}

Sentinel::~Sentinel() {
  if (line_ < 0) return;
  const char word = 'x';
  send(line_, &word, 1, MSG_NOSIGNAL);  // one that is gone already cannot be told, and need not be
  close(line_);
}

}  // namespace stallcast::collect
