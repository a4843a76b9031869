#include "probes/capture/phases/maps.hpp"

#include <algorithm>
#include <cstring>

#include "probes/capture/emulation/emulate.hpp"
#include "probes/capture/own_maps.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/phases/pagemap.hpp"
#include "probes/capture/phases/populated.hpp"
#include "probes/capture/phases/settle.hpp"
#include "probes/capture/phases/storage.hpp"
#include "probes/capture/phases/system_calls.hpp"
#include "probes/capture/thread.hpp"
#include "probes/capture/touched.hpp"
#include "probes/record/control.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr std::uint32_t k_most_maps = 1024;
constexpr std::uint64_t k_least_bytes = 1ULL << 20;  ///< smaller files are opened and mapped for one sample
constexpr std::uint64_t k_looked = 1;                ///< beside a file's key: it was seen when it was opened first
constexpr std::uint64_t k_told_probes = 8;           ///< slots that a file may stand in
constexpr std::uint64_t k_share = 64;                ///< of the files' bytes, one part may have been brought in

/// Of an entry: it is free, or being written. No map begins there.
constexpr std::uint64_t k_free = 0;
constexpr std::uint64_t k_writing = 1;

/// One map. `begin` is written last and cleared first.
struct Map {
  std::atomic<std::uint64_t> begin;
  std::uint64_t bytes;
  std::uint64_t file_bytes;
  std::uint64_t offset;
  std::uint64_t device;
  std::uint64_t inode;
  char path[256];
};

// Outlive a fork: the child has the same maps.
constinit Map g_maps[k_most_maps]{};
constinit std::atomic<std::uint32_t> g_used{0};  ///< entries before the first that was never taken
constinit std::atomic<std::uint32_t> g_lost{0};  ///< maps that found no entry

std::uint64_t address_of(const void* at) {
  return reinterpret_cast<std::uint64_t>(at);
}

/// The file's name, by which it can be opened once the guest has closed its descriptor. Its length; 0 if it has none
/// that fits.
std::size_t name_of(int fd, char (&out)[256]) {
  char link[k_fd_link_bytes];
  const ssize_t length = raw::read_link(fd_link(fd, link), out, sizeof(out) - 1);
  if (length <= 0 || length == static_cast<ssize_t>(sizeof(out) - 1)) return 0;
  out[length] = '\0';
  return static_cast<std::size_t>(length);
}

/// Memory that processes share, and files without a name: no data set.
bool is_shared_memory(const char* name, std::size_t length) {
  constexpr char k_deleted[] = " (deleted)";
  constexpr std::size_t k_ending = sizeof(k_deleted) - 1;
  if (strncmp(name, "/dev/shm/", 9) == 0 || strncmp(name, "/memfd:", 7) == 0) return true;
  return length > k_ending && strcmp(name + length - k_ending, k_deleted) == 0;
}

/// An entry that is the caller's to write; nullptr if all are taken.
Map* take_entry() {
  for (std::uint32_t i = 0; i < k_most_maps; ++i) {
    std::uint64_t expected = k_free;
    if (!g_maps[i].begin.compare_exchange_strong(expected, k_writing, std::memory_order_acquire)) continue;
    std::uint32_t used = g_used.load(k_relaxed);
    while (used < i + 1 && !g_used.compare_exchange_weak(used, i + 1, k_relaxed)) {
    }
    return &g_maps[i];
  }
  return nullptr;
}

std::uint32_t used_entries() {
  return g_used.load(k_relaxed);
}

bool is_there(const Map& map) {
  return map.begin.load(std::memory_order_acquire) > k_writing;
}

/// What of `line` is a map of ours that may be dropped; its offset in the file must be where it was. A private one, as
/// pyarrow makes, may hold what the guest wrote to it while that was allowed: then it keeps its pages, and these count
/// as resident.
bool overlap(const Map& map, const OwnMap& line, std::uint64_t& first, std::uint64_t& end) {
  if (!is_there(map)) return false;
  const std::uint64_t begin = map.begin.load(k_relaxed);
  if (line.inode != map.inode || (!line.is_shared && line.is_writable)) return false;
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
      if (!line.is_shared && may_hold_own_pages(first, end)) continue;
      raw::advise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);  // NOLINT(performance-no-int-to-ptr)
    }
  });
}

/// Whether an entry before `index` is of the same file.
bool is_repeated(std::uint32_t index) {
  for (std::uint32_t i = 0; i < index; ++i) {
    const Map& other = g_maps[i];
    const Map& map = g_maps[index];
    if (is_there(other) && other.inode == map.inode && other.device == map.device) return true;
  }
  return false;
}

/// Calls `take(map)` for a map of each file.
template <class Take>
void each_map(Take take) {
  for (std::uint32_t i = 0; i < used_entries(); ++i) {
    if (is_there(g_maps[i]) && !is_repeated(i)) take(g_maps[i]);
  }
}

