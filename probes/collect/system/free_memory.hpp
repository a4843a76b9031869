/// Memory that this process and the job beside it can still take.
///
/// Worked example. MemAvailable is 40 GB. The job's control group may use 16 GB and uses 14 GB, 9 GB of which are page
/// cache that the kernel takes back when it has to: 16 - (14 - 9) = 11 GB are free.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace stallcast::collect {

/// In bytes, by /proc/meminfo and the memory control groups (versions 1 and 2) of `root`/proc/self; nothing if the
/// kernel does not say. `root` is "/" but for tests.
[[nodiscard]] std::optional<std::uint64_t> read_free_memory(const std::filesystem::path& root);

}  // namespace stallcast::collect
