/// The pages that a run brought into the page cache itself: a set of keys in a file of the run folder.
///
/// What a process of the run found absent and has read since is its own, and may be dropped again; the rest was paid
/// for by other users of the machine. The capture library writes the set (open addressing, never removed from), the
/// tool reads it once the job has ended. A file that is read as a whole has one key, a larger one a key a chunk.
#pragma once

#include <cstdint>

#include "probes/record/hash.hpp"

namespace stallcast::record {

inline constexpr char k_populated_pages_file[] = "ours";
inline constexpr std::uint64_t k_own_slots = 1ULL << 19;
inline constexpr std::uint64_t k_own_probes = 16;  ///< slots from a key's own on in which it may stand
/// The unit in which a large file is the run's own: the largest block of the page cache.
inline constexpr std::uint64_t k_own_chunk_bytes = 2ULL << 20;

/// What a cold batch drops of such a file at a time, and what it looks at.
inline constexpr std::uint64_t k_granule_bytes = 64ULL << 10;

/// By which a whole file is the run's own.
inline std::uint64_t own_file_key(std::uint64_t device, std::uint64_t inode) {
  const std::uint64_t words[] = {device, inode};
  return hash_words(words, 2);
}

/// By which chunk number `chunk` of a large file is.
inline std::uint64_t own_chunk_key(std::uint64_t device, std::uint64_t inode, std::uint64_t chunk) {
  const std::uint64_t words[] = {device, inode, chunk};
  return hash_words(words, 3);
}

/// In half-cached batches what goes by `id` is cold where this holds, and cached otherwise. A file that is opened as a
/// whole goes by the id of its path (PathRecord), a chunk of a larger one by own_chunk_key().
inline bool is_cold_half(std::uint64_t id, std::uint32_t seed) {
  const std::uint64_t words[] = {id, seed};
  return (hash_words(words, 2) >> 32U & 1U) != 0;
}

}  // namespace stallcast::record
