#include <fmt/format.h>

#include "reports/diff/diff_words.hpp"
#include "reports/text/text_layout.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::reports {
namespace {

Paint paint_of(ConditionState state) {
  switch (state) {
    case ConditionState::holds:
      return Paint::red;
    case ConditionState::not_exceeded:
      return Paint::green;
    case ConditionState::within_noise:
    case ConditionState::not_enough_data:
      break;
  }
  return Paint::yellow;
}

const char* mark_of(ConditionState state) {
  switch (state) {
    case ConditionState::holds:
      return "  FAIL";
    case ConditionState::not_exceeded:
    case ConditionState::within_noise:
      return "  ok";
    case ConditionState::not_enough_data:
      break;
  }
  return "  ?";
}

void print_numbers(const DiffData& data, ChangeVerdict verdict, const char* title, TextPage& page) {
  const auto numbers = with_verdict(data.comparison, verdict);
  if (numbers.empty()) return;
  page.heading(title);
  for (const ComparedNumber* number : numbers) {
    const int good = goodness(*number);
    const bool told = verdict != ChangeVerdict::within_noise;
    const Paint paint = !told || good == 0 ? Paint::plain : good > 0 ? Paint::green : Paint::red;
    const std::string word = !told || good == 0 ? "" : good > 0 ? ", better" : ", worse";
    page.item("  " + number_name(*number), 36, change_words(*number) + word, paint);
    page.item("", 4, side_words(*number, number->before) + " -> " + side_words(*number, number->after), Paint::dim);
  }
}

void print_settings(const DiffData& data, TextPage& page) {
  if (data.comparison.settings.empty()) return;
  page.heading("Settings that differ");
  for (const SettingChange& change : data.comparison.settings) {
    page.item("  " + setting_name(change), 36,
              shortened(setting_words(change, change.before), k_value_columns) + " -> " +
                  shortened(setting_words(change, change.after), k_value_columns));
  }
}

void print_rest(const DiffData& data, TextPage& page) {
  const Comparison& c = data.comparison;
  if (!c.new_issues.empty() || !c.gone_issues.empty()) page.heading("Data issues");
  if (!c.new_issues.empty()) page.item("", 2, "only in B: " + joined_words(c.new_issues), Paint::yellow);
  if (!c.gone_issues.empty()) page.item("", 2, "only in A: " + joined_words(c.gone_issues));
  const auto absent = not_compared(c);
  if (!absent.empty()) page.heading("Not compared");
  for (const auto& [reason, keys] : absent) {
    page.item("  -", 4, joined_words(keys) + ":", Paint::bold);
    page.item("", 4, reason);
  }
  if (!c.notes.empty()) page.heading("Notes");
  for (const std::string& note : c.notes) page.item("  -", 4, note + ".");
}

}  // namespace

std::string diff_text(const DiffData& data) {
  TextPage page(data.options.color);
  page.item("A (before)", 12, data.names.before, Paint::bold);
  page.item("B (after)", 12, data.names.after, Paint::bold);
  page.blank();
  page.item("", 2, data.headline);
  if (!data.conditions.empty()) page.heading("Conditions");
  for (const JudgedCondition& judged : data.conditions) {
    page.item(mark_of(judged.state), 8, condition_words(judged) + ".", paint_of(judged.state));
  }
  print_numbers(data, ChangeVerdict::changed, "Changed beyond noise (95 %, all numbers together)", page);
  print_numbers(data, ChangeVerdict::perhaps, "Perhaps changed (beyond its own 95 % interval only)", page);
  print_numbers(data, ChangeVerdict::within_noise, "Within noise", page);
  print_settings(data, page);
  print_rest(data, page);
  return page.take();
}

}  // namespace stallcast::reports
