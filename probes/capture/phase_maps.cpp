#include "probes/capture/phase_maps.hpp"

#include <algorithm>
#include <cstring>

#include "probes/capture/emulate.hpp"
#include "probes/capture/own_maps.hpp"
#include "probes/capture/phase_calls.hpp"
#include "probes/capture/phase_ours.hpp"
#include "probes/capture/phase_settle.hpp"
#include "probes/capture/phase_storage.hpp"
#include "probes/capture/thread.hpp"
#include "probes/record/control.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr std::uint32_t k_most_maps = 256;
constexpr std::uint64_t k_least_bytes = 1ULL << 20;  ///< smaller files are opened and mapped for one sample
constexpr std::uint64_t k_looked = 1;                ///< beside a file's key: it was seen when it was opened first
constexpr char k_shared_memory[] = "/dev/shm/";
constexpr std::uint64_t k_share = 64;  ///< of the files' bytes, one part may have been brought in

/// One map. `begin` is written last and cleared first; 0: the entry is free.
struct Map {
  std::atomic<std::uint64_t> begin;
  std::uint64_t bytes;
  std::uint64_t offset;
  std::uint64_t device;
  std::uint64_t inode;
  char path[256];
};

// Outlive a fork: the child has the same maps.
constinit Map g_maps[k_most_maps]{};
constinit std::atomic<std::uint32_t> g_used{0};  ///< entries that were ever taken
constinit std::atomic<std::uint32_t> g_lost{0};  ///< maps that found no entry

std::uint64_t address_of(const void* at) {
  return reinterpret_cast<std::uint64_t>(at);
}

/// The file's name, by which it can be opened once the guest has closed its descriptor.
bool name_of(int fd, char (&out)[256]) {
  char link[32] = "/proc/self/fd/";
  char* at = link + strlen(link);
  char digits[12];
  int used = 0;
  for (int rest = fd; rest > 0 || used == 0; rest /= 10) digits[used++] = static_cast<char>('0' + rest % 10);
  while (used > 0) *at++ = digits[--used];
  *at = '\0';
  const ssize_t length = raw::read_link(link, out, sizeof(out) - 1);
  if (length <= 0 || length == static_cast<ssize_t>(sizeof(out) - 1)) return false;
  out[length] = '\0';
  return out[0] == '/' && strncmp(out, k_shared_memory, sizeof(k_shared_memory) - 1) != 0;
}

Map* free_entry() {
  for (std::uint32_t i = 0; i < g_used.load(k_relaxed); ++i) {
    if (g_maps[i].begin.load(k_relaxed) == 0) return &g_maps[i];
  }
  const std::uint32_t taken = g_used.fetch_add(1, k_relaxed);
  if (taken < k_most_maps) return &g_maps[taken];
  g_used.store(k_most_maps, k_relaxed);
  return nullptr;
}

std::uint32_t used_entries() {
  return std::min(g_used.load(k_relaxed), k_most_maps);
}

/// What of `line` is a map of ours; its offset in the file must be where it was.
bool overlap(const Map& map, const OwnMap& line, std::uint64_t& first, std::uint64_t& end) {
  const std::uint64_t begin = map.begin.load(std::memory_order_acquire);
  if (begin == 0 || line.inode != map.inode || (line.is_writable && !line.is_shared)) return false;
  first = std::max(begin, line.begin);
  end = std::min(begin + map.bytes, line.end);
  return first < end && line.offset + (first - line.begin) == map.offset + (first - begin);
}

/// Takes this process's pages of all maps out of its page table, so that they can be evicted.
void unmap_pages() {
  for_each_own_map([](const OwnMap& line) {
    if (line.inode == 0) return;
    for (std::uint32_t i = 0; i < used_entries(); ++i) {
      std::uint64_t first = 0;
      std::uint64_t end = 0;
      if (!overlap(g_maps[i], line, first, end)) continue;
      raw::advise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);  // NOLINT(performance-no-int-to-ptr)
    }
  });
}

/// Whether an entry before `index` is of the same file.
bool is_repeated(std::uint32_t index) {
  for (std::uint32_t i = 0; i < index; ++i) {
    const Map& other = g_maps[i];
    if (other.begin.load(k_relaxed) != 0 && other.inode == g_maps[index].inode &&
        other.device == g_maps[index].device) {
      return true;
    }
  }
  return false;
}

