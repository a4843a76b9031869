/// What a machine costs, as the user writes it: "32/h", "32USD/h".
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace stallcast {

struct Price {
  double per_machine_hour = 0.0;  ///< above zero
  std::string currency{};         ///< as written, "USD" or "$"; empty where none was
};

/// "32/h", "32USD/h", "32.50 EUR/h", "$32/h" -> the price of one machine for one hour. Anything else, a bare number
/// too, is a usage error that says what to write.
[[nodiscard]] Result<Price> parse_price(std::string_view text);

}  // namespace stallcast
