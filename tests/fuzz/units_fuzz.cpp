#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/units.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// Whatever was accepted is a number that fits; whatever was refused is the user's usage and says what to write.
template <class T, class Fits>
void check(const stallcast::Result<T>& result, Fits fits) {
  if (result.ok()) {
    require(fits(result.value()));
  } else {
    require(result.error().code == stallcast::ErrorCode::usage && !result.error().hint.empty());
  }
}

bool sane(double value) {
  return std::isfinite(value) && value >= 0.0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(stallcast::parse_seconds(text), [](stallcast::Seconds s) { return sane(s.value()); });
  check(stallcast::parse_bytes(text), [](stallcast::Bytes b) { return sane(b.value()); });
  check(stallcast::parse_bandwidth(text),
        [](stallcast::BytesPerSecond b) { return sane(b.value()) && b.value() > 0.0; });
  check(stallcast::parse_rate(text), [](stallcast::PerSecond r) { return sane(r.value()) && r.value() > 0.0; });
  check(stallcast::parse_percent(text), [](double fraction) { return fraction >= 0.0 && fraction <= 1.0; });
  check(stallcast::parse_factor(text), [](double factor) { return sane(factor) && factor > 0.0; });
  check(stallcast::parse_count(text), [](int count) { return count >= 0; });
  return 0;
}
