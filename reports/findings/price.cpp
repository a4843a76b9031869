#include "reports/findings/price.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "reports/findings/constants.hpp"

namespace stallcast {
namespace {

void trim(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
}

/// A sign at the beginning of `text`, which is cut off; empty if there is none.
std::string_view take_sign(std::string_view& text) {
  constexpr std::array<std::string_view, 4> k_signs = {"$", "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5"};
  for (const std::string_view sign : k_signs) {
    if (!text.starts_with(sign)) continue;
    const std::string_view taken = text.substr(0, sign.size());
    text.remove_prefix(sign.size());
    return taken;
  }
  return {};
}

/// Letters at the beginning of `text`, likewise.
std::string_view take_letters(std::string_view& text) {
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  const auto end = std::find_if_not(text.begin(), text.end(), is_letter);
  const auto length = static_cast<std::size_t>(end - text.begin());
  if (length > reports::k_longest_currency) return {};
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

std::optional<Price> price_of(std::string_view text) {
  trim(text);
  Price price;
  price.currency = take_sign(text);
  trim(text);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), price.per_machine_hour);
  const bool positive =
      parsed.ec == std::errc() && price.per_machine_hour >= 1e-9 && price.per_machine_hour <= reports::k_most_price;
  if (!positive) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  trim(text);
  if (price.currency.empty()) price.currency = take_sign(text);
  if (price.currency.empty()) price.currency = take_letters(text);
  trim(text);
  if (text != "/h" && text != "/ h") return std::nullopt;
  return price;
}

}  // namespace

Result<Price> parse_price(std::string_view text) {
  auto price = price_of(text);
  if (price) return *price;
  return Error{ErrorCode::usage, "'" + std::string(text) + "' is not a price with its unit",
               "write what one machine costs in an hour, for example 32/h or 32USD/h"};
}

}  // namespace stallcast
