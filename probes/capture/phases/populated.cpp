#include "probes/capture/phases/populated.hpp"

#include <atomic>
#include <cstring>

#include "probes/capture/phases/system_calls.hpp"
#include "probes/capture/process.hpp"
#include "probes/record/populated_pages.hpp"

namespace stallcast::capture {
namespace {

using Slot = std::atomic<std::uint64_t>;

using record::k_own_probes;
using record::k_own_slots;
constexpr std::uint64_t k_bytes = k_own_slots * sizeof(Slot);

// A shared map, so a fork child goes on using it.
constinit std::atomic<Slot*> g_populated{nullptr};
constinit std::atomic<bool> g_failed{false};

/// Whoever comes first makes the file; to allocate what is allocated already changes nothing. Without fallocate there
/// is no set: a sparse map on a full disk would be SIGBUS in the guest.
void* map_set() {
  char path[record::k_max_path_bytes + sizeof(record::k_populated_pages_file)];
  strcpy(path, run_folder());
  strcat(path, "/");
  strcat(path, record::k_populated_pages_file);
  if (k_bytes > raw::file_size_limit()) return nullptr;
  const int fd = raw::open_file(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  void* mapped = nullptr;
  if (raw::allocate(fd, 0, k_bytes) == 0) mapped = raw::map(k_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  raw::close_fd(fd);
  return mapped;
}

Slot* slots() {
  Slot* known = g_populated.load(std::memory_order_acquire);
  if (known != nullptr || g_failed.load(std::memory_order_relaxed)) return known;
  void* mapped = map_set();
  if (mapped == nullptr) {
    g_failed.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  if (g_populated.compare_exchange_strong(known, static_cast<Slot*>(mapped))) return static_cast<Slot*>(mapped);
  raw::unmap(mapped, k_bytes);
  return known;
}

}  // namespace

bool claim_populated(std::uint64_t key) {
  Slot* set = slots();
  for (std::uint64_t i = 0; set != nullptr && i < k_own_probes; ++i) {
    Slot& slot = set[(key + i) % k_own_slots];
    std::uint64_t found = slot.load(std::memory_order_relaxed);
    if (found == 0 && slot.compare_exchange_strong(found, key, std::memory_order_release)) return true;
    if (found == key) return false;
  }
  return false;
}

bool is_populated_by_run(std::uint64_t key) {
  const Slot* set = slots();
  for (std::uint64_t i = 0; set != nullptr && i < k_own_probes; ++i) {
    const std::uint64_t found = set[(key + i) % k_own_slots].load(std::memory_order_acquire);
    if (found == key) return true;
    if (found == 0) return false;
  }
  return false;
}

}  // namespace stallcast::capture
