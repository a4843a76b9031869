#include "reports/findings/operator_rows.hpp"

#include <algorithm>

namespace stallcast::reports {
namespace {

constexpr Fraction k_worth_a_line = 0.01;
constexpr std::size_t k_most_lines = 12;

std::string seconds_words(const MeasuredEstimate<SecondsPerSample>& measured) {
  const auto* estimate = usable(measured);
  if (estimate == nullptr) return "";
  return with_interval(estimate->mean.value(), estimate->ci95_low.value(), estimate->ci95_high.value(),
                       time_scale(estimate->mean.value()), 3);
}

std::string quantile_words(const Operator& row, double q) {
  if (!row.wall_s || row.wall_s->n == 0) return "";
  const double seconds = row.wall_s->quantile(q);
  return scaled(seconds, time_scale(seconds));
}

std::string name_words(const Operator& row) {
  if (row.kind == "getitem") return "__getitem__ (decode, load)";
  return row.name;
}

OperatorRow row_of(const ReportData& data, std::size_t index) {
  const Operator& found = data.profile.operators[index];
  OperatorRow row{name_words(found),           found.where,
                  percent(found.busy->mean),   seconds_words(found.wall),
                  seconds_words(found.cpu),    quantile_words(found, 0.5),
                  quantile_words(found, 0.95), ""};
  const auto without = data.options.without_operator.find(index);
  if (without != data.options.without_operator.end()) row.without = forecast_words(without->second);
  return row;
}

}  // namespace

std::vector<OperatorRow> operator_rows(const ReportData& data) {
  std::vector<OperatorRow> rows;
  double others = 0.0;
  std::int64_t lines = 0;
  double seconds = 0.0;
  for (std::size_t index = 0; index < data.profile.operators.size(); ++index) {
    const Operator& found = data.profile.operators[index];
    if (usable(found.busy) == nullptr || usable(found.wall) == nullptr) continue;
    if (found.kind != "rest" && found.busy->mean >= k_worth_a_line && rows.size() < k_most_lines) {
      rows.push_back(row_of(data, index));
      continue;
    }
    others += found.busy->mean;
    seconds += found.wall->mean.value();
    lines += found.kind == "rest" || found.kind == "core" ? 0 : 1;
  }
  if (rows.empty()) return rows;
  OperatorRow last;
  last.name = lines > 0 ? "all else (" + plural(lines, "operator") + ")" : "all else";
  last.share = percent(std::max(0.0, others));
  if (seconds > 0.0) last.wall = scaled(seconds, time_scale(seconds));
  rows.push_back(std::move(last));
  return rows;
}

std::string operator_title(const Profile& profile) {
  const std::string state = profile.operators.empty() ? "" : profile.operators.front().state;
  if (state == "cached") return "Cost per operator, every byte from memory";
  if (state == "cold") return "Cost per operator, every byte from storage";
  return "Cost per operator";
}

std::string operator_note(const ReportData& data) {
  std::string note =
      "Shares are of the time that making batches takes. Times are per sample: an operator's own, without the "
      "operators that it calls and without reads.";
  const auto& rows = data.profile.operators;
  if (std::any_of(rows.begin(), rows.end(), [](const Operator& row) { return row.kind == "core"; })) {
    note += " Workers wait for a core while other threads compute: fewer workers, or more cores, leave less of it.";
  }
  if (!data.options.without_operator.empty()) {
    note += " The last column is what the model predicts without it, all else the same.";
  }
  return note;
}

}  // namespace stallcast::reports
