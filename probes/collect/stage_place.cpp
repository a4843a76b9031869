#include "probes/collect/stage_place.hpp"

#include <sys/statfs.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "probes/collect/run_folder.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

constexpr long k_tmpfs_magic = 0x01021994;

std::vector<fs::path> candidates() {
  std::vector<fs::path> places{"/dev/shm"};
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime != '\0') {
    places.emplace_back(runtime);
  }
  places.push_back(temporary_folder());
  return places;
}

/// Free bytes of `place` if it lies in memory.
std::optional<std::uint64_t> memory_free(const fs::path& place) {
  struct statfs facts {};
  if (statfs(place.c_str(), &facts) != 0 || facts.f_type != k_tmpfs_magic) return std::nullopt;
  if (access(place.c_str(), W_OK) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(facts.f_bavail) * static_cast<std::uint64_t>(facts.f_bsize);
}

}  // namespace

std::vector<StagePlace> stage_places() {
  std::vector<StagePlace> places;
  for (const fs::path& folder : candidates()) {
    const auto free = memory_free(folder);
    if (free && *free >= 2 * k_least_stage_bytes) places.push_back({folder, *free});
  }
  return places;
}

}  // namespace stallcast::collect
