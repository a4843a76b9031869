#include <fcntl.h>
#include <stallcast/capture.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "probes/record/control.hpp"
#include "tests/capture/guest.hpp"

namespace stallcast::test {
namespace {

record::ControlBlock& map_control() {
  const std::string path = std::string(std::getenv(record::k_env_run_dir)) + "/" + record::k_control_file;
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  void* mapped = ::mmap(nullptr, sizeof(record::ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  require(mapped != MAP_FAILED, "map control");
  ::close(fd);
  return *static_cast<record::ControlBlock*>(mapped);
}

/// endless: batches of samples numbered from 0, until it is killed.
int endless_scene(const Arguments& /*arguments*/) {
  for (std::int64_t index = 0;; ++index) {
    make_sample(index);
    if (index % 100 == 0) make_batch(static_cast<std::uint64_t>(index) / 100, 0);
  }
}

/// threads N SAMPLES: N at once, each makes SAMPLES.
int threads_scene(const Arguments& arguments) {
  const int count = std::stoi(arguments.at(0));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < std::stoi(arguments.at(1)); ++k) make_sample(k);
    });
  }
  for (auto& thread : threads) thread.join();
  return 0;
}

/// short_threads N: one after the other, each makes one sample.
int short_threads_scene(const Arguments& arguments) {
  for (int i = 0; i < std::stoi(arguments.at(0)); ++i) std::thread([i] { make_sample(i); }).join();
  return 0;
}

/// fill BATCHES SAMPLES PATH: batches of samples that each read the file, with a wait and a step each. A batch waits
/// for something, so that all its samples are timed.
int fill_scene(const Arguments& arguments) {
  const int samples = std::stoi(arguments.at(1));
  for (std::uint64_t batch = 0; batch < std::stoull(arguments.at(0)); ++batch) {
    stallcast_wait_begin();
    stallcast_batch_begin(0, batch, 0);
    for (int i = 0; i < samples; ++i) {
      stallcast_sample_begin(i);
      read_file(arguments.at(2));
      stallcast_sample_end();
    }
    ::usleep(200);
    stallcast_batch_end(static_cast<std::uint32_t>(samples));
    stallcast_wait_end(0, batch, static_cast<std::uint32_t>(samples), 0, 0);
    stallcast_step();
  }
  return 0;
}

/// toggle: switches the recording off and on around and inside of waits, samples and batches.
int toggle_scene(const Arguments& /*arguments*/) {
  auto& control = map_control();
  const auto deliver = [&](std::uint64_t batch, std::uint32_t at_begin, std::uint32_t at_end) {
    control.recording = at_begin;
    stallcast_wait_begin();
    stallcast_batch_begin(0, batch, 0);
    stallcast_sample_begin(static_cast<std::int64_t>(batch));
    control.recording = at_end;
    stallcast_sample_end();
    stallcast_batch_end(1);
    stallcast_wait_end(0, batch, 10, 0, 0);
    stallcast_step();
  };
  deliver(0, 1, 1);
  deliver(1, 1, 0);
  deliver(2, 0, 0);
  stallcast_text(STALLCAST_TEXT_MARK, "{\"what\":\"said while paused\"}");
  deliver(3, 0, 1);
  deliver(4, 1, 1);
  control.stop = 1;
  deliver(5, 1, 1);
  stallcast_text(STALLCAST_TEXT_MARK, "{\"what\":\"said after the end\"}");
  stallcast_wait_begin();
  stallcast_wait_end(0, 6, 0, 0, STALLCAST_WAIT_END_OF_EPOCH);
  return 0;
}

/// errno PATH: nothing of ours changes it.
int errno_scene(const Arguments& arguments) {
  const auto unchanged = [](const char* what, const auto& call) {
    errno = EDOM;
    call();
    require(errno == EDOM, what);
  };
  unchanged("first step", [] { stallcast_step(); });
  unchanged("wait", [] {
    stallcast_wait_begin();
    stallcast_wait_end(0, 0, 0, 0, 0);
  });
  unchanged("batch", [] { make_batch(0, 1); });
  unchanged("read", [&] { read_file(arguments.at(0)); });
  unchanged("many blocks", [] {
    for (int i = 0; i < 5000; ++i) make_sample(i);
  });
  unchanged("text", [] { stallcast_text(STALLCAST_TEXT_MARK, "{}"); });
  return 0;
}

