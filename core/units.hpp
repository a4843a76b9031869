/// Quantities as users write them: "500MB/s", "25Gbit/s", "1ms", "35%", "100GiB".
///
/// MB is 10^6, MiB is 2^20; "bit" is an eighth of a byte. A bare number where a unit belongs is a usage error that
/// says what to write.
#pragma once

#include <string_view>

#include "core/quantity.hpp"
#include "core/result.hpp"

namespace stallcast {

/// "60s", "1.5ms", "2min", "1h" -> seconds. Negative values are refused.
[[nodiscard]] Result<Seconds> parse_seconds(std::string_view text);

/// "100GiB", "64MB", "512B" -> bytes.
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);

/// "500MB/s", "25Gbit/s", "1GiB/s" -> bytes per second; must be above zero.
[[nodiscard]] Result<BytesPerSecond> parse_bandwidth(std::string_view text);

/// "4000/s", "20k/s" -> events per second; must be above zero.
[[nodiscard]] Result<PerSecond> parse_rate(std::string_view text);

/// "35%" -> 0.35. Must lie within 0 to 100 %.
[[nodiscard]] Result<double> parse_percent(std::string_view text);

/// "2", "0.5", "2x" -> a factor above zero.
[[nodiscard]] Result<double> parse_factor(std::string_view text);

/// "8" -> 8; whole, not negative.
[[nodiscard]] Result<int> parse_count(std::string_view text);

}  // namespace stallcast
