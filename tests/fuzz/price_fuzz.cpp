#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "reports/findings/price.hpp"

/// What is taken for a price is an amount above zero in a short currency; the rest is told what to write.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto price = stallcast::parse_price(std::string(reinterpret_cast<const char*>(data), size));
  if (price.ok()) {
    const bool sound = price.value().per_machine_hour > 0.0 && price.value().per_machine_hour <= 1e9;
    if (!sound || price.value().currency.size() > 8) std::abort();
  } else if (price.error().code != stallcast::ErrorCode::usage || price.error().hint.empty()) {
    std::abort();
  }
  return 0;
}
