/// Bandwidths as people read them.
#pragma once

#include <cstdio>
#include <string>

#include "core/quantity.hpp"

namespace stallcast {

/// Three digits, and never an exponent below 1 TB/s: "38.7 MB/s", "1.94 GB/s".
inline std::string bandwidth_words(BytesPerSecond bandwidth) {
  constexpr double k_reads_as_giga = 999.5e6;  // three digits of MB/s would be 1e+03 from here on
  const bool giga = bandwidth.value() >= k_reads_as_giga;
  char text[48];
  std::snprintf(text, sizeof text, giga ? "%.3g GB/s" : "%.3g MB/s", bandwidth.value() / (giga ? 1e9 : 1e6));
  return text;
}

}  // namespace stallcast
