#include "probes/capture/phase_stage.hpp"

#include <cstring>

#include "core/clock.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/phase_calls.hpp"
#include "probes/capture/phase_copy.hpp"

namespace stallcast::capture {
namespace {

constexpr std::uint32_t k_longest_path = 4095;
constexpr std::uint32_t k_probes = 8;

/// One remembered file, followed by its path, NUL-padded to 8 bytes.
struct Remembered {
  std::atomic<std::uint32_t> bytes;  ///< of the whole entry; 0: not written yet
  std::uint32_t length;              ///< of the path
  FileIdentity identity;
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

void append(RoundFiles& files, const char* path, std::uint32_t length, const FileIdentity& identity) {
  const auto bytes = static_cast<std::uint32_t>(sizeof(Remembered) + (length + 8) / 8 * 8);
  std::uint32_t at = files.used.load(std::memory_order_relaxed);
  do {
    if (at + bytes > k_round_bytes) return;
  } while (!files.used.compare_exchange_weak(at, at + bytes, std::memory_order_relaxed));
  auto* entry = reinterpret_cast<Remembered*>(files.entries + at);
  entry->length = length;
  entry->identity = identity;
  char* text = reinterpret_cast<char*>(entry + 1);
  memcpy(text, path, length);
  text[length] = '\0';
  entry->bytes.store(bytes, std::memory_order_release);
}

}  // namespace

void remember_file(RoundFiles& files, int fd, const char* path, std::size_t length, const struct stat& file) {
  const FileIdentity identity = identity_of(file);
  const std::uint64_t id = hash_path(reinterpret_cast<const char*>(&identity), sizeof(identity));
  if (is_known(files, id)) return;
  if (path[0] == '/') {
    append(files, path, static_cast<std::uint32_t>(length), identity);
    return;
  }
  char absolute[1024];
  char link[k_fd_link_bytes];
  const ssize_t read = raw::read_link(fd_link(fd, link), absolute, sizeof(absolute));
  if (read <= 0 || read == static_cast<ssize_t>(sizeof(absolute)) || absolute[0] != '/') return;
  append(files, absolute, static_cast<std::uint32_t>(read), identity);
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
    if (goes_on && entry->length <= k_longest_path) goes_on = copier.copy(path, entry->identity);
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
