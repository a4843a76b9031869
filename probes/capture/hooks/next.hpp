/// The functions that the hooks stand in front of: the next definition after ours, which is libc's or another
/// preloaded library's. In a process of a run all are looked up before main, because a lookup inside a signal handler
/// or inside an allocator that calls mmap() is not safe; elsewhere each is looked up when it is first called.
#pragma once

#include <atomic>

namespace stallcast::capture {

/// Every interposed symbol, as X(name in code, "symbol").
#define STALLCAST_SYMBOLS(X)                    \
  X(open, "open")                               \
  X(open64, "open64")                           \
  X(openat, "openat")                           \
  X(openat64, "openat64")                       \
  X(open_2, "__open_2")                         \
  X(open64_2, "__open64_2")                     \
  X(openat_2, "__openat_2")                     \
  X(openat64_2, "__openat64_2")                 \
  X(creat, "creat")                             \
  X(creat64, "creat64")                         \
  X(close, "close")                             \
  X(close_range, "close_range")                 \
  X(closefrom, "closefrom")                     \
  X(closedir, "closedir")                       \
  X(dup, "dup")                                 \
  X(dup2, "dup2")                               \
  X(dup3, "dup3")                               \
  X(fcntl, "fcntl")                             \
  X(fcntl64, "fcntl64")                         \
  X(vfork, "vfork")                             \
  X(read, "read")                               \
  X(pread, "pread")                             \
  X(pread64, "pread64")                         \
  X(readv, "readv")                             \
  X(preadv, "preadv")                           \
  X(preadv64, "preadv64")                       \
  X(preadv2, "preadv2")                         \
  X(preadv64v2, "preadv64v2")                   \
  X(read_chk, "__read_chk")                     \
  X(pread_chk, "__pread_chk")                   \
  X(pread64_chk, "__pread64_chk")               \
  X(recv, "recv")                               \
  X(recvfrom, "recvfrom")                       \
  X(recvmsg, "recvmsg")                         \
  X(recv_chk, "__recv_chk")                     \
  X(recvfrom_chk, "__recvfrom_chk")             \
  X(poll, "poll")                               \
  X(poll_chk, "__poll_chk")                     \
  X(fopen, "fopen")                             \
  X(fopen64, "fopen64")                         \
  X(freopen, "freopen")                         \
  X(freopen64, "freopen64")                     \
  X(fclose, "fclose")                           \
  X(pclose, "pclose")                           \
  X(fread, "fread")                             \
  X(fread_unlocked, "fread_unlocked")           \
  X(fread_chk, "__fread_chk")                   \
  X(fread_unlocked_chk, "__fread_unlocked_chk") \
  X(fgets, "fgets")                             \
  X(fgets_unlocked, "fgets_unlocked")           \
  X(fgets_chk, "__fgets_chk")                   \
  X(fgets_unlocked_chk, "__fgets_unlocked_chk") \
  X(fseek, "fseek")                             \
  X(fseeko, "fseeko")                           \
  X(fseeko64, "fseeko64")                       \
  X(getline, "getline")                         \
  X(getdelim, "getdelim")                       \
  X(getdelim_internal, "__getdelim")            \
  X(mmap, "mmap")                               \
  X(mmap64, "mmap64")                           \
  X(munmap, "munmap")                           \
  X(stat, "stat")                               \
  X(stat64, "stat64")                           \
  X(lstat, "lstat")                             \
  X(lstat64, "lstat64")                         \
  X(fstat, "fstat")                             \
  X(fstat64, "fstat64")                         \
  X(fstatat, "fstatat")                         \
  X(fstatat64, "fstatat64")                     \
  X(xstat, "__xstat")                           \
  X(xstat64, "__xstat64")                       \
  X(lxstat, "__lxstat")                         \
  X(lxstat64, "__lxstat64")                     \
  X(fxstat, "__fxstat")                         \
  X(fxstat64, "__fxstat64")                     \
  X(fxstatat, "__fxstatat")                     \
  X(fxstatat64, "__fxstatat64")                 \
  X(statx, "statx")

enum class Symbol {
#define STALLCAST_SYMBOL(name, text) name,
  STALLCAST_SYMBOLS(STALLCAST_SYMBOL)
#undef STALLCAST_SYMBOL
      count
};

extern std::atomic<void*> g_next[static_cast<int>(Symbol::count)];

/// Looks the symbol up now; nullptr while this thread is already inside a lookup, or if there is no such symbol.
void* look_up(Symbol symbol);

/// Looks all of them up.
void look_up_all();

/// The next definition of `symbol`, of type `Function`; nullptr where look_up() gives none.
template <class Function>
inline Function* next(Symbol symbol) {
  void* address = g_next[static_cast<int>(symbol)].load(std::memory_order_relaxed);
  if (__builtin_expect(address == nullptr, 0)) address = look_up(symbol);
  return reinterpret_cast<Function*>(address);
}

}  // namespace stallcast::capture
