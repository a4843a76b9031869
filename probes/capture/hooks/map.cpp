/// mmap: reads through a map cannot be seen, but that there is one can. Allocators call this with their locks held.
///
/// munmap: a script that says `batch = next(loader)` lets go of the batch before it once the new one is there. For a
/// batch of 20 MB in shared memory the kernel takes 2 ms for that: part of what the script waits for its loader, and
/// counted as such where it is the first thing that follows the wait.
#include "probes/capture/hooks/hook.hpp"
#include "probes/capture/phases/maps.hpp"

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
  if (mapped == MAP_FAILED || t_thread.busy != 0) return mapped;
  map_made(fd, mapped, bytes, protection, flags, offset);
  if (!awake()) return mapped;
  // Memory that is shared between processes (shm_open, a descriptor sent by a worker) has no name here: not a read.
  const FdEntry* entry = fd_entry(fd);
  if (entry == nullptr || entry->file_id.load(std::memory_order_relaxed) == 0) return mapped;
  if (emulating()) emulate_mapped(fd, bytes);
  if (recording_thread() != nullptr && kind_of(fd) == FdKind::regular) count_mapped(bytes);
  return mapped;
}

using MunmapFn = int(void*, std::size_t);

constexpr std::size_t k_batch_bytes = 256 * 1024;  ///< what is smaller is not worth the clock
constexpr std::uint64_t k_follows_ns = 1'000'000;  ///< after the wait, or after the release before

/// The wait whose end this release belongs to; nullptr in nearly all calls.
record::WaitRecord* wait_before(Thread& thread, std::size_t bytes, std::uint64_t now_ns) {
  record::WaitRecord* wait = thread.open_wait;
  if (bytes < k_batch_bytes || thread.busy != 0) return nullptr;
  if (thread.generation != process().generation.load(std::memory_order_acquire)) return nullptr;  // a parent's
  return now_ns - wait->end_ns < k_follows_ns ? wait : nullptr;
}

void end_later(record::WaitRecord& wait, std::uint64_t now_ns) {
  const std::uint64_t more = now_ns - wait.end_ns;
  __atomic_store_n(&wait.end_ns, now_ns, __ATOMIC_RELAXED);
  if (record::RankSlot* slot = rank_slot(process()); slot != nullptr) {
    slot->waited_ns.fetch_add(more, std::memory_order_relaxed);
  }
}

}  // namespace

STALLCAST_HOOK(int, munmap, "munmap", (void* begin, std::size_t bytes)) {
  auto* real = next<MunmapFn>(Symbol::munmap);
  const auto call = [&] {
    return real != nullptr ? real(begin, bytes) : static_cast<int>(::syscall(SYS_munmap, begin, bytes));
  };
  if (maps_known()) map_gone(begin, bytes);
  if (!awake() || t_thread.open_wait == nullptr) return call();
  record::WaitRecord* wait = wait_before(t_thread, bytes, monotonic_ns());
  const int result = call();
  if (wait != nullptr) end_later(*wait, monotonic_ns());
  return result;
}

STALLCAST_HOOK(void*, mmap, "mmap", (void* hint, std::size_t bytes, int protection, int flags, int fd, off_t offset)) {
  return mmap_as(Symbol::mmap, hint, bytes, protection, flags, fd, offset);
}

STALLCAST_HOOK(void*, mmap64, "mmap64",
               (void* hint, std::size_t bytes, int protection, int flags, int fd, off_t offset)) {
  return mmap_as(Symbol::mmap64, hint, bytes, protection, flags, fd, offset);
}

}  // namespace stallcast::capture
