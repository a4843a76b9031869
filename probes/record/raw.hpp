/// System calls as the capture library makes them: straight to the kernel, so that no call of ours passes through the
/// interposer, another preloaded library, or a cancellation point. Each returns what libc's wrapper would and sets
/// errno; whoever enters from the guest keeps the guest's errno (ErrnoKeeper).
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace stallcast::record::raw {

/// Restores the caller's errno when it goes out of scope.
class ErrnoKeeper {
 public:
  ErrnoKeeper() : saved_(errno) {}
  ~ErrnoKeeper() { errno = saved_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int saved_;
};

inline int open_file(const char* path, int flags, mode_t mode) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

inline int close_fd(int fd) {
  return static_cast<int>(::syscall(SYS_close, fd));
}

inline int stat_fd(int fd, struct stat* out) {
  return static_cast<int>(::syscall(SYS_fstat, fd, out));
}

/// Whether the socket belongs to the internet's families.
inline bool is_of_network(int fd) {
  int domain = 0;
  socklen_t bytes = sizeof(domain);
  if (::syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) != 0) return false;
  return domain == AF_INET || domain == AF_INET6;
}

inline ssize_t read_at(int fd, void* buffer, std::size_t bytes, off_t offset) {
  return static_cast<ssize_t>(::syscall(SYS_pread64, fd, buffer, bytes, offset));
}

inline ssize_t write_at(int fd, const void* buffer, std::size_t bytes, off_t offset) {
  return static_cast<ssize_t>(::syscall(SYS_pwrite64, fd, buffer, bytes, offset));
}

inline ssize_t write_parts_at(int fd, const iovec* parts, int count, off_t offset) {
  return static_cast<ssize_t>(::syscall(SYS_pwritev, fd, parts, count, offset, 0));
}

inline ssize_t read_link(const char* path, char* out, std::size_t bytes) {
  return static_cast<ssize_t>(::syscall(SYS_readlinkat, AT_FDCWD, path, out, bytes));
}

inline int allocate(int fd, off_t offset, off_t bytes) {
  return static_cast<int>(::syscall(SYS_fallocate, fd, 0, offset, bytes));
}

/// nullptr where libc would give MAP_FAILED.
inline void* map(std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  const long address = ::syscall(SYS_mmap, nullptr, bytes, protection, flags, fd, offset);
  return address == -1 ? nullptr : reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

inline int unmap(void* address, std::size_t bytes) {
  return static_cast<int>(::syscall(SYS_munmap, address, bytes));
}

inline int advise(void* address, std::size_t bytes, int advice) {
  return static_cast<int>(::syscall(SYS_madvise, address, bytes, advice));
}

inline int unlink_file(const char* path) {
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

inline std::int32_t process_id() {
  return static_cast<std::int32_t>(::syscall(SYS_getpid));
}

inline std::uint32_t thread_id() {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

inline void yield() {
  ::syscall(SYS_sched_yield);
}

/// RLIMIT_FSIZE of this process: writing beyond it would raise SIGXFSZ in the guest.
inline std::uint64_t file_size_limit() {
  rlimit limit{};
  if (::syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &limit) != 0) return 0;
  return limit.rlim_cur;
}

}  // namespace stallcast::record::raw
