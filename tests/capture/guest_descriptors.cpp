#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "tests/capture/guest.hpp"

// What a fortified build calls; not declared in an ordinary one.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int folder, const char* path, int flags);
int __openat64_2(int folder, const char* path, int flags);
ssize_t __read_chk(int fd, void* buffer, size_t bytes, size_t room);
ssize_t __pread_chk(int fd, void* buffer, size_t bytes, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void* buffer, size_t bytes, off_t offset, size_t room);
ssize_t __recv_chk(int fd, void* buffer, size_t bytes, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void* buffer, size_t bytes, size_t room, int flags, sockaddr* from, socklen_t* length);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace stallcast::test {
namespace {

constexpr int k_flags = O_RDONLY | O_CLOEXEC;
std::array<char, 1 << 15> g_buffer;

using Open = std::function<int(const char*)>;
using Read = std::function<ssize_t(int)>;

/// Opens with `open`, reads the whole file with one read(), closes.
Family opening(const Open& open) {
  return [open](const std::string& path) {
    const int fd = open(path.c_str());
    require(fd >= 0, "open");
    require(::read(fd, g_buffer.data(), g_buffer.size()) == 10'000, "read");
    require(::close(fd) == 0, "close");
  };
}

/// Opens with open(), reads the whole file with one `read`, closes.
Family reading(const Read& read) {
  return [read](const std::string& path) {
    const int fd = ::open(path.c_str(), k_flags);
    require(fd >= 0, "open");
    require(read(fd) == 10'000, "read");
    require(::close(fd) == 0, "close");
  };
}

/// Reads through a duplicate of the descriptor; the original is closed first.
Family duplicating(const std::function<int(int)>& duplicate) {
  return reading([duplicate](int fd) {
    const int copy = duplicate(fd);
    require(copy >= 0, "dup");
    const ssize_t bytes = ::read(copy, g_buffer.data(), g_buffer.size());
    require(::close(copy) == 0, "close");
    return bytes;
  });
}

template <class Parts>
Read vector_reading(Parts read) {
  return [read](int fd) {
    std::array<iovec, 2> parts{{{g_buffer.data(), 4000}, {g_buffer.data() + 4000, 20'000}}};
    return read(fd, parts.data(), 2);
  };
}

void read_streams(const std::string& /*path*/) {
  std::array<int, 2> ends{};
  require(::pipe(ends.data()) == 0, "pipe");
  require(::write(ends[1], "pipe", 4) == 4, "write");
  require(::read(ends[0], g_buffer.data(), 100) == 4, "read pipe");
  ::close(ends[0]);
  ::close(ends[1]);
  require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "socketpair");
  require(::write(ends[1], "socket", 6) == 6, "write");
  require(::read(ends[0], g_buffer.data(), 100) == 6, "read socket");
  ::close(ends[0]);
  ::close(ends[1]);
}

/// Both ends of a connection over the loopback interface.
std::array<int, 2> connected() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  require(::bind(listener, plain, length) == 0 && ::listen(listener, 1) == 0, "listen");
  require(::getsockname(listener, plain, &length) == 0, "getsockname");
  const int client = ::socket(AF_INET, SOCK_STREAM, 0);
  require(::connect(client, plain, length) == 0, "connect");
  const int server = ::accept(listener, nullptr, nullptr);
  require(server >= 0, "accept");
  ::close(listener);
  return {client, server};
}

using Receive = std::function<ssize_t(int)>;

/// Receives 10,000 bytes that have arrived, with one call.
Family receiving(const Receive& receive) {
  return [receive](const std::string& /*path*/) {
    const auto [client, server] = connected();
    g_buffer.fill('a');
    require(::send(server, g_buffer.data(), 10'000, 0) == 10'000, "send");
    pollfd waiting{client, POLLIN, 0};
    require(::poll(&waiting, 1, 1000) == 1, "poll");
    require(::recv(client, g_buffer.data(), 100, MSG_PEEK) == 100, "peek");
    require(receive(client) == 10'000, "receive");
    ::close(client);
    ::close(server);
  };
}

ssize_t receive_message(int fd) {
  iovec part{g_buffer.data(), g_buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return ::recvmsg(fd, &message, 0);
}

std::map<std::string, Family> socket_families() {
  return {
      {"recv", receiving([](int fd) { return ::recv(fd, g_buffer.data(), g_buffer.size(), 0); })},
      {"recvfrom",
       receiving([](int fd) { return ::recvfrom(fd, g_buffer.data(), g_buffer.size(), 0, nullptr, nullptr); })},
      {"recvmsg", receiving(receive_message)},
      {"socket_read", receiving([](int fd) { return ::read(fd, g_buffer.data(), g_buffer.size()); })},
      {"__recv_chk",
       receiving([](int fd) { return ::__recv_chk(fd, g_buffer.data(), g_buffer.size(), g_buffer.size(), 0); })},
      {"__recvfrom_chk", receiving([](int fd) {
         return ::__recvfrom_chk(fd, g_buffer.data(), g_buffer.size(), g_buffer.size(), 0, nullptr, nullptr);
       })},
  };
}

void read_devices(const std::string& /*path*/) {
  for (const char* device : {"/dev/zero", "/proc/self/status"}) {
    const int fd = ::open(device, k_flags);
    require(fd >= 0, device);
    require(::read(fd, g_buffer.data(), 100) > 0, device);
    ::close(fd);
  }
}

void reuse_number(const std::string& path) {
  const int file = ::open(path.c_str(), k_flags);
  require(::read(file, g_buffer.data(), g_buffer.size()) == 10'000, "read");
  ::close(file);
  std::array<int, 2> ends{};
  require(::pipe(ends.data()) == 0 && ends[0] == file, "the pipe gets the file's number");
  require(::write(ends[1], "pipe", 4) == 4, "write");
  require(::read(ends[0], g_buffer.data(), 100) == 4, "read pipe");
}

template <class Map>
Family mapping(Map map) {
  return [map](const std::string& path) {
    const int fd = ::open(path.c_str(), k_flags);
    void* mapped = map(fd);
    require(mapped != MAP_FAILED, "mmap");
    require(static_cast<const char*>(mapped)[0] == 'a', "content");
    require(::munmap(mapped, 10'000) == 0, "munmap");
    ::close(fd);
  };
}

void list_folder(const std::string& path) {
  const int fd = ::open(path.substr(0, path.rfind('/')).c_str(), O_RDONLY | O_DIRECTORY);
  DIR* folder = ::fdopendir(fd);
  if (folder == nullptr) return require(false, "fdopendir");
  while (::readdir(folder) != nullptr) {
  }
  ::closedir(folder);
}

std::map<std::string, Family> opening_families() {
  return {
      {"open", opening([](const char* path) { return ::open(path, k_flags); })},
      {"open64", opening([](const char* path) { return ::open64(path, k_flags); })},
      {"openat", opening([](const char* path) { return ::openat(AT_FDCWD, path, k_flags); })},
      {"openat64", opening([](const char* path) { return ::openat64(AT_FDCWD, path, k_flags); })},
      {"__open_2", opening([](const char* path) { return ::__open_2(path, k_flags); })},
      {"__open64_2", opening([](const char* path) { return ::__open64_2(path, k_flags); })},
      {"__openat_2", opening([](const char* path) { return ::__openat_2(AT_FDCWD, path, k_flags); })},
      {"__openat64_2", opening([](const char* path) { return ::__openat64_2(AT_FDCWD, path, k_flags); })},
  };
}

std::map<std::string, Family> reading_families() {
  return {
      {"pread", reading([](int fd) { return ::pread(fd, g_buffer.data(), g_buffer.size(), 0); })},
      {"pread64", reading([](int fd) { return ::pread64(fd, g_buffer.data(), g_buffer.size(), 0); })},
      {"readv", reading(vector_reading([](int fd, const iovec* parts, int n) { return ::readv(fd, parts, n); }))},
      {"preadv", reading(vector_reading([](int fd, const iovec* parts, int n) { return ::preadv(fd, parts, n, 0); }))},
      {"preadv64",
       reading(vector_reading([](int fd, const iovec* parts, int n) { return ::preadv64(fd, parts, n, 0); }))},
      {"preadv2",
       reading(vector_reading([](int fd, const iovec* parts, int n) { return ::preadv2(fd, parts, n, 0, 0); }))},
      {"preadv64v2",
       reading(vector_reading([](int fd, const iovec* parts, int n) { return ::preadv64v2(fd, parts, n, 0, 0); }))},
      {"__read_chk",
       reading([](int fd) { return ::__read_chk(fd, g_buffer.data(), g_buffer.size(), g_buffer.size()); })},
      {"__pread_chk",
       reading([](int fd) { return ::__pread_chk(fd, g_buffer.data(), g_buffer.size(), 0, g_buffer.size()); })},
      {"__pread64_chk",
       reading([](int fd) { return ::__pread64_chk(fd, g_buffer.data(), g_buffer.size(), 0, g_buffer.size()); })},
  };
}

std::map<std::string, Family> copying_families() {
  std::map<std::string, Family> families;
  families["dup"] = duplicating([](int fd) { return ::dup(fd); });
  families["dup2"] = duplicating([](int fd) { return ::dup2(fd, 99); });
  families["dup3"] = duplicating([](int fd) { return ::dup3(fd, 98, O_CLOEXEC); });
  families["fcntl_dup"] = duplicating([](int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, 97); });
  families["mmap"] = mapping([](int fd) { return ::mmap(nullptr, 10'000, PROT_READ, MAP_PRIVATE, fd, 0); });
  families["mmap64"] = mapping([](int fd) { return ::mmap64(nullptr, 10'000, PROT_READ, MAP_SHARED, fd, 0); });
  return families;
}

/// What looks like a file and is none, or like one read and is several.
std::map<std::string, Family> odd_families() {
  std::map<std::string, Family> families;
  families["shared_memory"] = [](const std::string& /*path*/) {
    const std::string name = "/stallcast-test-" + std::to_string(::getpid());
    const int fd = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    ::shm_unlink(name.c_str());
    require(fd >= 0 && ::ftruncate(fd, 10'000) == 0, "shm_open");
    require(::mmap(nullptr, 10'000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED, "mmap");
    ::close(fd);
  };
  families["streams"] = read_streams;
  families.merge(socket_families());
  families["devices"] = read_devices;
  families["reuse_number"] = reuse_number;
  families["list_folder"] = list_folder;
  families["creat"] = [](const std::string& path) {
    const int fd = ::creat((path + ".made").c_str(), 0640);
    require(fd >= 0 && ::write(fd, "x", 1) == 1 && ::close(fd) == 0, "creat");
  };
  families["open_missing"] = [](const std::string& path) {
    require(::open((path + ".missing").c_str(), k_flags) == -1 && errno == ENOENT, "errno");
  };
  families["chunks"] = [](const std::string& path) {
    const int fd = ::open(path.c_str(), k_flags);
    while (::read(fd, g_buffer.data(), 4096) > 0) {
    }
    ::close(fd);
  };
  families["left_open"] = [](const std::string& path) {
    const int fd = ::open(path.c_str(), k_flags);
    require(::read(fd, g_buffer.data(), g_buffer.size()) == 10'000, "read");
  };
  return families;
}

}  // namespace

std::map<std::string, Family> descriptor_families() {
  auto families = opening_families();
  families.merge(reading_families());
  families.merge(copying_families());
  families.merge(odd_families());
  return families;
}

}  // namespace stallcast::test
