/// What a read costs on this machine when the file is in memory: the part of reading that no faster storage removes.
#pragma once

#include <filesystem>
#include <optional>

namespace stallcast::collect {

/// time of a read of n bytes = seconds_per_call + n * seconds_per_byte.
struct ResidentReadCost {
  double seconds_per_call = 0.0;
  double seconds_per_byte = 0.0;
};

/// Writes a file of 8 MiB (more than a core's own caches hold) into `folder`, reads it back in pieces of 4 KiB and of
/// 128 KiB, and puts a line through the two medians. Takes about 10 ms; nothing if the file cannot be written.
[[nodiscard]] std::optional<ResidentReadCost> measure_resident_read(const std::filesystem::path& folder);

}  // namespace stallcast::collect
