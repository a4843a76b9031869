#include "probes/capture/emulation/emulate.hpp"

#include <algorithm>
#include <cstring>

#include "core/clock.hpp"
#include "probes/capture/emulation/state.hpp"
#include "probes/capture/phases/phase.hpp"
#include "probes/capture/phases/settle.hpp"
#include "probes/capture/phases/system_calls.hpp"
#include "probes/capture/sleep.hpp"
#include "probes/capture/thread.hpp"

namespace stallcast::capture {
namespace {

using record::k_range_unit_bytes;
using record::k_whole_unit_bytes;

constexpr auto k_relaxed = std::memory_order_relaxed;
/// Granules of a phase's chunk (phase_ranges.cpp) in bytes: half-cached batches choose their half by it.
constexpr std::uint64_t k_chunk_bytes = 2ULL << 20;
constexpr std::uint64_t k_page = 4096;
/// A read within this, and 1 ns a byte, did not wait for any storage worth the name.
constexpr std::uint64_t k_quick_read_ns = 30'000;
constexpr std::uint64_t k_prefetched_bytes = 1ULL << 20;

constinit std::atomic<std::uint64_t> g_miss_bytes{0};

/// By how much this thread's waits were too long so far: taken off the latency of the next, so that their sum is right.
/// What a limit makes it wait needs none of that: the clock of the limit goes on meanwhile.
thread_local constinit std::uint64_t t_overslept_ns __attribute__((tls_model("initial-exec"))) = 0;

enum class Verdict { by_policy, hit, miss };

/// A read as the emulated storage sees it.
struct Settled {
  Demand demand;
  std::uint64_t hit_bytes;
  std::uint64_t miss_bytes;
};

long waits_so_far() {
  rusage usage{};
  ::syscall(SYS_getrusage, RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

/// What the phase says of bytes from `begin` on, of a file behind `fd`.
Verdict verdict_of(const EmulatedFile& file, int fd, std::uint64_t begin) {
  if (!in_phase()) return Verdict::by_policy;
  const PhaseState* state = looking_state();
  if (state == nullptr) return Verdict::by_policy;
  const Treatment treatment = state->treatment.load(k_relaxed);
  if (treatment == Treatment::look) return Verdict::by_policy;
  if (treatment != Treatment::half) return treatment == Treatment::cold ? Verdict::miss : Verdict::hit;
  const FdEntry* entry = fd_entry(fd);
  std::uint64_t id = entry != nullptr ? entry->file_id.load(k_relaxed) : 0;
  if (file.size.load(k_relaxed) > k_whole_phase_file) {
    const std::uint64_t words[] = {file.device.load(k_relaxed), file.inode.load(k_relaxed), begin / k_chunk_bytes};
    id = hash_words(words, 3);
  }
  return is_cold(*state, id) ? Verdict::miss : Verdict::hit;
}

/// Of the batch whose phase decides for itself; 0 where the policy decides.
std::uint32_t serial_now() {
  const PhaseState* state = in_phase() ? phase_state() : nullptr;
  const bool decides = state != nullptr && state->treatment.load(k_relaxed) != Treatment::look;
  return decides ? state->serial.load(k_relaxed) : 0;
}

/// Without a cache, and without phases that choose parts, a large file is one unit: it is read ahead in as any other.
std::uint64_t unit_bytes_of(const record::EmulationBlock& block, const EmulatedFile& file) {
  const std::uint64_t size = file.size.load(k_relaxed);
  const bool in_ranges = block.settings.policy != record::EmulatedPolicy::none || in_phase();
  return size > k_whole_unit_bytes && in_ranges ? k_range_unit_bytes : UINT64_MAX;
}

/// Whether the unit that holds `begin` is cached, decided when the descriptor comes to it.
bool is_hit(record::EmulationBlock& block, EmulatedFile& file, int fd, std::uint64_t begin) {
  const std::uint64_t unit_bytes = unit_bytes_of(block, file);
  const std::uint64_t number = begin / unit_bytes;
  const std::uint32_t serial = serial_now();
  if (file.unit.load(k_relaxed) == number + 1 && file.serial.load(k_relaxed) == serial) {
    return file.is_hit.load(k_relaxed) != 0;
  }
  record::EmulationCounters& counters = block.counters;
  const Verdict verdict = verdict_of(file, fd, begin);
  bool hit = verdict == Verdict::hit;
  if (verdict == Verdict::by_policy) {
    const std::uint64_t words[] = {file.key.load(k_relaxed), number};
    const std::uint64_t size = file.size.load(k_relaxed);
    const std::uint64_t bytes = std::min(unit_bytes, size - std::min(size, number * unit_bytes));
    hit = record::emulated_hit(block, hash_words(words, 2), bytes);
    (hit ? counters.hits : counters.misses).fetch_add(1, k_relaxed);
  } else {
    (hit ? counters.staged_hits : counters.cold_misses).fetch_add(1, k_relaxed);
  }
  file.unit.store(number + 1, k_relaxed);
  file.serial.store(serial, k_relaxed);
  file.is_hit.store(hit ? 1 : 0, k_relaxed);
  return hit;
}

void add(Settled& settled, const Demand& demand) {
  settled.demand.bytes += demand.bytes;
  settled.demand.requests += demand.requests;
}

/// Bytes begin..end-1 unit by unit; neighbours that missed are fetched together.
Settled settle_units(record::EmulationBlock& block, EmulatedFile& file, int fd, std::uint64_t begin,
                     std::uint64_t end) {
  Settled settled{};
  const std::uint64_t unit_bytes = unit_bytes_of(block, file);
  // Storage is asked for whole pages.
  const std::uint64_t file_end = (std::max(file.size.load(k_relaxed), end) + k_page - 1) / k_page * k_page;
  const auto unit_end = [&](std::uint64_t at) {
    return unit_bytes > file_end ? file_end : std::min((at / unit_bytes + 1) * unit_bytes, file_end);
  };
  std::uint64_t missed_from = begin;
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t next = std::min(unit_end(at), end);
    if (is_hit(block, file, fd, at)) {
      if (missed_from < at) add(settled, fetch(file, missed_from, at, at));
      settled.hit_bytes += next - at;
      passed(file, next);
      missed_from = next;
    } else {
      settled.miss_bytes += next - at;
    }
    at = next;
  }
  if (missed_from < end) add(settled, fetch(file, missed_from, end, unit_end(end - 1)));
  return settled;
}

void count_hit(record::EmulationCounters& counters, std::uint64_t real_ns, bool waited) {
  counters.hit_read_ns.fetch_add(real_ns, k_relaxed);
  if (!waited) return;
  counters.stored_hits.fetch_add(1, k_relaxed);
  counters.stored_hit_ns.fetch_add(real_ns, k_relaxed);
}

void wait_for_storage(record::EmulationBlock& block, const EmulatedRead& read, const Demand& demand,
                      std::uint64_t real_end_ns, bool waited) {
  record::EmulationCounters& counters = block.counters;
  const std::uint64_t latency_ns = block.settings.latency_ns;
  const std::uint64_t due_ns = record::emulated_due(block, read.begin_ns, demand.bytes, demand.requests) + latency_ns;
  counters.requests.fetch_add(demand.requests, k_relaxed);
  counters.request_bytes.fetch_add(demand.bytes, k_relaxed);
  const std::uint64_t cost_ns = record::emulated_cost(block.settings, demand.bytes, demand.requests) + latency_ns;
  const std::uint64_t expected_ns = std::max(due_ns, read.begin_ns + cost_ns);
  counters.waited_ns.fetch_add(expected_ns - read.begin_ns, k_relaxed);
  if (due_ns > real_end_ns) {
    const std::uint64_t less_ns = std::min(t_overslept_ns, latency_ns);
    sleep_until(due_ns - less_ns);
    t_overslept_ns += monotonic_ns() - (due_ns - less_ns) - less_ns;
    return;
  }
  // A thread that lost its core is late on any storage: only what had to be waited for is the real one's fault.
  if (!waited || real_end_ns <= expected_ns) return;
  counters.late_reads.fetch_add(1, k_relaxed);
  counters.late_ns.fetch_add(real_end_ns - expected_ns, k_relaxed);
}

}  // namespace

constinit std::atomic<record::EmulationBlock*> g_emulation{nullptr};

void map_emulation() {
  char path[record::k_max_path_bytes + sizeof(record::k_emulation_file) + 1];
  strcpy(path, run_folder());
  strcat(path, "/");
  strcat(path, record::k_emulation_file);
  const int fd = raw::open_file(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0) return;
  struct stat status {};
  if (raw::stat_fd(fd, &status) == 0 && static_cast<std::size_t>(status.st_size) >= sizeof(record::EmulationBlock)) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    auto* block = static_cast<record::EmulationBlock*>(raw::map(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    const bool fits = block != nullptr && memcmp(block->magic, record::k_emulation_magic, sizeof(block->magic)) == 0 &&
                      block->abi == record::k_emulation_abi && record::emulation_bytes(block->settings) <= bytes;
    if (fits) {
      g_emulation.store(block, std::memory_order_release);
    } else if (block != nullptr) {
      raw::unmap(block, bytes);
    }
  }
  raw::close_fd(fd);
}

EmulatedRead before_emulated(int fd, off_t offset, std::size_t wanted) {
  const record::raw::ErrnoKeeper keeper;
  EmulatedRead read{-1, offset, 0, 0};
  Thread& thread = t_thread;
  if (!owns_memory(thread)) return read;
  const Busy busy(thread);
  EmulatedFile* file = emulated_file(fd);
  if (file == nullptr || !is_data_file(*file, fd)) return read;
  if (offset < 0) read.offset = raw::position(fd);
  if (read.offset < 0) return read;
  read.fd = fd;
  read.waits = waits_so_far();
  read.begin_ns = monotonic_ns();
  // A reader that comes in small steps shall not find the real storage slow at each of them.
  const std::uint64_t size = file->size.load(k_relaxed);
  const bool is_first = file->unit.load(k_relaxed) == 0;
  if (is_first && wanted < size && size <= k_prefetched_bytes) raw::advise_file(fd, 0, 0, POSIX_FADV_WILLNEED);
  return read;
}

void after_emulated(const EmulatedRead& read, ssize_t bytes) {
  const record::raw::ErrnoKeeper keeper;
  const Busy busy(t_thread);
  const std::uint64_t real_end_ns = monotonic_ns();
  const off_t end = bytes >= 0 ? read.offset + bytes : raw::position(read.fd);
  EmulatedFile* file = emulated_file(read.fd);
  if (end <= read.offset || file == nullptr) return;
  const bool slow = real_end_ns - read.begin_ns > k_quick_read_ns + static_cast<std::uint64_t>(end - read.offset);
  const bool waited = slow && waits_so_far() != read.waits;
  record::EmulationBlock& block = *g_emulation.load(k_relaxed);
  const Settled settled =
      settle_units(block, *file, read.fd, static_cast<std::uint64_t>(read.offset), static_cast<std::uint64_t>(end));
  block.counters.hit_bytes.fetch_add(settled.hit_bytes, k_relaxed);
  block.counters.miss_bytes.fetch_add(settled.miss_bytes, k_relaxed);
  g_miss_bytes.fetch_add(settled.miss_bytes, k_relaxed);
  if (settled.demand.requests != 0) {
    wait_for_storage(block, read, settled.demand, real_end_ns, waited);
  } else {
    count_hit(block.counters, real_end_ns - read.begin_ns, waited);
  }
}

void emulate_mapped(int fd, std::uint64_t bytes) {
  const record::raw::ErrnoKeeper keeper;
  const Busy busy(t_thread);
  EmulatedFile* file = emulated_file(fd);
  if (file == nullptr || !is_data_file(*file, fd)) return;
  record::EmulationCounters& counters = g_emulation.load(k_relaxed)->counters;
  counters.mapped_files.fetch_add(1, k_relaxed);
  counters.mapped_bytes.fetch_add(bytes, k_relaxed);
}

std::uint64_t emulated_miss_bytes() {
  return g_miss_bytes.load(k_relaxed);
}

}  // namespace stallcast::capture
