/// How far the kernel reads ahead on a device.
#pragma once

#include <cstdint>
#include <optional>

namespace stallcast::collect {

/// The largest window in bytes (read_ahead_kb): of the file system, of the disk, or of the disk that `device` (st_dev)
/// is a partition of. Absent where none of these says.
[[nodiscard]] std::optional<std::uint64_t> read_ahead_bytes(std::uint64_t device);

}  // namespace stallcast::collect
