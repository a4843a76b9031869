#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analyzer/compare/fail_condition.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

/// What is accepted names a number and a sane threshold; what is not is a usage error that says what to write.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto condition = stallcast::parse_fail_condition(text);
  if (!condition.ok()) {
    require(condition.error().code == stallcast::ErrorCode::usage && !condition.error().hint.empty());
    return 0;
  }
  require(std::isfinite(condition.value().threshold) && condition.value().threshold >= 0.0);
  require(!condition.value().key.empty());
  return 0;
}