std::string g_handler_path;

/// signals PATH: a handler that reads files fires into a loop that makes samples.
int signals_scene(const Arguments& arguments) {
  g_handler_path = arguments.at(0);
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int saved = errno;
    read_file(g_handler_path);
    stallcast_step();
    make_sample(-1);
    errno = saved;
  };
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 200}, {0, 200}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  for (int i = 0; i < 200'000; ++i) make_sample(i);
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  return 0;
}

/// close_all PATH: closes every descriptor between batches, as daemons do, and uses the numbers again.
int close_all_scene(const Arguments& arguments) {
  make_batch(0, 1);
  for (int fd = 3; fd < 1024; ++fd) ::close(fd);
  const int again = ::open(arguments.at(0).c_str(), O_RDONLY);
  for (int fd = 790; fd < 830; ++fd) ::dup2(again, fd);
  ::usleep(200);  // who has been switched away from has a run delay that must be read anew
  make_batch(1, 1);
  require(::lseek(again, 0, SEEK_CUR) == 0, "the descriptor was not read from");
  return 0;
}

/// file_limit: writing files is limited to 64 KiB in this process.
int file_limit_scene(const Arguments& /*arguments*/) {
  const rlimit limit{64 * 1024, 64 * 1024};
  require(::setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
  for (int i = 0; i < 3000; ++i) make_sample(i);
  return 0;
}

/// Anonymous memory of this process in KiB.
long anonymous_kib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "RssAnon:" && status >> word) return std::stol(word);
  }
  return 0;
}

/// memory PATH: fills every table that we keep: all descriptors that it may have, and the file under 70,000 names.
/// Prints what it took.
int memory_scene(const Arguments& arguments) {
  const long before_kib = anonymous_kib();
  make_batch(0, 1);
  rlimit limit{};
  require(::getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
  limit.rlim_cur = limit.rlim_max;
  require(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
  const int file = ::open(arguments.at(0).c_str(), O_RDONLY);
  const int last = static_cast<int>(std::min<rlim_t>(limit.rlim_max, 65'536));
  for (int fd = 1000; fd < last; fd += 50) require(::dup2(file, fd) == fd, "dup2");
  for (unsigned name = 0; name < 70'000; ++name) {
    std::string path = arguments.at(0).substr(0, arguments.at(0).rfind('/'));
    for (unsigned bits = name, i = 0; i < 17; ++i, bits /= 2) path += bits % 2 != 0 ? "/." : "/";
    path += arguments.at(0).substr(arguments.at(0).rfind('/'));
    ::close(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  std::printf("%ld\n", anonymous_kib() - before_kib);
  return 0;
}

/// texts: one of 16 KiB, one longer.
int texts_scene(const Arguments& /*arguments*/) {
  stallcast_text(STALLCAST_TEXT_PROCESS, "{\"role\":\"consumer\"}");
  stallcast_text(STALLCAST_TEXT_LOADER, std::string(16 * 1024, 'x').c_str());
  stallcast_text(STALLCAST_TEXT_LOADER, std::string(16 * 1024 + 1, 'y').c_str());
  return 0;
}

}  // namespace

std::map<std::string, Scene> life_scenes() {
  return {{"endless", endless_scene}, {"threads", threads_scene},     {"short_threads", short_threads_scene},
          {"fill", fill_scene},       {"toggle", toggle_scene},       {"errno", errno_scene},
          {"signals", signals_scene}, {"close_all", close_all_scene}, {"file_limit", file_limit_scene},
          {"texts", texts_scene},     {"memory", memory_scene}};
}

}  // namespace stallcast::test
