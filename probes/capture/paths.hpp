/// Names of files: their ids, and the one record that joins the two.
#pragma once

#include <cstdint>

#include "probes/capture/thread.hpp"

namespace stallcast::capture {

/// The id of a file: a 64-bit hash of the path as it was opened, never 0.
std::uint64_t hash_path(const char* path, std::size_t length);

/// What opening `path` tells before anything is read from it.
struct Opened {
  std::size_t length;
  std::uint64_t file_id;  ///< 0: not a file whose name matters
  bool ignored;           ///< nothing read from it counts
  bool import;            ///< code that the interpreter loads: not worth a record outside samples
};
Opened describe_open(const char* path, int flags);

/// Writes the path record of a file that this process has not seen yet. A bounded table remembers the ids and forgets
/// some: a path may be written twice, never lost. A path that is relative to `folder` (a
/// descriptor, or AT_FDCWD) is written whole: nobody knows later what that was. The size is filled in later, by
/// note_size(). True: not seen yet.
bool note_path(Thread& thread, std::uint64_t file_id, int folder, const char* path, std::size_t length, int fd);

/// Whether this process has a record of the file's path, as far as is remembered.
bool knows_path(std::uint64_t file_id);

/// The application asked fstat() about `fd`: its answer goes into the path record that was just written for it.
void note_size(Thread& thread, int fd, std::uint64_t size_bytes, std::uint64_t device);

inline constexpr std::size_t k_fd_link_bytes = 32;

/// Writes "/proc/self/fd/<fd>" and returns it.
const char* fd_link(int fd, char (&link)[k_fd_link_bytes]);

/// The id of a file that was opened unseen or before this process was recorded, with its path record; 0 if it has no
/// name. `known_id` is the id it already goes by, or 0.
std::uint64_t adopt_path(Thread& thread, int fd, std::uint64_t known_id);

/// Forgets what was seen: a new process begins. Its parent's table would otherwise silence it.
void forget_paths();

}  // namespace stallcast::capture
