/// mmap: reads through a map cannot be seen, but that there is one can. Allocators call this with their locks held.
#include "probes/capture/hook.hpp"

namespace stallcast::capture {
namespace {

using MmapFn = void*(void*, std::size_t, int, int, int, off_t);

void* mmap_as(Symbol symbol, void* hint, std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  auto* real = next<MmapFn>(symbol);
  void* mapped = MAP_FAILED;
  if (real != nullptr) {
    mapped = real(hint, bytes, protection, flags, fd, offset);
  } else {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    mapped = reinterpret_cast<void*>(::syscall(SYS_mmap, hint, bytes, protection, flags, fd, offset));
  }
  if (fd < 0 || (flags & MAP_ANONYMOUS) != 0 || (protection & PROT_READ) == 0) return mapped;
  if (mapped == MAP_FAILED || !awake() || t_thread.busy != 0) return mapped;
  // Memory that is shared between processes (shm_open, a descriptor sent by a worker) has no name here: not a read.
  const FdEntry* entry = fd_entry(fd);
  if (entry == nullptr || entry->file_id.load(std::memory_order_relaxed) == 0) return mapped;
  if (recording_thread() != nullptr && kind_of(fd) == FdKind::regular) count_mapped(bytes);
  return mapped;
}

}  // namespace

STALLCAST_HOOK(void*, mmap, "mmap", (void* hint, std::size_t bytes, int protection, int flags, int fd, off_t offset)) {
  return mmap_as(Symbol::mmap, hint, bytes, protection, flags, fd, offset);
}

STALLCAST_HOOK(void*, mmap64, "mmap64",
               (void* hint, std::size_t bytes, int protection, int flags, int fd, off_t offset)) {
  return mmap_as(Symbol::mmap64, hint, bytes, protection, flags, fd, offset);
}

}  // namespace stallcast::capture
