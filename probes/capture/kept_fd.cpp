#include "probes/capture/kept_fd.hpp"

#include <initializer_list>

#include "probes/capture/fd_table.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::capture {
namespace {

namespace raw = record::raw;

/// Out of the way of the numbers that the guest's own descriptors get.
int move_up(int fd) {
  for (const int lowest : {800, 200}) {
    const auto moved = static_cast<int>(::syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest));
    if (moved < 0) continue;
    raw::close_fd(fd);
    return moved;
  }
  raw::close_fd(fd);
  return -1;
}

}  // namespace

int open_kept(const char* path, std::uint64_t owner) {
  const int opened = raw::open_file(path, O_RDONLY | O_CLOEXEC, 0);
  if (opened < 0) return -1;
  const int fd = move_up(opened);
  if (fd < 0) return -1;
  if (fd_entry(fd) == nullptr) {
    raw::close_fd(fd);
    return -1;
  }
  set_fd(fd, FdKind::ours, owner, false);
  return fd;
}

bool is_kept(int fd, std::uint64_t owner) {
  const FdEntry* entry = fd_entry(fd);
  return entry != nullptr && entry->kind.load(std::memory_order_relaxed) == FdKind::ours &&
         entry->file_id.load(std::memory_order_relaxed) == owner;
}

void close_kept(int fd, std::uint64_t owner) {
  if (!is_kept(fd, owner)) return;
  take_fd(fd);
  raw::close_fd(fd);
}

}  // namespace stallcast::capture
