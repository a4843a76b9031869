#include "analyzer/compare/fail_condition.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "analyzer/compare/compare.hpp"
#include "analyzer/compare/constants.hpp"

namespace stallcast {
namespace {

Error usage(std::string what, std::string hint) {
  return Error{ErrorCode::usage, std::move(what), std::move(hint)};
}

/// Every number that compare() knows, absent or not.
std::vector<ComparedNumber> known_numbers() {
  return compare(Profile{}, Profile{}).numbers;
}

Error unknown_key(std::string_view key, const std::vector<ComparedNumber>& known) {
  std::string keys;
  for (const ComparedNumber& number : known) keys += (keys.empty() ? "" : ", ") + number.key;
  return usage("there is no number '" + std::string(key) + "' to compare", "keys: " + keys);
}

/// "5%" -> 0.05; nothing where it is not a number of percent.
std::optional<double> percent_of(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  double value = 0.0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value) || std::signbit(value) || value > k_largest_percent) return std::nullopt;
  return value / 100.0;
}

ConditionState state_of(const FailCondition& condition, const ComparedNumber& number, std::size_t conditions) {
  if (!number.change) return ConditionState::not_enough_data;
  const bool points = number.key.ends_with("_frac");
  const bool absolute = number.change->kind == ChangeKind::difference && !points;
  const double scale = absolute ? std::abs(number.before->mean) : 1.0;
  const double change = condition.rises ? number.change->mean : -number.change->mean;
  if (!(change > condition.threshold * scale)) return ConditionState::not_exceeded;
  const bool beyond = number.p_value * static_cast<double>(conditions) < k_significance;
  return beyond ? ConditionState::holds : ConditionState::within_noise;
}

}  // namespace

Result<FailCondition> parse_fail_condition(std::string_view text) {
  const std::string shown(text);
  const std::string example =
      "write KEY>+N% for a rise or KEY<-N% for a fall, for example 'fetch_frac>+5%' (in quotes)";
  const std::size_t sign = text.find_first_of("<>");
  if (sign == std::string_view::npos || sign == 0) return usage("'" + shown + "' is not a condition", example);
  FailCondition condition{shown, std::string(text.substr(0, sign)), text[sign] == '>', 0.0};
  std::string_view amount = text.substr(sign + 1);
  const char direction = amount.empty() ? '\0' : amount.front();
  const std::string& key = condition.key;
  if (condition.rises && direction == '-') {
    return usage("'" + shown + "' asks for a rise above a fall", "write '" + key + "<-N%' for a fall by more than N %");
  }
  if (!condition.rises && direction != '-') {
    return usage("'" + shown + "' asks for a fall without its minus", "write '" + key + "<-N%'");
  }
  if (direction == '+' || direction == '-') amount.remove_prefix(1);
  const auto threshold = percent_of(amount);
  if (!threshold) {
    return usage("'" + shown + "' does not end in a number of percent",
                 "write '" + key + (condition.rises ? ">+5%'" : "<-5%'"));
  }
  condition.threshold = *threshold;
  const auto known = known_numbers();
  const auto named = std::find_if(known.begin(), known.end(), [&](const ComparedNumber& number) {
    return number.key == key || number.section + "." + number.key == key;
  });
  if (named == known.end()) return unknown_key(key, known);
  condition.key = named->key;
  return condition;
}

std::vector<JudgedCondition> judge(const Comparison& comparison, std::span<const FailCondition> conditions) {
  std::vector<JudgedCondition> judged;
  for (const FailCondition& condition : conditions) {
    const auto number = std::find_if(comparison.numbers.begin(), comparison.numbers.end(),
                                     [&](const ComparedNumber& n) { return n.key == condition.key; });
    if (number == comparison.numbers.end()) {
      judged.push_back({condition, ConditionState::not_enough_data, {}});
    } else {
      judged.push_back({condition, state_of(condition, *number, conditions.size()), *number});
    }
  }
  return judged;
}

}  // namespace stallcast
