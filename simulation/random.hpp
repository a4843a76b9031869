/// Random numbers that depend on a seed and a place in the run alone, by whole-number arithmetic that every machine and
/// library does alike. Who draws first changes nothing: a faster storage meets the very same batches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast::simulation {

/// The finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): 64 bits, each of which depends on all of `x`.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The key of stream `number` under `key`.
[[nodiscard]] constexpr std::uint64_t stream(std::uint64_t key, std::uint64_t number) {
  return mixed(key ^ mixed(number));
}

/// A whole number below `bound`, from 32 random bits (Lemire, 2019, without his correction: off by bound / 2^32).
[[nodiscard]] constexpr std::uint32_t below(std::uint32_t bits, std::uint32_t bound) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(bits) * bound) >> 32);
}

[[nodiscard]] constexpr std::uint32_t upper_half(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits >> 32);
}

[[nodiscard]] constexpr std::uint32_t lower_half(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits);
}

}  // namespace stallcast::simulation
