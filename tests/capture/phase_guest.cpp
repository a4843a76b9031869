/// A loader's worker in a phased run, for the tests: `phase_guest COMMAND...`, each a word with its arguments after
/// colons. Prints one line "<bytes> <checksum>" for each file it reads, so that a test can compare what a guest was
/// served with what the file holds.
///
///   begin:PHASE:SEGMENT:STREAM:BATCH[:ARGUMENT[:SEED]]   end   (a batch in a phase)
///   batch  done_batch  sample[:INDEX]  done           (the calls of the C API)
///   read:PATH  openat:FOLDER:NAME  fopen:PATH  mmap:PATH  stat:PATH  write:PATH
///   dup:PATH   reads a page, and the file through a second descriptor, as numpy.load() does
///   keep:PATH  pread:OFFSET:BYTES  next:BYTES  stream:PATH  fread:BYTES
///   sized:PATH  goes to the end of a stream for its size first, as numpy.fromfile() does
///   hold:PATH  maps the file and keeps the map        drop:PATH  drops the file's pages
///   map:PATH  maps it and reads nothing   own:PATH  maps a copy of its own and writes to it   touch:OFFSET:BYTES
///   seal:PATH  the same of a map that may be written to in between only   private:PATH  of one that never is
///   spot:PATH  the same as seal, of its last page alone
///   replace   memory in the place of that map, behind everybody's back
///   user:UID   goes on as that user                   refuse:CALL:ERROR  the kernel refuses that system call
///   phased  segment:INDEX  slot:FIELDS...              the calls of that name
///   fork       the rest happens in a child, once; its status becomes ours
///   time       prints the nanoseconds since the last `time` (wall clock, then CPU clock of this thread)
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stallcast/capture.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "probes/capture/phases/phase.h"

namespace {

using Words = std::vector<std::string>;

int g_kept = -1;
std::FILE* g_stream = nullptr;
char* g_map = nullptr;
std::size_t g_map_bytes = 0;
std::uint64_t g_wall_ns = 0;
std::uint64_t g_cpu_ns = 0;

void require(bool holds, const char* what) {
  if (holds) return;
  std::perror(what);
  std::_Exit(1);
}

std::uint64_t number(const Words& words, std::size_t at, std::uint64_t otherwise = 0) {
  return at < words.size() ? std::stoull(words[at]) : otherwise;
}

/// FNV-1a.
void report(const std::string& bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  std::printf("%zu %016llx\n", bytes.size(), static_cast<unsigned long long>(hash));
}

std::string read_all(int fd) {
  require(fd >= 0, "open");
  std::string content;
  static char buffer[1 << 16];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof(buffer))) > 0;) {
    content.append(buffer, static_cast<std::size_t>(got));
  }
  return content;
}

void read_and_close(int fd) {
  report(read_all(fd));
  ::close(fd);
}

void at_once(const Words& words) {
  std::vector<std::int64_t> indices;
  for (std::size_t i = 1; i < words.size(); ++i) indices.push_back(std::stoll(words[i]));
  stallcast_at_once_begin(indices.data(), static_cast<std::uint32_t>(indices.size()));
}

void read_by_duplicate(const Words& words) {
  const int fd = ::open(words.at(1).c_str(), O_RDONLY | O_CLOEXEC);
  char page[4096];
  require(fd >= 0 && ::read(fd, page, sizeof(page)) > 0, "read");
  const int second = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  require(second >= 0 && ::lseek(second, 0, SEEK_SET) == 0, "duplicate");
  read_and_close(second);
  ::close(fd);
}

void begin(const Words& words) {
  stallcast_phase_begin(static_cast<std::uint32_t>(number(words, 1)), static_cast<std::uint32_t>(number(words, 2)),
                        static_cast<std::uint32_t>(number(words, 3)), number(words, 5),
                        static_cast<std::uint32_t>(number(words, 6)), 0, number(words, 4));
  stallcast_batch_begin(0, number(words, 4), 0);
}

