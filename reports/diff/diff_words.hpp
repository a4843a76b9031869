/// What the formats of a comparison word alike.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "reports/diff/diff.hpp"

namespace stallcast::reports {

/// Most characters of a setting: a command line would fill the screen.
inline constexpr std::size_t k_value_columns = 200;

/// Everything that a format of a comparison shows.
struct DiffData {
  const Comparison& comparison;
  std::span<const JudgedCondition> conditions;
  const DiffNames& names;
  const RenderOptions& options;
  std::string headline;  ///< one sentence
};

/// Whether a change of this number is for the better: 1 better, -1 worse, 0 neither (nothing changed).
[[nodiscard]] int goodness(const ComparedNumber& number);
/// "412 samples/s (405 to 419)"; "not measured".
[[nodiscard]] std::string side_words(const ComparedNumber& number, const std::optional<Estimate<double>>& side);
/// "-12 % (-15 to -9)"; "+6.1 points (5.0 to 7.2)".
[[nodiscard]] std::string change_words(const ComparedNumber& number);
/// "changed", "perhaps", "within noise", "not compared": as in the JSON, with blanks.
[[nodiscard]] std::string verdict_words(ChangeVerdict verdict);
[[nodiscard]] const char* state_name(ConditionState state);
[[nodiscard]] std::string headline_words(const Comparison& comparison);
/// A setting as people read it: sizes with their unit, "nothing" for an empty text.
[[nodiscard]] std::string setting_words(const SettingChange& change, const std::string& value);
[[nodiscard]] std::string setting_name(const SettingChange& change);
/// The key; what the measurement itself cost is told apart from the job by its section.
[[nodiscard]] std::string number_name(const ComparedNumber& number);
/// Keys that could not be compared, by reason.
[[nodiscard]] std::map<std::string, std::vector<std::string>> not_compared(const Comparison& comparison);
/// The numbers with this verdict, in the order of the profile: rates and stalls first.
[[nodiscard]] std::vector<const ComparedNumber*> with_verdict(const Comparison& comparison, ChangeVerdict verdict);
[[nodiscard]] std::string joined_words(const std::vector<std::string>& words, const char* between = ", ");

[[nodiscard]] std::string diff_text(const DiffData& data);
[[nodiscard]] std::string diff_json(const DiffData& data);
[[nodiscard]] std::string diff_markdown(const DiffData& data);
[[nodiscard]] Result<std::string> diff_html(const DiffData& data);

}  // namespace stallcast::reports
