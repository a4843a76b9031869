#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "tests/capture/guest.hpp"

// What a fortified build or one against an older libc calls; not declared in an ordinary one.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
size_t __fread_chk(void* to, size_t room, size_t size, size_t count, FILE* stream);
size_t __fread_unlocked_chk(void* to, size_t room, size_t size, size_t count, FILE* stream);
char* __fgets_chk(char* line, size_t size, int room, FILE* stream);
int __xstat(int version, const char* path, struct stat* status);
int __lxstat(int version, const char* path, struct stat* status);
int __fxstat(int version, int fd, struct stat* status);
int __fxstatat(int version, int folder, const char* path, struct stat* status, int flags);
int __xstat64(int version, const char* path, struct stat64* status);
int __lxstat64(int version, const char* path, struct stat64* status);
int __fxstat64(int version, int fd, struct stat64* status);
int __fxstatat64(int version, int folder, const char* path, struct stat64* status, int flags);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace stallcast::test {
namespace {

#if defined(__x86_64__)
constexpr int k_stat_version = 1;
#else
constexpr int k_stat_version = 0;
#endif

std::array<char, 1 << 15> g_buffer;

using Fopen = std::function<FILE*(const std::string&)>;
using Fread = std::function<void(FILE*)>;

Family stream(const Fopen& open, const Fread& read) {
  return [open, read](const std::string& path) {
    FILE* file = open(path);
    require(file != nullptr, "fopen");
    read(file);
    require(std::fclose(file) == 0, "fclose");
  };
}

FILE* open_plainly(const std::string& path) {
  return std::fopen(path.c_str(), "rb");
}

void read_plainly(FILE* file) {
  require(std::fread(g_buffer.data(), 1, 10'000, file) == 10'000, "fread");
}

/// One descriptor opened, asked about, closed.
Family about_descriptor(const std::function<int(int)>& ask) {
  return [ask](const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    require(ask(fd) == 0, "fstat");
    ::close(fd);
  };
}

}  // namespace

std::map<std::string, Family> stdio_families() {
  std::map<std::string, Family> families;
  families["fopen"] = stream(open_plainly, read_plainly);
  families["fopen64"] = stream([](const std::string& path) { return ::fopen64(path.c_str(), "r"); }, read_plainly);
  families["fdopen"] =
      stream([](const std::string& path) { return ::fdopen(::open(path.c_str(), O_RDONLY), "r"); }, read_plainly);
  families["freopen"] =
      stream([](const std::string& path) { return std::freopen(path.c_str(), "r", std::fopen("/dev/null", "r")); },
             read_plainly);
  families["fread_unlocked"] = stream(open_plainly, [](FILE* file) {
    require(::fread_unlocked(g_buffer.data(), 100, 100, file) == 100, "fread_unlocked");
  });
  families["__fread_chk"] = stream(open_plainly, [](FILE* file) {
    require(::__fread_chk(g_buffer.data(), g_buffer.size(), 1, 10'000, file) == 10'000, "__fread_chk");
  });
  families["__fread_unlocked_chk"] = stream(open_plainly, [](FILE* file) {
    require(::__fread_unlocked_chk(g_buffer.data(), g_buffer.size(), 1, 10'000, file) == 10'000, "chk");
  });
  families["fgets"] = stream(open_plainly, [](FILE* file) {
    while (std::fgets(g_buffer.data(), 1000, file) != nullptr) {
    }
  });
  families["__fgets_chk"] = stream(open_plainly, [](FILE* file) {
    while (::__fgets_chk(g_buffer.data(), g_buffer.size(), 1000, file) != nullptr) {
    }
  });
  families["getline"] = stream(open_plainly, [](FILE* file) {
    char* line = nullptr;
    std::size_t room = 0;
    while (::getline(&line, &room, file) > 0) {
    }
    std::free(line);
  });
  families["small_freads"] = stream(open_plainly, [](FILE* file) {
    for (int i = 0; i < 1000; ++i) require(std::fread(g_buffer.data(), 1, 10, file) == 10, "fread");
  });
  families["memory_stream"] = [](const std::string& /*path*/) {
    std::array<char, 16> text{"in memory"};
    FILE* file = ::fmemopen(text.data(), text.size(), "r");
    require(std::fread(g_buffer.data(), 1, 9, file) == 9, "fread");
    std::fclose(file);
  };
  return families;
}

std::map<std::string, Family> stat_families() {
  static struct stat status;
  static struct stat64 status64;
  static struct statx statusx;
  const auto path_family = [](const std::function<int(const char*)>& ask) {
    return Family([ask](const std::string& path) { require(ask(path.c_str()) == 0, "stat"); });
  };
  std::map<std::string, Family> families;
  families["stat"] = path_family([](const char* path) { return ::stat(path, &status); });
  families["stat64"] = path_family([](const char* path) { return ::stat64(path, &status64); });
  families["lstat"] = path_family([](const char* path) { return ::lstat(path, &status); });
  families["lstat64"] = path_family([](const char* path) { return ::lstat64(path, &status64); });
  families["fstatat"] = path_family([](const char* path) { return ::fstatat(AT_FDCWD, path, &status, 0); });
  families["fstatat64"] = path_family([](const char* path) { return ::fstatat64(AT_FDCWD, path, &status64, 0); });
  families["__xstat"] = path_family([](const char* path) { return ::__xstat(k_stat_version, path, &status); });
  families["__xstat64"] = path_family([](const char* path) { return ::__xstat64(k_stat_version, path, &status64); });
  families["__lxstat"] = path_family([](const char* path) { return ::__lxstat(k_stat_version, path, &status); });
  families["__lxstat64"] = path_family([](const char* path) { return ::__lxstat64(k_stat_version, path, &status64); });
  families["__fxstatat"] =
      path_family([](const char* path) { return ::__fxstatat(k_stat_version, AT_FDCWD, path, &status, 0); });
  families["__fxstatat64"] =
      path_family([](const char* path) { return ::__fxstatat64(k_stat_version, AT_FDCWD, path, &status64, 0); });
  families["statx"] =
      path_family([](const char* path) { return ::statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &statusx); });
  families["fstat"] = about_descriptor([](int fd) { return ::fstat(fd, &status); });
  families["fstat64"] = about_descriptor([](int fd) { return ::fstat64(fd, &status64); });
  families["__fxstat"] = about_descriptor([](int fd) { return ::__fxstat(k_stat_version, fd, &status); });
  families["__fxstat64"] = about_descriptor([](int fd) { return ::__fxstat64(k_stat_version, fd, &status64); });
  families["statx_fd"] =
      about_descriptor([](int fd) { return ::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &statusx); });
  return families;
}

}  // namespace stallcast::test
