/// How far the kernel reads ahead on a device.
#pragma once

#include <cstdint>

namespace stallcast::capture {

/// The largest window, in bytes: of the file system, of the disk, or of the disk that it is a partition of; Linux'
/// usual 128 KiB where none of these says. Asked for once as long as one device is read from at a time.
std::uint64_t read_ahead_of_device(std::uint64_t device);

}  // namespace stallcast::capture
