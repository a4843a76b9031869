#include "core/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace stallcast {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 8> k_time_units{
    {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}, {"sec", 1.0}, {"min", 60.0}, {"m", 60.0}, {"h", 3600.0}}};
constexpr std::array<Unit, 10> k_byte_units{{{"B", 1.0},
                                             {"kB", 1e3},
                                             {"KB", 1e3},
                                             {"MB", 1e6},
                                             {"GB", 1e9},
                                             {"TB", 1e12},
                                             {"KiB", 1024.0},
                                             {"MiB", 1048576.0},
                                             {"GiB", 1073741824.0},
                                             {"TiB", 1099511627776.0}}};
constexpr std::array<Unit, 5> k_bit_units{
    {{"bit", 0.125}, {"kbit", 125.0}, {"Mbit", 125e3}, {"Gbit", 125e6}, {"Tbit", 125e9}}};
constexpr std::array<Unit, 4> k_count_units{{{"", 1.0}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}}};

struct Split {
  double number = 0.0;
  std::string_view unit{};
};

std::optional<Split> split_number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  Split split;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), split.number);
  if (parsed.ec != std::errc() || !std::isfinite(split.number)) return std::nullopt;
  // Far outside any quantity of this field, and kept away from the ends of double: times a unit must stay a number.
  const double magnitude = std::fabs(split.number);
  if (magnitude > 1e200 || (magnitude > 0.0 && magnitude < 1e-200)) return std::nullopt;
  split.unit = text.substr(static_cast<std::size_t>(parsed.ptr - text.data()));
  while (!split.unit.empty() && split.unit.front() == ' ') split.unit.remove_prefix(1);
  return split;
}

template <std::size_t N>
std::optional<double> factor_of(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

Error usage(std::string_view text, std::string_view wanted, std::string_view example) {
  return Error{ErrorCode::usage, "'" + std::string(text) + "' is not " + std::string(wanted),
               "write it with its unit, for example " + std::string(example)};
}

}  // namespace

Result<Seconds> parse_seconds(std::string_view text) {
  const auto split = split_number(text);
  if (!split || split->number < 0.0) return usage(text, "a time", "60s, 1.5ms or 2min");
  const auto factor = factor_of(k_time_units, split->unit);
  if (!factor) return usage(text, "a time with a unit", "60s, 1.5ms or 2min");
  return Seconds(split->number * *factor);
}

Result<Bytes> parse_bytes(std::string_view text) {
  const auto split = split_number(text);
  if (!split || split->number < 0.0) return usage(text, "a size", "100GiB, 64MB or 512B");
  const auto factor = factor_of(k_byte_units, split->unit);
  if (!factor) return usage(text, "a size with a unit", "100GiB, 64MB or 512B");
  return Bytes(split->number * *factor);
}

Result<BytesPerSecond> parse_bandwidth(std::string_view text) {
  const auto split = split_number(text);
  constexpr std::string_view k_example = "500MB/s or 25Gbit/s";
  if (!split || split->number <= 0.0) return usage(text, "a bandwidth above zero", k_example);
  std::string_view unit = split->unit;
  if (unit.size() < 3 || unit.substr(unit.size() - 2) != "/s") return usage(text, "a bandwidth with a unit", k_example);
  unit.remove_suffix(2);
  auto factor = factor_of(k_byte_units, unit);
  if (!factor) factor = factor_of(k_bit_units, unit);
  if (!factor) return usage(text, "a bandwidth with a unit", k_example);
  return BytesPerSecond(split->number * *factor);
}

Result<PerSecond> parse_rate(std::string_view text) {
  const auto split = split_number(text);
  constexpr std::string_view k_example = "4000/s or 20k/s";
  if (!split || split->number <= 0.0) return usage(text, "a rate above zero", k_example);
  std::string_view unit = split->unit;
  if (unit.size() < 2 || unit.substr(unit.size() - 2) != "/s") return usage(text, "a rate with a unit", k_example);
  unit.remove_suffix(2);
  const auto factor = factor_of(k_count_units, unit);
  if (!factor) return usage(text, "a rate with a unit", k_example);
  return PerSecond(split->number * *factor);
}

Result<double> parse_percent(std::string_view text) {
  const auto split = split_number(text);
  if (!split || split->unit != "%") return usage(text, "a percentage", "35%");
  if (split->number < 0.0 || split->number > 100.0) {
    return Error{ErrorCode::usage, "'" + std::string(text) + "' is outside 0 to 100 %", "write for example 35%"};
  }
  return split->number / 100.0;
}

Result<double> parse_factor(std::string_view text) {
  const auto split = split_number(text);
  const bool unit_fits = split && (split->unit.empty() || split->unit == "x");
  if (!unit_fits || split->number <= 0.0) return usage(text, "a factor above zero", "2 or 0.5x");
  return split->number;
}

Result<int> parse_count(std::string_view text) {
  int count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || count < 0) {
    return Error{ErrorCode::usage, "'" + std::string(text) + "' is not a whole number", "write for example 8"};
  }
  return count;
}

}  // namespace stallcast