/// Opens the file and calls `take(part)` with all of it. False if another goes by its name now.
template <class Take>
bool with_file(const Map& map, Take take) {
  const int fd = raw::open_file(map.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
  struct stat file {};
  const bool same = fd >= 0 && raw::stat_fd(fd, &file) == 0 && file.st_ino == map.inode && file.st_dev == map.device;
  if (same) {
    const auto size = static_cast<std::uint64_t>(file.st_size);
    take(FilePart{.fd = fd, .file = &file, .range = {0, size}, .key = file_key(file), .is_cold = true});
  }
  if (fd >= 0) raw::close_fd(fd);
  return same;
}

/// One file: drops its pages if this run may, and counts. Unlike settle() it tries once: what other workers have mapped
/// stays, and each try waits for all processors.
void evict_map(const FilePart& part, Resident found, MapsSeen& seen) {
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

/// One file: asks what is resident, and counts that; `evicts`: of what is left after what may go went.
void look_at(const FilePart& part, bool evicts, MapsSeen& seen) {
  seen.file_bytes += part.range.bytes;
  const Resident found = resident_in(part.fd, *part.file, part.range);
  if (!found.known) {
    ++seen.unknown;
    const bool all = process().writer.control->evict == static_cast<std::uint32_t>(record::Evict::all);
    if (evicts && all) drop_pages(part.fd, part.range);
  } else if (evicts && found.bytes > 0) {
    evict_map(part, found, seen);
  } else {
    seen.resident_bytes += found.bytes;
    if (found.bytes == 0) claim_populated(part.key);
  }
}

/// The same of all of them.
void look(MapsSeen& seen, bool evicts) {
  seen.files = 0;
  seen.unknown = g_lost.load(k_relaxed);
  seen.file_bytes = seen.resident_bytes = seen.foreign_bytes = 0;
  each_map([&](const Map& map) {
    ++seen.files;
    if (!with_file(map, [&](const FilePart& part) { look_at(part, evicts, seen); })) ++seen.unknown;
  });
}

/// How many files are mapped, and how large they are. Those that nobody has looked at yet may be this run's own.
void count_maps(MapsSeen& seen) {
  each_map([&](const Map& map) {
    ++seen.files;
    seen.file_bytes += map.file_bytes;
    const std::uint64_t words[] = {record::own_file_key(map.device, map.inode), k_looked};
    if (!is_populated_by_run(hash_words(words, 2)))
      with_file(map, [](const FilePart& part) { claim_absent(part.fd, *part.file); });
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
  char path[256] = "";
  const std::size_t length = name_of(fd, path);
  if (is_shared_memory(path, length)) return;
  Map* entry = length > 0 ? take_entry() : nullptr;
  if (entry == nullptr) {
    g_lost.fetch_add(1, k_relaxed);
    return;
  }
  memcpy(entry->path, path, sizeof(path));
  entry->bytes = bytes;
  entry->file_bytes = static_cast<std::uint64_t>(file.st_size);
  entry->offset = static_cast<std::uint64_t>(offset);
  entry->device = file.st_dev;
  entry->inode = file.st_ino;
  entry->begin.store(address_of(begin), std::memory_order_release);
}

void map_gone(const void* begin, std::size_t bytes) {
  const std::uint64_t first = address_of(begin);
  for (std::uint32_t i = 0; i < used_entries(); ++i) {
    if (!is_there(g_maps[i])) continue;
    std::uint64_t at = g_maps[i].begin.load(k_relaxed);
    const bool within = at < first + bytes && first < at + g_maps[i].bytes;
    if (within) g_maps[i].begin.compare_exchange_strong(at, k_free, k_relaxed);
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
  if (!claim_populated(hash_words(looked, 2))) return;
  const Resident found = resident_in(fd, file, {0, size});
  if (found.known && found.bytes == 0) claim_populated(file_key(file));
}

void begin_maps(PhaseState& state, bool is_cold) {
  state.maps = MapsSeen{};
  state.evicts_maps.store(0, k_relaxed);
  if (!maps_known() || emulating()) return;
  state.maps.faults_begin = major_faults();
  // Beside files that are opened and read, what is mapped is small and stays in memory.
  if (!is_cold || process().writer.control->maps_read.load(k_relaxed) == 0) {
    count_maps(state.maps);
    return;
  }
  state.evicts_maps.store(1, k_relaxed);
  const bool is_new = state.unmapped_segment != state.segment + 1;
  state.unmapped_segment = state.segment + 1;
  state.maps.is_first = is_new;
  if (!is_new) look(state.maps, false);
  if (is_new || state.maps.resident_bytes > state.maps.file_bytes / k_share || state.maps.unknown > 0) {
    unmap_pages();
    look(state.maps, true);
  }
  state.storage_at_drop = storage_bytes(state);
}

void tell_maps(Thread& thread, PhaseState& state) {
  if (!record::recording(process().writer)) return;
  each_map([&](const Map& map) {
    const std::uint64_t key = record::own_file_key(map.device, map.inode);
    std::atomic<std::uint64_t>* told = nullptr;
    for (std::uint64_t i = 0; i < k_told_probes && told == nullptr; ++i) {
      std::atomic<std::uint64_t>& slot = state.told[(map.inode + i) % k_told_slots];
      if (slot.load(k_relaxed) == key) return;
      if (slot.load(k_relaxed) == 0) told = &slot;
    }
    if (told == nullptr) return;
    told->store(key, k_relaxed);  // also where it cannot be told: another file goes by its name now
    with_file(map, [&](const FilePart& part) {
      const std::uint64_t file_id = adopt_path(thread, part.fd, 0);
      if (file_id != 0) tell_whole_file(thread, file_id);
    });
  });
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