void end(const Words& /*words*/) {
  stallcast_batch_end(1);
  stallcast_phase_end();
}

void read_at(const Words& words) {
  const int folder = ::open(words.at(1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  read_and_close(::openat(folder, words.at(2).c_str(), O_RDONLY | O_CLOEXEC));
  ::close(folder);
}

void read_stream(const Words& words) {
  std::FILE* stream = std::fopen(words.at(1).c_str(), "rbe");
  require(stream != nullptr, "fopen");
  std::string content;
  static char buffer[10'000];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), stream)) > 0;) content.append(buffer, got);
  std::fclose(stream);
  report(content);
}

void read_sized(const Words& words) {
  std::FILE* stream = std::fopen(words.at(1).c_str(), "rbe");
  require(stream != nullptr && std::fseek(stream, 0, SEEK_END) == 0, "fopen and fseek");
  std::string content(static_cast<std::size_t>(std::ftell(stream)), '\0');
  require(std::fseek(stream, 0, SEEK_SET) == 0, "fseek");
  require(std::fread(content.data(), 1, content.size(), stream) == content.size(), "fread");
  std::fclose(stream);
  report(content);
}

/// All of the file, mapped; `protection` and `flags` of mmap().
char* map_whole(const std::string& path, std::size_t& bytes, int protection = PROT_READ, int flags = MAP_SHARED) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  require(fd >= 0 && ::fstat(fd, &status) == 0, "open and fstat");
  bytes = static_cast<std::size_t>(status.st_size);
  void* mapped = ::mmap(nullptr, bytes, protection, flags, fd, 0);
  require(mapped != MAP_FAILED, "mmap");
  ::close(fd);
  return static_cast<char*>(mapped);
}

void read_map(const Words& words) {
  std::size_t bytes = 0;
  char* mapped = map_whole(words.at(1), bytes);
  report(std::string(mapped, bytes));
  ::munmap(mapped, bytes);
}

void hold_map(const Words& words) {
  std::size_t bytes = 0;
  const char* mapped = map_whole(words.at(1), bytes);
  report(std::string(mapped, bytes));
}

/// Keeps the map as g_map.
void map_file(const Words& words, int protection, int flags) {
  g_map = map_whole(words.at(1), g_map_bytes, protection, flags);
  require(::madvise(g_map, g_map_bytes, MADV_RANDOM) == 0, "madvise");
}

/// Into a map that may be read alone, before and after.
void write_between(char* at, std::size_t bytes) {
  require(::mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0, "mprotect");
  std::memset(at, 'x', bytes);
  require(::mprotect(at, bytes, PROT_READ) == 0, "mprotect");
}

void own_map(const Words& words) {
  map_file(words, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  std::memset(g_map, 'x', g_map_bytes);
}

void private_map(const Words& words) {
  map_file(words, PROT_READ, MAP_PRIVATE);
}

void spot_map(const Words& words) {
  constexpr std::size_t k_page = 4096;
  private_map(words);
  write_between(g_map + g_map_bytes / k_page * k_page - k_page, k_page);
}

void seal_map(const Words& words) {
  private_map(words);
  write_between(g_map, g_map_bytes);
}

void replace_map(const Words& /*words*/) {
  require(::syscall(SYS_munmap, g_map, g_map_bytes) == 0, "munmap");
  void* mapped = reinterpret_cast<void*>(
      ::syscall(SYS_mmap, g_map, g_map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
  require(mapped == g_map, "mmap");
  std::memset(g_map, 'x', g_map_bytes);
}

void drop_pages(const Words& words) {
  const int fd = ::open(words.at(1).c_str(), O_RDWR | O_CLOEXEC);
  require(fd >= 0 && ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0, "drop");
  ::close(fd);
}

/// A kernel of another age.
void refuse_call(const Words& words) {
  const auto call = static_cast<std::uint32_t>(number(words, 1));
  const auto error = static_cast<std::uint32_t>(number(words, 2));
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = 4, .filter = filter};
  require(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
  require(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

void write_file(const Words& words) {
  const int fd = ::open(words.at(1).c_str(), O_RDWR | O_CLOEXEC);
  require(fd >= 0 && ::pwrite(fd, "changed", 7, 0) == 7, "write");
  ::close(fd);
}

void read_part(const Words& words) {
  std::string content(number(words, 2), '\0');
  const ssize_t got = ::pread(g_kept, content.data(), content.size(), static_cast<off_t>(number(words, 1)));
  require(got >= 0, "pread");
  content.resize(static_cast<std::size_t>(got));
  report(content);
}

void read_next(const Words& words) {
  std::string content(number(words, 1), '\0');
  const ssize_t got = ::read(g_kept, content.data(), content.size());
  require(got >= 0, "read");
  content.resize(static_cast<std::size_t>(got));
  report(content);
}

void read_next_of_stream(const Words& words) {
  std::string content(number(words, 1), '\0');
  content.resize(std::fread(content.data(), 1, content.size(), g_stream));
  report(content);
}

void fork_here(const Words& /*words*/) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  require(child >= 0, "fork");
  if (child == 0) return;
  int status = 0;
  require(::waitpid(child, &status, 0) == child, "waitpid");
  std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

bool g_skipping = false;  ///< to the next "join", what another process has done
bool g_joins = false;     ///< this is that process

/// The commands up to "join" are another process's; this one goes on behind it.
void let_another(const Words& /*words*/) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  require(child >= 0, "fork");
  g_joins = child == 0;
  g_skipping = child != 0;
  int status = 0;
  if (child != 0) require(::waitpid(child, &status, 0) == child && status == 0, "waitpid");
}

void join_here(const Words& /*words*/) {
  std::fflush(stdout);
  if (g_joins) std::_Exit(0);
}

/// Another process computes, ends and is waited for.
void compute_in_child(const Words& words) {
  const pid_t child = ::fork();
  require(child >= 0, "fork");
  if (child == 0) {
    const std::uint64_t until = stallcast::clock_ns(CLOCK_PROCESS_CPUTIME_ID) + number(words, 1);
    while (stallcast::clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until) {
    }
    std::_Exit(0);
  }
  int status = 0;
  require(::waitpid(child, &status, 0) == child && status == 0, "waitpid");
}

/// Another thread reads the file and computes for so long; a third one waits, and neither ends.
void help_aside(const Words& words) {
  const std::uint64_t cpu_ns = number(words, 2);
  std::promise<void> done;
  std::future<void> until = done.get_future();
  std::thread([file = words.at(1), cpu_ns, promise = std::move(done)]() mutable {
    std::string content(1U << 20U, '\0');
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    require(fd >= 0 && ::read(fd, content.data(), content.size()) > 0 && ::close(fd) == 0, "read");
    const std::uint64_t end_ns = stallcast::clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    while (stallcast::clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
    }
    promise.set_value();
    ::pause();
  }).detach();
  std::thread([] { ::pause(); }).detach();
  until.wait();
}

void print_time(const Words& /*words*/) {
  const std::uint64_t wall_ns = stallcast::monotonic_ns();
  const std::uint64_t cpu_ns = stallcast::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  std::printf("%llu %llu\n", static_cast<unsigned long long>(wall_ns - g_wall_ns),
              static_cast<unsigned long long>(cpu_ns - g_cpu_ns));
  g_wall_ns = wall_ns;
  g_cpu_ns = cpu_ns;
}

void print_status(const Words& words) {
  struct stat by_path {};
  struct stat by_fd {};
  const int fd = ::open(words.at(1).c_str(), O_RDONLY | O_CLOEXEC);
  require(::stat(words.at(1).c_str(), &by_path) == 0 && ::fstat(fd, &by_fd) == 0, "stat");
  const bool closes_on_exec = (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
  ::close(fd);
  std::printf("%d %d %d\n", by_path.st_size == by_fd.st_size ? 1 : 0, by_path.st_ino == by_fd.st_ino ? 1 : 0,
              closes_on_exec ? 1 : 0);
}

void print_segment(const Words& words) {
  std::uint64_t fields[8] = {};
  const int published = stallcast_segment(static_cast<std::uint32_t>(number(words, 1)), fields);
  std::printf("%d", published);
  for (int i = 0; i < 8 && published != 0; ++i) std::printf(" %llu", static_cast<unsigned long long>(fields[i]));
  std::printf("\n");
}

void fill_slot(const Words& words) {
  const auto small = [&](std::size_t at) { return static_cast<std::uint32_t>(number(words, at)); };
  stallcast_phase_slot(number(words, 1), number(words, 2), number(words, 3), small(4), small(5), small(6), small(7),
                       small(8));
}

const std::map<std::string, std::function<void(const Words&)>>& commands() {
  static const std::map<std::string, std::function<void(const Words&)>> all = {
      {"begin", begin},
      {"end", end},
      {"batch", [](const Words&) { stallcast_batch_begin(0, 0, 0); }},
      {"done_batch", [](const Words&) { stallcast_batch_end(1); }},
      {"sample", [](const Words& w) { stallcast_sample_begin(w.size() > 1 ? std::stoll(w[1]) : 0); }},
      {"done", [](const Words&) { stallcast_sample_end(); }},
      {"at_once", at_once},
      {"all_done", [](const Words&) { stallcast_at_once_end(); }},
      {"read", [](const Words& w) { read_and_close(::open(w.at(1).c_str(), O_RDONLY | O_CLOEXEC)); }},
      {"openat", read_at},
      {"dup", read_by_duplicate},
      {"fopen", read_stream},
      {"sized", read_sized},
      {"mmap", read_map},
      {"hold", hold_map},
      {"map", [](const Words& w) { map_file(w, PROT_READ, MAP_SHARED); }},
      {"own", own_map},
      {"seal", seal_map},
      {"private", private_map},
      {"spot", spot_map},
      {"replace", replace_map},
      {"unmap", [](const Words&) { require(::munmap(g_map, g_map_bytes) == 0, "munmap"); }},
      {"touch", [](const Words& w) { report(std::string(g_map + number(w, 1), number(w, 2))); }},
      {"drop", drop_pages},
      {"user", [](const Words& w) { require(::setuid(static_cast<uid_t>(number(w, 1))) == 0, "setuid"); }},
      {"refuse", refuse_call},
      {"stat", print_status},
      {"write", write_file},
      {"keep", [](const Words& w) { require((g_kept = ::open(w.at(1).c_str(), O_RDONLY | O_CLOEXEC)) >= 0, "open"); }},
      {"random", [](const Words&) { require(::posix_fadvise(g_kept, 0, 0, POSIX_FADV_RANDOM) == 0, "fadvise"); }},
      {"pread", read_part},
      {"next", read_next},
      {"stream", [](const Words& w) { require((g_stream = std::fopen(w.at(1).c_str(), "rb")) != nullptr, "fopen"); }},
      {"fread", read_next_of_stream},
      {"phased", [](const Words&) { std::printf("%d\n", stallcast_phased()); }},
      {"segment", print_segment},
      {"slot", fill_slot},
      {"fork", fork_here},
      {"another", let_another},
      {"join", join_here},
      {"child", compute_in_child},
      {"aside", help_aside},
      {"time", print_time},
  };
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::istringstream text(argv[i]);
    Words words;
    for (std::string word; std::getline(text, word, ':');) words.push_back(word);
    g_skipping = g_skipping && words.at(0) != "join";
    if (g_skipping) continue;
    const auto command = commands().find(words.at(0));
    require(command != commands().end(), argv[i]);
    command->second(words);
  }
  std::fflush(stdout);
  return 0;
}
