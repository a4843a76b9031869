/// The 64-bit hash behind the ids of files and the keys of the pages that a run brought in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stallcast::record {

/// Both halves of a 128-bit product, folded: the mixing step of the wyhash family (public domain, Wang Yi).
inline std::uint64_t hash_mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Hash of `length` bytes, never 0.
inline std::uint64_t hash_bytes(const char* bytes, std::size_t length) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL ^ length;
  std::size_t at = 0;
  for (; at + 8 <= length; at += 8) {
    std::uint64_t word = 0;
    memcpy(&word, bytes + at, 8);
    hash = hash_mix(hash ^ word, 0xa0761d6478bd642fULL);
  }
  std::uint64_t tail = 0;
  memcpy(&tail, bytes + at, length - at);
  hash = hash_mix(hash ^ tail, 0xe7037ed1a0b428dbULL);
  return hash != 0 ? hash : 1;
}

/// Hash of a few words, never 0.
inline std::uint64_t hash_words(const std::uint64_t* words, std::size_t count) {
  return hash_bytes(reinterpret_cast<const char*>(words), count * sizeof(*words));
}

}  // namespace stallcast::record
