#include <fcntl.h>
#include <stallcast/capture.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "tests/capture/guest.hpp"

namespace stallcast::test {
namespace {

std::array<char, 1 << 16> g_buffer;

int exit_status_of(pid_t child) {
  int status = 0;
  require(::waitpid(child, &status, 0) == child, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/// fork PATH: a child in the middle of a sample reads the file and makes a sample of its own.
int fork_scene(const Arguments& arguments) {
  stallcast_batch_begin(0, 0, 0);
  stallcast_sample_begin(1);
  const pid_t child = ::fork();
  if (child == 0) {
    read_file(arguments.at(0));
    make_sample(2);
    ::_exit(0);
  }
  require(exit_status_of(child) == 0, "child");
  stallcast_sample_end();
  stallcast_batch_end(1);
  return 0;
}

/// vfork PATH: the child closes and replaces descriptors, its parent's stay what they are.
int vfork_scene(const Arguments& arguments) {
  stallcast_step();
  const int fd = ::open(arguments.at(0).c_str(), O_RDONLY);
  const int null = ::open("/dev/null", O_RDONLY);
  require(::read(fd, g_buffer.data(), 100) == 100, "read");
  const pid_t child = ::vfork();
  if (child == 0) {
    ::dup2(null, fd);
    ::close(fd);
    ::close_range(3, ~0U, 0);
    ::_exit(0);
  }
  require(exit_status_of(child) == 0, "child");
  require(::read(fd, g_buffer.data(), g_buffer.size()) == 9'900, "read");
  ::close(fd);
  return 0;
}

/// exec: becomes another program after it was recorded.
int exec_scene(const Arguments& arguments) {
  stallcast_step();
  if (arguments.empty()) {
    ::execl("/proc/self/exe", "capture_guest", "exec", "again", nullptr);
    require(false, "execl");
  }
  return 0;
}

/// read PATH TIMES: without any call of the C API.
int read_scene(const Arguments& arguments) {
  for (int i = 0; i < std::stoi(arguments.at(1)); ++i) read_file(arguments.at(0));
  return 0;
}

/// pipe BYTES: reads that much from a pipe, without any call of the C API.
int pipe_scene(const Arguments& arguments) {
  std::array<int, 2> ends{};
  require(::pipe(ends.data()) == 0, "pipe");
  for (long left = std::stol(arguments.at(0)); left > 0;) {
    require(::write(ends[1], g_buffer.data(), 32'768) == 32'768, "write");
    left -= ::read(ends[0], g_buffer.data(), g_buffer.size());
  }
  return 0;
}

/// late_rank: sets RANK itself, after its first call.
int late_rank_scene(const Arguments& /*arguments*/) {
  make_batch(0, 1);
  ::setenv("RANK", "6", 1);
  stallcast_step();
  return 0;
}

/// active: exits with what stallcast_active() says before and after the first call, as two bits.
int active_scene(const Arguments& /*arguments*/) {
  const int before = stallcast_active();
  stallcast_step();
  make_batch(0, 1);
  return before + 2 * stallcast_active();
}

}  // namespace

void read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, "open");
  while (::read(fd, g_buffer.data(), g_buffer.size()) > 0) {
  }
  ::close(fd);
}

void make_sample(std::int64_t index) {
  stallcast_sample_begin(index);
  stallcast_sample_end();
}

void make_batch(std::uint64_t number, int samples) {
  stallcast_batch_begin(0, number, 0);
  for (int i = 0; i < samples; ++i) make_sample(i);
  stallcast_batch_end(static_cast<std::uint32_t>(samples));
  stallcast_batch_put();
}

std::map<std::string, Scene> process_scenes() {
  return {{"fork", fork_scene}, {"vfork", vfork_scene},         {"exec", exec_scene},    {"read", read_scene},
          {"pipe", pipe_scene}, {"late_rank", late_rank_scene}, {"active", active_scene}};
}

}  // namespace stallcast::test