/// Opens each mapped file once, if it still goes by its name.
template <class Take>
void each_file(Take take) {
  for (std::uint32_t i = 0; i < used_entries(); ++i) {
    const Map& map = g_maps[i];
    if (map.begin.load(std::memory_order_acquire) == 0 || is_repeated(i)) continue;
    const int fd = raw::open_file(map.path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
    struct stat file {};
    const bool same = fd >= 0 && raw::stat_fd(fd, &file) == 0 && file.st_ino == map.inode && file.st_dev == map.device;
    if (same) {
      const auto size = static_cast<std::uint64_t>(file.st_size);
      take(Part{.fd = fd, .file = &file, .range = {0, size}, .key = file_key(file), .is_cold = true});
    }
    if (fd >= 0) raw::close_fd(fd);
  }
}

/// One file: drops its pages if this run may, and counts. Unlike settle() it tries once: what other workers have mapped
/// stays, and each try waits for all processors.
void evict_map(const Part& part, Resident found, MapsSeen& seen) {
  const record::Evict may = record::Evict{process().writer.control->evict};
  const bool own = is_own(part);
  if (may != record::Evict::all && !(may == record::Evict::own && own)) {
    if (!own) seen.foreign_bytes += found.bytes;
    seen.resident_bytes += found.bytes;
    return;
  }
  drop_pages(part.fd, part.range);
  const std::uint64_t left = resident_in(part.fd, *part.file, part.range).bytes;
  seen.resident_bytes += left;
  seen.evicted_bytes += found.bytes - std::min(left, found.bytes);
}

/// What is resident of all of them; `evicts`: of what is left after those that may go went.
void look(MapsSeen& seen, bool evicts) {
  seen.files = 0;
  seen.unknown = g_lost.load(k_relaxed);
  seen.file_bytes = seen.resident_bytes = seen.foreign_bytes = 0;
  each_file([&](const Part& part) {
    ++seen.files;
    seen.file_bytes += part.range.bytes;
    const Resident found = resident_in(part.fd, *part.file, part.range);
    if (!found.known) {
      ++seen.unknown;
      if (evicts && process().writer.control->evict == static_cast<std::uint32_t>(record::Evict::all)) {
        drop_pages(part.fd, part.range);
      }
    } else if (evicts && found.bytes > 0) {
      evict_map(part, found, seen);
    } else {
      seen.resident_bytes += found.bytes;
      if (found.bytes == 0) claim_ours(file_key(*part.file));
    }
  });
}

}  // namespace

bool maps_known() {
  return g_used.load(k_relaxed) != 0;
}

void map_made(int fd, const void* begin, std::size_t bytes, int protection, int flags, off_t offset) {
  const bool is_shared = (flags & MAP_TYPE) != MAP_PRIVATE;
  if ((protection & PROT_EXEC) != 0 || (!is_shared && (protection & PROT_WRITE) != 0)) return;
  if (!owns_memory(t_thread)) return;
  const raw::ErrnoKeeper keeper;
  const Busy busy(t_thread);
  struct stat file {};
  if (raw::stat_fd(fd, &file) != 0 || !S_ISREG(file.st_mode)) return;
  if (static_cast<std::uint64_t>(file.st_size) < k_least_bytes) return;
  char path[256];
  if (!name_of(fd, path)) return;
  Map* entry = free_entry();
  if (entry == nullptr) {
    g_lost.fetch_add(1, k_relaxed);
    return;
  }
  memcpy(entry->path, path, sizeof(path));
  entry->bytes = bytes;
  entry->offset = static_cast<std::uint64_t>(offset);
  entry->device = file.st_dev;
  entry->inode = file.st_ino;
  entry->begin.store(address_of(begin), std::memory_order_release);
}

void map_gone(const void* begin, std::size_t bytes) {
  const std::uint64_t first = address_of(begin);
  for (std::uint32_t i = 0; i < used_entries(); ++i) {
    const std::uint64_t at = g_maps[i].begin.load(k_relaxed);
    if (at != 0 && at < first + bytes && first < at + g_maps[i].bytes) g_maps[i].begin.store(0, k_relaxed);
  }
}

void claim_opened(int fd) {
  const record::ControlBlock* control = process().writer.control;
  if (control == nullptr || control->mode != static_cast<std::uint32_t>(record::RunMode::phased)) return;
  const raw::ErrnoKeeper keeper;
  const Busy busy(t_thread);
  struct stat file {};
  if (raw::stat_fd(fd, &file) == 0 && S_ISREG(file.st_mode)) claim_absent(fd, file);
}

void claim_absent(int fd, const struct stat& file) {
  const auto size = static_cast<std::uint64_t>(file.st_size);
  if (size < k_least_bytes || emulating()) return;
  const std::uint64_t looked[] = {file_key(file), k_looked};
  if (!claim_ours(hash_words(looked, 2))) return;
  const Resident found = resident_in(fd, file, {0, size});
  if (found.known && found.bytes == 0) claim_ours(file_key(file));
}

void begin_maps(PhaseState& state, bool is_cold) {
  state.maps = MapsSeen{};
  state.evicts_maps.store(0, k_relaxed);
  if (!maps_known() || emulating()) return;
  state.maps.faults_begin = major_faults();
  // Beside files that are opened and read, what is mapped is small and stays in memory.
  if (!is_cold || process().writer.control->maps_read.load(k_relaxed) == 0) {
    each_file([&](const Part& part) {
      claim_absent(part.fd, *part.file);
      ++state.maps.files;
      state.maps.file_bytes += part.range.bytes;
    });
    return;
  }
  state.evicts_maps.store(1, k_relaxed);
  const bool is_new = state.unmapped_segment != state.segment + 1;
  state.unmapped_segment = state.segment + 1;
  if (!is_new) look(state.maps, false);
  if (is_new || state.maps.resident_bytes > state.maps.file_bytes / k_share || state.maps.unknown > 0) {
    unmap_pages();
    look(state.maps, true);
  }
  state.storage_at_drop = storage_bytes(state);
}

void maps_at_sample_end(PhaseState& state) {
  if (state.evicts_maps.load(k_relaxed) == 0) return;
  const std::uint64_t storage = storage_bytes(state);
  const bool known = storage != k_storage_unknown && state.storage_at_drop != k_storage_unknown;
  if (known && storage - state.storage_at_drop <= state.maps.file_bytes / k_share) return;
  if (state.dropping.exchange(1, std::memory_order_acquire) != 0) return;
  MapsSeen again{};
  unmap_pages();
  look(again, true);
  state.storage_at_drop = storage;
  state.dropping.store(0, std::memory_order_release);
}

}  // namespace stallcast::capture
