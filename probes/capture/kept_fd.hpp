/// Descriptors that the library keeps open in the guest: out of the way of the guest's own numbers, and checked before
/// each use, because a guest may close what it did not open (daemons close all they find).
#pragma once

#include <cstdint>

namespace stallcast::capture {

/// Opens `path` for reading; -1 if that is not to be had. `owner` says whose it is and is asked for again at each use.
int open_kept(const char* path, std::uint64_t owner);

/// Whether `fd` is still the one that open_kept() gave to `owner`.
bool is_kept(int fd, std::uint64_t owner);

/// Closes it if it still is.
void close_kept(int fd, std::uint64_t owner);

}  // namespace stallcast::capture
