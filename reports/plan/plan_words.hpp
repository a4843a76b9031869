/// What the parts of a plan's page word alike.
#pragma once

#include <string>
#include <vector>

#include "reports/plan/plan.hpp"

namespace stallcast::reports {

/// Everything that the page shows.
struct PlanData {
  const Plan& plan;
  const Catalog& catalog;
  const PlanTarget& target;
  const Profile& profile;
  const PlanSource& source;
};

/// A row of the page's table and a point of its chart.
struct ShownOption {
  const PlanOption* option = nullptr;
  bool on_front = true;
  bool choice = false;
  bool nearest = false;
};

/// The front, and the choice or the nearest where it is not on it; the fastest first.
[[nodiscard]] std::vector<ShownOption> shown_options(const Plan& plan);

/// The name, short enough for a table, and safe.
[[nodiscard]] std::string machine_words(const std::string& name);
/// "4 x big": how many nodes of which machine.
[[nodiscard]] std::string configuration_words(const PlanOption& option);
/// "6.2 h (5.9 to 6.6)".
[[nodiscard]] std::string time_words(const PlanOption& option);
/// "104 (98 to 110) EUR"; without a currency where the catalogue's is not a short word.
[[nodiscard]] std::string cost_words(const PlanOption& option, const Catalog& catalog);
/// The first word of the catalogue's currency, if it is as short as one; else empty.
[[nodiscard]] std::string currency_word(const Catalog& catalog);
/// A number of the user's, not rounded to what a prediction would deserve: "28.125".
[[nodiscard]] std::string as_given(double value);
/// "90 epochs".
[[nodiscard]] std::string epochs_words(const PlanTarget& target);
/// "surely", "by the mean", ...: how an option stands to the targets.
[[nodiscard]] std::string meets_words(const PlanOption& option);
/// The verdict of the page, in one sentence.
[[nodiscard]] std::string plan_headline(const PlanData& data);

}  // namespace stallcast::reports
