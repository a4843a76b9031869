#include "probes/capture/phase_stage.hpp"

#include <cstring>

#include "core/clock.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/phase_calls.hpp"
#include "probes/capture/phase_copy.hpp"
#include "probes/capture/phase_shard.hpp"

namespace stallcast::capture {
namespace {

constexpr std::uint32_t k_longest_path = 4095;
constexpr std::uint32_t k_probes = 8;

/// One remembered file, followed by its path, NUL-padded to 8 bytes.
struct Remembered {
  std::atomic<std::uint32_t> bytes;  ///< of the whole entry; 0: not written yet
  std::uint32_t length;              ///< of the path
  FileIdentity identity;
  std::uint64_t first;  ///< granule
  std::uint64_t end;    ///< granule after the last; 0: the whole file
};

/// True if the file is in this round's list already, or there is no telling apart any more.
bool is_known(RoundFiles& files, std::uint64_t id) {
  for (std::uint32_t i = 0; i < k_probes; ++i) {
    auto& slot = files.ids[(id + i) % k_round_ids];
    std::uint64_t found = slot.load(std::memory_order_relaxed);
    if (found == 0 && slot.compare_exchange_strong(found, id, std::memory_order_relaxed)) return false;
    if (found == id) return true;
  }
  return false;
}

void append(RoundFiles& files, const char* path, const Remembered& what) {
  const auto bytes = static_cast<std::uint32_t>(sizeof(Remembered) + (what.length + 8) / 8 * 8);
  std::uint32_t at = files.used.load(std::memory_order_relaxed);
  do {
    if (at + bytes > k_round_bytes) return;
  } while (!files.used.compare_exchange_weak(at, at + bytes, std::memory_order_relaxed));
  auto* entry = reinterpret_cast<Remembered*>(files.entries + at);
  entry->length = what.length;
  entry->identity = what.identity;
  entry->first = what.first;
  entry->end = what.end;
  char* text = reinterpret_cast<char*>(entry + 1);
  memcpy(text, path, what.length);
  text[what.length] = '\0';
  entry->bytes.store(bytes, std::memory_order_release);
}

/// Appends under the name that the kernel has for the descriptor.
void append_by_descriptor(RoundFiles& files, int fd, Remembered& what) {
  char path[1024];
  char link[k_fd_link_bytes];
  const ssize_t length = raw::read_link(fd_link(fd, link), path, sizeof(path));
  if (length <= 0 || length == static_cast<ssize_t>(sizeof(path)) || path[0] != '/') return;
  what.length = static_cast<std::uint32_t>(length);
  append(files, path, what);
}

}  // namespace

void remember_file(RoundFiles& files, int fd, const char* path, std::size_t length, const struct stat& file) {
  Remembered what{};
  what.identity = identity_of(file);
  if (is_known(files, hash_path(reinterpret_cast<const char*>(&what.identity), sizeof(what.identity)))) return;
  if (path[0] != '/') return append_by_descriptor(files, fd, what);
  what.length = static_cast<std::uint32_t>(length);
  append(files, path, what);
}

void remember_range(RoundFiles& files, int fd, const struct stat& file, std::uint64_t first, std::uint64_t end) {
  Remembered what{};
  what.identity = identity_of(file);
  while (first < end && is_known(files, granule_key(what.identity, 0, first))) ++first;
  for (std::uint64_t granule = first + 1; granule < end; ++granule)
    is_known(files, granule_key(what.identity, 0, granule));
  what.first = first;
  what.end = end;
  if (first < end) append_by_descriptor(files, fd, what);
}

std::uint64_t stage_files(RoundFiles& files, std::uint32_t round, record::ControlBlock& control) {
  const std::uint32_t used = files.used.load(std::memory_order_relaxed);
  if (files.staged >= used || control.stage_dir[0] == '\0') return 0;
  const std::uint64_t begin_ns = monotonic_ns();
  Copier copier(control, round);
  bool goes_on = copier.prepare();
  while (files.staged < used) {
    const auto* entry = reinterpret_cast<const Remembered*>(files.entries + files.staged);
    const std::uint32_t bytes = entry->bytes.load(std::memory_order_acquire);
    if (bytes == 0 || bytes > used - files.staged) break;  // another thread is still writing it: next time
    const char* path = reinterpret_cast<const char*>(entry + 1);
    if (goes_on && entry->length <= k_longest_path) {
      goes_on = entry->end == 0 ? copier.copy(path, entry->identity)
                                : copier.copy_part(path, entry->identity, entry->first, entry->end);
    }
    files.staged += bytes;
  }
  return monotonic_ns() - begin_ns;
}

void forget_files(RoundFiles& files) {
  if (files.used.load(std::memory_order_relaxed) == 0) return;
  for (auto& id : files.ids) id.store(0, std::memory_order_relaxed);
  memset(files.entries, 0, files.used.load(std::memory_order_relaxed));
  files.staged = 0;
  files.used.store(0, std::memory_order_relaxed);
}

}  // namespace stallcast::capture
