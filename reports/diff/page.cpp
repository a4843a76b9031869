/// One self-contained page without any script.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/diff/diff_words.hpp"
#include "reports/html/assets.hpp"
#include "reports/html/page.hpp"
#include "reports/html/sections.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

/// The interval of a change on a track whose middle is no change and whose ends are its largest bound.
struct Mark {
  double left = 50.0;
  double width = 0.0;
  double dot = 50.0;
};

Mark mark_of(const Change& change, double largest) {
  const auto place = [&](double value) { return 50.0 + 50.0 * std::clamp(value / largest, -1.0, 1.0); };
  const double from = place(change.ci95_low);
  return {from, place(change.ci95_high) - from, place(change.mean)};
}

double largest_of(const Comparison& comparison, bool points) {
  double largest = 1e-12;
  for (const ComparedNumber& number : comparison.numbers) {
    if (!number.change || number.key.ends_with("_frac") != points) continue;
    if (!points && number.change->kind != ChangeKind::ratio) continue;
    // Beyond a doubling a bar that is cut off tells enough; the others stay readable.
    largest = std::max(
        {largest, std::min(1.0, std::abs(number.change->ci95_low)), std::min(1.0, std::abs(number.change->ci95_high))});
  }
  return largest;
}

Tags row_data(const ComparedNumber& number, const Comparison& comparison) {
  const bool points = number.key.ends_with("_frac");
  const bool drawn = points || number.change->kind == ChangeKind::ratio;
  const Mark mark = drawn ? mark_of(*number.change, largest_of(comparison, points)) : Mark{};
  const int good = number.verdict == ChangeVerdict::within_noise ? 0 : goodness(number);
  Tags row;
  row.set("key", number_name(number));
  row.set("before", side_words(number, number.before));
  row.set("after", side_words(number, number.after));
  row.set("change", change_words(number));
  row.set("verdict", verdict_words(number.verdict));
  row.set("good", good > 0 ? "better" : good < 0 ? "worse" : "same");
  row.set("good_words", good > 0 ? ", better" : good < 0 ? ", worse" : "");
  row.set("drawn", drawn);
  row.set("left", fmt::format("{:.2f}", mark.left));
  row.set("width", fmt::format("{:.2f}", mark.width));
  row.set("dot", fmt::format("{:.2f}", mark.dot));
  return row;
}

Tags numbers_data(const Comparison& comparison) {
  Tags rows{Tags::type::list};
  for (const ChangeVerdict verdict : {ChangeVerdict::changed, ChangeVerdict::perhaps, ChangeVerdict::within_noise}) {
    for (const ComparedNumber* number : with_verdict(comparison, verdict))
      rows.push_back(row_data(*number, comparison));
  }
  return rows;
}

Tags conditions_data(const DiffData& diff) {
  Tags rows{Tags::type::list};
  for (const JudgedCondition& judged : diff.conditions) {
    Tags row;
    const bool fails = judged.state == ConditionState::holds;
    const bool unknown = judged.state == ConditionState::not_enough_data;
    row.set("severity", fails ? "error" : unknown ? "warning" : "info");
    row.set("mark", fails ? "fail" : unknown ? "not known" : "ok");
    row.set("words", condition_words(judged));
    rows.push_back(row);
  }
  return rows;
}

Tags settings_data(const Comparison& comparison) {
  Tags rows{Tags::type::list};
  for (const SettingChange& change : comparison.settings) {
    Tags row;
    row.set("name", setting_name(change));
    row.set("before", setting_words(change, change.before));
    row.set("after", setting_words(change, change.after));
    rows.push_back(row);
  }
  return rows;
}

Tags absent_data(const Comparison& comparison) {
  Tags rows{Tags::type::list};
  for (const auto& [reason, keys] : not_compared(comparison)) {
    Tags row;
    row.set("reason", reason);
    row.set("what", joined_words(keys));
    rows.push_back(row);
  }
  return rows;
}

Tags notes_data(const Comparison& comparison) {
  Tags rows{Tags::type::list};
  if (!comparison.new_issues.empty())
    rows.push_back(Tags{"text", "data issues only in B: " + joined_words(comparison.new_issues)});
  if (!comparison.gone_issues.empty())
    rows.push_back(Tags{"text", "data issues only in A: " + joined_words(comparison.gone_issues)});
  for (const std::string& note : comparison.notes) rows.push_back(Tags{"text", note});
  return rows;
}

const char* level_of_diff(const DiffData& diff) {
  for (const JudgedCondition& judged : diff.conditions) {
    if (judged.state == ConditionState::holds) return "high";
  }
  return with_verdict(diff.comparison, ChangeVerdict::changed).empty() ? "fine" : "moderate";
}

}  // namespace

Result<std::string> diff_html(const DiffData& diff) {
  Tags page;
  page.set("style", std::string(k_style.text));
  page.set("headline", diff.headline);
  page.set("level", level_of_diff(diff));
  page.set("before", diff.names.before);
  page.set("after", diff.names.after);
  set_list(page, "conditions", conditions_data(diff));
  set_list(page, "numbers", numbers_data(diff.comparison));
  set_list(page, "settings", settings_data(diff.comparison));
  set_list(page, "absent", absent_data(diff.comparison));
  set_list(page, "notes", notes_data(diff.comparison));
  return render_page(k_diff.text, page);
}

}  // namespace stallcast::reports
