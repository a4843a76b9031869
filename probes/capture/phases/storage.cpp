#include "probes/capture/phases/storage.hpp"

#include <cstring>

#include "probes/capture/emulation/emulate.hpp"
#include "probes/capture/kept_fd.hpp"
#include "probes/capture/phases/system_calls.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;

// Outlives a fork, so that a child can close what it inherited.
constinit std::atomic<int> g_io_fd{0};
constinit std::atomic<std::uint64_t> g_io_owner{0};

}  // namespace

std::uint64_t storage_bytes(PhaseState& state) {
  if (emulating()) return emulated_miss_bytes();  // what the emulated storage gave is what came from storage
  if (state.io_fd == 0) {
    close_kept(g_io_fd.load(k_relaxed), g_io_owner.load(k_relaxed));
    // Apart from the thread ids of other kept ones.
    state.io_owner = k_storage_unknown - process().generation.load(k_relaxed);
    state.io_fd = open_kept("/proc/self/io", state.io_owner);
    g_io_fd.store(state.io_fd, k_relaxed);
    g_io_owner.store(state.io_owner, k_relaxed);
  }
  if (state.io_fd < 0 || !is_kept(state.io_fd, state.io_owner)) return k_storage_unknown;
  char text[256];
  const ssize_t bytes = raw::read_at(state.io_fd, text, sizeof(text) - 1, 0);
  if (bytes <= 0) return k_storage_unknown;
  text[bytes] = '\0';
  const char* at = strstr(text, "\nread_bytes: ");
  if (at == nullptr) return k_storage_unknown;
  std::uint64_t value = 0;
  for (at += strlen("\nread_bytes: "); *at >= '0' && *at <= '9'; ++at) {
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  return value;
}

std::uint64_t major_faults() {
  rusage usage{};
  if (::syscall(SYS_getrusage, RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_majflt);
}

}  // namespace stallcast::capture
