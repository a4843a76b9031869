#include "probes/record/writer.hpp"

#include "core/clock.hpp"
#include "probes/record/extent.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::record {
namespace {

constexpr std::uint32_t k_first_offset = sizeof(BlockHeader);
constexpr std::uint32_t k_worth_keeping = 4096;  // less room than this is not worth a spare slot
/// For the thread that is getting a block; on a busy machine it may have lost its core half-way. Who has waited in vain
/// (a disk that stalls) spares all threads the waiting for a while.
constexpr std::uint64_t k_patience_ns = 50'000'000;
constexpr std::uint64_t k_impatient_ns = 1'000'000'000;

/// Beyond 75 % of the budget files are dropped, beyond 90 % samples and paths too: what rates rest on stays to the end.
bool admitted(const ControlBlock& control, Kind kind) {
  const std::uint64_t used = control.used_bytes.load(std::memory_order_relaxed);
  switch (kind) {
    case Kind::file:
      return used <= control.budget_bytes / 4 * 3;
    case Kind::sample:
    case Kind::path:
      return used <= control.budget_bytes / 10 * 9;
    default:
      return true;
  }
}

RecordHeader* begin_record(Appender& to, Kind kind, std::uint32_t aux, std::uint32_t bytes) {
  to.block->reserved.store(to.offset + bytes, std::memory_order_relaxed);
  // Payload stores must not pass the mark above: it is how a reader knows that a tail is torn.
  std::atomic_thread_fence(std::memory_order_release);
  auto* header = reinterpret_cast<RecordHeader*>(reinterpret_cast<char*>(to.block) + to.offset);
  header->kind = static_cast<std::uint16_t>(kind);
  header->bytes = static_cast<std::uint16_t>(bytes);
  header->aux = aux;
  return header;
}

/// A spare block keeps the id of the thread that took it first; a thread record says whose the rest is.
bool adopt_spare(Writer& writer, Appender& to, std::uint32_t need) {
  for (auto& slot : writer.spare) {
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    BlockHeader* block = slot.exchange(nullptr, std::memory_order_acquire);
    if (block == nullptr) continue;
    const std::uint32_t end = block->committed.load(std::memory_order_relaxed);
    if (end + sizeof(RecordHeader) + need > k_block_bytes) {
      raw::unmap(block, k_block_bytes);
      continue;
    }
    to.block = block;
    to.offset = end;
    begin_record(to, Kind::thread, to.thread_id, sizeof(RecordHeader));
    commit(to);
    return true;
  }
  return false;
}

bool take_new_block(Writer& writer, Appender& to) {
  const int fd = raw::open_file(writer.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0) {
    end_recording(writer, DisableReason::failed);
    return false;
  }
  const std::uint32_t index = writer.header->blocks.load(std::memory_order_relaxed);
  const off_t offset = static_cast<off_t>(k_header_bytes) + static_cast<off_t>(index) * k_block_bytes;
  auto reason = DisableReason::none;
  auto* block = static_cast<BlockHeader*>(map_extent(*writer.control, fd, offset, k_block_bytes, reason));
  raw::close_fd(fd);
  if (block == nullptr) {
    end_recording(writer, reason);
    return false;
  }
  block->magic = k_block_magic;
  block->thread_id = to.thread_id;
  block->reserved.store(k_first_offset, std::memory_order_relaxed);
  block->committed.store(k_first_offset, std::memory_order_relaxed);
  writer.header->blocks.store(index + 1, std::memory_order_release);
  to.block = block;
  to.offset = k_first_offset;
  return true;
}

/// Waits for the thread that is getting a block. False: given up.
bool enter(Writer& writer) {
  std::uint32_t free = 0;
  std::uint64_t until_ns = 0;
  for (; !writer.taking.compare_exchange_strong(free, 1, std::memory_order_acquire); free = 0) {
    const std::uint64_t now_ns = monotonic_ns();
    if (until_ns == 0) {
      const bool impatient = now_ns < writer.impatient_until_ns.load(std::memory_order_relaxed);
      until_ns = impatient ? now_ns : now_ns + k_patience_ns;
    }
    if (now_ns >= until_ns) {
      writer.impatient_until_ns.store(now_ns + k_impatient_ns, std::memory_order_relaxed);
      return false;
    }
    raw::yield();
  }
  return true;
}

/// Rare: once per 64 KiB of a thread. The caller's thread is marked busy, so a signal handler on it never gets here;
/// other threads wait for the few system calls of the one that is inside, and give up rather than wait for ever.
bool take_block(Writer& writer, Appender& to, std::uint32_t need) {
  if (to.block != nullptr) raw::unmap(to.block, k_block_bytes);
  to.block = nullptr;
  if (adopt_spare(writer, to, need)) return true;
  if (!enter(writer)) return false;
  const bool taken = writer.ended.load(std::memory_order_relaxed) == 0 && take_new_block(writer, to);
  writer.taking.store(0, std::memory_order_release);
  return taken;
}

}  // namespace

bool may_record(Writer& writer) {
  if (recording(writer)) return true;
  const ControlBlock* control = writer.control;
  if (control == nullptr || control->recording.load(std::memory_order_relaxed) != 1) return false;
  if (control->stop.load(std::memory_order_relaxed) == 0) count_drop(writer);
  return false;
}

bool may_keep(Writer& writer) {
  const ControlBlock* control = writer.control;
  if (control == nullptr || control->stop.load(std::memory_order_relaxed) != 0) return false;
  if (writer.ended.load(std::memory_order_relaxed) == 0) return true;
  count_drop(writer);
  return false;
}

void* reserve(Writer& writer, Appender& to, Kind kind, std::uint32_t aux, std::uint32_t bytes) {
  if (!admitted(*writer.control, kind)) {
    count_drop(writer);
    return nullptr;
  }
  if (to.block == nullptr || to.offset + bytes > k_block_bytes) {
    const raw::ErrnoKeeper keeper;
    if (!take_block(writer, to, bytes)) {
      count_drop(writer);
      return nullptr;
    }
  }
  return begin_record(to, kind, aux, bytes);
}

void commit(Appender& to) {
  to.offset = to.block->reserved.load(std::memory_order_relaxed);
  to.block->committed.store(to.offset, std::memory_order_release);
}

void give_back(Writer& writer, Appender& from) {
  BlockHeader* block = from.block;
  from.block = nullptr;
  if (block == nullptr) return;
  if (from.offset + k_worth_keeping <= k_block_bytes) {
    for (auto& slot : writer.spare) {
      BlockHeader* none = nullptr;
      if (slot.compare_exchange_strong(none, block, std::memory_order_release, std::memory_order_relaxed)) return;
    }
  }
  raw::unmap(block, k_block_bytes);
}

void count_drop(Writer& writer) {
  if (writer.header != nullptr) writer.header->dropped_records.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace stallcast::record
