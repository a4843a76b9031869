#include "probes/capture/read_ahead.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <atomic>

#include "probes/capture/small_text.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::capture {
namespace {

namespace raw = record::raw;

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr std::uint64_t k_usual_ahead = 128 * 1024;

constinit std::atomic<std::uint64_t> g_device{0};
constinit std::atomic<std::uint64_t> g_bytes{0};

std::uint64_t read_kilobytes(const char* path) {
  const int fd = raw::open_file(path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  char text[24];
  const ssize_t bytes = raw::read_at(fd, text, sizeof(text), 0);
  raw::close_fd(fd);
  std::uint64_t value = 0;
  for (ssize_t at = 0; at < bytes && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
  }
  return value * 1024;
}

std::uint64_t ask(std::uint64_t device) {
  constexpr const char* k_places[][2] = {{"/sys/class/bdi/", "/read_ahead_kb"},
                                         {"/sys/dev/block/", "/queue/read_ahead_kb"},
                                         {"/sys/dev/block/", "/../queue/read_ahead_kb"}};
  for (const auto& place : k_places) {
    char path[96];
    const bool complete =
        SmallText(path).add(place[0]).add(major(device)).add(":").add(minor(device)).add(place[1]).complete();
    const std::uint64_t bytes = complete ? read_kilobytes(path) : 0;
    if (bytes != 0) return bytes;
  }
  return k_usual_ahead;
}

}  // namespace

std::uint64_t read_ahead_of_device(std::uint64_t device) {
  if (g_device.load(k_relaxed) != device || g_bytes.load(k_relaxed) == 0) {
    g_bytes.store(ask(device), k_relaxed);
    g_device.store(device, k_relaxed);
  }
  return g_bytes.load(k_relaxed);
}

}  // namespace stallcast::capture
