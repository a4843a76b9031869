/// Fits a pull-request comment or a job summary.
#include <fmt/format.h>

#include "reports/diff/diff_words.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::reports {
namespace {

std::string conditions_list(const DiffData& data) {
  std::string out;
  for (const JudgedCondition& judged : data.conditions) {
    const char* mark = judged.state == ConditionState::holds             ? "**FAIL**"
                       : judged.state == ConditionState::not_enough_data ? "**not known**"
                                                                         : "ok";
    out += fmt::format("- {}: {}\n", mark, markdown_text(condition_words(judged)));
  }
  return out.empty() ? out : "\n### Conditions\n\n" + out;
}

std::string row_of(const ComparedNumber& number) {
  const int good = number.verdict == ChangeVerdict::within_noise ? 0 : goodness(number);
  const std::string word = good > 0 ? ", better" : good < 0 ? ", worse" : "";
  return fmt::format("| `{}` | {} | {} | {} | {}{} |\n", number_name(number), side_words(number, number.before),
                     side_words(number, number.after), change_words(number), verdict_words(number.verdict), word);
}

std::string numbers_table(const DiffData& data) {
  std::string told;
  std::string noise;
  for (const ChangeVerdict verdict : {ChangeVerdict::changed, ChangeVerdict::perhaps}) {
    for (const ComparedNumber* number : with_verdict(data.comparison, verdict)) told += row_of(*number);
  }
  for (const ComparedNumber* number : with_verdict(data.comparison, ChangeVerdict::within_noise))
    noise += row_of(*number);
  const std::string head = "| Number | A | B | Change (95 % interval) | Verdict |\n|---|---|---|---|---|\n";
  std::string out;
  if (!told.empty()) out += "\n" + head + told;
  if (!noise.empty()) out += "\n<details><summary>Within noise</summary>\n\n" + head + noise + "\n</details>\n";
  return out;
}

std::string settings_table(const DiffData& data) {
  std::string out;
  for (const SettingChange& change : data.comparison.settings) {
    out += fmt::format("| {} | {} | {} |\n", markdown_code(setting_name(change), true),
                       markdown_code(shortened(setting_words(change, change.before), k_value_columns), true),
                       markdown_code(shortened(setting_words(change, change.after), k_value_columns), true));
  }
  return out.empty() ? out : "\n| Set differently | A | B |\n|---|---|---|\n" + out;
}

std::string rest(const DiffData& data) {
  std::string out;
  const Comparison& c = data.comparison;
  if (!c.new_issues.empty()) out += "- data issues only in B: " + markdown_text(joined_words(c.new_issues)) + "\n";
  if (!c.gone_issues.empty()) out += "- data issues only in A: " + markdown_text(joined_words(c.gone_issues)) + "\n";
  for (const auto& [reason, keys] : not_compared(c)) {
    out += fmt::format("- not compared ({}): {}\n", markdown_text(reason), markdown_text(joined_words(keys)));
  }
  for (const std::string& note : c.notes) out += "- " + markdown_text(note) + "\n";
  return out.empty() ? out : "\n<details><summary>Not compared, notes</summary>\n\n" + out + "\n</details>\n";
}

}  // namespace

std::string diff_markdown(const DiffData& data) {
  return "## stallcast diff: " + markdown_text(data.headline) + "\n\n" +
         fmt::format("A: {}, B: {}\n", markdown_code(data.names.before), markdown_code(data.names.after)) +
         conditions_list(data) + numbers_table(data) + settings_table(data) + rest(data);
}

}  // namespace stallcast::reports
