#include "reports/plan/plan_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "reports/words/escape.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

constexpr std::size_t k_name_columns = 60;
constexpr std::size_t k_currency_columns = 12;

std::string capitalised(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

/// A rate whose lower end is 0 takes for ever at its upper end: said, not left out.
std::string range_words(double mean, double low, double high, const Scale& scale) {
  if (std::isfinite(high)) return with_interval(mean, low, high, scale);
  return scaled(mean, scale) + " (at least " + scaled(low, scale) + ", without an upper end)";
}

}  // namespace

std::vector<ShownOption> shown_options(const Plan& plan) {
  std::vector<ShownOption> shown;
  for (const PlanOption& option : plan.front) {
    shown.push_back({&option, true, plan.choice && same_configuration(option, *plan.choice),
                     plan.nearest && same_configuration(option, *plan.nearest)});
  }
  const auto none = [&](bool ShownOption::*mark) {
    return std::none_of(shown.begin(), shown.end(), [&](const ShownOption& one) { return one.*mark; });
  };
  if (plan.choice && none(&ShownOption::choice)) shown.push_back({&*plan.choice, false, true, false});
  if (plan.nearest && none(&ShownOption::nearest)) shown.push_back({&*plan.nearest, false, false, true});
  std::stable_sort(shown.begin(), shown.end(), [](const ShownOption& a, const ShownOption& b) {
    return a.option->time.mean < b.option->time.mean;
  });
  return shown;
}

std::string machine_words(const std::string& name) {
  return shortened(name, k_name_columns);
}

std::string configuration_words(const PlanOption& option) {
  return fmt::format("{} x {}", count(option.nodes), machine_words(option.machine));
}

std::string time_words(const PlanOption& option) {
  const auto& time = option.time;
  return range_words(time.mean.value(), time.ci90_low.value(), time.ci90_high.value(), time_scale(time.mean.value()));
}

std::string currency_word(const Catalog& catalog) {
  const std::string word = one_line(catalog.currency.substr(0, catalog.currency.find_first_of(" ,;(")));
  return columns(word) <= k_currency_columns ? word : "";
}

std::string cost_words(const PlanOption& option, const Catalog& catalog) {
  const std::string currency = currency_word(catalog);
  const auto& cost = option.cost;
  return range_words(cost.mean, cost.ci90_low, cost.ci90_high, {1.0, ""}) + (currency.empty() ? "" : " " + currency);
}

std::string as_given(double value) {
  return fmt::format("{:.10g}", value);
}

std::string epochs_words(const PlanTarget& target) {
  return as_given(target.epochs) + (target.epochs == 1.0 ? " epoch" : " epochs");
}

std::string meets_words(const PlanOption& option) {
  if (option.meets_surely) return "yes, with its interval";
  if (!option.meets) return "no";
  return option.upper_bound ? "if exchanging gradients costs little" : "by its mean only";
}

std::string plan_headline(const PlanData& data) {
  if (!data.plan.choice) return capitalised(data.plan.verdict);
  const PlanOption& choice = *data.plan.choice;
  return fmt::format("{}: {} in {} for {}; the target is {}", configuration_words(choice), epochs_words(data.target),
                     time_words(choice), cost_words(choice, data.catalog), data.plan.verdict);
}

}  // namespace stallcast::reports
