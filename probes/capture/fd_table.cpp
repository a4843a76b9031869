#include "probes/capture/fd_table.hpp"

#include "probes/capture/emulation/emulate.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::capture {
namespace {

namespace raw = record::raw;

constexpr std::size_t k_table_bytes = sizeof(FdEntry) * k_tracked_fds;
static_assert(k_table_bytes <= 3ULL << 20);

constinit std::atomic<int> g_highest_fd{-1};

void note_highest(int fd) {
  int highest = g_highest_fd.load(std::memory_order_relaxed);
  while (fd > highest && !g_highest_fd.compare_exchange_weak(highest, fd, std::memory_order_relaxed)) {
  }
}

}  // namespace

constinit std::atomic<FdEntry*> g_fd_table{nullptr};

FdEntry* map_fd_table() {
  const raw::ErrnoKeeper keeper;
  void* mapped = raw::map(k_table_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == nullptr) return nullptr;
  FdEntry* table = nullptr;
  if (g_fd_table.compare_exchange_strong(table, static_cast<FdEntry*>(mapped))) return static_cast<FdEntry*>(mapped);
  raw::unmap(mapped, k_table_bytes);
  return table;
}

FdKind kind_of_mode(int fd, std::uint32_t mode) {
  if (S_ISREG(mode) || S_ISBLK(mode)) return FdKind::regular;
  if (S_ISSOCK(mode)) return raw::is_of_network(fd) ? FdKind::socket : FdKind::stream;
  if (S_ISFIFO(mode)) return FdKind::stream;
  return FdKind::ignored;
}

void set_kind(int fd, FdKind kind) {
  FdEntry* entry = fd_entry(fd);
  if (entry == nullptr) return;
  entry->kind.store(kind, std::memory_order_relaxed);
  note_highest(fd);
}

void set_fd(int fd, FdKind kind, std::uint64_t file_id, bool listed) {
  FdEntry* entry = fd_entry(fd);
  if (entry == nullptr) return;
  entry->file_id.store(file_id, std::memory_order_relaxed);
  entry->begin_ns.store(0, std::memory_order_relaxed);
  entry->read_ns.store(0, std::memory_order_relaxed);
  entry->read_bytes.store(0, std::memory_order_relaxed);
  entry->reads.store(0, std::memory_order_relaxed);
  entry->generation.store(process().generation.load(std::memory_order_relaxed), std::memory_order_relaxed);
  entry->unlisted.store(listed ? 0 : 1, std::memory_order_relaxed);
  entry->code.store(0, std::memory_order_relaxed);
  entry->kind.store(kind, std::memory_order_relaxed);
  note_highest(fd);
}

void mark_code(int fd) {
  if (FdEntry* entry = fd_entry(fd)) entry->code.store(1, std::memory_order_relaxed);
}

bool is_code(int fd) {
  const FdEntry* entry = fd_entry(fd);
  return entry != nullptr && entry->code.load(std::memory_order_relaxed) != 0;
}

FdTotals take_fd(int fd) {
  FdTotals taken{};
  FdEntry* entry = fd_entry(fd);
  if (entry == nullptr) return taken;
  taken.kind = entry->kind.load(std::memory_order_relaxed);
  taken.file_id = entry->file_id.load(std::memory_order_relaxed);
  if (taken.kind == FdKind::unknown && taken.file_id == 0) return taken;
  taken.listed = entry->unlisted.load(std::memory_order_relaxed) == 0;
  // A fork child's totals do not include what its parent read.
  if (entry->generation.load(std::memory_order_relaxed) == process().generation.load(std::memory_order_relaxed)) {
    taken.begin_ns = entry->begin_ns.load(std::memory_order_relaxed);
    taken.read_ns = entry->read_ns.load(std::memory_order_relaxed);
    taken.read_bytes = entry->read_bytes.load(std::memory_order_relaxed);
    taken.reads = entry->reads.load(std::memory_order_relaxed);
  }
  if (emulating()) emulate_forgotten(fd);
  entry->reads.store(0, std::memory_order_relaxed);
  entry->file_id.store(0, std::memory_order_relaxed);
  entry->kind.store(FdKind::unknown, std::memory_order_relaxed);
  return taken;
}

void copy_fd(int fd, int copy) {
  const FdEntry* from = fd_entry(fd);
  if (from == nullptr) return;
  const FdKind kind = from->kind.load(std::memory_order_relaxed);
  set_fd(copy, kind == FdKind::ours ? FdKind::ignored : kind, from->file_id.load(std::memory_order_relaxed),
         from->unlisted.load(std::memory_order_relaxed) == 0);
  if (from->code.load(std::memory_order_relaxed) != 0) mark_code(copy);
  if (emulating()) emulate_copied(fd, copy);
}

void forget_fds(unsigned first, unsigned last) {
  const int highest = g_highest_fd.load(std::memory_order_relaxed);
  for (unsigned fd = first; highest >= 0 && fd <= last && fd <= static_cast<unsigned>(highest); ++fd) {
    take_fd(static_cast<int>(fd));
  }
}

}  // namespace stallcast::capture
